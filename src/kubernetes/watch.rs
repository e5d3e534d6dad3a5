//! Fills the cache of Etcds, for ever.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Error, watcher};
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use super::call::{CallError, Target};
use super::etcds::Etcds;
use super::watched::Watched;

const RESOURCE: &str = "etcds.druid.gardener.cloud";

/// Objects a page of a list: whole ones, with managed fields, are in memory for a moment.
const PAGE: u32 = 100;

/// Lists and watches every Etcd until told to `stop`. Failures are said, and tried again with back-off.
pub async fn watch(client: Client, etcds: Arc<Etcds>, stop: CancellationToken) -> io::Result<()> {
    let events = watcher(Api::<Watched>::all(client), Config::default().page_size(PAGE)).default_backoff();
    let mut events = pin!(events);
    loop {
        let event = tokio::select! {
            () = stop.cancelled() => return Ok(()),
            event = events.next() => event,
        };
        match event {
            Some(Ok(event)) => etcds.take(event),
            Some(Err(error)) => failed(&etcds, error),
            None => return Err(io::Error::other("the watch of Etcds has ended")),
        }
    }
}

fn failed(etcds: &Etcds, error: Error) {
    let fault = watch_failed(error, RESOURCE);
    let no_resource = fault.is_not_found();
    let fault = fault.to_string();
    if etcds.failed(fault.clone(), no_resource) {
        tracing::warn!(%fault, "Etcds can't be watched: Scales are judged by what is known, or refused");
    } else {
        tracing::debug!(%fault, "Etcds can't be watched");
    }
}

/// What a watch of a resource failed with.
pub(crate) fn watch_failed(error: Error, resource: &'static str) -> CallError {
    let target = |verb| Target::all(verb, resource);
    match error {
        Error::InitialListFailed(error) => target("list").failed(error),
        Error::WatchStartFailed(error) | Error::WatchFailed(error) => target("watch").failed(error),
        Error::WatchError(status) => target("watch").failed(kube::Error::Api(status)),
        Error::NoResourceVersion => target("list").odd("the API server's answer has no resource version"),
    }
}
