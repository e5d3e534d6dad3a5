//! The JSON names of the resource's fields, by their Rust names.

use super::backup::{Backup, Compression, LeaderElection, SnapshotCompaction, Store};
use super::config::{AdvertisedUrls, Bootstrap, ClientService, EtcdConfig, SecretRef, Tls};
use super::object::{Etcd, Metadata, SharedConfig, Spec};
use super::source_member::SourceMember;
use super::status::{Condition, MemberStatus, Snapshot, Status};

/// The field names of every struct of the resource.
const TABLES: &[&[(&str, &str)]] = &[
    Etcd::FIELDS,
    Metadata::FIELDS,
    Spec::FIELDS,
    EtcdConfig::FIELDS,
    Bootstrap::FIELDS,
    SourceMember::FIELDS,
    AdvertisedUrls::FIELDS,
    Tls::FIELDS,
    SecretRef::FIELDS,
    ClientService::FIELDS,
    SharedConfig::FIELDS,
    Backup::FIELDS,
    Store::FIELDS,
    SnapshotCompaction::FIELDS,
    Compression::FIELDS,
    LeaderElection::FIELDS,
    Status::FIELDS,
    Condition::FIELDS,
    MemberStatus::FIELDS,
    Snapshot::FIELDS,
];

/// The JSON name of a field that a [`validator::ValidationErrors`] calls by its Rust name.
pub fn json_name(field: &str) -> &str {
    TABLES
        .iter()
        .flat_map(|table| table.iter())
        .find(|(rust, _)| *rust == field)
        .map_or(field, |(_, json)| json)
}

#[cfg(test)]
mod tests {
    use super::TABLES;
    use std::collections::HashMap;

    #[test]
    fn one_rust_name_is_one_json_name() {
        let mut names = HashMap::new();
        for (rust, json) in TABLES.iter().flat_map(|table| table.iter()) {
            assert_eq!(names.entry(rust).or_insert(json), &json, "{rust} is two JSON names");
        }
    }
}
