//! The log read back: its files one line after the other, and what the records in them say.
//!
//! | file | what is in it |
//! |---|---|
//! | `entry` | a record as it is read, of this release or another |
//! | `lines` | lines off a stream, in bounded memory |
//! | `item` | what a line is: a record, or something foreign that is named |
//! | `series` | the files of one log, oldest first |
//! | `log` | one log from its oldest record on, and on while it is written |
//! | `merged` | several logs by time |
//! | `filter` | which records are wanted |
//! | `moment` | moments as a person writes them |
//! | `newest` | the newest of many |
//! | `window` | all by time, as far as bounded memory allows |
//! | `tally`, `timeline` | counts by name and over time, in bounded memory |
//! | `summary` | what many records say together |
//!
//! Only `series` and `log` touch files.

mod entry;
mod filter;
#[cfg(not(test))]
mod item;
#[cfg(test)]
pub(in crate::audit) mod item;
mod lines;
mod log;
mod merged;
mod moment;
mod newest;
mod series;
mod summary;
mod tally;
mod timeline;
mod window;

pub use entry::{Entry, Evidence, Found, Time};
pub use filter::{Filter, Pattern};
pub use item::{Recorded, Skipped, Why};
pub use lines::{LINE_MAX, Line, Lines};
pub use log::{Item, Log, LogError};
pub use merged::Merged;
pub use moment::moment;
pub use newest::Newest;
pub use summary::{Summary, Told};
pub use tally::{Row, Tally};
pub use timeline::{Span, Timeline, UNITS};
pub use window::Window;
