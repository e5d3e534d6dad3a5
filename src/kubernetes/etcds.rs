//! The cache of Etcds by which Scales are judged: bounded, looked up.
//!
//! An ordinary Etcd takes 1 to 3 KB here: what rules read of it, as compact JSON.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use kube::runtime::watcher::Event;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::watched::Watched;
use crate::admission::{Asked, Lookup, Stored};

/// What to do where an Etcd is not kept here.
const REMEDY: &str = "change spec.replicas of the Etcd itself";

/// How much is kept.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Number of Etcds: many times what one cluster runs.
    objects: usize,
    /// Bytes of JSON of all of them.
    bytes: usize,
    /// Bytes of JSON of one; a source of ten members with five long URLs each has 100 KB.
    object_bytes: usize,
}

const BOUNDS: Bounds = Bounds { objects: 10_000, bytes: 64 * 1024 * 1024, object_bytes: 256 * 1024 };

/// What a cache counts.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    synced: Gauge,
    objects: Gauge,
    bytes: Gauge,
    errors: Counter,
}

impl Metrics {
    /// Shows them.
    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "etcd_warden_cache_synced",
            "Whether every Etcd of the cluster has been listed",
            self.synced.clone(),
        );
        registry.register("etcd_warden_cache_objects", "Etcds in the watch cache", self.objects.clone());
        registry.register("etcd_warden_cache_bytes", "JSON in the watch cache", self.bytes.clone());
        registry.register(
            "etcd_warden_cache_errors",
            "Lists and watches of Etcds that failed",
            self.errors.clone(),
        );
    }
}

/// How well the cache knows the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// As well as can be.
    Good,
    /// Not every Etcd is kept, or what is kept may be old.
    Degraded(String),
    /// Nothing was listed yet.
    Waiting(String),
}

/// Every Etcd of the cluster, as far as there is room.
#[derive(Debug)]
pub struct Etcds {
    bounds: Bounds,
    metrics: Metrics,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    kept: Kept,
    /// A list under way: it replaces what is kept once it is complete.
    listing: Option<Kept>,
    synced: bool,
    /// Why the watch is interrupted, and whether it is because there is no such resource.
    fault: Option<(String, bool)>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: HashMap<String, Entry>,
    bytes: usize,
    left_out: usize,
}

#[derive(Debug)]
struct Entry {
    uid: String,
    version: String,
    /// Absent where it is too long to be kept.
    json: Option<Arc<str>>,
}

impl Etcds {
    /// Empty, and not synced.
    pub fn new(metrics: Metrics) -> Self {
        Self::bounded(metrics, BOUNDS)
    }

    fn bounded(metrics: Metrics, bounds: Bounds) -> Self {
        Self { bounds, metrics, inner: RwLock::default() }
    }

    /// Takes in what a watch brought.
    pub(super) fn take(&self, event: Event<Watched>) {
        let mut inner = self.write();
        match event {
            Event::Init => inner.listing = Some(Kept::default()),
            Event::InitApply(watched) => {
                if let Some(listing) = &mut inner.listing {
                    listing.put(&watched, self.bounds);
                }
            }
            Event::InitDone => {
                inner.kept = inner.listing.take().unwrap_or_default();
                inner.synced = true;
            }
            Event::Apply(watched) => inner.kept.put(&watched, self.bounds),
            Event::Delete(watched) => inner.kept.remove(&watched),
        }
        // A list that has only begun proves nothing.
        if inner.listing.is_none() && inner.fault.take().is_some() {
            tracing::info!(etcds = inner.kept.entries.len(), "Etcds are watched again");
        }
        self.show(&inner);
    }

    /// The list or the watch failed; `no_resource`: since the cluster has no such resource. Whether that is news.
    pub(super) fn failed(&self, fault: String, no_resource: bool) -> bool {
        self.metrics.errors.inc();
        let mut inner = self.write();
        let is_news = inner.fault.as_ref().is_none_or(|(known, _)| *known != fault);
        inner.fault = Some((fault, no_resource));
        is_news
    }

