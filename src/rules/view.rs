//! One object as the rules see it: what was read, and what follows from it, worked out once.

use super::address::{Address, Fault};
use crate::etcd::{
    AdvertisedUrls, Backup, Bootstrap, Etcd, EtcdConfig, MemberNames, Slot, SourceMember, Spec, Status, Text,
    Tls, is_rfc1123_label,
};
use std::collections::HashMap;
use std::fmt;

/// Path of the block that names an existing cluster.
pub const BOOTSTRAP: &str = "spec.etcd.bootstrapWithExistingCluster";
/// Path of the further peer URLs of own members.
pub const ADVERTISED: &str = "spec.etcd.additionalAdvertisePeerURLs";
/// Path of the TLS settings between peers.
pub const PEER_TLS: &str = "spec.etcd.peerUrlTls";
/// Path of the TLS settings towards clients.
pub const CLIENT_TLS: &str = "spec.etcd.clientUrlTls";

/// One object.
#[derive(Debug)]
pub struct View<'a> {
    /// What was read.
    pub etcd: &'a Etcd<'a>,
    /// The namespace of the request.
    pub namespace: &'a str,
    /// Source members that are objects, with their indices.
    pub members: Vec<(usize, &'a SourceMember<'a>)>,
    /// Every peer URL of a source member.
    pub peer_urls: Vec<UrlAt<'a>>,
    /// Every client endpoint of the source.
    pub client_endpoints: Vec<UrlAt<'a>>,
    /// Every further peer URL of an own member.
    pub advertised_urls: Vec<UrlAt<'a>>,
}

/// A URL and where it stands.
#[derive(Debug)]
pub struct UrlAt<'a> {
    /// Where it stands.
    pub place: UrlPlace,
    /// As it is written.
    pub text: &'a str,
    /// As it is read.
    pub read: Result<Address, Fault>,
}

/// Where a URL stands; displays as its field path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlPlace {
    /// `peerUrls[1]` of source member 0.
    Peer(usize, usize),
    /// `clientEndpoints[0]`.
    Client(usize),
    /// `urls[1]` of `additionalAdvertisePeerURLs[0]`.
    Advertised(usize, usize),
}

impl UrlPlace {
    /// Index of the member or entry that the URL belongs to.
    fn owner(self) -> usize {
        match self {
            Self::Peer(owner, _) | Self::Advertised(owner, _) => owner,
            Self::Client(_) => 0,
        }
    }
}

impl fmt::Display for UrlPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer(member, url) => write!(formatter, "{BOOTSTRAP}.members[{member}].peerUrls[{url}]"),
            Self::Client(endpoint) => write!(formatter, "{BOOTSTRAP}.clientEndpoints[{endpoint}]"),
            Self::Advertised(entry, url) => write!(formatter, "{ADVERTISED}[{entry}].urls[{url}]"),
        }
    }
}

impl<'a> View<'a> {
    /// Works out what follows from an object.
    pub fn new(etcd: &'a Etcd<'a>, namespace: &'a str) -> Self {
        let mut view = Self {
            etcd,
            namespace,
            members: Vec::new(),
            peer_urls: Vec::new(),
            client_endpoints: Vec::new(),
            advertised_urls: Vec::new(),
        };
        if let Some(bootstrap) = view.bootstrap() {
            view.read_bootstrap(bootstrap);
        }
        view.read_advertised();
        view
    }

    fn read_bootstrap(&mut self, bootstrap: &'a Bootstrap<'a>) {
        self.members = items(&bootstrap.members).collect();
        let peers_of = |&(member, source): &(usize, &'a SourceMember<'a>)| {
            urls(&source.peer_urls, move |url| UrlPlace::Peer(member, url), Address::with_port)
        };
        self.peer_urls = self.members.iter().flat_map(peers_of).collect();
        self.client_endpoints = urls(&bootstrap.client_endpoints, UrlPlace::Client, Address::read).collect();
    }

    fn read_advertised(&mut self) {
        let Some(etcd) = self.config() else { return };
        let urls_of = |(entry, advertised): (usize, &'a AdvertisedUrls<'a>)| {
            urls(&advertised.urls, move |url| UrlPlace::Advertised(entry, url), Address::with_port)
        };
        self.advertised_urls = items(&etcd.additional_advertise_peer_urls).flat_map(urls_of).collect();
    }

    /// `spec`.
    pub fn spec(&self) -> Option<&'a Spec<'a>> {
        self.etcd.spec.get()
    }

