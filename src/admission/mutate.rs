//! Mutation: every URL as it is stored already, or else as it should be written.

use super::patch::{Operation, pointer};
use crate::etcd::{Bootstrap, Etcd, EtcdConfig, Slot, Text};
use crate::rules::{Address, AddressValue, CANONICAL_URL, Warning, canonical};
use crate::text::{quoted, shortened};
use jsonptr::{Pointer, Token};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

/// What mutation does to an object.
#[derive(Debug, Default)]
pub struct Mutation {
    /// Changes, in an order in which they can be applied one after the other.
    pub patch: Vec<Operation>,
    /// One for each URL that is written otherwise.
    pub warnings: Vec<Warning>,
    /// Whether there is something stored already.
    is_update: bool,
}

type Texts<'a> = Vec<Slot<Text<'a>>>;

/// Most URLs that are looked at, four times what validation allows: an answer isn't to be longer than its review,
/// and an object with more is refused anyway.
const URLS_MAX: usize = 500;
/// Longest spelling shown in a warning, in characters: two of them have room in one.
const SPELLING_MAX: usize = 95;

/// A list of URLs in the manifest.
#[derive(Clone, Copy)]
struct List<'t> {
    /// Below `spec.etcd`.
    tokens: &'t [Token<'t>],
    /// Whether the list is a set, of which an update drops what stands twice.
    is_set: bool,
}

/// Mutates an object: on UPDATE `old` is what is stored. The object is changed as the patch would.
pub fn mutate(new: &mut Etcd<'_>, old: Option<&Etcd<'_>>) -> Mutation {
    let mut mutation = Mutation { is_update: old.is_some(), ..Mutation::default() };
    let old = old.and_then(|old| old.spec.get()).and_then(|spec| spec.etcd.get());
    if let Some(config) = new.spec.get_mut().and_then(|spec| spec.etcd.get_mut())
        && url_count(config) <= URLS_MAX
    {
        mutation.bootstrap(config, old.and_then(|old| old.bootstrap_with_existing_cluster.get()));
        mutation.advertised(config, old);
    }
    mutation
}

fn url_count(config: &EtcdConfig<'_>) -> usize {
    let bootstrap = config.bootstrap_with_existing_cluster.get();
    let members = bootstrap.and_then(|bootstrap| bootstrap.members.get());
    let length = |urls: &Slot<Texts<'_>>| urls.get().map_or(0, Vec::len);
    let peers: usize = set(members).map(|member| length(&member.peer_urls)).sum();
    let advertised: usize =
        set(config.additional_advertise_peer_urls.get()).map(|entry| length(&entry.urls)).sum();
    peers + advertised + bootstrap.map_or(0, |bootstrap| length(&bootstrap.client_endpoints))
}

/// The entries of a list that are of the right type.
fn set<T>(list: Option<&Vec<Slot<T>>>) -> impl Iterator<Item = &T> {
    list.into_iter().flatten().filter_map(Slot::get)
}

impl Mutation {
    fn bootstrap(&mut self, new: &mut EtcdConfig<'_>, stored: Option<&Bootstrap<'_>>) {
        const BLOCK: &str = "bootstrapWithExistingCluster";
        let Some(bootstrap) = new.bootstrap_with_existing_cluster.get_mut() else { return };
        let stored_members = stored.and_then(|stored| stored.members.get()).into_iter().flatten();
        let stored_members = StoredLists::new(
            stored_members.map(|member| member.get().map(|member| (member.name.text(), &member.peer_urls))),
        );
        for (index, member) in bootstrap.members.get_mut().into_iter().flatten().enumerate() {
            let Some(member) = member.get_mut() else { continue };
            let tokens = [BLOCK.into(), "members".into(), index.into(), "peerUrls".into()];
            let list = List { tokens: &tokens, is_set: true };
            let stored = stored_members.list(index, member.name.text(), false);
            self.list(list, &mut member.peer_urls, &stored);
        }
        let endpoints = stored.map(|stored| (Some(""), &stored.client_endpoints));
        let stored = StoredLists::new(std::iter::once(endpoints));
        let tokens = [BLOCK.into(), "clientEndpoints".into()];
        let list = List { tokens: &tokens, is_set: true };
        self.list(list, &mut bootstrap.client_endpoints, &stored.list(0, Some(""), true));
    }

    fn advertised(&mut self, new: &mut EtcdConfig<'_>, stored: Option<&EtcdConfig<'_>>) {
        let stored =
            stored.and_then(|stored| stored.additional_advertise_peer_urls.get()).into_iter().flatten();
        let stored = StoredLists::new(
            stored.map(|entry| entry.get().map(|entry| (entry.member_name.text(), &entry.urls))),
        );
        for (index, entry) in new.additional_advertise_peer_urls.get_mut().into_iter().flatten().enumerate() {
            let Some(entry) = entry.get_mut() else { continue };
            let tokens = ["additionalAdvertisePeerURLs".into(), index.into(), "urls".into()];
            let list = List { tokens: &tokens, is_set: false };
            let stored = stored.list(index, entry.member_name.text(), false);
            self.list(list, &mut entry.urls, &stored);
        }
    }

