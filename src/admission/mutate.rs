//! Mutation: every URL as it is stored already, or else as it should be written.

use super::patch::{Operation, pointer};
use crate::etcd::{Bootstrap, Etcd, EtcdConfig, Slot, Text};
use crate::rules::{Address, CANONICAL_URL, Warning, canonical, is_same, quoted};
use jsonptr::Token;
use std::borrow::Cow;

/// What mutation does to an object.
#[derive(Debug, Default)]
pub(super) struct Mutation {
    /// Changes, in an order in which they can be applied one after the other.
    pub(super) patch: Vec<Operation>,
    /// One for each URL that is written otherwise.
    pub(super) warnings: Vec<Warning>,
    /// Whether there is something stored already.
    is_update: bool,
}

type Texts<'a> = Vec<Slot<Text<'a>>>;

/// A list of URLs in the manifest.
#[derive(Clone, Copy)]
struct Place<'t> {
    /// Below `spec.etcd`.
    tokens: &'t [Token<'t>],
    /// Whether the list is a set, of which an update drops what stands twice.
    is_set: bool,
    /// Whether a URL without a port is one.
    port_optional: bool,
}

/// Mutates an object: on UPDATE `old` is what is stored. The object is changed as the patch would.
pub(super) fn mutate(new: &mut Etcd<'_>, old: Option<&Etcd<'_>>) -> Mutation {
    let mut mutation = Mutation { is_update: old.is_some(), ..Mutation::default() };
    let old = old.and_then(|old| old.spec.get()).and_then(|spec| spec.etcd.get());
    if let Some(config) = new.spec.get_mut().and_then(|spec| spec.etcd.get_mut()) {
        mutation.bootstrap(config, old.and_then(|old| old.bootstrap_with_existing_cluster.get()));
        mutation.advertised(config, old);
    }
    mutation
}

impl Mutation {
    fn bootstrap(&mut self, new: &mut EtcdConfig<'_>, stored: Option<&Bootstrap<'_>>) {
        const BLOCK: &str = "bootstrapWithExistingCluster";
        let Some(bootstrap) = new.bootstrap_with_existing_cluster.get_mut() else { return };
        for (index, member) in bootstrap.members.get_mut().into_iter().flatten().enumerate() {
            let Some(member) = member.get_mut() else { continue };
            let mut stored =
                stored.and_then(|stored| stored.members.get()).into_iter().flatten().filter_map(Slot::get);
            let same_name = stored.find(|old| old.name.is_set() && old.name == member.name);
            let tokens = [BLOCK.into(), "members".into(), index.into(), "peerUrls".into()];
            let place = Place { tokens: &tokens, is_set: true, port_optional: false };
            self.list(place, &mut member.peer_urls, same_name.and_then(|old| old.peer_urls.get()));
        }
        let tokens = [BLOCK.into(), "clientEndpoints".into()];
        let place = Place { tokens: &tokens, is_set: true, port_optional: true };
        let stored = stored.and_then(|stored| stored.client_endpoints.get());
        self.list(place, &mut bootstrap.client_endpoints, stored);
    }

    fn advertised(&mut self, new: &mut EtcdConfig<'_>, stored: Option<&EtcdConfig<'_>>) {
        let entries = new.additional_advertise_peer_urls.get_mut().into_iter().flatten().enumerate();
        for (index, entry) in entries {
            let Some(entry) = entry.get_mut() else { continue };
            let stored = stored.and_then(|stored| stored.additional_advertise_peer_urls.get());
            let mut stored = stored.into_iter().flatten().filter_map(Slot::get);
            let same_name =
                stored.find(|old| old.member_name.is_set() && old.member_name == entry.member_name);
            let tokens = ["additionalAdvertisePeerURLs".into(), index.into(), "urls".into()];
            let place = Place { tokens: &tokens, is_set: false, port_optional: false };
            self.list(place, &mut entry.urls, same_name.and_then(|old| old.urls.get()));
        }
    }

    fn list(&mut self, place: Place<'_>, urls: &mut Slot<Texts<'_>>, stored: Option<&Texts<'_>>) {
        let Some(urls) = urls.get_mut() else { return };
        let stored: Vec<&str> = stored.into_iter().flatten().filter_map(Slot::text).collect();
        let mut kept = Vec::with_capacity(urls.len());
        let mut dropped = Vec::new();
        for (index, url) in std::mem::take(urls).into_iter().enumerate() {
            let written = url.text().and_then(|text| settled(text, &stored, place.port_optional));
            if let Some(written) = &written {
                self.warn(&url, written);
            }
            let url = written.clone().map_or(url, |written| Slot::Set(Text(Cow::Owned(written))));
            if self.is_update && place.is_set && url.is_set() && kept.contains(&url) {
                dropped.push(index);
                continue;
            }
            if let Some(written) = written {
                self.patch.push(Operation::Replace { path: place.path(index), value: written.into() });
            }
            kept.push(url);
        }
        // From behind, so that the indices before stay what they are.
        self.patch
            .extend(dropped.into_iter().rev().map(|index| Operation::Remove { path: place.path(index) }));
        *urls = kept;
    }

    fn warn(&mut self, url: &Slot<Text<'_>>, written: &str) {
        let from = quoted(url.text().unwrap_or_default());
        self.warnings
            .push(Warning::new(CANONICAL_URL, format_args!("{from} is stored as {}", quoted(written))));
    }
}

impl Place<'_> {
    fn path(&self, index: usize) -> jsonptr::PointerBuf {
        let block = ["spec".into(), "etcd".into()];
        let tokens = block.into_iter().chain(self.tokens.iter().cloned()).chain([Token::from(index)]);
        pointer(tokens)
    }
}

/// How a URL is written; nothing where it is written so already.
fn settled(text: &str, stored: &[&str], port_optional: bool) -> Option<String> {
    if stored.contains(&text) {
        return None;
    }
    let canonical = canonical(text);
    let address = Address::read(canonical.as_deref().unwrap_or(text)).ok();
    let as_stored = address.and_then(|address| {
        let passes = |old: &Address| port_optional || old.port.is_some();
        let same = |old: &&str| Address::read(old).is_ok_and(|old| passes(&old) && is_same(&old, &address));
        stored.iter().copied().find(same).map(str::to_owned)
    });
    as_stored.or(canonical).filter(|written| written != text)
}
