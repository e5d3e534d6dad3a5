//! Leader election over a Lease (`coordination.k8s.io/v1`): of all replicas one does what one may do.
//!
//! | file | what is in it |
//! |---|---|
//! | `candidate` | the decision, pure: what is stored and the time in, the next step out |
//! | `store` | a Lease, read and replaced by its resource version |
//! | `elector` | the loop: stands, leads, has the work stopped, stands again, releases |
//!
//! Timings are client-go's. A leader renews every 2 s and stops acting 10 s after it *sent* the last renewal that was
//! accepted; the others wait until they have not *seen* the Lease change for 15 s, each by a clock of its own that only
//! goes forward. So nobody compares wall clocks, and two act at once only if one machine's clock runs half as fast again
//! as the other's. A write that is under way when a leader stops can still land: what leaders write is guarded by
//! resource version, too.

mod candidate;
mod elector;
#[cfg(test)]
mod simulation;
mod store;

pub use candidate::Timing;
pub use elector::{Elector, LeaseError, Metrics};
pub use store::{KubernetesLease, Record, Store, StoreError, Stored};
