//! A manifest as somebody might write it: block or flow, quoted or not, with comments, anchors, CRLF, or as JSON.

use serde_json::{Map, Value, json};
use std::fmt::{Display, Write};
use std::ops::Range;

/// A text, and where one value stands in it.
#[derive(Debug)]
pub struct Written {
    pub text: String,
    pub value: Range<usize>,
}

/// Takes choices from a number.
pub struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

struct Writer<'t> {
    out: String,
    dice: Dice,
    target: &'t [&'t str],
    value: Range<usize>,
    aliased: bool,
}

const COMMENTS: [&str; 4] = ["# größer: \"no\"", "# - {a: [b", "#", "# 日本語 'x' # y"];
const SHARED: &str = "shared";

/// Writes an object as YAML; the value at `target` is a scalar.
pub fn yaml(object: &Value, target: &[&str], seed: u64) -> Written {
    let mut writer = Writer { out: String::new(), dice: Dice(seed | 1), target, value: 0..0, aliased: false };
    writer.document(object);
    if writer.dice.one_in(4) {
        return with_crlf(&writer.out, &writer.value);
    }
    Written { text: writer.out, value: writer.value }
}

/// Writes an object as JSON, on one line or on many.
pub fn json(object: &Value, target: &[&str], seed: u64) -> Written {
    const HERE: &str = "\u{1}";
    let mut marked = object.clone();
    let value = std::mem::replace(marked.pointer_mut(&pointer(target)).expect("a value"), json!(HERE));
    let dice = &mut Dice(seed | 1);
    let text = match dice.roll(3) {
        0 => marked.to_string(),
        1 => serde_json::to_string_pretty(&marked).unwrap(),
        _ => serde_json::to_string_pretty(&marked).unwrap().replace("  ", "\t"),
    };
    let written = if value.is_string() && dice.one_in(2) { escaped(&value) } else { value.to_string() };
    let start = text.find(&json!(HERE).to_string()).expect("a mark");
    Written { text: text.replace(&json!(HERE).to_string(), &written), value: start..start + written.len() }
}

fn pointer(target: &[&str]) -> String {
    jsonptr::PointerBuf::from_tokens(target.iter().copied()).as_str().to_owned()
}

/// A string with every character escaped, as surrogate pairs where it must be.
fn escaped(value: &Value) -> String {
    let units = value.as_str().unwrap().encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    format!("\"{}\"", units.collect::<String>())
}

fn with_crlf(text: &str, value: &Range<usize>) -> Written {
    let breaks = |end: usize| text[..end].matches('\n').count();
    let value = value.start + breaks(value.start)..value.end + breaks(value.end);
    Written { text: text.replace('\n', "\r\n"), value }
}

