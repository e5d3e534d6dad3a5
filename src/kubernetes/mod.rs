//! The cluster around the server, where there is one: the API server's client and what is watched through it.
//!
//! | file | what is in it |
//! |---|---|
//! | `client` | from a mounted token or a kubeconfig to a client; nothing where there is neither |
//! | `call` | one request: bounded in time, and an error that names verb, resource and object |
//! | `backoff` | how long to wait after failures in a row |

mod backoff;
mod call;
mod client;

pub use backoff::Backoff;
pub(crate) use backoff::chance;
pub use call::{CallError, Target, causes};
pub use client::{Cluster, ConnectError, is_in_cluster};
