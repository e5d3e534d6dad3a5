//! Fields that a StatefulSet or the members' identities are made from, once.

use super::change::Change;
use super::report::Report;
use crate::etcd::{Slot, Spec, Text};
use crate::text::quoted;

/// `spec.memberNamePrefix`.
pub(super) fn member_name_prefix_immutable(change: &Change<'_>, report: &mut Report) {
    immutable(change, report, "spec.memberNamePrefix", |spec| &spec.member_name_prefix);
}

/// `spec.storageClass`.
pub(super) fn storage_class_immutable(change: &Change<'_>, report: &mut Report) {
    immutable(change, report, "spec.storageClass", |spec| &spec.storage_class);
}

/// `spec.volumeClaimTemplate`.
pub(super) fn volume_claim_template_immutable(change: &Change<'_>, report: &mut Report) {
    immutable(change, report, "spec.volumeClaimTemplate", |spec| &spec.volume_claim_template);
}

fn immutable(
    change: &Change<'_>,
    report: &mut Report,
    field: &str,
    of: impl for<'s, 'a> Fn(&'s Spec<'a>) -> &'s Slot<Text<'a>>,
) {
    let gone = Spec::default();
    let new = change.new.spec().or_else(|| change.waives_object_rules().then_some(&gone));
    let (Some(old), Some(new)) = (change.old.spec(), new) else { return };
    let (old, new) = (of(old), of(new));
    let unread = new.is_wrong() && !change.waives_object_rules();
    if unread || old == new {
        return;
    }
    let shown = |slot: &Slot<Text<'_>>| match slot {
        Slot::Set(text) => quoted(text),
        Slot::Absent => "absent".to_owned(),
        Slot::Wrong(wrong) => wrong.found.to_owned(),
    };
    let remedy = match old.text() {
        Some(old) => format!("Write {} again", quoted(old)),
        None => "Remove the field again".to_owned(),
    };
    report.forbidden(
        field,
        format!(
            "is immutable: it was {} when the Etcd was created and can't become {}. {remedy}",
            shown(old),
            shown(new)
        ),
    );
}