impl Writer<'_> {
    fn put(&mut self, text: impl Display) {
        let _ = write!(self.out, "{text}");
    }

    fn document(&mut self, object: &Value) {
        for _ in 0..self.dice.roll(3) {
            self.out.push_str("kind: ConfigMap # größe\ndata: {a: b}\n---\n");
        }
        if self.dice.one_in(3) {
            self.out.push_str("x-shared: ");
            self.scalar(object.pointer(&pointer(self.target)).expect("a value"), true, Some(SHARED));
            self.out.push('\n');
            self.aliased = true;
        }
        self.map(object.as_object().expect("an object"), 0, &mut Vec::new(), false);
    }

    fn map(&mut self, fields: &Map<String, Value>, indent: usize, path: &mut Vec<String>, inline: bool) {
        for (index, (key, value)) in fields.iter().enumerate() {
            if index > 0 || !inline {
                self.own_line_comment();
                self.out.push_str(&" ".repeat(indent));
            }
            self.key(key);
            self.out.push(':');
            path.push(key.clone());
            self.node(value, indent, path);
            path.pop();
        }
    }

    /// What stands behind a key or a dash.
    fn node(&mut self, value: &Value, indent: usize, path: &mut Vec<String>) {
        let is_empty = match value {
            Value::Object(fields) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            _ => true,
        };
        if is_empty || self.dice.one_in(3) {
            self.out.push(' ');
            self.flow(value, path);
            return self.end_of_line();
        }
        self.end_of_line();
        let deeper = indent + usize::try_from(1 + self.dice.roll(4)).unwrap();
        match value {
            Value::Object(fields) => self.map(fields, deeper, path, false),
            Value::Array(items) => {
                let at = if self.dice.one_in(2) { indent } else { deeper };
                self.list(items, at, path);
            }
            _ => unreachable!("a scalar"),
        }
    }

    fn list(&mut self, items: &[Value], indent: usize, path: &mut Vec<String>) {
        for (index, item) in items.iter().enumerate() {
            self.own_line_comment();
            self.out.push_str(&" ".repeat(indent));
            self.out.push('-');
            path.push(index.to_string());
            match item {
                Value::Object(fields) if !fields.is_empty() && self.dice.one_in(2) => {
                    self.out.push(' ');
                    self.map(fields, indent + 2, path, true);
                }
                _ => self.node(item, indent, path),
            }
            path.pop();
        }
    }

    fn flow(&mut self, value: &Value, path: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                self.out.push('{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    self.separator(index);
                    self.key(key);
                    self.out.push_str(": ");
                    path.push(key.clone());
                    self.flow(value, path);
                    path.pop();
                }
                self.out.push('}');
            }
            Value::Array(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.separator(index);
                    path.push(index.to_string());
                    self.flow(item, path);
                    path.pop();
                }
                self.out.push(']');
            }
            _ if path == self.target && self.aliased => self.put(format_args!("*{SHARED} ")),
            scalar => {
                let is_target = path == self.target;
                let anchor = self.dice.one_in(8).then(|| format!("a{}", self.out.len()));
                self.scalar(scalar, is_target, anchor.as_deref());
            }
        }
    }

    fn separator(&mut self, index: usize) {
        let spaces = usize::try_from(self.dice.roll(3)).unwrap();
        match (index, self.dice.roll(6)) {
            (0, _) => {}
            (_, 0) => self.out.push_str(",\n            "),
            _ => self.out.push_str(", "),
        }
        self.out.push_str(&" ".repeat(spaces));
    }

    /// A scalar; where it is the one in question, its place is noted.
    fn scalar(&mut self, value: &Value, is_target: bool, anchor: Option<&str>) {
        if let Some(anchor) = anchor {
            self.put(format_args!("&{anchor} "));
        }
        let written = match value {
            Value::String(text) => self.text(text),
            other => other.to_string(),
        };
        if is_target {
            self.value = self.out.len()..self.out.len() + written.len();
        }
        self.out.push_str(&written);
    }

    fn text(&mut self, text: &str) -> String {
        let is_plain = text.len() > 4
            && text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"./:_-".contains(&byte))
            && text != "false";
        match self.dice.roll(3) {
            0 if is_plain => text.to_owned(),
            1 => format!("'{}'", text.replace('\'', "''")),
            _ => self.in_double_quotes(text),
        }
    }

    fn in_double_quotes(&mut self, text: &str) -> String {
        let inner: String = text
            .chars()
            .map(|character| match character {
                '"' | '\\' => format!("\\{character}"),
                character if !character.is_ascii() && self.dice.one_in(2) => {
                    format!("\\U{:08x}", u32::from(character))
                }
                character => character.to_string(),
            })
            .collect();
        format!("\"{inner}\"")
    }

    fn key(&mut self, key: &str) {
        let is_plain = key.len() > 1 && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match self.dice.roll(4) {
            0 => self.put(format_args!("\"{key}\"")),
            1 => self.put(format_args!("'{key}'")),
            _ if is_plain => self.out.push_str(key),
            _ => self.put(format_args!("\"{key}\"")),
        }
    }

    fn end_of_line(&mut self) {
        if self.dice.one_in(3) {
            let comment = COMMENTS[usize::try_from(self.dice.roll(4)).unwrap()];
            self.put(format_args!("  {comment}"));
        }
        self.out.push('\n');
    }

    fn own_line_comment(&mut self) {
        if self.dice.one_in(6) {
            let indent = usize::try_from(self.dice.roll(9)).unwrap();
            let comment = COMMENTS[usize::try_from(self.dice.roll(4)).unwrap()];
            self.put(format_args!("{}{comment}\n", " ".repeat(indent)));
        }
    }
}
