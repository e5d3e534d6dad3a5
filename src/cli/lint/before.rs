//! What the manifests are to replace: objects as they are stored, or files at a Git revision.

use super::Args;
use super::files::Input;
use super::git::Revision;
use crate::cli::Failure;
use crate::diagnostics::{Level, Source};
use crate::lint::{Lint, Linted, Stored};

/// What the manifests are to replace.
pub(super) enum Before {
    /// Nothing: all of them are new.
    Nothing,
    /// The same for every file, and what is to be said of it.
    Same(Stored, Linted),
    /// What each file held at a revision.
    At(Revision),
}

impl Before {
    /// Reads what the flags name.
    pub(super) fn read(args: &Args, lint: &Lint, inputs: &[Input]) -> Result<Self, Failure> {
        match (&args.old, &args.against) {
            (None, None) => Ok(Self::Nothing),
            (Some(old), _) => {
                let input = Input::of(old);
                let usage = |why: String| Failure::Usage(format!("--old {}: {why}", old.display()));
                let text = input.read().map_err(usage)?;
                let (stored, linted) = lint.stored(Source::new(&input.name, text));
                if stored.is_empty() && !linted.unreadable {
                    return Err(usage(no_etcd(&linted)));
                }
                Ok(Self::Same(stored, linted))
            }
            (None, Some(revision)) => {
                Revision::look_at(revision, inputs).map(Self::At).map_err(Failure::Usage)
            }
        }
    }

    /// Whether there is anything to replace.
    pub(super) fn is_something(&self) -> bool {
        !matches!(self, Self::Nothing)
    }

    /// Judges a file's text as an update. Beside what was found, what is to be said of what it held before.
    pub(super) fn judge(&self, lint: &Lint, input: &Input, text: String) -> (Linted, Option<Linted>) {
        let source = |text| Source::new(&input.name, text);
        match self {
            Self::Nothing => (lint.text(source(text), &Stored::default()), None),
            Self::Same(stored, _) => (lint.text(source(text), stored), None),
            Self::At(revision) => match revision.text(input, &text) {
                Ok(old) => {
                    let is_told_anyway = old == text;
                    let (stored, before) = lint.stored(Source::new(revision.place(input), old));
                    let linted = lint.text(source(text), &stored);
                    let is_told = before.unreadable && !is_told_anyway;
                    let before = is_told.then(|| untold(before, linted.counts.creations, lint));
                    (linted, before)
                }
                Err(why) => (lint.unreadable(&input.name, &why), None),
            },
        }
    }

    /// What is to be said of what every file is compared with.
    pub(super) fn into_said(self) -> Option<Linted> {
        match self {
            Self::Same(_, linted) => Some(linted),
            Self::Nothing | Self::At(_) => None,
        }
    }
}

fn no_etcd(linted: &Linted) -> String {
    let foreign = linted.report.findings.first().map(|finding| format!(": {}", finding.message));
    format!("holds no Etcd{}", foreign.unwrap_or_default())
}

/// Documents of a file that couldn't be read at the revision hide what the file's new Etcds replace, perhaps. Where it
/// has none, nothing is hidden, and whoever mends the file must be able to.
fn untold(mut before: Linted, creations: usize, lint: &Lint) -> Linted {
    before.unreadable = creations > 0;
    before.report.findings.retain(|finding| finding.rule == "syntax");
    for finding in &mut before.report.findings {
        if creations > 0 {
            let own = finding.help.take().map(|help| format!("{help}; ")).unwrap_or_default();
            finding.help = Some(format!(
                "{own}what is new in the file may be an update: compare with another revision, or with --old"
            ));
        } else if !lint.deny_warnings {
            finding.level = Level::Warning;
        }
    }
    before
}
