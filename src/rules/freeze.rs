//! What can't be changed: the existing cluster that an Etcd joins, and until the join is complete everything
//! that would move it away from under the members that are joining.

use super::change::{Change, first_missing};
use super::report::Report;
use super::size::replicas_changed;
use super::view::{ADVERTISED, BOOTSTRAP, CLIENT_TLS, PEER_TLS, UrlAt, View, is_on};
use crate::etcd::{Bootstrap, Int32, Slot, Tls};
use crate::text::quoted;
use std::collections::HashMap;

/// An existing cluster can be named at creation only.
pub(super) fn bootstrap_create_only(change: &Change<'_>, report: &mut Report) {
    if change.old.bootstrap().is_none() && change.new.bootstrap().is_some() {
        report.forbidden(
            BOOTSTRAP,
            "an existing cluster can be named only when the Etcd is created: this one has formed a cluster of its \
             own, or has left the one that it joined. Remove the field, or create another Etcd with it",
        );
    }
}

/// The existing cluster can't be forgotten in the middle of the join.
pub(super) fn bootstrap_no_removal(change: &Change<'_>, report: &mut Report) {
    let Some(config) = change.new.config() else {
        if change.waives_object_rules() && change.old.is_joining() {
            forbid_removal(report);
        }
        return;
    };
    let removed = match &config.bootstrap_with_existing_cluster {
        Slot::Absent => true,
        Slot::Wrong(_) => change.waives_object_rules(),
        // One that was empty before every rule isn't emptied now.
        Slot::Set(bootstrap) => is_emptied(bootstrap) && !change.old.bootstrap().is_some_and(is_emptied),
    };
    if change.old.is_joining() && removed {
        forbid_removal(report);
    }
}

fn forbid_removal(report: &mut Report) {
    report.forbidden(
        BOOTSTRAP,
        "can't be removed or emptied before the join is complete (condition BootstrappedWithExistingCluster is True): \
         members may already be learners of the existing cluster. Put the field back, or delete the Etcd",
    );
}

/// Source members and client endpoints can't be changed in the middle of the join.
pub(super) fn bootstrap_frozen(change: &Change<'_>, report: &mut Report) {
    let (true, Some(old), Some(new)) =
        (change.old.is_joining(), change.old.bootstrap(), change.new.bootstrap())
    else {
        return;
    };
    if is_emptied(new) {
        return;
    }
    if speaks_for(change, &new.members)
        && let Some(what) = members_edited(change, old, new)
    {
        forbid_edit(change, "members", &what, report);
    }
    if speaks_for(change, &new.client_endpoints)
        && let Some(what) = endpoints_edited(change)
    {
        forbid_edit(change, "clientEndpoints", &what, report);
    }
}

/// How the members differ from the stored ones, if they do.
fn members_edited<'v>(change: &'v Change<'v>, old: &Bootstrap<'_>, new: &Bootstrap<'_>) -> Option<String> {
    let (old_names, new_names) = (member_names(old), member_names(new));
    if old_names.len() != new_names.len() {
        return Some(format!("{} members would become {}", old_names.len(), new_names.len()));
    }
    let shown = |name: Option<&str>| name.map_or_else(|| "a member without a name".to_owned(), quoted);
    if let Some((old, new)) = old_names.iter().zip(&new_names).find(|(old, new)| old != new) {
        return Some(format!("{} would stand where {} stands", shown(*new), shown(*old)));
    }
    let (old_urls, new_urls) = (change.old.urls_by_member(), change.new.urls_by_member());
    let of = |urls: &HashMap<usize, Vec<&'v UrlAt<'v>>>, member: usize| {
        urls.get(&member).cloned().unwrap_or_default()
    };
    new_names.iter().enumerate().find_map(|(member, name)| {
        let what = urls_edited(&of(&old_urls, member), &of(&new_urls, member))?;
        Some(format!("peer URLs of {}: {what}", shown(*name)))
    })
}

fn member_names<'b>(bootstrap: &'b Bootstrap<'_>) -> Vec<Option<&'b str>> {
    bootstrap.members.get().into_iter().flatten().map(|member| member.get()?.name.text()).collect()
}

/// How a set of URLs differs from the stored one, if it does.
fn urls_edited(old: &[&UrlAt<'_>], new: &[&UrlAt<'_>]) -> Option<String> {
    let (added, removed) = (first_missing(new, old), first_missing(old, new));
    match (added, removed) {
        (None, None) => None,
        (Some(added), None) => Some(format!("{} would be added", quoted(added.text))),
        (None, Some(removed)) => Some(format!("{} would be removed", quoted(removed.text))),
        (Some(added), Some(removed)) => {
            Some(format!("{} would replace {}", quoted(added.text), quoted(removed.text)))
        }
    }
}

/// Whether an edit of this list is this rule's, and not a missing list's or a wrong type's.
fn speaks_for<T>(change: &Change<'_>, list: &Slot<Vec<Slot<T>>>) -> bool {
    change.waives_object_rules() || !(list.is_wrong() || is_empty(list))
}

fn forbid_edit(change: &Change<'_>, list: &str, what: &str, report: &mut Report) {
    let field = format!("{BOOTSTRAP}.{list}");
    let remedy = if change.was_wrong(&field) {
        "What stands there now breaks a rule itself, and only deleting the Etcd and creating it anew can mend it"
    } else {
        "Restore the stored value, and edit it after the join, or delete the Etcd and create it anew"
    };
    report.forbidden(
        field,
        format!(
            "can't be changed before the join is complete (condition BootstrappedWithExistingCluster is True): \
             {what}. {remedy}"
        ),
    );
}

