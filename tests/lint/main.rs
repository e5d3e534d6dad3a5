//! `lint`: over the project's own manifests and fixtures, over texts by chance, and as a program.
#![allow(unreachable_pub, reason = "the crate is a test")]

// Clippy takes helpers for tests only where they stand under this attribute.
#[cfg(test)]
mod compared;
#[cfg(test)]
mod formats;
#[cfg(test)]
mod process;
#[cfg(test)]
mod program;
#[cfg(test)]
#[path = "../support/reviews.rs"]
#[allow(dead_code, reason = "each test program uses its part of what is shared")]
mod reviews;
#[cfg(test)]
mod underlined;
#[cfg(test)]
mod verdicts;
#[cfg(test)]
mod written;
