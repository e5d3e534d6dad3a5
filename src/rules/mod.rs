//! The catalogue of rules: pure functions from (old, new, settings) to violations and warnings.
//!
//! [`RULES`] and [`WARNINGS`] are the tables; a rule's function bears its id. [`judge()`] runs them over a
//! [`Request`] and settles what speaks where two of them see one mistake.

/// The page that explains a rule or a warning.
macro_rules! page {
    ($id:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/rules/", $id, ".md"))
    };
}

mod address;
mod advertise;
mod backup;
mod catalogue;
mod change;
mod end;
mod entry;
mod fields;
mod freeze;
mod image;
mod immutable;
mod judge;
mod object;
mod own;
mod page;
mod ports;
mod report;
mod secrets;
mod settings;
mod size;
mod source;
mod source_names;
mod source_urls;
mod status;
mod view;
mod warnings;

pub use address::{Address, AddressValue, Fault, Place, canonical};
pub use catalogue::{Check, Group, RULES, Rule};
pub use change::Change;
pub use entry::{Entry, Kind, entries};
pub(crate) use image::Minor;
pub use judge::{Request, Verdict, judge};
pub use page::{Block, Page, Section};
pub use report::{Cause, Given, Report, Violation, Warning};
pub use settings::Settings;
pub use view::{ADVERTISED, BOOTSTRAP, CLIENT_TLS, PEER_TLS, UrlAt, UrlPlace, View};
pub use warnings::{CANONICAL_URL, MORE_WARNINGS, NOT_JUDGED, WARNINGS, WarningCheck, WarningRule};

/// The ids of all rules and of all warnings, as metric labels.
pub fn ids() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.id).chain(WARNINGS.iter().map(|warning| warning.id))
}