    fn list(&mut self, list: List<'_>, urls: &mut Slot<Texts<'_>>, stored: &Stored<'_>) {
        let Some(urls) = urls.get_mut().filter(|urls| !stored.is(urls)) else { return };
        let by_address = stored.by_address();
        let mut kept: HashSet<String> = HashSet::new();
        let mut dropped = Vec::new();
        for (index, url) in urls.iter_mut().enumerate() {
            let Some(text) = url.text() else { continue };
            let written = settled(text, stored, &by_address);
            if let Some(written) = &written {
                self.warn(text, written, &list.path(index));
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

    fn warn(&mut self, from: &str, written: &str, place: &Pointer) {
        let shown = |text: &str| quoted(&shortened(text, SPELLING_MAX));
        let sentence = format!("{} is stored as {}", shown(from), shown(written));
        self.warnings.push(Warning::new(CANONICAL_URL, sentence).at(field(place)));
    }
}

/// A place in a list, which the pointers here are, as a field path.
fn field(place: &Pointer) -> String {
    let tokens = place.tokens().map(|token| token.decoded().into_owned());
    tokens.fold(String::new(), |path, token| match token.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) if path.is_empty() => token,
        Err(_) => format!("{path}.{token}"),
    })
}

impl List<'_> {
    fn path(&self, index: usize) -> jsonptr::PointerBuf {
        let block = ["spec".into(), "etcd".into()];
        let tokens = block.into_iter().chain(self.tokens.iter().cloned()).chain([Token::from(index)]);
        pointer(tokens)
    }
}

/// What is stored of one kind of list, several of which may be there.
struct StoredLists<'s, 'a> {
    /// As they stand there, each with the name of whose it is.
    lists: Vec<(Option<&'s str>, Option<&'s Texts<'a>>)>,
    /// By name; of several under one name, the first.
    by_name: HashMap<&'s str, &'s Texts<'a>>,
}

impl<'s, 'a> StoredLists<'s, 'a> {
    /// From every entry, also one of the wrong type, so that indices are those of the manifest.
    fn new(named: impl Iterator<Item = Option<(Option<&'s str>, &'s Slot<Texts<'a>>)>>) -> Self {
        let lists: Vec<_> =
            named.map(|entry| entry.map_or((None, None), |(name, list)| (name, list.get()))).collect();
        let mut by_name = HashMap::new();
        for (name, list) in &lists {
            if let (Some(name), Some(list)) = (name, list) {
                by_name.entry(*name).or_insert(*list);
            }
        }
        Self { lists, by_name }
    }

    /// What the list at an index is compared with, which goes by its name. Where a port must be, a URL without
    /// one is no address to go by.
    fn list(&self, index: usize, name: Option<&str>, port_optional: bool) -> Stored<'_> {
        let list = name.and_then(|name| self.by_name.get(name)).copied();
        let texts: Vec<&str> = list.into_iter().flatten().filter_map(Slot::text).collect();
        let read = texts.iter().filter_map(|text| Some((Address::read(text).ok()?, *text)));
        let addresses = read.filter(|(address, _)| port_optional || address.port.is_some()).collect();
        let in_place =
            self.lists.get(index).filter(|(stored, _)| *stored == name).and_then(|(_, list)| *list);
        Stored { in_place, texts: texts.into_iter().collect(), addresses }
    }
}

/// What one list is compared with.
struct Stored<'s> {
    /// The list that stands in the same place under the same name, or the same lack of one.
    in_place: Option<&'s Texts<'s>>,
    texts: HashSet<&'s str>,
    addresses: Vec<(Address, &'s str)>,
}

impl<'s> Stored<'s> {
    /// Whether a list is stored as it is: then nothing in it is new.
    fn is(&self, urls: &Texts<'_>) -> bool {
        self.in_place.is_some_and(|stored| stored == urls)
    }

    /// The stored texts by scheme and address; of several spellings of one, the first.
    fn by_address(&self) -> HashMap<AddressValue<'_>, &'s str> {
        let mut texts = HashMap::with_capacity(self.addresses.len());
        for (address, text) in &self.addresses {
            texts.entry(address.value()).or_insert(*text);
        }
        texts
    }
}

/// How a URL is written; nothing where it is written so already.
fn settled(text: &str, stored: &Stored<'_>, by_address: &HashMap<AddressValue<'_>, &str>) -> Option<String> {
    if stored.texts.contains(text) {
        return None;
    }
    let canonical = canonical(text);
    let address = Address::read(canonical.as_deref().unwrap_or(text)).ok();
    let as_stored =
        address.and_then(|address| by_address.get(&address.value()).map(|text| (*text).to_owned()));
    as_stored.or(canonical).filter(|written| written != text)
}
