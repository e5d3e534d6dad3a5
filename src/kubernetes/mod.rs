//! The cluster around the server, where there is one: the API server's client and what is watched through it.
//!
//! | file | what is in it |
//! |---|---|
//! | `client` | from a mounted token or a kubeconfig to a client; nothing where there is neither |
//! | `call` | one request: bounded in time, and an error that names verb, resource and object |
//! | `backoff` | how long to wait after failures in a row |
//! | `watched` | an Etcd as a watch brings it, stripped to what rules read |
//! | `etcds` | the cache of Etcds by which Scales are judged: bounded, looked up |
//! | `watch` | fills it, for ever |

mod backoff;
mod call;
mod client;
mod etcds;
mod watch;
mod watched;

pub use backoff::Backoff;
pub(crate) use backoff::chance;
pub use call::{CallError, Target, causes};
pub use client::{Cluster, ConnectError, is_in_cluster};
pub use etcds::{Etcds, Health, Metrics};
pub use watch::watch;
pub(crate) use watch::watch_failed;