fn is_emptied(bootstrap: &Bootstrap<'_>) -> bool {
    is_empty(&bootstrap.members) && is_empty(&bootstrap.client_endpoints)
}

fn is_empty<T>(list: &Slot<Vec<Slot<T>>>) -> bool {
    match list {
        Slot::Absent => true,
        Slot::Wrong(_) => false,
        Slot::Set(items) => items.is_empty(),
    }
}

/// How the client endpoints differ from the stored ones, if they do.
fn endpoints_edited(change: &Change<'_>) -> Option<String> {
    let old: Vec<_> = change.old.client_endpoints.iter().collect();
    let new: Vec<_> = change.new.client_endpoints.iter().collect();
    urls_edited(&old, &new)
}

/// Whether members or client endpoints differ from the stored ones.
pub(super) fn is_edited(change: &Change<'_>) -> bool {
    let (Some(old), Some(new)) = (change.old.bootstrap(), change.new.bootstrap()) else { return false };
    members_edited(change, old, new).is_some() || endpoints_edited(change).is_some()
}

/// The number of members can't be changed in the middle of the join, except from 0 to the first size.
pub(super) fn bootstrap_replicas_frozen(change: &Change<'_>, report: &mut Report) {
    let Some((old, new)) = replicas_changed(change) else { return };
    if !change.old.is_joining() || old == 0 {
        return;
    }
    let shown = new.map_or_else(|| "no number".to_owned(), |new| new.to_string());
    report.forbidden(
        "spec.replicas",
        format!(
            "can't change from {old} to {shown} before the join is complete (condition BootstrappedWithExistingCluster \
             is True): each member that joins moves the quorum of the existing cluster. Write {old}, and scale after \
             the join"
        ),
    );
}

/// Ports, TLS and advertised peer URLs can't be changed in the middle of the join.
pub(super) fn bootstrap_settings_frozen(change: &Change<'_>, report: &mut Report) {
    let (true, Some(old), Some(new)) = (change.old.is_joining(), change.old.config(), change.new.config())
    else {
        return;
    };
    let waived = change.waives_object_rules();
    frozen_port(report, "spec.etcd.serverPort", 2380, (&old.server_port, &new.server_port), waived);
    frozen_port(report, "spec.etcd.clientPort", 2379, (&old.client_port, &new.client_port), waived);
    frozen_presence(report, PEER_TLS, (&old.peer_url_tls, &new.peer_url_tls), waived);
    frozen_presence(report, CLIENT_TLS, (&old.client_url_tls, &new.client_url_tls), waived);
    let lists = (&old.additional_advertise_peer_urls, &new.additional_advertise_peer_urls);
    let edited = match lists {
        (_, Slot::Wrong(_)) => (waived && lists.0 != lists.1).then(|| "they would be no list".to_owned()),
        _ => advertised_edited(change.old, change.new),
    };
    if let Some(what) = edited {
        forbid_setting(report, ADVERTISED, &format!("can't change ({what})"));
    }
}

/// `waived`: a value that can't be read counts as changed, since no other rule speaks of it.
fn frozen_port(
    report: &mut Report,
    field: &str,
    default: i64,
    (old, new): (&Slot<Int32>, &Slot<Int32>),
    waived: bool,
) {
    let effective = |port: &Slot<Int32>| if port.is_wrong() { None } else { port.number().or(Some(default)) };
    match (effective(old), effective(new)) {
        (Some(old), Some(new)) if old != new => {
            forbid_setting(report, field, &format!("can't change from {old} to {new}"));
        }
        (Some(old), None) if waived => {
            forbid_setting(report, field, &format!("can't change from {old} to what is no port"));
        }
        _ => {}
    }
}

fn frozen_presence(
    report: &mut Report,
    field: &str,
    (old, new): (&Slot<Tls<'_>>, &Slot<Tls<'_>>),
    waived: bool,
) {
    match (is_on(old), is_on(new)) {
        (Some(false), Some(true)) => forbid_setting(report, field, "TLS can't be switched on"),
        (Some(true), Some(false)) => forbid_setting(report, field, "TLS can't be switched off"),
        (Some(_), None) if waived => forbid_setting(report, field, "TLS can't become something else"),
        _ => {}
    }
}

fn forbid_setting(report: &mut Report, field: &str, what: &str) {
    report.forbidden(
        field,
        format!(
            "{what} before the join is complete (condition BootstrappedWithExistingCluster is True): it would move \
             an address under a member that is already registered. Restore the stored value, and change it after the \
             join"
        ),
    );
}

/// How the advertised URLs differ from the stored ones, if they do; the order makes no difference.
fn advertised_edited(old: &View<'_>, new: &View<'_>) -> Option<String> {
    let (old, new) = (old.urls_by_name(), new.urls_by_name());
    let mut names: Vec<&str> = old.keys().chain(new.keys()).copied().collect();
    names.sort_unstable();
    names.into_iter().find_map(|name| match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) => {
            urls_edited(old, new).map(|what| format!("URLs of {}: {what}", quoted(name)))
        }
        (None, _) => Some(format!("URLs of {} would be added", quoted(name))),
        (_, None) => Some(format!("URLs of {} would be removed", quoted(name))),
    })
}