    /// How well the cache knows the cluster.
    pub fn health(&self) -> Health {
        let inner = self.read();
        match (&inner.fault, inner.synced) {
            // Where there are no Etcds there is nothing to wait for.
            (Some((fault, true)), _) => {
                Health::Degraded(format!("there are no Etcds in this cluster, install the CRD: {fault}"))
            }
            (Some((fault, false)), false) => Health::Waiting(fault.clone()),
            (None, false) => Health::Waiting("the first list of all Etcds is under way".to_owned()),
            (Some((fault, false)), true) => Health::Degraded(format!("the watch is interrupted: {fault}")),
            (None, true) if inner.kept.left_out > 0 => Health::Degraded(self.full(&inner.kept)),
            (None, true) => Health::Good,
        }
    }

    fn full(&self, kept: &Kept) -> String {
        format!(
            "{} Etcds are not kept: there is room for {} of {} MiB together",
            kept.left_out,
            self.bounds.objects,
            self.bounds.bytes / 1024 / 1024
        )
    }

    fn show(&self, inner: &Inner) {
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.metrics.synced.set(i64::from(inner.synced));
        self.metrics.objects.set(number(inner.kept.entries.len()));
        self.metrics.bytes.set(number(inner.kept.bytes));
    }

    // No code that can panic runs while a lock is held.
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn put(&mut self, watched: &Watched, bounds: Bounds) {
        let Some((namespace, name)) = watched.key() else {
            tracing::warn!("an Etcd without a readable name is passed over");
            return;
        };
        self.remove(watched);
        let json = (watched.json().len() <= bounds.object_bytes).then(|| Arc::from(watched.json()));
        let bytes = json.as_ref().map_or(0, |json: &Arc<str>| json.len());
        if self.entries.len() >= bounds.objects || self.bytes + bytes > bounds.bytes {
            if self.left_out == 0 {
                tracing::error!(
                    namespace,
                    name,
                    objects = self.entries.len(),
                    bytes = self.bytes,
                    "the cache of Etcds is full: Scales of this and further ones are refused"
                );
            }
            self.left_out += 1;
            return;
        }
        self.bytes += bytes;
        let entry = Entry { uid: watched.uid().to_owned(), version: watched.version().to_owned(), json };
        self.entries.insert(key(namespace, name), entry);
    }

    fn remove(&mut self, watched: &Watched) {
        let Some((namespace, name)) = watched.key() else { return };
        if let Some(entry) = self.entries.remove(&key(namespace, name)) {
            self.bytes -= entry.json.map_or(0, |json| json.len());
        }
    }
}

// Neither holds a slash.
fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

