//! The reconcile loop: makes an admitted `Etcd` real, and says in its status what is so.
//!
//! | file | what is in it |
//! |---|---|
//! | `spec`, `status`, `object` | an Etcd in full, owned |
//! | `kind`, `render` | the objects of an Etcd, pure: one file a kind |
//! | `supported` | what of a spec isn't carried out |
//! | `same` | whether an object that stands is as it should be |

mod kind;
mod object;
pub mod render;
mod same;
#[cfg(test)]
mod sample;
pub mod spec;
pub mod status;
mod supported;

pub use kind::Kind;
pub use object::{Etcd, Unreadable};
