//! What is watched: Etcds, and everything that bears this loop's label.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use futures_util::future::ready;
use futures_util::stream::{BoxStream, select_all};
use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::controller::ReconcileRequest;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store, reflector};
use kube::runtime::watcher::{Config, Error, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::super::kind::Kind;
use super::super::render::{MANAGED_BY, MANAGER, PART_OF};
use super::health::Health;
use crate::etcd::{GROUP, KIND, RESOURCE, VERSION};
use crate::kubernetes::watch_failed;

/// Objects a page of a list.
const PAGE: u32 = 100;

const ETCDS: &str = "etcds.druid.gardener.cloud";
const PODS: &str = "pods";

/// What the watches brought.
pub(super) struct Watches {
    pub(super) etcds: Store<DynamicObject>,
    pub(super) objects: BTreeMap<Kind, Store<DynamicObject>>,
    pub(super) pods: Store<Pod>,
}

/// Etcds that are to be looked at.
type Changes = BoxStream<'static, Result<ReconcileRequest<DynamicObject>, Infallible>>;

/// Etcds, as the API server's client wants them.
pub fn etcds() -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, KIND), RESOURCE)
}

impl Watches {
    /// Waits until all has been listed once: what isn't known yet is not taken for missing.
    pub(super) async fn are_ready(&self) {
        // A store whose writer is gone belongs to a term that is over.
        for store in self.objects.values() {
            let _ = store.wait_until_ready().await;
        }
        let _ = self.pods.wait_until_ready().await;
    }
}

/// Nothing is watched before the changes are polled.
pub(super) fn start(client: &Client, health: &Arc<Health>) -> (Watches, Changes) {
    let ours = || Config::default().labels(&format!("{MANAGED_BY}={MANAGER}")).page_size(PAGE);
    let all = Config::default().page_size(PAGE);
    let api = Api::all_with(client.clone(), &etcds());
    let (store, changes) = watched(api, all, etcds(), ETCDS, health, itself);
    let mut streams = vec![changes];
    let mut objects = BTreeMap::new();
    for kind in Kind::ALL {
        let resource = kind.api_resource();
        let api = Api::all_with(client.clone(), &resource);
        let (store, changes) = watched(api, ours(), resource, kind.resource(), health, belongs_to);
        objects.insert(kind, store);
        streams.push(changes);
    }
    let (pods, changes) = watched(Api::all(client.clone()), ours(), (), PODS, health, belongs_to);
    streams.push(changes);
    (Watches { etcds: store, objects, pods }, select_all(streams).boxed())
}

#[allow(clippy::unnecessary_wraps, reason = "one of two that stand in one place")]
fn itself(etcd: &DynamicObject) -> Option<ObjectRef<DynamicObject>> {
    Some(ObjectRef::from_obj_with(etcd, etcds()))
}

/// The Etcd that an object belongs to, by its labels.
fn belongs_to<K: Resource>(object: &K) -> Option<ObjectRef<DynamicObject>> {
    let name = object.meta().labels.as_ref()?.get(PART_OF)?;
    let namespace = object.meta().namespace.as_deref()?;
    Some(ObjectRef::new_with(name, etcds()).within(namespace))
}

fn watched<K>(
    api: Api<K>,
    config: Config,
    dynamic: K::DynamicType,
    resource: &'static str,
    health: &Arc<Health>,
    etcd_of: fn(&K) -> Option<ObjectRef<DynamicObject>>,
) -> (Store<K>, Changes)
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Send + Sync,
{
    let writer = Writer::new(dynamic);
    let store = writer.as_reader();
    let events = said(watcher(api, config).default_backoff(), resource, Arc::clone(health));
    // A list that was interrupted brings objects that have gone meanwhile as no event of their own: what is left of them
    // is looked at when their Etcd is.
    let touched = reflector(writer, events).filter_map(move |event| {
        let etcd = match event {
            Ok(Event::Apply(object) | Event::InitApply(object) | Event::Delete(object)) => etcd_of(&object),
            Ok(Event::Init | Event::InitDone) | Err(_) => None,
        };
        ready(etcd.map(|etcd| Ok(ReconcileRequest::from(etcd))))
    });
    (store, touched.boxed())
}

/// Failures are said, and the watch goes on.
fn said<K: Send + 'static>(
    events: impl Stream<Item = Result<Event<K>, Error>> + Send + 'static,
    resource: &'static str,
    health: Arc<Health>,
) -> impl Stream<Item = Result<Event<K>, Error>> + Send + 'static {
    events.filter_map(move |event| {
        let good = match event {
            Ok(event) => {
                // A list that has only begun proves nothing.
                if !matches!(event, Event::Init) {
                    health.seen(resource);
                }
                Some(Ok(event))
            }
            Err(error) => {
                health.unseen(resource, &watch_failed(error, resource).to_string());
                None
            }
        };
        ready(good)
    })
}
