//! What reviews are judged by, beside the rules themselves.

use crate::rules::Settings;

use super::stored::Stored;

/// What becomes of a violation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Enforcement {
    /// The request is refused.
    #[default]
    Deny,
    /// The request is allowed with a warning for each violation: for a first roll-out.
    Warn,
}

/// Which reviews get an audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audited {
    /// Rejections, what would be one under [`Enforcement::Deny`], and what `/mutate` found.
    Rejections,
    /// Every decision.
    All,
}

/// What reviews are judged by.
#[derive(Clone, Copy, Debug)]
pub struct Policy<'a> {
    /// What the administrator decided about the rules.
    pub settings: &'a Settings,
    /// Which decisions come with a record.
    pub audited: Audited,
    /// What becomes of a violation.
    pub enforcement: Enforcement,
    /// Where the Etcd behind a Scale is found; nothing where there is no cluster.
    pub stored: Option<&'a dyn Stored>,
}

impl<'a> Policy<'a> {
    /// Violations are refused, and a Scale is judged by what it says.
    pub fn new(settings: &'a Settings, audited: Audited) -> Self {
        Self { settings, audited, enforcement: Enforcement::Deny, stored: None }
    }
}
