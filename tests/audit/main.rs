//! `etcd-warden audit` over logs that the server wrote.
#![allow(unreachable_pub, reason = "the crate is a test")]

#[cfg(test)]
mod follow;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod printed;
#[cfg(test)]
mod queries;
#[cfg(test)]
mod replay;
#[cfg(test)]
#[path = "../support/reviews.rs"]
#[allow(dead_code, reason = "each test program uses its part of what is shared")]
mod reviews;
#[cfg(test)]
mod selection;
#[cfg(test)]
mod sources;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
