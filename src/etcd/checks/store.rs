//! Where backups go.

use super::enums::unsupported;
use super::{Checked, invalid};
use crate::etcd::scalar::Text;
use crate::etcd::slot::Slot;
use url::Url;

/// The spellings that etcd-druid knows, one family a line.
pub(in crate::etcd) const PROVIDERS: [&str; 24] = [
    "aws",
    "S3",
    "s3",
    "stackit", //
    "azure",
    "ABS",
    "abs", //
    "gcp",
    "GCS",
    "gcs", //
    "openstack",
    "Swift",
    "swift", //
    "alicloud",
    "OSS",
    "oss", //
    "dell",
    "ECS",
    "ecs", //
    "openshift",
    "OCS",
    "ocs", //
    "Local",
    "local",
];

/// A provider that etcd-druid knows, or none.
pub(in crate::etcd) fn provider(text: &Slot<Text<'_>>) -> Checked {
    match text.text() {
        Some(text) if !PROVIDERS.contains(&text) => Err(unsupported("backup-store", &PROVIDERS)),
        _ => Ok(()),
    }
}

/// 3 to 63 of `A-Z a-z 0-9 . _ -`, alphanumeric at both ends.
pub(in crate::etcd) fn container(text: &Slot<Text<'_>>) -> Checked {
    let Some(text) = text.text() else { return Ok(()) };
    let bytes = text.as_bytes();
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let well_formed = (3..=63).contains(&bytes.len())
        && alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'));
    if well_formed {
        return Ok(());
    }
    Err(invalid(
        "backup-store",
        "a container's name is 3 to 63 characters of A-Z a-z 0-9 . _ -, beginning and ending with a letter or a digit",
    ))
}

/// An `http` or `https` URL with a host.
pub(in crate::etcd) fn endpoint_override(text: &Slot<Text<'_>>) -> Checked {
    let Some(text) = text.text() else { return Ok(()) };
    let written = ["http://", "https://"]
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let clean = !text.chars().any(|c| c.is_whitespace() || c.is_control());
    if written && clean && Url::parse(text).is_ok_and(|url| url.has_host()) {
        return Ok(());
    }
    Err(invalid(
        "backup-store",
        "must be an http or https URL with a host, such as \"https://minio.example:9000\"",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    fn slot(text: &str) -> Slot<Text<'_>> {
        Slot::Set(Text(Cow::Borrowed(text)))
    }

    #[test]
    fn containers() {
        let longest = "a".repeat(63);
        for good in ["etcd-bucket", "default.bkp", "foo", "foo_bar", "Foo", "a..b", &longest] {
            assert!(container(&slot(good)).is_ok(), "{good}");
        }
        let long = "a".repeat(64);
        for bad in ["x; id > ; #", "a b", "-rf", "../etc", "$(whoami)", "foo-", "foo.", "ab", "", &long] {
            assert!(container(&slot(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn endpoints() {
        for good in ["http://a:9000", "https://s3.example/", "HTTPS://h/path?x"] {
            assert!(endpoint_override(&slot(good)).is_ok(), "{good}");
        }
        for bad in
            ["a:9000", "/p", "ftp://x", "localhost", "", "http://", "http:a", "https://a b", "http:///p\n"]
        {
            assert!(endpoint_override(&slot(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn providers() {
        for good in ["aws", "S3", "local", "Local", "stackit", "OCS"] {
            assert!(provider(&slot(good)).is_ok(), "{good}");
        }
        for bad in ["", "AWS", "minio", "LOCAL"] {
            assert!(provider(&slot(bad)).is_err(), "{bad}");
        }
    }
}
