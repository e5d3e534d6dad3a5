//! Odd texts, and what kubectl's own decoder made of them.

use super::*;
use serde_json::{Value, json};
use std::fmt::Write;

/// What `k8s.io/apimachinery` 0.36 (`sigs.k8s.io/yaml` 1.6, go-yaml 2.4.3) made of each text: the text, its
/// documents, and its error. A document of comments only is left out.
const KUBECTL: &str = include_str!("kubectl.jsonl");

/// Texts that are read otherwise here, and how; `docs/lint.md` tells of each kind.
const OTHERWISE: &[(&str, &str)] = &[
    (".inf: v", "a key that is no JSON number is refused"),
    ("9223372036854775808: v", "a key beyond 63 bits is a text"),
    ("a: \"\\ud83d\\ude00\"", "a surrogate pair is one character in YAML, too"),
    ("a: \"\\u00e9\\x41\\/\\t\"", "an escaped slash is taken in YAML, too"),
    ("{\"a\":\"\\ud83d\"}", "half a surrogate pair is refused"),
    ("{\"a\":1} # c", "a comment may stand behind JSON"),
    ("a: 'x'#c", "a comment begins behind white space"),
    ("a: \u{85}x", "the line breaks of YAML 1.1 are none"),
    ("a: x\u{2028}y", "the line breaks of YAML 1.1 are none"),
    ("x: y\n \n\t\nz: 1\n", "a tab may stand on a line without content"),
    ("a:\n  - 1\n\t# c\n", "a tab may stand before a comment"),
    ("-\ta\n", "a tab may follow the dash of a list"),
    ("a: {\n\t\"b\": 1\n}\n", "a tab can't begin a line of braces in YAML"),
];

/// JSON keeps `1.0` apart from `1`; an API server doesn't.
fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => {
                float.to_string().parse::<i64>().map_or_else(|_| json!(float), Value::from)
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(whole).collect(),
        Value::Object(fields) => {
            Value::Object(fields.into_iter().map(|(key, value)| (key, whole(value))).collect())
        }
        other => other,
    }
}

fn documents(text: &str) -> Vec<Value> {
    let file = read(text);
    let values = file.documents.iter().map(|document| whole(document.root(text).value()));
    values.filter(|value| !value.is_null()).collect()
}

