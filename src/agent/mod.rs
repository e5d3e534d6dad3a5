//! The pod-side half: the first process of a member's container. It decides how the member may start, starts etcd as
//! its child, watches it, and says what it sees.
//!
//! | file | what is in it |
//! |---|---|
//! | `facts` | what can be seen before a decision |
//! | `entry` | whose an entry of the member list is |
//! | `acceptance` | whether an add would be accepted, and should be asked for |
//! | `decide` | from facts to one step: the table |
//! | `record` | the volume's past, in a file beside the data |
//! | `volume`, `wal` | what is in the volume, and whose log it is |
//! | `version` | releases of etcd, and which go together |
//! | `pb` | etcd's messages |

pub mod acceptance;
pub mod access;
pub mod api;
mod begin;
pub mod child;
pub mod client;
pub mod decide;
pub mod entry;
pub mod facts;
pub mod fault;
pub mod gate;
mod join;
pub mod leave;
pub mod lines;
pub mod local;
pub mod observe;
pub mod pb;
pub mod peer;
pub mod preflight;
pub mod probes;
pub mod quote;
pub mod reach;
pub mod reap;
pub mod record;
pub mod reporter;
pub mod run;
pub mod settings;
pub mod stall;
pub mod streams;
pub mod tls;
pub mod version;
pub mod volume;
pub mod wal;
pub mod watch;

#[cfg(test)]
pub(crate) mod testing;
