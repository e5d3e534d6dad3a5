//! The decision in process, each beside a bare borrowed parse of the same bytes.
//!
//! `cargo bench --bench decision` prints for each body: `decide` (bytes in, answer out), `parse` (the same bytes
//! into a tree that borrows from them, and nothing else) and `skip` (the same bytes checked to be JSON: the
//! floor). The ratio decide/parse is the figure in the README.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use etcd_warden::admission::{Audited, Policy, review};
use etcd_warden::audit::Stage;
use etcd_warden::rules::Settings;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::hint::black_box;

#[path = "../tests/support/reviews.rs"]
#[allow(dead_code)]
mod reviews;

/// A JSON value that borrows its strings.
enum Tree<'a> {
    Null,
    Bool(#[allow(dead_code)] bool),
    Number(#[allow(dead_code)] f64),
    Text(#[allow(dead_code)] Cow<'a, str>),
    List(#[allow(dead_code)] Vec<Self>),
    Object(#[allow(dead_code)] Vec<(Self, Self)>),
}

impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Builder;
        impl<'de> Visitor<'de> for Builder {
            type Value = Tree<'de>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("JSON")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Tree::Null)
            }
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Tree::Bool(value))
            }
            #[allow(clippy::cast_precision_loss)]
            fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
                Ok(Tree::Number(value as f64))
            }
            #[allow(clippy::cast_precision_loss)]
            fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
                Ok(Tree::Number(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
                Ok(Tree::Number(value))
            }
            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Self::Value, E> {
                Ok(Tree::Text(Cow::Borrowed(value)))
            }
            fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
                Ok(Tree::Text(Cow::Owned(value.to_owned())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Tree::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = object.next_entry()? {
                    entries.push(entry);
                }
                Ok(Tree::Object(entries))
            }
        }
        deserializer.deserialize_any(Builder)
    }
}

/// What the API server keeps about who set which field, until the object has about `bytes` bytes.
fn with_managed_fields(mut object: Value, bytes: usize) -> Value {
    object["metadata"]["managedFields"] = json!([]);
    let mut manager = 0;
    while object.to_string().len() < bytes {
        manager += 1;
        let entry = json!({
            "manager": format!("controller-{manager}"), "operation": "Apply", "apiVersion": "druid.gardener.cloud/v1alpha1",
            "time": "2026-11-01T10:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:etcd": {"f:quota": {}, "f:metrics": {}, "f:bootstrapWithExistingCluster": {
                "f:members": {}, "f:clientEndpoints": {"v:\"http://10.0.0.1:2379\"": {}}}},
                "f:backup": {"f:port": {}, "f:store": {"f:prefix": {}}}, "f:replicas": {}, "f:labels": {"f:app": {}}}},
        });
        object["metadata"]["managedFields"].as_array_mut().unwrap().push(entry);
    }
    object
}

fn ten_members() -> Value {
    let mut object = reviews::joining();
    let members: Vec<Value> = (0..10)
        .map(|i| {
            let urls = [
                format!("http://source-{i}.source-peer.old.svc:2380"),
                format!("http://10.0.0.{}:2380", i + 1),
            ];
            json!({"name": format!("source-{i}"), "peerUrls": urls})
        })
        .collect();
    let endpoints: Vec<String> =
        (0..10).map(|i| format!("http://source-{i}.source-peer.old.svc:2379")).collect();
    object["spec"]["etcd"]["bootstrapWithExistingCluster"] =
        json!({"members": members, "clientEndpoints": endpoints});
    object["spec"]["replicas"] = json!(1);
    object
}

fn bodies() -> Vec<(&'static str, String)> {
    let small = with_managed_fields(reviews::etcd(), 1_500);
    let large = with_managed_fields(ten_members(), 10_300);
    let mut changed = large.clone();
    changed["metadata"]["labels"] = json!({"team": "storage"});
    let mut rejected = large.clone();
    rejected["spec"]["etcd"]["bootstrapWithExistingCluster"]["members"][3]["peerUrls"][0] =
        json!("https://h/path");
    rejected["spec"]["replicas"] = json!(-1);
    vec![
        ("create-2KB", reviews::create(&small).to_string()),
        ("create-11KB", reviews::create(&large).to_string()),
        ("update-22KB", reviews::update(&large, &changed).to_string()),
        ("rejected-11KB", reviews::create(&rejected).to_string()),
        ("create-1MB", reviews::create(&with_managed_fields(ten_members(), 1 << 20)).to_string()),
    ]
}

fn decision(criterion: &mut Criterion) {
    let settings = Settings::default();
    for (name, body) in bodies() {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(body.len() as u64));
        let body = body.as_bytes();
        group.bench_function(BenchmarkId::from_parameter("decide"), |bencher| {
            bencher.iter(|| {
                review(Stage::Validate, black_box(body), &Policy::new(&settings, Audited::Rejections))
                    .unwrap()
            });
        });
        group.bench_function(BenchmarkId::from_parameter("parse"), |bencher| {
            bencher.iter(|| black_box(serde_json::from_slice::<Tree<'_>>(black_box(body)).unwrap()));
        });
        group.bench_function(BenchmarkId::from_parameter("skip"), |bencher| {
            bencher.iter(|| serde_json::from_slice::<IgnoredAny>(black_box(body)).unwrap());
        });
        group.finish();
    }
}

criterion_group!(benches, decision);
criterion_main!(benches);