impl Stored for Etcds {
    fn etcd(&self, asked: &Asked<'_>) -> Lookup {
        let inner = self.read();
        let not_yet = |why: String| Lookup::NotYet(why);
        if !inner.synced {
            return not_yet("this server has not listed the Etcds of the cluster yet".to_owned());
        }
        let Some(entry) = inner.kept.entries.get(&key(asked.namespace, asked.name)) else {
            return not_yet(match inner.kept.left_out {
                0 => "this server has not seen the Etcd yet".to_owned(),
                _ => format!("{}, or {REMEDY}", self.full(&inner.kept)),
            });
        };
        let is_same = asked.uid.is_none_or(|uid| uid == entry.uid);
        let is_current = asked.resource_version.is_none_or(|version| version == entry.version);
        match &entry.json {
            _ if !is_same => not_yet("this server has seen an earlier Etcd of that name only".to_owned()),
            // While the watch lives, what it has not brought yet is no older than a moment.
            _ if !is_current && inner.fault.is_some() => {
                not_yet("this server's watch is interrupted, and the Etcd has changed since".to_owned())
            }
            None => not_yet(format!("the Etcd is too long to be kept here, {REMEDY}")),
            Some(json) => Lookup::Found(Arc::clone(json)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Bounds = Bounds { objects: 2, bytes: 1000, object_bytes: 300 };

    fn etcd(name: &str, uid: &str, version: &str, more: &str) -> Watched {
        Watched::of(&format!(
            r#"{{"metadata":{{"name":"{name}","namespace":"shop","uid":"{uid}","resourceVersion":"{version}"}},"spec":{{"storageClass":"{more}"}}}}"#
        ))
    }

    fn cache(listed: &[Watched]) -> Etcds {
        let etcds = Etcds::bounded(Metrics::default(), SMALL);
        etcds.take(Event::Init);
        for watched in listed {
            etcds.take(Event::InitApply(watched.clone()));
        }
        etcds.take(Event::InitDone);
        etcds
    }

    fn ask(etcds: &Etcds, name: &str, uid: &str, version: &str) -> Result<Arc<str>, String> {
        let asked = Asked { namespace: "shop", name, uid: Some(uid), resource_version: Some(version) };
        match etcds.etcd(&asked) {
            Lookup::Found(json) => Ok(json),
            Lookup::NotYet(why) => Err(why),
        }
    }

    #[test]
    fn nothing_is_known_before_the_list_is_complete() {
        let etcds = Etcds::new(Metrics::default());
        assert!(matches!(etcds.health(), Health::Waiting(_)));
        etcds.take(Event::Init);
        etcds.take(Event::InitApply(etcd("main", "u", "1", "")));
        assert!(ask(&etcds, "main", "u", "1").unwrap_err().contains("not listed"));
        etcds.take(Event::InitDone);
        assert!(ask(&etcds, "main", "u", "1").unwrap().contains("main"));
        assert_eq!(etcds.health(), Health::Good);
    }

    #[test]
    fn what_is_deleted_or_another_of_that_name_is_not_known() {
        let etcds = cache(&[etcd("main", "u", "1", "")]);
        assert!(ask(&etcds, "main", "other", "9").unwrap_err().contains("earlier"));
        etcds.take(Event::Delete(etcd("main", "u", "1", "")));
        assert!(ask(&etcds, "main", "u", "1").unwrap_err().contains("not seen"));
        etcds.take(Event::Apply(etcd("main", "other", "9", "new")));
        assert!(ask(&etcds, "main", "other", "9").unwrap().contains("new"));
    }

    #[test]
    fn an_old_version_counts_only_while_the_watch_lives() {
        let etcds = cache(&[etcd("main", "u", "1", "")]);
        assert!(ask(&etcds, "main", "u", "2").is_ok());
        assert!(etcds.failed("away".to_owned(), false));
        assert!(!etcds.failed("away".to_owned(), false), "said once");
        assert_eq!(etcds.health(), Health::Degraded("the watch is interrupted: away".to_owned()));
        assert!(ask(&etcds, "main", "u", "2").unwrap_err().contains("interrupted"));
        assert!(ask(&etcds, "main", "u", "1").is_ok());
        // A list that has only begun proves nothing.
        etcds.take(Event::Init);
        assert!(ask(&etcds, "main", "u", "2").is_err());
        etcds.take(Event::InitApply(etcd("main", "u", "2", "")));
        etcds.take(Event::InitDone);
        assert!(ask(&etcds, "main", "u", "2").is_ok());
    }

    #[test]
    fn a_cluster_without_the_resource_has_nothing_to_wait_for() {
        let etcds = Etcds::new(Metrics::default());
        etcds.failed("404".to_owned(), true);
        assert!(matches!(etcds.health(), Health::Degraded(why) if why.contains("CRD")));
    }

    #[test]
    fn there_is_room_for_so_many_and_no_more() {
        let etcds = cache(&[etcd("a", "u", "1", ""), etcd("b", "u", "1", ""), etcd("c", "u", "1", "")]);
        assert!(ask(&etcds, "b", "u", "1").is_ok());
        assert!(ask(&etcds, "c", "u", "1").unwrap_err().contains("spec.replicas of the Etcd itself"));
        assert!(matches!(etcds.health(), Health::Degraded(why) if why.starts_with("1 Etcds are not kept")));
        // One that is known is changed, and not left out.
        etcds.take(Event::Apply(etcd("a", "u", "2", "changed")));
        assert!(ask(&etcds, "a", "u", "2").unwrap().contains("changed"));
    }

    #[test]
    fn one_that_is_too_long_is_known_and_not_kept() {
        let etcds = cache(&[etcd("a", "u", "1", &"x".repeat(400))]);
        assert!(ask(&etcds, "a", "u", "1").unwrap_err().contains("too long"));
    }

    #[test]
    fn bytes_are_counted_back() {
        let etcds = cache(&[etcd("a", "u", "1", "")]);
        let before = etcds.metrics.bytes.get();
        etcds.take(Event::Apply(etcd("a", "u", "2", &"x".repeat(50))));
        assert_eq!(etcds.metrics.bytes.get(), before + 50);
        etcds.take(Event::Delete(etcd("a", "u", "2", "")));
        assert_eq!((etcds.metrics.bytes.get(), etcds.metrics.objects.get()), (0, 0));
    }
}
