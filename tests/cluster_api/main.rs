//! What the server does with a cluster, over an API server in memory.
#![allow(unreachable_pub, reason = "the crate is a test")]

#[cfg(test)]
mod api;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod program;
#[cfg(test)]
mod reconcile;
#[cfg(test)]
mod status;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
