//! Warnings about an Etcd's life: its size, version and backups, and its end.

use super::super::change::Change;
use super::super::end::{combined, leaves_first, left_behind, quorum_lost_by_deletion};
use super::super::image::{Minor, image};
use super::super::report::Given;
use super::super::settings::Settings;
use super::super::view::{View, items};
use super::{NAME, REPLICAS, STORE, store};
use crate::text::quoted;

pub(super) fn even_replicas(view: &View<'_>, given: &mut Given) {
    let Some(replicas) = view.replicas().filter(|replicas| *replicas > 0 && replicas % 2 == 0) else {
        return;
    };
    if view.bootstrap().is_none() {
        given.at(REPLICAS, format_args!(
            "spec.replicas {replicas}: {replicas} members tolerate no more failures than {} do; write {} or {}",
            replicas - 1,
            replicas - 1,
            replicas + 1
        ));
    }
}

pub(super) fn image_version_unknown(change: &Change<'_>, given: &mut Given) {
    let (old, new) = (image(change.old), image(change.new));
    let unread = change.new.config().is_none_or(|config| config.image.is_wrong());
    if old == new || unread {
        return;
    }
    let unknown = [old, new].into_iter().find(|image| image.and_then(Minor::of_image).is_none());
    if let Some(unknown) = unknown {
        let shown = unknown.map_or_else(|| "the default image".to_owned(), quoted);
        given.at(
            "spec.etcd.image",
            format_args!(
                "no etcd version in the tag of {shown}: make sure that the minor rises by one at most"
            ),
        );
    }
}

pub(super) fn leaving(view: &View<'_>, settings: &Settings, given: &mut Given) {
    if let Some(combined) =
        combined(view).filter(|combined| combined.targets > 0 && leaves_first(view, settings))
    {
        given.at(
            NAME,
            format_args!(
                "its {} members leave the combined cluster one by one before the Etcd goes",
                combined.targets
            ),
        );
    }
}

pub(super) fn dead_members_remain(view: &View<'_>, settings: &Settings, given: &mut Given) {
    let is_refused = quorum_lost_by_deletion(view, settings).is_some();
    if view.is_terminating() || left_behind(view, settings).is_none() || is_refused {
        return;
    }
    let members = view.status().map(|status| &status.members);
    let names: Vec<&str> =
        members.map(|list| items(list).filter_map(|(_, m)| m.name.text()).collect()).unwrap_or_default();
    let who = if names.is_empty() { "its voters".to_owned() } else { names.join(", ") };
    given.at(NAME, format_args!(
        "dead members remain in the combined cluster's list, remove them with etcdctl member remove: {who}"
    ));
}

pub(super) fn deleted_mid_join(view: &View<'_>, _: &Settings, given: &mut Given) {
    let unseen = view.status().is_none_or(|status| status.member_count() == 0);
    if view.is_joining() && unseen && !view.is_terminating() {
        given.at(NAME, "deleted before the join is complete: look for a learner of it at the source");
    }
}

pub(super) fn store_moved(change: &Change<'_>, given: &mut Given) {
    let (Some(old), Some(new)) = (store(change.old), store(change.new)) else { return };
    let moved: Vec<&str> = [
        ("provider", &old.provider, &new.provider),
        ("container", &old.container, &new.container),
        ("prefix", &old.prefix, &new.prefix),
    ]
    .into_iter()
    .filter(|(_, old, new)| old.text() != new.text() && !new.is_wrong())
    .map(|(name, ..)| name)
    .collect();
    if !moved.is_empty() {
        given.at(
            STORE,
            format_args!(
                "spec.backup.store moves ({} changed): an empty backup history begins",
                moved.join(", ")
            ),
        );
    }
}
