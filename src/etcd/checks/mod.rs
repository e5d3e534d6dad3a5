//! What one field's value must be, whatever stands elsewhere: the functions that the resource's
//! [`validator::Validate`] implementations call. A function is named after its rule, or after its field where
//! several fields share a rule; the error's code is the rule's id.

mod duration;
mod enums;
mod quantity;
mod schedule;
mod store;

pub use duration::{Duration, durations, durations_or_off};
pub use enums::words;
pub(super) use enums::{
    auto_compaction_mode, compression_policy, freelist_type, garbage_collection_policy, metrics,
    traffic_distribution,
};
pub use quantity::{Quantity, quantities};
pub(super) use schedule::schedule_pattern;
pub use schedule::{Schedule, schedules};
pub(super) use store::{PROVIDERS, container, endpoint_override, provider};

use super::scalar::{Int, Int32};
use super::slot::Slot;
use std::borrow::Cow;
use validator::ValidationError;

/// The parameter of a [`ValidationError`] that holds the cause type.
pub const CAUSE: &str = "cause";

/// What a check that passed says.
type Checked = Result<(), ValidationError>;

/// A value that breaks a rule: `detail` says what is wrong and what to do instead, without the value.
fn refuse(rule: &'static str, cause: &'static str, detail: impl Into<Cow<'static, str>>) -> ValidationError {
    let mut error = ValidationError::new(rule).with_message(detail.into());
    error.params.insert(Cow::Borrowed(CAUSE), cause.into());
    error
}

fn invalid(rule: &'static str, detail: impl Into<Cow<'static, str>>) -> ValidationError {
    refuse(rule, "FieldValueInvalid", detail)
}

/// A port is 1 to 65535.
pub(super) fn ports(port: &Slot<Int32>) -> Checked {
    match port.number() {
        Some(number) if !(1..=65535).contains(&number) => {
            Err(invalid("ports", "a port is 1 to 65535; write one, or remove the field for the default"))
        }
        _ => Ok(()),
    }
}

/// A count is above zero.
pub(super) fn numbers<const BITS: u32>(count: &Slot<Int<BITS>>) -> Checked {
    match count.number() {
        Some(number) if number < 1 => {
            Err(invalid("numbers", "must be above 0; remove the field for the default, or write 1 or more"))
        }
        _ => Ok(()),
    }
}
