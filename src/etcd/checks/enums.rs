//! Fields that hold one of a few words.

use super::{Checked, refuse};
use crate::etcd::scalar::Text;
use crate::etcd::slot::Slot;

fn one_of(text: &Slot<Text<'_>>, words: &[&str]) -> Checked {
    match text.text() {
        Some(text) if !words.contains(&text) => Err(unsupported("enums", words)),
        _ => Ok(()),
    }
}

/// The error for a word that isn't one of these.
pub(super) fn unsupported(rule: &'static str, words: &[&str]) -> validator::ValidationError {
    let listed: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    refuse(rule, "FieldValueNotSupported", format!("supported values: {}", listed.join(", ")))
}

pub(in crate::etcd) fn metrics(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, &["basic", "extensive"])
}

pub(in crate::etcd) fn auto_compaction_mode(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, &["periodic", "revision"])
}

pub(in crate::etcd) fn garbage_collection_policy(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, &["Exponential", "LimitBased"])
}

pub(in crate::etcd) fn compression_policy(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, &["gzip", "lzw", "zlib"])
}

pub(in crate::etcd) fn freelist_type(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, &["array", "map"])
}

pub(in crate::etcd) fn traffic_distribution(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, &["PreferSameZone", "PreferSameNode", "PreferClose"])
}
