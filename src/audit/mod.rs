//! What was rejected: the record of one review, and the file that holds the records.
//!
//! | file | what is in it |
//! |---|---|
//! | `record` | one review as a JSON line |
//! | `before` | of an update, what was stored before |
//! | `seen` | which objects `/mutate` has already put into the log |
//! | `queue` | lines on their way to the writer: bounded in bytes |
//! | `sink` | what the server holds: hands lines in, waits for the word that they are written |
//! | `writer` | the thread that writes batches, and keeps what it could not write for a next try |
//! | `lines` | appends whole lines to a medium and mends what a failed write left behind |
//! | `counters` | what became of the records, for metrics and readiness |
//! | `file` | the medium: a file with rotation, a lock and re-opening; or standard output |
//! | [`query`] | the log read back |
//! | [`report`] | what a log says, as a page |

mod before;
mod counters;
mod file;
mod lines;
pub mod query;
mod queue;
mod record;
pub mod report;
mod seen;
mod sink;
mod writer;

pub use before::{Before, before, restored};
pub use counters::{Counters, Failure};
pub use file::{OpenError, Rotation, Target};
pub use lines::Medium;
pub use record::{Decision, Finding, Object, Record, Stage, User};
pub use seen::{Key, Seen};
pub use sink::{Bounds, Sink};
