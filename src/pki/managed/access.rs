//! The requests that the leader and every replica make.

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ObjectReference, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::runtime::WatchStreamExt;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::runtime::watcher::watch_object;
use kube::{Api, Client};

use super::Settings;
use super::hooks::{FIELD_MANAGER, Hooks, KINDS, Kind};
use super::secret::{Authorities, Found, NotOurs, wipe};
use crate::kubernetes::{CallError, Target, causes};

/// The API server, and what is looked after there.
#[derive(Clone)]
pub struct Access {
    client: Client,
    pub(super) settings: Settings,
    reporter: Reporter,
}

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    #[error("can't make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
    #[error("{0}")]
    Not(String),
}

impl Access {
    /// `identity` names this replica in events.
    pub fn new(client: Client, settings: Settings, identity: String) -> Self {
        let reporter = Reporter { controller: "etcd-warden".to_owned(), instance: Some(identity) };
        Self { client, settings, reporter }
    }

    pub(super) async fn secret(&self) -> Result<Found, Problem> {
        let Settings { namespace, secret: name, .. } = &self.settings;
        let target = Target::in_namespace("get", "secrets", namespace, name);
        let secret = target.call(self.secrets().get_opt(name)).await?;
        Ok(secret.map(Found::of).transpose()?.unwrap_or_default())
    }

    /// Replaces the version whose metadata was read, or creates where there was none.
    pub(super) async fn write(
        &self,
        authorities: &Authorities,
        metadata: Option<ObjectMeta>,
    ) -> Result<(), CallError> {
        let Settings { namespace, secret: name, .. } = &self.settings;
        let (api, params) = (self.secrets(), PostParams::default());
        let creates = metadata.is_none();
        let secret = authorities.secret(namespace, name, metadata);
        let target = |verb| Target::in_namespace(verb, "secrets", namespace, name);
        let written = if creates {
            target("create").call(api.create(&params, &secret)).await
        } else {
            target("update").call(api.replace(name, &params, &secret)).await
        };
        wipe(secret);
        written.map(wipe)
    }

    /// Both webhook configurations; nothing for one that isn't there.
    pub(super) async fn both(&self) -> Result<[Option<Hooks>; 2], CallError> {
        let [validating, mutating] = KINDS;
        let (validating, mutating) = tokio::join!(self.hooks(validating), self.hooks(mutating));
        Ok([validating?, mutating?])
    }

    async fn hooks(&self, kind: Kind) -> Result<Option<Hooks>, CallError> {
        let name = &self.settings.configuration;
        let target = Target::of_cluster("get", kind.resource, name);
        Ok(target.call(self.api(kind).get_opt(name)).await?.map(Hooks::of))
    }

    /// Applies one field, and says what stands there then.
    pub(super) async fn apply(&self, kind: Kind, hooks: &Hooks, bundle: &str) -> Result<Hooks, CallError> {
        let name = &self.settings.configuration;
        let patch = Patch::Apply(hooks.applied(kind, name, bundle));
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let target = Target::of_cluster("patch", kind.resource, name);
        Ok(Hooks::of(target.call(self.api(kind).patch(name, &params, &patch)).await?))
    }

    /// An item for every change of a configuration, and for every failure to see one. Never ends.
    pub(super) fn changes(&self, kind: Kind) -> impl Stream<Item = Result<(), CallError>> + Send + use<> {
        let name = self.settings.configuration.clone();
        let target = Target::of_cluster("watch", kind.resource, &name);
        let target = Target { verb: "list and watch", ..target };
        watch_object(self.api(kind), &name).default_backoff().map(move |change| {
            use kube::runtime::watcher::Error;
            change.map(drop).map_err(|error| match error {
                Error::InitialListFailed(error)
                | Error::WatchStartFailed(error)
                | Error::WatchFailed(error) => target.clone().failed(error),
                Error::WatchError(status) => target.clone().failed(kube::Error::Api(status)),
                Error::NoResourceVersion => target.clone().odd("the answer has no resource version"),
            })
        })
    }

    /// Tells about a configuration, in the namespace `default`, where events about what is in no namespace stand.
    pub(super) async fn tell(&self, kind: Kind, uid: &str, note: String) {
        let about = ObjectReference {
            api_version: Some(Kind::api_version()),
            kind: Some(kind.name.to_owned()),
            name: Some(self.settings.configuration.clone()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        };
        let event = Event {
            type_: EventType::Warning,
            reason: "CABundleOverwritten".to_owned(),
            note: Some(note),
            action: "RepairCABundle".to_owned(),
            secondary: None,
        };
        let target = Target {
            verb: "create",
            resource: "events.events.k8s.io",
            namespace: Some("default".to_owned()),
            name: None,
        };
        // One that is kept counts further events about the same object, and drops what they say: another manager's name.
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        // What is told is in the log, too.
        if let Err(error) = target.call(recorder.publish(&event, &about)).await {
            tracing::warn!(error = %causes(&error), "event not written");
        }
    }

    fn secrets(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.settings.namespace)
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &kind.api_resource())
    }
}
