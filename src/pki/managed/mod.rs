//! Certificates that look after themselves: a CA in a Secret, leaves in memory, and the webhook configurations that
//! trust them.
//!
//! | file | what is in it |
//! |---|---|
//! | `authority` | one CA: made, read, checked; what is to be done when |
//! | `secret` | the Secret's content: current, next and previous CAs |
//! | `plan` | pure: from what is seen to the next step of a rotation |
//! | `hooks` | the webhook configurations: what their bundles hold, and one field applied |
//! | `repair` | how soon an overwritten bundle is put right, and who overwrote it |
//! | `keeper` | what the leader does: the Secret and the bundles |
//! | `leaf` | what every replica does: a leaf of its own, renewed in time |
//! | `access` | the requests that both make |
//! | `status` | faults, for the log, readiness and metrics |
//!
//! # The CA
//!
//! An ECDSA P-256 key and a certificate (`ca.key`, `ca.crt`) in one Secret. Only the leader (see [`crate::lease`]) writes
//! it, always by resource version. A Secret that holds something else is never overwritten: the error says what is wrong
//! and how to remove it. An empty Secret counts as none, so that it can be installed beforehand, and the right to create
//! Secrets, which can't be given by name, isn't needed.
//!
//! # Rotation
//!
//! At two thirds of the CA's life, or when there is none any more:
//!
//! 1. The leader makes a new CA and stores it as `next.crt` and `next.key`. Nothing is signed by it.
//! 2. It applies the bundle to every webhook of both configurations: current, next and previous CAs.
//! 3. Once `next` has been *seen* in both for the settle time (a minute: API servers read configurations from a cache),
//!    without a break, `next` becomes current; of the former current CA only the certificate is kept, in `previous.crt`,
//!    its key is gone.
//! 4. Each replica sees another current CA, signs a new leaf with it, and serves that; open connections go on.
//! 5. A previous CA leaves the bundle when it has expired. No leaf outlives its CA, so that every leaf made from it has
//!    expired by then, also those of a replica that was cut off. (Leaves live a day and CAs a year: for a third of its
//!    life each CA stands beside the next one.)
//!
//! A leader that changes in the middle goes on where the Secret says, and the settle time begins anew.
//!
//! *The first start*: where neither configuration trusts a CA that is still good, there is nothing to overlap, and the
//! new CA is current at once. *A Secret that was deleted*, or a change from files to self-managed certificates: what the
//! configurations trust is kept as previous, and the new CA begins as next.
//!
//! # Leaves
//!
//! Each replica has a leaf for `<service>.<namespace>.svc`, the name that API servers dial, with a key that exists in its
//! memory only. It is renewed at two thirds of its life by the wall clock, which is looked at every half minute: a timer
//! would sleep through a suspended machine. A replica with a good leaf doesn't take one from a CA that a configuration
//! does not hold. A new replica is not ready before the configurations hold its CA, unless there are none.
//!
//! # Clocks
//!
//! Certificates begin an hour in the past. A CA that has not begun by a replica's clock is used, and the skew is said: the
//! replica's clock is behind, and API servers judge by theirs.
//!
//! # Keys
//!
//! Keys are in no log and no `Debug`; what this module holds of them is wiped when dropped. Copies inside of the HTTP
//! client that brought the Secret are out of its reach.

mod access;
mod authority;
mod hooks;
mod keeper;
mod leaf;
mod plan;
mod repair;
mod secret;
mod status;

use std::time::Duration;

pub use access::Access;
pub use keeper::Keeper;
pub use leaf::{Leaf, Leaves};
pub use status::{Metrics, State, Status};

/// Names and life times.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Namespace of the Secret and of the Service.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
    /// Name of the Service that leads to this server.
    pub service: String,
    /// Name of both webhook configurations.
    pub configuration: String,
    /// How long a CA is good.
    pub ca_life: Duration,
    /// How long a leaf is good.
    pub leaf_life: Duration,
    /// How long a new CA stands in both configurations before it signs.
    pub settle: Duration,
}
