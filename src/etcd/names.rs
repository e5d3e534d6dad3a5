//! Names: which are well-formed, and which are derived from an Etcd's own.

use std::fmt;

/// Longest RFC 1123 label, and longest label value.
pub const LABEL_MAX: usize = 63;
/// Longest RFC 1123 subdomain.
const SUBDOMAIN_MAX: usize = 253;

/// RFC 1123 label: 1 to 63 of `a-z 0-9 -`, alphanumeric at both ends.
pub fn is_rfc1123_label(name: &str) -> bool {
    name.len() <= LABEL_MAX && is_label_text(name)
}

fn is_label_text(name: &str) -> bool {
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = name.as_bytes();
    alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// DNS-1035 label: an RFC 1123 label that begins with a letter.
pub fn is_dns1035_label(name: &str) -> bool {
    is_rfc1123_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())
}

/// RFC 1123 subdomain: labels joined with dots, 253 characters at most; a label may be longer than 63, as in
/// Kubernetes' own check.
pub fn is_rfc1123_subdomain(name: &str) -> bool {
    name.len() <= SUBDOMAIN_MAX && name.split('.').all(is_label_text)
}

/// Key of a label or an annotation: a name of at most 63 of `A-Z a-z 0-9 - _ .`, alphanumeric at both ends,
/// after an optional subdomain and `/`.
pub fn is_qualified_name(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_rfc1123_subdomain(prefix) && is_qualified_part(name),
        None => is_qualified_part(key),
    }
}

/// Value of a label: empty, or like the name of a key.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_qualified_part(value)
}

fn is_qualified_part(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    text.len() <= LABEL_MAX
        && alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

/// The names of an Etcd's members: `<name>-<ordinal>`, or `<prefix>-<name>-<ordinal>`.
#[derive(Clone, Copy, Debug)]
pub struct MemberNames<'a> {
    /// `spec.memberNamePrefix`.
    pub prefix: Option<&'a str>,
    /// `metadata.name`.
    pub name: &'a str,
}

impl MemberNames<'_> {
    /// The ordinal of a member name, if it is one of this Etcd's: decimal, without leading zeros.
    pub fn ordinal(&self, member: &str) -> Option<u64> {
        let rest = match self.prefix {
            Some(prefix) => member.strip_prefix(prefix)?.strip_prefix('-')?,
            None => member,
        };
        ordinal(rest.strip_prefix(self.name)?.strip_prefix('-')?)
    }
}

impl fmt::Display for MemberNames<'_> {
    /// The stem, before the dash and the ordinal.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix {
            Some(prefix) => write!(formatter, "{prefix}-{}", self.name),
            None => formatter.write_str(self.name),
        }
    }
}

/// A decimal number without leading zeros; one that 64 bits don't hold counts as the largest that they do.
pub(crate) fn ordinal(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let bare = digits && (text == "0" || !text.starts_with('0'));
    bare.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        let longest = "a".repeat(63);
        for good in ["a", "0", "a-b", "0a", "a--b", &longest] {
            assert!(is_rfc1123_label(good), "{good}");
        }
        let long = "a".repeat(64);
        for bad in ["", "-", "-a", "a-", "A", "a.b", "a_b", "ä", "a b", &long] {
            assert!(!is_rfc1123_label(bad), "{bad}");
        }
        assert!(is_dns1035_label("a0") && !is_dns1035_label("0a"));
    }

    #[test]
    fn keys_and_values() {
        for good in ["app", "app.kubernetes.io/name", "A_b.c-1", "x/y"] {
            assert!(is_qualified_name(good), "{good}");
        }
        let long = "a".repeat(64);
        for bad in ["", "/", "a/", "/a", "a/b/c", "-a", "a b", "UPPER/a", &long] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
        assert!(
            is_label_value("") && is_label_value("A.b") && !is_label_value("a b") && !is_label_value(&long)
        );
    }

    #[test]
    fn a_member_name_is_the_stem_and_a_bare_ordinal() {
        let plain = MemberNames { prefix: None, name: "c2" };
        for (member, ordinal) in [
            ("c2-0", Some(0)),
            ("c2-12", Some(12)),
            ("c2-02", None),
            ("c2-main-0", None),
            ("c2", None),
            ("c2-", None),
        ] {
            assert_eq!(plain.ordinal(member), ordinal, "{member}");
        }
        let prefixed = MemberNames { prefix: Some("p"), name: "c2" };
        assert_eq!((prefixed.ordinal("p-c2-1"), prefixed.ordinal("c2-1")), (Some(1), None));
        assert_eq!(prefixed.to_string(), "p-c2");
        assert_eq!(plain.ordinal("c2-99999999999999999999"), Some(u64::MAX));
    }
}
