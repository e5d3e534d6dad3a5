//! The columns that tables of records have in common.

use crate::audit::query::Entry;

use super::table::Column;

/// Characters of a uid that a table shows, also in a pipe: enough for `show` to find it by.
const SHORT_UID: usize = 8;

pub(super) const TIME: Column = Column::new("TIME", 0).whole();
pub(super) const REVIEW: Column = Column::new("REVIEW", SHORT_UID);
pub(super) const OPERATION: Column = Column::new("OPERATION", 16);
pub(super) const OBJECT: Column = Column::new("NAMESPACE/NAME", 40);
pub(super) const USER: Column = Column::new("USER", 40).in_short(account);
/// The last column, which has what room is left.
pub(super) const RULES: Column = Column::new("RULES", 0);

/// What stands in these columns of a record.
pub(super) struct Cells {
    pub(super) time: String,
    pub(super) review: String,
    pub(super) operation: String,
    pub(super) object: String,
    pub(super) user: String,
}

impl Cells {
    pub(super) fn of(entry: &Entry) -> Self {
        Self {
            time: entry.time.to_the_second(),
            review: entry.uid.chars().take(SHORT_UID).collect(),
            operation: entry.operation(),
            object: entry.object(),
            user: entry.user.name.clone(),
        }
    }
}

/// A user as a terminal has room for: of a service account, namespace and name are what tells it from others.
fn account(name: &str) -> String {
    match name.strip_prefix("system:serviceaccount:") {
        Some(account) => format!("…:{account}"),
        None => name.to_owned(),
    }
}
