//! AdmissionReview in, AdmissionReview out.
//!
//! Pure: bytes and settings in, an [`Outcome`] out. Sockets, clocks and files are the server's.

mod answer;
mod case;
mod depth;
mod manifest;
mod mutate;
mod outcome;
mod patch;
mod policy;
mod review;
mod stored;

pub use mutate::{Mutation, mutate};
pub use outcome::{Facts, Outcome, review, timed_out};
pub use patch::{NotThere, Operation};
pub use policy::{Audited, Enforcement, Policy};
pub use review::NoReview;
pub use stored::{Asked, Lookup, Stored};
