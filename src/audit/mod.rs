//! What was rejected: the record of one review, and the file that holds the records.

mod record;

pub use record::{Decision, Finding, Object, Record, Stage, User};
