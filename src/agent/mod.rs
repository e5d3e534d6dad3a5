//! The pod-side half: the first process of a member's container. It decides how the member may start, starts etcd as
//! its child, watches it, and says what it sees.
//!
//! | file | what is in it |
//! |---|---|
//! | `facts` | what can be seen before a decision |
//! | `entry` | whose an entry of the member list is |
//! | `acceptance` | whether an add would be accepted, and should be asked for |
//! | `decide` | from facts to one step: the table |
//! | `run` | the loop: looks, decides, acts |
//! | `observe`, `client`, `peer` | how a cluster is looked at: by its clients' API, and as its peers do |
//! | `preflight`, `reach` | what etcd would not check in time before an add |
//! | `source` | endpoints that lead elsewhere than was meant |
//! | `begin`, `join`, `leave` | first starts; the way in, and out again |
//! | `launch`, `watch` | etcd is started, and attended while it runs |
//! | `gate`, `streams`, `stall` | whether a learner may be promoted, who reaches it, whether its join goes on |
//! | `child`, `lines` | etcd as a process, and what it says |
//! | `record` | the volume's past, in a file beside the data |
//! | `volume`, `wal`, `access` | what is in the volume, whose log it is, and whether it may be written |
//! | `v2` | whether the next minor could read the log |
//! | `version` | releases of etcd, and which go together |
//! | `tls` | the mounted certificates |
//! | `api`, `reporter` | what the API server says, and what is reported there |
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
mod launch;
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
mod source;
pub mod stall;
pub mod streams;
pub mod tls;
pub mod v2;
pub mod version;
pub mod volume;
pub mod wal;
pub mod watch;

#[cfg(test)]
pub(crate) mod testing;
