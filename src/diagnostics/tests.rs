//! What is shown of a finding, for texts in which places are easily lost.

use super::text::{Style, annotated, render};
use super::*;
use crate::manifest;

/// What is shown of a violation at a field of the last document.
fn shown(text: &str, field: &str) -> String {
    let source = Source::new("c2.yaml", text);
    let file = manifest::read(source.text());
    let part = file.documents.last().unwrap().root(source.text());
    let finding = Finding::of_field(
        Level::Error,
        "some-rule",
        field,
        "Invalid value: is wrong; write another [some-rule]",
        part.at_field(field),
    );
    render(&source, &finding, Style::PLAIN)
}

/// Line and column of what is underlined, and the underlined text.
fn underlined(text: &str, field: &str) -> (usize, usize, String) {
    let source = Source::new("c2.yaml", text);
    let file = manifest::read(source.text());
    let place = file.documents.last().unwrap().root(source.text()).at_field(field);
    let start = source.position(place.span.start);
    (start.line, start.column, place.span.of(source.text()).to_owned())
}

#[test]
fn the_value_is_underlined_wherever_it_stands() {
    for (text, field, expected) in [
        ("spec:\n  replicas: -1 # no\n", "spec.replicas", (2, 13, "-1")),
        ("spec:\n  name: 'x' # no 'y'\n", "spec.name", (2, 9, "'x'")),
        ("spec:\n  labels: {a/b.c: 'x y', \"d[0]\": z}\n", "spec.labels[a/b.c]", (2, 19, "'x y'")),
        ("spec:\n  labels: {a/b.c: 'x y', \"d[0]\": z}\n", "spec.labels[d[0]]", (2, 34, "z")),
        ("spec:\n  labels: {\"a\\u202eb\": z}\n", "spec.labels[a\\u{202e}b]", (2, 24, "z")),
        ("a: 1\r\n---\r\nspec:\r\n- x: [\"http://ä\", b] # c\r\n", "spec[0].x[1]", (4, 19, "b")),
        ("日本: 語\nspec: {語: 日本}\n", "spec.語", (2, 11, "日本")),
        ("x: &u [ä, 'ü']\nspec: *u\n", "spec[1]", (1, 11, "'ü'")),
        ("x: &u\n  image: old\nspec:\n  <<: *u\n", "spec.image", (2, 10, "old")),
        ("spec:\n  a: !!str &b 10 # c\n", "spec.a", (2, 15, "10")),
        ("spec:\n  a: [1, 2]\n", "spec.a", (2, 6, "[1, 2]")),
        ("spec:\n  a: [1,\n    2]\n", "spec.a", (2, 3, "a")),
        ("spec:\n  - a: 1\n    b: 2\n  - c\n", "spec[0]", (2, 5, "a: 1")),
        ("spec:\n  a: |\n    one\n    two\n\nb: 1\n", "spec.a", (3, 5, "one\n    two")),
        ("spec:\n  a:\n", "spec.a", (2, 3, "a")),
        ("spec:\n  a: {}\n", "spec.a.b.c", (2, 3, "a")),
        ("\u{feff}spec: x\n", "spec", (1, 7, "x")),
        ("{\"a\": \"\\ud83d\\ude00\", \"spec\": \"x\"}", "spec", (1, 31, "\"x\"")),
        ("{\n\t\"spec\": {\n\t\t\"a\": 1}}\n", "spec.a", (3, 8, "1")),
    ] {
        let (line, column, value) = underlined(text, field);
        assert_eq!((line, column, value.as_str()), expected, "{field} of {text:?}");
    }
}

#[test]
fn a_finding_reads_like_a_compilers() {
    let text =
        "x: &tls\n  serverTLSSecretRef: {}\nspec:\n  peerUrlTls: *tls\n  urls: [\"http://\u{202e}ü\", b]\n";
    assert_eq!(
        shown(text, "spec.urls[0]"),
        "\
error[some-rule]: Invalid value: is wrong
 --> c2.yaml:5:10
  |
5 |   urls: [\"http://\u{fffd}ü\", b]
  |          ^^^^^^^^^^^
  |
  = note: spec.urls[0]
  = help: write another"
    );
    assert_eq!(
        shown(text, "spec.peerUrlTls.serverTLSSecretRef.name"),
        "\
error[some-rule]: Invalid value: is wrong
 --> c2.yaml:2:3
  |
2 |   serverTLSSecretRef: {}
  |   ^^^^^^^^^^^^^^^^^^ missing here
3 | spec:
4 |   peerUrlTls: *tls
  |               ---- comes here by this alias
  |
  = note: spec.peerUrlTls.serverTLSSecretRef.name
  = help: write another"
    );
}

#[test]
fn a_whole_text_shows_every_finding() {
    let text = "kind: Etcd\nspec:\n  replicas: -1\n  labels:\n    a: b c\n";
    let source = Source::new("x", text);
    let file = manifest::read(text);
    let part = file.documents[0].root(text);
    let findings = ["spec.replicas", "spec.labels[a]"].map(|field| {
        Finding::of_field(Level::Error, "some-rule", field, "Invalid value: no", part.at_field(field))
    });
    assert_eq!(
        annotated(&source, &findings, Style::PLAIN),
        "  |
1 | kind: Etcd
2 | spec:
3 |   replicas: -1
  |             ^^ Invalid value: no [some-rule]
4 |   labels:
5 |     a: b c
  |        ^^^ Invalid value: no [some-rule]"
    );
}

#[test]
fn colours_come_only_when_asked_for() {
    let source = Source::new("x\u{1b}[31m", "a: 1\n");
    let finding = Finding {
        level: Level::Warning,
        rule: "r".into(),
        message: "m\u{1b}[31m".into(),
        help: None,
        field: None,
        object: None,
        place: None,
    };
    let plain = render(&source, &finding, Style::PLAIN);
    assert_eq!(plain, "warning[r]: m\\u{1b}[31m\n--> x\\u{1b}[31m");
    assert!(render(&source, &finding, Style::COLOURED).contains("\u{1b}["));
}

#[test]
fn a_field_path_becomes_a_pointer() {
    let text = "spec:\n  labels: {a/b: c}\n  list: [{x: 1}]\n";
    let file = manifest::read(text);
    let part = file.documents[0].root(text);
    for (field, pointer) in [
        ("spec.labels[a/b]", "/spec/labels/a~1b"),
        ("spec.list[0].x", "/spec/list/0/x"),
        ("spec.absent[3].y", "/spec/absent/3/y"),
        ("", ""),
    ] {
        assert_eq!(part.pointer(field).as_str(), pointer);
        assert_eq!(part.at_pointer(&part.pointer(field)), part.at_field(field));
    }
}
