//! What can't be changed: the existing cluster that an Etcd joins, and until the join is complete everything
//! that would move it away from under the members that are joining.

use super::change::{Change, same_url, same_urls};
use super::report::Report;
use super::text::quoted;
use super::view::{ADVERTISED, BOOTSTRAP, CLIENT_TLS, PEER_TLS, UrlAt, UrlPlace, View, is_on, items};
use crate::etcd::{Bootstrap, EtcdConfig, Int32, Slot};
use std::borrow::Borrow;

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
        Slot::Wrong(_) => false,
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
        && let Some(what) = urls_edited(&change.old.client_endpoints, &change.new.client_endpoints)
    {
        forbid_edit(change, "clientEndpoints", &what, report);
    }
}

/// How the members differ from the stored ones, if they do.
fn members_edited(change: &Change<'_>, old: &Bootstrap<'_>, new: &Bootstrap<'_>) -> Option<String> {
    let (old_names, new_names) = (member_names(old), member_names(new));
    if old_names.len() != new_names.len() {
        return Some(format!("{} members would become {}", old_names.len(), new_names.len()));
    }
    let shown = |name: Option<&str>| name.map_or_else(|| "a member without a name".to_owned(), quoted);
    if let Some((old, new)) = old_names.iter().zip(&new_names).find(|(old, new)| old != new) {
        return Some(format!("{} would stand where {} stands", shown(*new), shown(*old)));
    }
    (0..new_names.len()).find_map(|member| {
        let (old, new): (Vec<_>, Vec<_>) =
            (change.old.urls_of(member).collect(), change.new.urls_of(member).collect());
        urls_edited(&old, &new)
            .map(|what| format!("of {}, {what}", shown(new_names.get(member).copied().flatten())))
    })
}

fn member_names<'b>(bootstrap: &'b Bootstrap<'_>) -> Vec<Option<&'b str>> {
    bootstrap.members.get().into_iter().flatten().map(|member| member.get()?.name.text()).collect()
}

/// How a set of URLs differs from the stored one, if it does.
fn urls_edited<'a, U: Borrow<UrlAt<'a>>>(old: &[U], new: &[U]) -> Option<String> {
    let added = first_missing(new, old);
    let removed = first_missing(old, new);
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
    !list.is_wrong() && (change.waives_object_rules() || !is_empty(list))
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
            "can't be changed before the join is complete (condition BootstrappedWithExistingCluster is True), and \
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

/// The first URL that isn't in another list.
fn first_missing<'u, 'a: 'u, U: Borrow<UrlAt<'a>>>(urls: &'u [U], from: &[U]) -> Option<&'u UrlAt<'a>> {
    urls.iter().map(Borrow::borrow).find(|url| from.iter().all(|other| !same_url(url, other.borrow())))
}

/// Whether members or client endpoints differ from the stored ones.
pub(super) fn is_edited(change: &Change<'_>) -> bool {
    let (Some(old), Some(new)) = (change.old.bootstrap(), change.new.bootstrap()) else { return false };
    members_edited(change, old, new).is_some()
        || urls_edited(&change.old.client_endpoints, &change.new.client_endpoints).is_some()
}

/// The number of members can't be changed in the middle of the join, except from 0 to the first size.
pub(super) fn bootstrap_replicas_frozen(change: &Change<'_>, report: &mut Report) {
    let (Some(old), Some(new)) = (change.old.replicas(), change.new.replicas()) else { return };
    if !change.old.is_joining() || old == 0 || old == new || (new < 0 && !change.waives_object_rules()) {
        return;
    }
    report.forbidden(
        "spec.replicas",
        format!(
            "can't change from {old} to {new} before the join is complete (condition BootstrappedWithExistingCluster \
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
    frozen_port(report, "spec.etcd.serverPort", 2380, &old.server_port, &new.server_port);
    frozen_port(report, "spec.etcd.clientPort", 2379, &old.client_port, &new.client_port);
    frozen_presence(report, PEER_TLS, is_on(&old.peer_url_tls), is_on(&new.peer_url_tls));
    frozen_presence(report, CLIENT_TLS, is_on(&old.client_url_tls), is_on(&new.client_url_tls));
    let readable = !new.additional_advertise_peer_urls.is_wrong();
    if readable && !same_advertised(change.old, old, change.new, new) {
        forbid_setting(report, ADVERTISED, "can't change");
    }
}

fn frozen_port(report: &mut Report, field: &str, default: i64, old: &Slot<Int32>, new: &Slot<Int32>) {
    let effective = |port: &Slot<Int32>| if port.is_wrong() { None } else { port.number().or(Some(default)) };
    if let (Some(old), Some(new)) = (effective(old), effective(new))
        && old != new
    {
        forbid_setting(report, field, &format!("can't change from {old} to {new}"));
    }
}

fn frozen_presence(report: &mut Report, field: &str, old: Option<bool>, new: Option<bool>) {
    if let (Some(old), Some(new)) = (old, new)
        && old != new
    {
        forbid_setting(
            report,
            field,
            if new { "TLS can't be switched on" } else { "TLS can't be switched off" },
        );
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

/// The same URLs for the same members, in any order.
fn same_advertised(
    old_view: &View<'_>,
    old: &EtcdConfig<'_>,
    new_view: &View<'_>,
    new: &EtcdConfig<'_>,
) -> bool {
    let covers = |one: (&View<'_>, &EtcdConfig<'_>), other: (&View<'_>, &EtcdConfig<'_>)| {
        advertising(one.1).iter().all(|name| {
            same_urls(
                advertised_by(one.0, one.1, name).into_iter(),
                advertised_by(other.0, other.1, name).into_iter(),
            )
        })
    };
    covers((old_view, old), (new_view, new)) && covers((new_view, new), (old_view, old))
}

fn advertising<'a>(config: &'a EtcdConfig<'_>) -> Vec<&'a str> {
    items(&config.additional_advertise_peer_urls).filter_map(|(_, entry)| entry.member_name.text()).collect()
}

fn advertised_by<'v, 'a>(view: &'v View<'a>, config: &EtcdConfig<'_>, name: &str) -> Vec<&'v UrlAt<'a>> {
    let entries: Vec<usize> = items(&config.additional_advertise_peer_urls)
        .filter(|(_, entry)| entry.member_name.text() == Some(name))
        .map(|(index, _)| index)
        .collect();
    let of_member =
        |url: &&UrlAt<'a>| matches!(url.place, UrlPlace::Advertised(entry, _) if entries.contains(&entry));
    view.advertised_urls.iter().filter(of_member).collect()
}
