//! How deep a JSON text is nested, without parsing it.

use memchr::memchr2;

/// Whether arrays and objects are nested deeper than `max`. The text needn't be valid JSON.
pub(super) fn exceeds(json: &[u8], max: usize) -> bool {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = json.get(at) {
        at += 1;
        match byte {
            b'"' => at = end_of_string(json, at),
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Behind the closing quote of the string whose body begins at `from`.
fn end_of_string(json: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = json.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if json.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2; // the escape and what it escapes
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_in_strings_do_not_count() {
        for (json, depth) in [
            ("", 0),
            ("{}", 1),
            (r#"{"a": [[]], "b": {}}"#, 3),
            (r#"["[[[[", "\"[[[", "\\"]"#, 1),
            (r#"["\\\"[[", [1]]"#, 2),
            (r#"["open [["#, 1),
        ] {
            assert!(!exceeds(json.as_bytes(), depth), "{json} is no deeper than {depth}");
            assert!(
                depth == 0 || exceeds(json.as_bytes(), depth - 1),
                "{json} is deeper than {}",
                depth.max(1) - 1
            );
        }
    }
}
