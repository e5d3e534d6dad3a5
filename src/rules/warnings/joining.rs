//! Warnings about joining an existing cluster.

use super::super::address::Address;
use super::super::change::Change;
use super::super::freeze::is_edited;
use super::super::report::Given;
use super::super::source_urls::by_address;
use super::super::view::{BOOTSTRAP, View};
use super::{REPLICAS, STORE, store};
use crate::etcd::Bootstrap;
use crate::text::quoted;

/// Source and own members, where the object joins or has joined with both.
fn voters(view: &View<'_>) -> Option<(usize, usize)> {
    let sources = view.bootstrap()?.members.get()?.len();
    let targets = usize::try_from(view.replicas()?).ok()?;
    (sources > 0 && targets > 0).then_some((sources, targets))
}

pub(super) fn even_voters(view: &View<'_>, given: &mut Given) {
    let Some((sources, targets)) = voters(view) else { return };
    if (sources + targets).is_multiple_of(2) {
        given.at(REPLICAS, format_args!(
            "{sources} source and {targets} own members make {} voters, which tolerate no more failures than {} do",
            sources + targets,
            sources + targets - 1
        ));
    }
}

pub(super) fn many_voters(view: &View<'_>, given: &mut Given) {
    const USEFUL: usize = 7; // etcd's own advice
    let Some((sources, targets)) = voters(view) else { return };
    if sources + targets > USEFUL {
        given.at(REPLICAS, format_args!(
            "{sources} source and {targets} own members make {} voters: more than {USEFUL} slow each write",
            sources + targets
        ));
    }
}

pub(super) fn nothing_joins_yet(view: &View<'_>, given: &mut Given) {
    if view.is_joining() && view.replicas() == Some(0) {
        given.at(REPLICAS, "spec.replicas is 0: nothing joins the existing cluster until it is raised");
    }
}

pub(super) fn backup_not_restored(view: &View<'_>, given: &mut Given) {
    if view.is_joining() && store(view).is_some() {
        given.at(STORE, "spec.backup.store: its backups are not restored into a cluster that joins another");
    }
}

pub(super) fn url_peer_and_client(view: &View<'_>, given: &mut Given) {
    let peers = by_address(&view.peer_urls);
    for endpoint in &view.client_endpoints {
        let peer = endpoint.read.as_ref().ok().and_then(|address| peers.get(&address.place()));
        if let Some(peer) = peer {
            given.at(
                endpoint.place,
                format_args!(
                    "{} is also a peer URL ({}): etcd serves one or the other there",
                    endpoint.place, peer.place
                ),
            );
        }
    }
}

pub(super) fn endpoint_without_port(view: &View<'_>, given: &mut Given) {
    let without = |address: &Address| address.port.is_none();
    for url in view.client_endpoints.iter().filter(|url| url.read.as_ref().is_ok_and(without)) {
        let port = if url.read.as_ref().is_ok_and(|address| address.https) { 443 } else { 80 };
        given.at(
            url.place,
            format_args!("{} has no port: {port} is used, etcd mostly listens on 2379", quoted(url.text)),
        );
    }
}

pub(super) fn edit_after_join(change: &Change<'_>, given: &mut Given) {
    let read =
        |bootstrap: &Bootstrap<'_>| !bootstrap.members.is_wrong() && !bootstrap.client_endpoints.is_wrong();
    if change.old.is_complete() && change.new.bootstrap().is_some_and(read) && is_edited(change) {
        given.at(BOOTSTRAP, "the join is complete: an edit of bootstrapWithExistingCluster has no effect");
    }
}

pub(super) fn leave_source(change: &Change<'_>, given: &mut Given) {
    let removed =
        change.new.config().is_some_and(|config| config.bootstrap_with_existing_cluster.is_absent());
    if change.old.is_complete() && change.old.bootstrap().is_some() && removed {
        given.at(BOOTSTRAP, "the source's members stay in the cluster: nothing removes them yet");
    }
}
