//! Names of source members.

use super::report::{Report, fingerprint};
use super::settings::Settings;
use super::view::{BOOTSTRAP, View};
use crate::etcd::is_rfc1123_label;
use std::collections::HashMap;

fn field(member: usize) -> String {
    format!("{BOOTSTRAP}.members[{member}].name")
}

/// The names that are there, with the indices of their members.
fn names<'v>(view: &'v View<'_>) -> impl Iterator<Item = (usize, &'v str)> {
    view.members.iter().filter_map(|(index, member)| Some((*index, member.name.text()?)))
}

/// RFC 1123 label.
pub(super) fn bootstrap_member_name(view: &View<'_>, _: &Settings, report: &mut Report) {
    for (index, member) in &view.members {
        match member.name.text() {
            None if member.name.is_wrong() => {}
            None => {
                let detail = "write the name that etcd knows the member by (etcdctl member list)";
                report.required(field(*index), detail).with(fingerprint(member));
            }
            Some(name) if !is_rfc1123_label(name) => {
                report.invalid(
                    field(*index),
                    name,
                    "a member's name here is an RFC 1123 label: 1 to 63 characters of a-z, 0-9 and -, beginning and ending with \
                     a letter or a digit. Rename the member at the source (restart it with another --name)",
                );
            }
            Some(_) => {}
        }
    }
}

/// Not `default`.
pub(super) fn bootstrap_member_name_default(view: &View<'_>, _: &Settings, report: &mut Report) {
    for (index, name) in names(view).filter(|(_, name)| *name == "default") {
        report.invalid(
            field(index),
            name,
            "is what etcd calls a member that was started without a name; several members can bear it, and their \
             entries collapse into one. Restart the source member with a --name of its own",
        );
    }
}

/// No name twice.
pub(super) fn bootstrap_member_name_unique(view: &View<'_>, _: &Settings, report: &mut Report) {
    let mut seen = HashMap::new();
    for (index, name) in names(view).filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = seen.get(name) {
            let detail =
                format!("members[{first}] bears this name already; each member has a name of its own");
            report.duplicate(field(index), name, detail);
        } else {
            seen.insert(name, index);
        }
    }
}

/// No name that a member of the target may get.
pub(super) fn bootstrap_member_name_collision(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(own) = view.member_names() else { return };
    for (index, name) in names(view).filter(|(_, name)| own.ordinal(name).is_some()) {
        let detail = format!(
            "is a name that this Etcd gives to its own members ({own}-0, {own}-1, …); rename the Etcd, or set \
             spec.memberNamePrefix"
        );
        report.invalid(field(index), name, detail).with(own).about("spec.memberNamePrefix");
    }
}