#[test]
fn odd_texts_are_read_as_kubectl_reads_them() {
    let mut wrong = Vec::new();
    for line in KUBECTL.lines() {
        let (text, expected, error): (String, Vec<Value>, Option<String>) = match serde_json::from_str(line) {
            Ok(row) => row,
            Err(error) => panic!("{line}: {error}"),
        };
        let expected: Vec<Value> = expected.into_iter().map(whole).filter(|value| !value.is_null()).collect();
        let (got, errors) = (documents(&text), read(&text).errors);
        let same = if error.is_some() { !errors.is_empty() } else { errors.is_empty() && got == expected };
        if same == OTHERWISE.iter().any(|(otherwise, _)| *otherwise == text) {
            wrong.push(format!("{text:?}: kubectl {expected:?} {error:?}, here {got:?} {errors:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The first error of a text, with the text that it points at.
fn error(text: &str) -> (String, String) {
    let file = read(text);
    let error = file.errors.first().unwrap_or_else(|| panic!("{text:?} is read"));
    (error.message.clone(), error.span.of(text).to_owned())
}

#[test]
fn errors_point_at_what_is_wrong() {
    for (text, message, place) in [
        ("a: b: c", "mapping values are not allowed in this context", ":"),
        ("größe: 1\nb: 'x\n", "unclosed quote", "'"),
        ("a: 1\n---\nb: *x\n", "no anchor &x stands before this alias in its document", "*x"),
        (
            "a: [*.example.com, b]\n",
            "no anchor &.example.com stands before this alias in its document",
            "*.example.com",
        ),
        ("a: &a [*a]", "the anchor's value contains itself", "*a"),
        ("a: .inf", "JSON has no number .inf: write it in quotes if a text is meant", ".inf"),
        ("a: !!int x", "\"x\" can't be read as !!int", "x"),
        ("~: x", "null can't be a key of a JSON object: write it in quotes", "~"),
        ("a: {<<: x}", "\"<<\" takes a mapping, or a list of mappings", "x"),
        ("\ta: 1", "a tab can't indent a block", "\t"),
        ("a: \u{7}", "control character U+0007 can't stand in YAML", "\u{7}"),
        ("a: 1\n--- b: 2\n", "kubectl takes nothing but a comment behind \"---\"", "b: 2"),
        ("{\"a\": 1 \"b\": 2}", "expected `,` or `}`", "\""),
    ] {
        assert_eq!(error(text), (message.to_owned(), place.to_owned()), "{text:?}");
    }
}

/// What a parser says in its own terms is told with what to do.
#[test]
fn errors_say_what_to_do() {
    let json = format!("{}1{}", "{\"a\":".repeat(200), "}".repeat(200));
    let deep = "no Etcd is: look for a bracket too many";
    for (text, help) in [
        ("a: *x", "write &x before the value that is meant, or \"*x\" in quotes where a text is meant"),
        ("%YAML 3.0\n---\na: 1\n", "remove \"%YAML 3.0\": kubectl takes no such line"),
        ("%YAML 1.2\n---\na: 1\n", "remove \"%YAML 1.2\": kubectl takes no such line"),
        (json.as_str(), deep),
        (&"[".repeat(1000), deep),
        ("a:\n\tb: 1\n", "indent with spaces"),
    ] {
        let error = read(text).errors.into_iter().next();
        assert_eq!(
            error.as_ref().and_then(|error| error.help.as_deref()),
            Some(help),
            "{text:.40}: {error:?}"
        );
    }
}

#[test]
fn a_template_is_no_manifest() {
    for text in ["replicas: {{ .Values.replicas }}\n", "{{- if .Values.etcd }}\na: 1\n{{- end }}\n"] {
        let help = read(text).errors.into_iter().next().and_then(|error| error.help);
        assert!(help.is_some_and(|help| help.starts_with("this is a template: ")), "{text}");
    }
}

/// The parser takes the first line for a whole document, and what follows for another.
#[test]
fn a_document_that_cant_go_on_is_no_end() {
    for text in ["apiVersion v1\nkind: Etcd\n", "\"v1\"\nkind: Etcd\n", "[a]\nkind: Etcd\n"] {
        let file = read(text);
        assert_eq!(
            (file.errors.len(), file.documents.len(), file.unread.len()),
            (1, 0, 0),
            "{text}: {file:?}"
        );
    }
    let ended = read("a: 1\n...\nb c\nd: [\n");
    assert_eq!((ended.errors.len(), ended.documents.len(), ended.unread.len()), (0, 1, 1), "{ended:?}");
}

#[test]
fn a_merge_conflict_is_called_so() {
    let yaml = "kind: Etcd\nspec:\n<<<<<<< HEAD\n  replicas: 3\n=======\n  replicas: 5\n>>>>>>> other\n";
    let whole = "<<<<<<< HEAD\nkind: Etcd\n=======\nkind: Pod\n>>>>>>> other\n";
    let json = "{\n<<<<<<< HEAD\n  \"a\": 3\n=======\n  \"a\": 5\n>>>>>>> other\n}\n";
    let half = "kind: Etcd\nspec:\n  replicas: 3\n=======\n  replicas: 5\n";
    for (text, first) in [
        (yaml, "<<<<<<< HEAD"),
        (&yaml.replace('\n', "\r\n"), "<<<<<<< HEAD"),
        (whole, "<<<<<<< HEAD"),
        ("kind: A\n---\n<<<<<<< HEAD\n---\nkind: B\n", "<<<<<<< HEAD"),
        (json, "<<<<<<< HEAD"),
        (half, "======="),
    ] {
        let error = read(text).errors.into_iter().next().expect("an error");
        assert_eq!(error.message, "this is a merge conflict that isn't resolved", "{text}");
        assert_eq!(error.span.of(text), first, "{text}");
        assert!(error.help.is_some_and(|help| help.starts_with("keep what is meant")), "{text}");
    }
    let text = "a: |\n  <<<<<<< HEAD\nb: [\n";
    assert_ne!(read(text).errors[0].message, "this is a merge conflict that isn't resolved");
}

/// Nine levels of nine aliases are four hundred million values.
#[test]
fn aliases_are_bounded() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..=8 {
        let before = format!("*a{}", level - 1);
        let _ = writeln!(text, "a{level}: &a{level} [{}]", [before.as_str(); 9].join(", "));
    }
    assert_eq!(error(&text), ("aliases repeat more than 400000 values".to_owned(), "[".to_owned()));
    // Many uses of one anchor are no bomb.
    let uses: Vec<String> = (0..2000).map(|number| format!("u{number}: *a0\n")).collect();
    let text = format!("a0: &a0 [x, x, x]\n{}", uses.concat());
    assert_eq!(read(&text).errors, []);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("a: {}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read(&nested(120)).errors, []);
    for text in [nested(130), nested(100_000), "[".repeat(100_000), "{\"a\":".repeat(100_000)] {
        assert_eq!(read(&text).errors.len(), 1);
    }
    // Through anchors, too: each level stands on its own.
    let mut text = "a0: &a0 [x]\n".to_owned();
    for level in 1..200 {
        let _ = writeln!(text, "a{level}: &a{level} [*a{}]", level - 1);
    }
    assert_eq!(error(&text).0, "lists and mappings are nested deeper than 128");
}

#[test]
fn a_long_head_of_comments_is_read() {
    let text = "# Licensed to everybody.\n".repeat(5000) + "a: 1\n";
    assert_eq!(documents(&text), [json!({"a": 1})]);
    assert_eq!(read(&text).documents[0].comments.len(), 5000);
}

#[test]
fn keys_that_stand_twice_are_told() {
    let text = "a: &m {b: 1}\nc:\n  b: 2\n  d: {x: 1, x: 2}\n  <<: *m\n";
    let found: Vec<(String, &str, &str)> = read(text).documents[0]
        .duplicates
        .iter()
        .map(|duplicate| (duplicate.name.clone(), duplicate.first.of(text), duplicate.second.of(text)))
        .collect();
    assert_eq!(found, [("x".to_owned(), "x", "x"), ("b".to_owned(), "b", "<<")]);
    assert_eq!(documents(text)[0]["c"]["b"], 1, "as kubectl has it");
}

#[test]
fn what_stands_behind_the_end_is_told() {
    let text = "a: 1\n...\nb: 2\nc: 3\n---\nd: 4\n";
    let file = read(text);
    assert_eq!(file.unread.iter().map(|span| span.of(text)).collect::<Vec<_>>(), ["b: 2\nc: 3"]);
    assert_eq!(documents(text), [json!({"a": 1}), json!({"d": 4})]);
    assert_eq!(read("a: 1\n...\n# the end\n").unread, []);
}
