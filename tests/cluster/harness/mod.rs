//! Real clusters for tests: beds, namespaces on them, the program as their webhook, and what to wait with.
//!
//! A scenario that needs a bed begins with `let Some(bed) = Bed::shared() else { return };`: where beds can't be had,
//! one line says what to install or run, and the scenarios pass without having run. `ETCD_WARDEN_BED=required`, and
//! `CI`, make that a failure; `ETCD_WARDEN_BED=off` runs none.

pub mod api;
mod audit;
mod bed;
pub mod cases;
pub mod certificates;
mod dice;
pub mod druid;
mod etcd;
mod follow;
pub mod installed;
mod kubectl;
mod load;
mod namespace;
mod source;
mod traces;
mod volume;
mod wait;
mod warden;
mod writer;

pub use audit::{Mark, Write};
pub use bed::{Bed, FOLDER, Options, can_be_had, is_long};
pub use dice::Dice;
pub use etcd::{Etcd, IMAGE_3_5, IMAGE_3_6, IMAGE_3_7, IMAGE_WITHOUT, Listed, joining, spec};
pub use follow::Follow;
pub use installed::Installed;
pub use kubectl::Output;
pub use load::Load;
pub use namespace::Namespace;
pub use source::Source;
pub use traces::Traces;
pub use volume::Volume;
pub use wait::eventually;
pub use warden::{Warden, fixture, mislabelled};
pub use writer::Writer;
