//! Fields that hold one of a few words.

use super::{Checked, refuse};
use crate::etcd::scalar::Text;
use crate::etcd::slot::Slot;

/// The words of each field, for the CRD too.
pub mod words {
    /// How much etcd measures.
    pub const METRICS: &[&str] = &["basic", "extensive"];
    /// How old revisions are compacted.
    pub const AUTO_COMPACTION_MODE: &[&str] = &["periodic", "revision"];
    /// Which snapshots are kept.
    pub const GARBAGE_COLLECTION_POLICY: &[&str] = &["Exponential", "LimitBased"];
    /// How snapshots are compressed.
    pub const COMPRESSION_POLICY: &[&str] = &["gzip", "lzw", "zlib"];
    /// How bbolt keeps its free pages.
    pub const FREELIST_TYPE: &[&str] = &["array", "map"];
    /// Which endpoints of a Service are preferred.
    pub const TRAFFIC_DISTRIBUTION: &[&str] = &["PreferSameZone", "PreferSameNode", "PreferClose"];
}

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
    one_of(text, words::METRICS)
}

pub(in crate::etcd) fn auto_compaction_mode(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, words::AUTO_COMPACTION_MODE)
}

pub(in crate::etcd) fn garbage_collection_policy(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, words::GARBAGE_COLLECTION_POLICY)
}

pub(in crate::etcd) fn compression_policy(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, words::COMPRESSION_POLICY)
}

pub(in crate::etcd) fn freelist_type(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, words::FREELIST_TYPE)
}

pub(in crate::etcd) fn traffic_distribution(text: &Slot<Text<'_>>) -> Checked {
    one_of(text, words::TRAFFIC_DISTRIBUTION)
}
