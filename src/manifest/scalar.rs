//! What a scalar means to kubectl: the resolution of go-yaml v2, which sigs.k8s.io/yaml is built on, and the
//! conversion to JSON behind it. YAML 1.1 with liberties: booleans have eleven spellings, `010` is 8, `08` is 8 too.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{ScalarStyle, Tag};
use serde_json::{Number, Value};
use std::borrow::Cow;

const TRUE: [&str; 11] = ["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"];
const FALSE: [&str; 11] = ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"];
const NULL: [&str; 5] = ["", "~", "null", "Null", "NULL"];
const NOT_JSON: [&str; 12] =
    [".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"];

/// Types that a tag of YAML's own can ask for.
const TYPED_TAGS: [&str; 4] = ["bool", "int", "float", "null"];

/// The value of a scalar, or why kubectl can't read it.
pub(super) fn resolve(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { plain(text) } else { Ok(text.into()) };
    };
    match yaml_type(tag).as_deref() {
        Some("binary") => binary(text),
        Some(wanted) if TYPED_TAGS.contains(&wanted) => typed(text, wanted),
        // `!!str`, `!!timestamp`, `!`, and tags that only a program of its own would know.
        _ => Ok(text.into()),
    }
}

/// Whether a plain scalar is the key that merges a mapping.
pub(super) fn is_merge(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    text == "<<"
        && match tag {
            None => style == ScalarStyle::Plain,
            Some(tag) => yaml_type(tag).as_deref() == Some("merge"),
        }
}

/// The name of one of YAML's own types: `!!int` is `int`.
fn yaml_type(tag: &Tag) -> Option<Cow<'_, str>> {
    tag.suffix_in_namespace("tag:yaml.org,2002:")
}

/// The text of a key: JSON has no other keys.
pub(super) fn key(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        Value::Bool(value) => Ok(value.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null => Err("null can't be a key of a JSON object: write it in quotes".to_owned()),
        Value::Array(_) | Value::Object(_) => {
            Err("a list or a mapping can't be a key of a JSON object".to_owned())
        }
    }
}

fn plain(text: &str) -> Result<Value, String> {
    if NULL.contains(&text) {
        return Ok(Value::Null);
    }
    if TRUE.contains(&text) || FALSE.contains(&text) {
        return Ok(TRUE.contains(&text).into());
    }
    if NOT_JSON.contains(&text) {
        return Err(format!("JSON has no number {text}: write it in quotes if a text is meant"));
    }
    Ok(number(text).map_or_else(|| text.into(), Value::Number))
}

fn number(text: &str) -> Option<Number> {
    match text.as_bytes().first()? {
        b'.' => float(text),
        b'+' | b'-' | b'0'..=b'9' => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| decimal(&digits)).or_else(|| signed_binary(&digits))
        }
        _ => None,
    }
}

/// A whole number as Go reads a literal of base 0; it is signed, or fits 64 bits without a sign.
fn integer(text: &str) -> Option<Number> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", text.get(1..)?),
        b'+' => ("", text.get(1..)?),
        _ => ("", text),
    };
    let (radix, digits) = radix(digits);
    // What stands here could bear a second sign in Rust.
    if !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let signed = i64::from_str_radix(&format!("{sign}{digits}"), radix).ok().map(Number::from);
    let has_sign = text.starts_with(['+', '-']);
    signed.or_else(|| u64::from_str_radix(digits, radix).ok().filter(|_| !has_sign).map(Number::from))
}

fn radix(digits: &str) -> (u32, &str) {
    let prefixed = |prefixes: [&str; 2]| prefixes.iter().find_map(|prefix| digits.strip_prefix(prefix));
    if let Some(rest) = prefixed(["0x", "0X"]) {
        (16, rest)
    } else if let Some(rest) = prefixed(["0b", "0B"]) {
        (2, rest)
    } else if let Some(rest) = prefixed(["0o", "0O"]) {
        (8, rest)
    } else {
        match digits.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (8, rest),
            _ => (10, digits),
        }
    }
}

/// A number with an optional sign, point and exponent.
fn decimal(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let parts = [whole, fraction, exponent];
    let is_number = parts.into_iter().all(is_digits) && whole.len() + fraction.len() > 0;
    (is_number && !exponent.is_empty()).then(|| float(text)).flatten()
}

/// A number of 64 bits of floating point; what is beyond them stays a text. Whole ones come out of JSON whole.
fn float(text: &str) -> Option<Number> {
    let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
    number.to_string().parse::<i64>().map_or_else(|_| Number::from_f64(number), |whole| Some(whole.into()))
}

/// go-yaml takes a sign behind `0b`.
fn signed_binary(text: &str) -> Option<Number> {
    i64::from_str_radix(text.strip_prefix("0b")?, 2).ok().map(Number::from)
}

fn typed(text: &str, wanted: &str) -> Result<Value, String> {
    let value = plain(text)?;
    let fits = match (&value, wanted) {
        (Value::Bool(_), "bool") | (Value::Null, "null") | (Value::Number(_), "float") => true,
        (Value::Number(_), "int") => integer(&text.replace('_', "")).is_some(),
        _ => false,
    };
    if fits { Ok(value) } else { Err(format!("{} can't be read as !!{wanted}", crate::text::quoted(text))) }
}

fn binary(text: &str) -> Result<Value, String> {
    let digits: String = text.chars().filter(|character| !character.is_ascii_whitespace()).collect();
    let bytes = STANDARD.decode(digits).map_err(|_| "!!binary holds no valid base64".to_owned())?;
    Ok(String::from_utf8_lossy(&bytes).into())
}
