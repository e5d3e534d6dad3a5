//! Odd texts, and what kubectl's own decoder made of them.

use super::*;
use serde_json::{Value, json};

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
