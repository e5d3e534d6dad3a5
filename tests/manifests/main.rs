//! The manifests are what the code needs: flags, rules, rights, names and metrics are those of the program.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test"
)]
#![allow(unreachable_pub, reason = "the crate is a test")]

#[cfg(test)]
mod kustomize;
#[cfg(test)]
mod monitoring;
#[cfg(test)]
mod pod;
#[cfg(test)]
mod registration;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod yaml;
