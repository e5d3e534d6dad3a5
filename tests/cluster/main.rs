//! Scenarios on real clusters. `tests/run` builds the beds and runs this; by hand, `tests/cluster/bed build`, then
//! `cargo test --test cluster`, both as root. `tests/cluster/README.md` says more.
#![allow(unreachable_pub, reason = "the crate is a test")]

// Clippy takes helpers for tests only where they stand under this attribute.
#[cfg(test)]
mod harness;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
