//! Manifests per second: 10,000 of them, each a file of its own, in block YAML with comments, read and judged.
//!
//! `cargo bench --bench lint` prints how long all of them take, and how many that is per second, on one core; beside it
//! the parser alone, whose events are counted and nothing else.
#![allow(missing_docs, reason = "a benchmark")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use etcd_warden::diagnostics::Source;
use etcd_warden::lint::{Lint, Stored};
use granit_parser::Parser;
use std::hint::black_box;

const MANIFESTS: usize = 10_000;

/// A manifest of 45 lines that differs from the others in names, numbers and addresses; every tenth is wrong.
fn manifest(number: usize) -> String {
    let replicas = if number.is_multiple_of(10) { -1 } else { 3 };
    let (high, low) = (number / 256, number % 256);
    format!(
        r#"# Cluster {number} of the shop.
apiVersion: druid.gardener.cloud/v1alpha1
kind: Etcd
metadata:
  name: etcd-{number}
  namespace: shop
  labels:
    app.kubernetes.io/managed-by: Helm
spec:
  replicas: {replicas}
  labels: &labels
    app.kubernetes.io/name: etcd
    app.kubernetes.io/instance: etcd-{number}
  storageCapacity: 20Gi
  etcd:
    metrics: basic
    quota: "8Gi" # etcd's own advice
    clientUrlTls: &tls
      tlsCASecretRef: {{ name: etcd-{number}-ca }}
      serverTLSSecretRef: {{ name: etcd-{number}-server }}
      clientTLSSecretRef: {{ name: etcd-{number}-client }}
    peerUrlTls:
      <<: *tls
    clientService:
      labels: *labels
    bootstrapWithExistingCluster:
      members:
        - name: old-0
          peerUrls: ["https://10.{high}.{low}.1:2380"]
        - name: old-1
          peerUrls: ["https://10.{high}.{low}.2:2380"]
      clientEndpoints:
        - https://10.{high}.{low}.1:2379
        - https://10.{high}.{low}.2:2379
  backup:
    fullSnapshotSchedule: "0 */6 * * *"
    deltaSnapshotPeriod: 5m
    garbageCollectionPeriod: 12h
    store:
      provider: S3
      container: shop-etcd-backups
      prefix: etcd-{number}
      secretRef: {{ name: backup-credentials }}
"#
    )
}

fn lint(criterion: &mut Criterion) {
    let texts: Vec<String> = (0..MANIFESTS).map(manifest).collect();
    let (lint, stored) = (Lint::default(), Stored::default());
    let mut group = criterion.benchmark_group("lint");
    group.throughput(Throughput::Elements(MANIFESTS as u64)).sample_size(10);
    group.bench_function("10000 manifests", |bencher| {
        bencher.iter(|| {
            let judged = texts.iter().map(|text| lint.text(Source::new("x.yaml", text.as_str()), &stored));
            let errors: usize = judged.map(|linted| linted.report.findings.len()).sum();
            assert!(errors >= MANIFESTS / 10);
            black_box(errors)
        });
    });
    group.bench_function("10000 manifests, events alone", |bencher| {
        bencher.iter(|| {
            let events = texts.iter().map(|text| Parser::new_from_str(text).flatten().count());
            let events: usize = events.sum();
            assert!(events > 100 * MANIFESTS);
            black_box(events)
        });
    });
    group.finish();
}

criterion_group!(benches, lint);
criterion_main!(benches);