    /// `spec.etcd`.
    pub fn config(&self) -> Option<&'a EtcdConfig<'a>> {
        self.spec().and_then(|spec| spec.etcd.get())
    }

    /// `spec.backup`.
    pub fn backup(&self) -> Option<&'a Backup<'a>> {
        self.spec().and_then(|spec| spec.backup.get())
    }

    /// `spec.etcd.bootstrapWithExistingCluster`.
    pub fn bootstrap(&self) -> Option<&'a Bootstrap<'a>> {
        self.config().and_then(|etcd| etcd.bootstrap_with_existing_cluster.get())
    }

    /// `status`.
    pub fn status(&self) -> Option<&'a Status<'a>> {
        self.etcd.status.get()
    }

    /// `metadata.name`; empty where there is none yet.
    pub fn name(&self) -> &'a str {
        self.etcd.metadata.get().and_then(|metadata| metadata.name.text()).unwrap_or_default()
    }

    /// The names of the object's members; nothing where the name isn't made yet or the prefix is wrong.
    pub fn member_names(&self) -> Option<MemberNames<'a>> {
        let prefix = self.spec().map(|spec| &spec.member_name_prefix);
        let prefix = match prefix {
            None | Some(Slot::Absent) => None,
            Some(Slot::Set(prefix)) if is_rfc1123_label(prefix) => Some(&**prefix),
            Some(Slot::Set(_) | Slot::Wrong(_)) => return None,
        };
        (!self.name().is_empty()).then(|| MemberNames { prefix, name: self.name() })
    }

    /// `spec.replicas`.
    pub fn replicas(&self) -> Option<i64> {
        self.spec().and_then(|spec| spec.replicas.number())
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&'a str> {
        self.etcd.metadata.get()?.annotations.get()?.value(key)
    }

    /// Whether the object bears a finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        let finalizers = self.etcd.metadata.get().map(|metadata| &metadata.finalizers);
        finalizers.is_some_and(|list| items(list).any(|(_, text)| &**text == finalizer))
    }

    /// Whether deletion was asked for.
    pub fn is_terminating(&self) -> bool {
        self.etcd.metadata.get().is_some_and(|metadata| !metadata.deletion_timestamp.is_absent())
    }

    /// Whether the join is complete.
    pub fn is_complete(&self) -> bool {
        self.status().is_some_and(Status::bootstrapped)
    }

    /// Whether the object joins an existing cluster and isn't through with it.
    pub fn is_joining(&self) -> bool {
        self.bootstrap().is_some() && !self.is_complete()
    }

    /// The peer URLs of each source member, by its index.
    pub(super) fn urls_by_member(&self) -> HashMap<usize, Vec<&UrlAt<'a>>> {
        let mut members: HashMap<usize, Vec<&UrlAt<'a>>> = HashMap::new();
        for url in &self.peer_urls {
            members.entry(url.place.owner()).or_default().push(url);
        }
        members
    }

    /// The advertised URLs of each own member, by its name.
    pub(super) fn urls_by_name(&self) -> HashMap<&'a str, Vec<&UrlAt<'a>>> {
        let Some(config) = self.config() else { return HashMap::new() };
        let entries: HashMap<usize, &str> = items(&config.additional_advertise_peer_urls)
            .filter_map(|(index, entry)| Some((index, entry.member_name.text()?)))
            .collect();
        let mut named: HashMap<&str, Vec<&UrlAt<'a>>> =
            entries.values().map(|name| (*name, Vec::new())).collect();
        for url in &self.advertised_urls {
            if let Some(urls) = entries.get(&url.place.owner()).and_then(|name| named.get_mut(name)) {
                urls.push(url);
            }
        }
        named
    }
}

/// The URLs of a list as `read` reads them, each at its `place`.
fn urls<'a>(
    list: &'a Slot<Vec<Slot<Text<'a>>>>,
    place: impl Fn(usize) -> UrlPlace,
    read: fn(&str) -> Result<Address, Fault>,
) -> impl Iterator<Item = UrlAt<'a>> {
    items(list).map(move |(index, text)| UrlAt { place: place(index), text, read: read(text) })
}

/// The entries of a list that are of the right type, with their indices.
pub(super) fn items<T>(list: &Slot<Vec<Slot<T>>>) -> impl Iterator<Item = (usize, &T)> {
    list.get().into_iter().flatten().enumerate().filter_map(|(index, item)| Some((index, item.get()?)))
}

/// Whether TLS is on, where that can be told.
pub(super) fn is_on(tls: &Slot<Tls<'_>>) -> Option<bool> {
    (!tls.is_wrong()).then(|| tls.is_set())
}
