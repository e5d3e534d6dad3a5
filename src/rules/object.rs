//! The object as a whole: types, required blocks, names, labels.

use super::report::Report;
use super::settings::Settings;
use super::view::View;
use crate::etcd::{
    LABEL_MAX, Slot, StringMap, is_dns1035_label, is_label_value, is_qualified_name, is_rfc1123_label,
};

/// Longest name: pod, Service and controller-revision names and labels are made from it.
pub(super) const NAME_MAX: usize = 52;
/// How many characters the API server appends to `generateName`.
const GENERATED: usize = 5;
/// A prefix must leave room for ordinals of one digit at least, however few replicas there are now.
const ORDINALS_MIN: i64 = 10;

/// Every value has its field's type.
pub(super) fn type_(view: &View<'_>, _: &Settings, report: &mut Report) {
    view.etcd.wrong_types(&mut |path, wrong| {
        let detail = format!("write {}; this is {}", wrong.expected, wrong.found);
        report.type_invalid(path, &wrong.shown, detail);
    });
}

/// The blocks without which there is no cluster.
pub(super) fn required(view: &View<'_>, _: &Settings, report: &mut Report) {
    match &view.etcd.spec {
        Slot::Absent => {
            report.required(
                "spec",
                "an Etcd without it describes no cluster; write labels, etcd, backup and replicas",
            );
        }
        Slot::Wrong(_) => {}
        Slot::Set(spec) => {
            if spec.etcd.is_absent() {
                report.required("spec.etcd", "write \"etcd: {}\" for a cluster with default settings");
            }
            if spec.backup.is_absent() {
                report.required("spec.backup", "write \"backup: {}\" for a cluster without backups");
            }
        }
    }
}

/// A name that everything named after it can bear.
pub(super) fn name(view: &View<'_>, report: &mut Report) {
    let (name, generate_name) = match &view.etcd.metadata {
        Slot::Wrong(_) => return,
        Slot::Absent => (&Slot::Absent, &Slot::Absent),
        Slot::Set(metadata) => (&metadata.name, &metadata.generate_name),
    };
    match (name, generate_name) {
        (Slot::Wrong(_), _) | (Slot::Absent, Slot::Wrong(_)) => {}
        (Slot::Absent, Slot::Absent) => {
            report.required("metadata.name", "write a name of at most 52 characters, such as \"main\"");
        }
        (Slot::Absent, Slot::Set(stem)) => {
            let completed = format!("{}{}", &**stem, "x".repeat(GENERATED));
            check_name("metadata.generateName", stem, &completed, report);
        }
        (Slot::Set(name), _) => check_name("metadata.name", name, name, report),
    }
}

fn check_name(field: &str, written: &str, name: &str, report: &mut Report) {
    let characters = name.chars().count();
    if characters > NAME_MAX {
        let detail = format!(
            "has {characters} characters; Services, pods and their labels are named after it, so that it can have \
             {NAME_MAX} at most"
        );
        report.invalid(field, written, detail);
    } else if !is_dns1035_label(name) {
        report.invalid(
            field,
            written,
            "Services are named after it, so that it must be a DNS-1035 label: a-z, 0-9 and -, beginning with a letter \
             and ending with a letter or a digit",
        );
    }
}

/// A prefix with which every member's name is a label.
pub(super) fn member_name_prefix(view: &View<'_>, _: &Settings, report: &mut Report) {
    const FIELD: &str = "spec.memberNamePrefix";
    let Some(prefix) = view.spec().and_then(|spec| spec.member_name_prefix.text()) else { return };
    if !is_rfc1123_label(prefix) {
        let detail = "must be an RFC 1123 label: 1 to 63 characters of a-z, 0-9 and -, beginning and ending with a letter or a digit";
        report.invalid(FIELD, prefix, detail);
        return;
    }
    let last = view.replicas().unwrap_or(0).max(ORDINALS_MIN) - 1;
    let Some(names) = view.member_names().filter(|names| names.name.len() <= NAME_MAX) else { return };
    let longest = format!("{names}-{last}");
    if longest.len() > LABEL_MAX {
        let detail = format!(
            "makes the member name \"{longest}\" of {} characters; a member's name has {LABEL_MAX} at most. Shorten the \
             prefix or the Etcd's name",
            longest.len()
        );
        report.invalid(FIELD, prefix, detail).with(longest);
    }
}

/// Labels and annotations that pods and Services can bear.
pub(super) fn labels(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(spec) = view.spec() else { return };
    if spec.labels.is_absent() {
        report
            .required("spec.labels", "write the labels of the pods, or \"labels: {}\" for none of your own");
    }
    check_labels("spec.labels", &spec.labels, report);
    check_keys("spec.annotations", &spec.annotations, false, report);
    if let Some(service) = spec.etcd.get().and_then(|etcd| etcd.client_service.get()) {
        check_labels("spec.etcd.clientService.labels", &service.labels, report);
        check_keys("spec.etcd.clientService.annotations", &service.annotations, false, report);
    }
}

fn check_labels(field: &str, map: &Slot<StringMap<'_>>, report: &mut Report) {
    check_keys(field, map, true, report);
    for (key, value) in map.get().into_iter().flat_map(|map| &map.0) {
        let Some(value) = value.text().filter(|value| !is_label_value(value)) else { continue };
        let detail = "a label's value is empty, or at most 63 characters of A-Z a-z 0-9 - _ ., beginning and ending with a letter \
                      or a digit";
        report.invalid(format_args!("{field}[{key}]"), value, detail);
    }
}

/// Kubernetes compares annotation keys in lower case, and so takes upper case in their prefix.
fn check_keys(field: &str, map: &Slot<StringMap<'_>>, case_sensitive: bool, report: &mut Report) {
    for (key, _) in map.get().into_iter().flat_map(|map| &map.0) {
        if is_qualified_name(key) || (!case_sensitive && is_qualified_name(&key.to_ascii_lowercase())) {
            continue;
        }
        let detail = "a key is at most 63 characters of A-Z a-z 0-9 - _ ., beginning and ending with a letter or a digit, after \
                      an optional DNS subdomain and \"/\"";
        report.invalid(format_args!("{field}[{key}]"), key, detail);
    }
}
