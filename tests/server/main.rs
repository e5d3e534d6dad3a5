//! The server over real sockets.
#![allow(unreachable_pub, reason = "the crate is a test")]

// Clippy takes helpers for tests only where they stand under this attribute.
#[cfg(test)]
mod audit;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod judges;
#[cfg(test)]
mod overload;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod start;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
#[cfg(test)]
mod tls;
