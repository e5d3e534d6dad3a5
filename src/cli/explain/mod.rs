//! `explain`: why a rule is there, what it spares, and how to mend what it refuses.

mod json;
mod text;

use clap::ValueEnum;

use super::Failure;
use super::ids::IdParser;
use super::output::{self, ColorArgs};
use crate::lint::entries;
use crate::rules::Entry;

/// The arguments of `explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  etcd-warden explain                                 every rule and warning, by group
  etcd-warden explain bootstrap-peer-url-scheme       one of them, with an example and its mend
  etcd-warden explain --output json | jq '.[].id'
  etcd-warden explain replicas-no-shrink | less

Exit status: 0, or 2 for an id that isn't there; the nearest one is named.")]
pub(super) struct Args {
    /// Id of a rule or a warning: what stands in brackets at the end of its message [default: list all]
    #[arg(value_name = "RULE", value_parser = IdParser, hide_possible_values = true)]
    rule: Option<Entry>,
    /// Text for people, or JSON for programs: an array without RULE, an object with it
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    output: Format,
    #[command(flatten)]
    color: ColorArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// Prints the list, or one explanation.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let width = output::reading_width();
    let all: Vec<Entry> = entries().collect();
    let text = match (args.output, &args.rule) {
        (Format::Text, None) => text::list(&all, width),
        (Format::Text, Some(entry)) => text::page(&entry.page(), width),
        (Format::Json, None) => json::list(&all).map_err(|error| failed(&error))?,
        (Format::Json, Some(entry)) => json::one(entry).map_err(|error| failed(&error))?,
    };
    output::print(&text, args.color)
}

fn failed(error: &serde_json::Error) -> Failure {
    Failure::Failed(format!("can't write JSON: {error}"))
}
