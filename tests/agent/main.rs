//! Agents as processes, with real etcd, on addresses of the loopback network: the API server is a small one in memory,
//! and the test plays the reconcile loop. Needs root (each member has a hosts file of its own) and what
//! `tests/cluster/bed build` has built; where that is missing, one line says so, unless `ETCD_WARDEN_BED` is `required`.
#![allow(unreachable_pub, reason = "the crate is a test")]

// Clippy takes helpers for tests only where they stand under this attribute.
#[cfg(test)]
mod api;
#[cfg(test)]
mod files;
#[cfg(test)]
mod forming;
#[cfg(test)]
mod interrupted;
#[cfg(test)]
mod joining;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod restarts;
#[cfg(test)]
mod shop;
#[cfg(test)]
mod source;
#[cfg(test)]
mod tls;
#[cfg(test)]
mod volumes;
#[cfg(test)]
mod writer;
