//! Whether the output has colours: one choice for every command.

use crate::diagnostics::text::Style;
use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

/// The flag of every command that prints in colours.
#[derive(Debug, clap::Args)]
pub(super) struct ColourArgs {
    #[arg(
        long = "color",
        value_name = "WHEN",
        default_value = "auto",
        help = "When colours are used; auto: on a terminal, unless NO_COLOR is set"
    )]
    when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

impl ColourArgs {
    /// How standard output is written.
    pub(super) fn stdout(&self) -> Style {
        match self.when {
            When::Always => Style::Coloured,
            When::Never => Style::Plain,
            When::Auto => match AutoStream::choice(&std::io::stdout()) {
                ColorChoice::Never => Style::Plain,
                ColorChoice::Auto | ColorChoice::Always | ColorChoice::AlwaysAnsi => Style::Coloured,
            },
        }
    }
}
