//! What an administrator decides about the rules: the same flags for whoever judges.

use clap::builder::BoolishValueParser;

use crate::rules::Settings;

/// The chapter of the help.
pub(super) const RULES: &str = "Rules";

/// The flags that change verdicts.
#[derive(Debug, Default, clap::Args)]
pub(super) struct RulesArgs {
    /// Comma-separated prefixes; an etcd image begins with one of them: end them with / or : [default: any image]
    #[arg(long, env = "ETCD_WARDEN_ALLOWED_IMAGES", hide_env = true, value_name = "PREFIXES", help_heading = RULES, value_delimiter = ',')]
    allowed_images: Vec<String>,
    /// Protect every Etcd from deletion, also one without the annotation
    #[arg(long, env = "ETCD_WARDEN_DELETION_PROTECTION", hide_env = true, help_heading = RULES, value_parser = BoolishValueParser::new())]
    deletion_protection: bool,
    /// User that the reconcile loop acts as [default: the pod's own with --controller, else no loop runs]
    #[arg(long, env = "ETCD_WARDEN_LOOP_USER", hide_env = true, value_name = "USER", help_heading = RULES)]
    loop_user: Option<String>,
}

/// A list that names nothing would let everything in.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} names nothing, which would let everything in: give what it should name, or leave it out")]
pub(super) struct NamesNothing(pub(super) &'static str);

impl RulesArgs {
    /// Whether the flags make sense.
    pub(super) fn check(&self) -> Result<(), NamesNothing> {
        if names_nothing(&self.allowed_images) { Err(NamesNothing("--allowed-images")) } else { Ok(()) }
    }

    /// The settings, with the user of the loop that runs beside, if one does.
    pub(super) fn settings(self, loop_user: Option<String>) -> Settings {
        Settings {
            allowed_images: given(self.allowed_images),
            deletion_protection: self.deletion_protection,
            loop_user: self.loop_user.or(loop_user),
        }
    }
}

/// A list of which nothing is left.
pub(super) fn names_nothing(list: &[String]) -> bool {
    !list.is_empty() && list.iter().all(|item| item.trim().is_empty())
}

/// `a,,b` and `a, b` are `a` and `b`.
pub(super) fn given(list: Vec<String>) -> Vec<String> {
    list.into_iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}
