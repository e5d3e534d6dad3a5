//! `audit`: what the server's log says.

mod columns;
mod list;
mod reader;
mod replay;
mod report;
mod select;
mod show;
mod summary;
mod table;

use clap::Subcommand;

use super::Failure;

/// A chapter of the help.
const OUTPUT: &str = "Output";

/// The flags of `audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  etcd-warden audit list --since 2h audit.log
  kubectl -n etcd-warden logs -l app.kubernetes.io/name=etcd-warden --tail=-1 | etcd-warden audit summary -
  etcd-warden audit report --since 7d --html refused.html audit.log")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the records, newest last
    List(list::Args),
    /// Show one record whole: the manifest, and what is wrong with it
    Show(show::Args),
    /// Count the records by rule, namespace, user and time
    Summary(summary::Args),
    /// Write a page of HTML that says what was refused
    Report(report::Args),
    /// Judge the recorded reviews by the present rules: what would be decided otherwise
    Replay(replay::Args),
}

/// Does what the arguments ask for.
pub(super) fn run(args: Args) -> Result<(), Failure> {
    match args.command {
        Command::List(args) => list::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Replay(args) => replay::run(args),
    }
}

/// The value of a flag that says how many of something are printed.
fn how_many(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "write how many, a number from 0 on, such as 20".to_owned())
}

/// A record or a document as YAML.
fn yaml(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_saphyr::to_string(value).map_err(|error| Failure::Failed(format!("can't write YAML: {error}")))
}
