//! Mutation: every URL as it is stored already, or else as it should be written.

use super::patch::{Operation, pointer};
use crate::etcd::{Bootstrap, Etcd, EtcdConfig, Slot, Text};
use crate::rules::{Address, CANONICAL_URL, Place, Warning, canonical, quoted};
use jsonptr::Token;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

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

/// Longest list that is looked at: a hundred times what validation allows, which refuses it next.
const LIST_MAX: usize = 1000;

/// A list of URLs in the manifest.
#[derive(Clone, Copy)]
struct List<'t> {
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
        let stored_members =
            stored.and_then(|stored| stored.members.get()).into_iter().flatten().filter_map(Slot::get);
        let by_name = first_by_name(stored_members.map(|member| (member.name.text(), &member.peer_urls)));
        for (index, member) in bootstrap.members.get_mut().into_iter().flatten().enumerate() {
            let Some(member) = member.get_mut() else { continue };
            let stored = member.name.text().and_then(|name| by_name.get(name)).copied();
            let tokens = [BLOCK.into(), "members".into(), index.into(), "peerUrls".into()];
            let place = List { tokens: &tokens, is_set: true, port_optional: false };
            self.list(place, &mut member.peer_urls, stored);
        }
        let tokens = [BLOCK.into(), "clientEndpoints".into()];
        let place = List { tokens: &tokens, is_set: true, port_optional: true };
        let stored = stored.and_then(|stored| stored.client_endpoints.get());
        self.list(place, &mut bootstrap.client_endpoints, stored);
    }

    fn advertised(&mut self, new: &mut EtcdConfig<'_>, stored: Option<&EtcdConfig<'_>>) {
        let stored_entries = stored.and_then(|stored| stored.additional_advertise_peer_urls.get());
        let stored_entries = stored_entries.into_iter().flatten().filter_map(Slot::get);
        let by_name = first_by_name(stored_entries.map(|entry| (entry.member_name.text(), &entry.urls)));
        for (index, entry) in new.additional_advertise_peer_urls.get_mut().into_iter().flatten().enumerate() {
            let Some(entry) = entry.get_mut() else { continue };
            let stored = entry.member_name.text().and_then(|name| by_name.get(name)).copied();
            let tokens = ["additionalAdvertisePeerURLs".into(), index.into(), "urls".into()];
            let place = List { tokens: &tokens, is_set: false, port_optional: false };
            self.list(place, &mut entry.urls, stored);
        }
    }

    fn list(&mut self, list: List<'_>, urls: &mut Slot<Texts<'_>>, stored: Option<&Texts<'_>>) {
        let Some(urls) = urls.get_mut().filter(|urls| urls.len() <= LIST_MAX) else { return };
        let stored = Stored::new(stored, list.port_optional);
        let by_address = stored.by_address();
        let mut kept: HashSet<String> = HashSet::new();
        let mut dropped = Vec::new();
        for (index, url) in urls.iter_mut().enumerate() {
            let Some(text) = url.text() else { continue };
            let written = settled(text, &stored, &by_address);
            if let Some(written) = &written {
                self.warn(text, written);
            }
            let is_new = kept.insert(written.clone().unwrap_or_else(|| text.to_owned()));
            if self.is_update && list.is_set && !is_new {
                dropped.push(index);
            } else if let Some(written) = written {
                self.patch.push(Operation::Replace { path: list.path(index), value: written.clone().into() });
                *url = Slot::Set(Text(Cow::Owned(written)));
            }
        }
        // From behind, so that the indices before stay what they are.
        for index in dropped.into_iter().rev() {
            urls.remove(index);
            self.patch.push(Operation::Remove { path: list.path(index) });
        }
    }

    fn warn(&mut self, from: &str, written: &str) {
        let sentence = format!("{} is stored as {}", quoted(from), quoted(written));
        self.warnings.push(Warning::new(CANONICAL_URL, sentence));
    }
}

impl List<'_> {
    fn path(&self, index: usize) -> jsonptr::PointerBuf {
        let block = ["spec".into(), "etcd".into()];
        let tokens = block.into_iter().chain(self.tokens.iter().cloned()).chain([Token::from(index)]);
        pointer(tokens)
    }
}

/// The stored lists by the name of whose they are; of several under one name, the first.
fn first_by_name<'s, 'a>(
    named: impl Iterator<Item = (Option<&'s str>, &'s Slot<Texts<'a>>)>,
) -> HashMap<&'s str, &'s Texts<'a>>
where
    'a: 's,
{
    let mut lists = HashMap::new();
    for (name, list) in named {
        if let (Some(name), Some(list)) = (name, list.get()) {
            lists.entry(name).or_insert(list);
        }
    }
    lists
}

/// What is stored in a list, as it is looked for.
struct Stored<'s> {
    texts: HashSet<&'s str>,
    addresses: Vec<(Address, &'s str)>,
}

impl<'s> Stored<'s> {
    /// Where a port must be, a URL without one is no address to go by.
    fn new(urls: Option<&'s Texts<'_>>, port_optional: bool) -> Self {
        let texts: Vec<&str> = urls.into_iter().flatten().filter_map(Slot::text).collect();
        let read = texts.iter().filter_map(|text| Some((Address::read(text).ok()?, *text)));
        let addresses = read.filter(|(address, _)| port_optional || address.port.is_some()).collect();
        Self { addresses, texts: texts.into_iter().collect() }
    }

    /// The stored texts by scheme and address; of several spellings of one, the first.
    fn by_address(&self) -> HashMap<Key<'_>, &'s str> {
        let mut texts = HashMap::with_capacity(self.addresses.len());
        for (address, text) in &self.addresses {
            texts.entry(key(address)).or_insert(*text);
        }
        texts
    }
}

type Key<'a> = (bool, Place<'a>, Option<u16>);

fn key(address: &Address) -> Key<'_> {
    let (place, port) = address.place();
    (address.https, place, port)
}

/// How a URL is written; nothing where it is written so already.
fn settled(text: &str, stored: &Stored<'_>, by_address: &HashMap<Key<'_>, &str>) -> Option<String> {
    if stored.texts.contains(text) {
        return None;
    }
    let canonical = canonical(text);
    let address = Address::read(canonical.as_deref().unwrap_or(text)).ok();
    let as_stored = address.and_then(|address| by_address.get(&key(&address)).map(|text| (*text).to_owned()));
    as_stored.or(canonical).filter(|written| written != text)
}
