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
mod review;

pub use outcome::{Audited, Facts, Outcome, review, timed_out};
pub use patch::{NotThere, Operation};
pub use review::NoReview;
