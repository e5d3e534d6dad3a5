//! etcd's messages, and the clients of its services, as `build.rs` makes them from `proto/`.

/// etcd's API.
#[allow(
    missing_docs,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    unreachable_pub,
    unused_qualifications,
    reason = "generated"
)]
pub mod etcdserverpb {
    tonic::include_proto!("etcdserverpb");
}

/// etcd's write-ahead log.
#[allow(missing_docs, clippy::all, clippy::pedantic, unreachable_pub, reason = "generated")]
pub mod walpb {
    tonic::include_proto!("walpb");
}
