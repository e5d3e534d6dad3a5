//! The reconcile loop: makes an admitted `Etcd` real, and says in its status what is so.
//!
//! | file | what is in it |
//! |---|---|
//! | `spec`, `status`, `object` | an Etcd in full, owned |
//! | `kind`, `render` | the objects of an Etcd, pure: one file a kind |
//! | `supported` | what of a spec isn't carried out |
//! | `pod`, `facts` | members' pods with their reports, and all that is known when something is decided |
//! | `decide`, `join`, `members` | the decision, pure: facts in; steps, a status and events out |
//! | `upgrade` | the image that stays while members couldn't start with the one that is wanted |
//! | `runner` | watches, and what is decided as requests |
//! | `same` | whether an object that stands is as it should be |

mod decide;
mod facts;
mod join;
mod kind;
mod members;
mod object;
mod pod;
pub mod render;
mod runner;
mod same;
#[cfg(test)]
mod sample;
pub mod spec;
pub mod status;
mod supported;
mod upgrade;

pub use decide::{Decision, Note, Seen, Step, conditions_written as conditions, decide, time};
pub use facts::{Facts, Neighbour, Stands};
pub use join::clusters;
pub use kind::Kind;
pub use object::{Etcd, Unreadable};
pub use pod::{Pod, Said, Word};
pub use runner::{Health, Loop, Metrics, etcds};
