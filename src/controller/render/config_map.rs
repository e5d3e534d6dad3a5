//! How members run, and whom they join.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::{Kind, Part, Render, Standing, Unrenderable};
use crate::controller::object::Etcd;
use crate::controller::spec::{AdvertisedUrls, Bootstrap, SNAPSHOT_COUNT, Spec};
use crate::etcd::checks::Quantity;
use crate::member::{Config, Endpoints, EtcdSettings, Owner, Scheme, Source, Starts};

/// Key with the intent, for people: own members, then the source's.
const INITIAL_CLUSTER: &str = "initial-cluster";

/// etcd's own default is 2 GiB; etcd-druid's is the largest that etcd's documentation suggests.
const QUOTA: &str = "8Gi";

#[allow(clippy::unnecessary_wraps, reason = "one of a table")]
pub(super) fn part(render: Render<'_>) -> Result<Part, Unrenderable> {
    let config = render.config;
    // Nothing in it can fail to be written: no map has a key that is no string.
    let written = serde_json::to_string_pretty(config).unwrap_or_default();
    let initial_cluster = initial_cluster(config);
    let starts = render.standing.starts.text();
    let content =
        json!({"data": {Config::KEY: written, INITIAL_CLUSTER: initial_cluster, Starts::KEY: starts}});
    Ok(Part::new(Kind::ConfigMap, Config::name(&render.etcd.name), "etcd-configmap", content))
}

fn initial_cluster(config: &Config) -> String {
    let sources = config.source.iter().flat_map(|source| &source.members);
    let sources = sources.flat_map(|(name, urls)| urls.iter().map(move |url| format!("{name}={url}")));
    let own = Some(config.initial_cluster()).filter(|own| !own.is_empty());
    own.into_iter().chain(sources).collect::<Vec<_>>().join(",")
}

/// The configuration of an Etcd's members.
pub(in crate::controller) fn config(etcd: &Etcd, standing: &Standing) -> Result<Config, Unrenderable> {
    let spec = &etcd.spec;
    Ok(Config {
        owner: Owner {
            name: etcd.name.clone(),
            namespace: etcd.namespace.clone(),
            uid: etcd.uid.clone(),
            member_name_prefix: spec.member_name_prefix.clone(),
        },
        replicas: spec.replicas,
        endpoints: endpoints(spec, standing),
        etcd: settings(spec)?,
        source: spec
            .source()
            .filter(|_| !standing.is_joined)
            .map(|of_spec| source(of_spec, &standing.beside)),
        ending: etcd.is_terminating,
    })
}

/// As the spec has them, but registered peer URLs as they are registered.
fn endpoints(spec: &Spec, standing: &Standing) -> Endpoints {
    let etcd = &spec.etcd;
    let scheme = |tls: bool| if tls { Scheme::Https } else { Scheme::Http };
    let skip = etcd.peer_url_tls.as_ref().and_then(|tls| tls.skip_client_san_verification);
    let mut endpoints = Endpoints {
        peer_scheme: scheme(etcd.peer_url_tls.is_some()),
        peer_port: etcd.server_port.unwrap_or(2380),
        client_scheme: scheme(etcd.client_url_tls.is_some()),
        client_port: etcd.client_port.unwrap_or(2379),
        readiness_port: etcd.wrapper_port.unwrap_or(9095),
        additional_peer_urls: additional(&etcd.additional_advertise_peer_urls),
        skip_client_san_verification: skip.unwrap_or_default(),
    };
    if let Some(frozen) = &standing.frozen {
        let registered = &frozen.config;
        endpoints.peer_scheme = registered.endpoints.peer_scheme;
        endpoints.peer_port = registered.endpoints.peer_port;
        for member in (0..registered.replicas).map(|ordinal| registered.member(ordinal)) {
            match registered.endpoints.additional_peer_urls.get(&member) {
                Some(urls) => endpoints.additional_peer_urls.insert(member, urls.clone()),
                None => endpoints.additional_peer_urls.remove(&member),
            };
        }
    }
    endpoints
}

/// A member's first entry counts, as with etcd-druid.
fn additional(entries: &[AdvertisedUrls]) -> BTreeMap<String, Vec<String>> {
    entries.iter().rev().map(|entry| (entry.member_name.clone(), entry.urls.clone())).collect()
}

fn settings(spec: &Spec) -> Result<EtcdSettings, Unrenderable> {
    let (etcd, shared) = (&spec.etcd, &spec.shared_config);
    let or = |value: &Option<String>, default: &str| value.as_deref().unwrap_or(default).to_owned();
    Ok(EtcdSettings {
        quota_bytes: bytes("spec.etcd.quota", etcd.quota.as_ref())?,
        snapshot_count: etcd.snapshot_count.unwrap_or(SNAPSHOT_COUNT),
        metrics: or(&etcd.metrics, "basic"),
        enable_grpc_gateway: etcd.enable_grpc_gateway,
        auto_compaction_mode: or(&shared.auto_compaction_mode, "periodic"),
        auto_compaction_retention: or(&shared.auto_compaction_retention, "30m"),
        freelist_type: or(&etcd.backend_bbolt_freelist_type, "array"),
    })
}

/// A quantity as it would be written in a string.
pub(in crate::controller) fn quantity(value: &IntOrString) -> String {
    match value {
        IntOrString::Int(number) => number.to_string(),
        IntOrString::String(text) => text.clone(),
    }
}

fn bytes(field: &'static str, value: Option<&IntOrString>) -> Result<u64, Unrenderable> {
    let text = value.map_or_else(|| QUOTA.to_owned(), quantity);
    let bytes = Quantity::read(&text).and_then(Quantity::whole).and_then(|whole| u64::try_from(whole).ok());
    bytes.filter(|bytes| *bytes > 0).ok_or(Unrenderable::Size { field, value: text })
}

/// The source's members, and those of others that join it meanwhile, which nobody could have listed.
fn source(source: &Bootstrap, beside: &BTreeMap<String, Vec<String>>) -> Source {
    let listed = source.members.iter().map(|member| (member.name.clone(), member.peer_urls.clone()));
    Source {
        members: beside.clone().into_iter().chain(listed).collect(),
        client_endpoints: source.client_endpoints.clone(),
    }
}
