//! The command line: one file a command.

mod agent;
mod audit;
mod banner;
mod cluster;
mod completions;
mod crd;
mod environment;
mod explain;
mod ids;
mod lint;
mod man;
mod output;
mod rules;
mod serve;
mod signals;
mod status;
mod values;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Width of the help: it fits a terminal of 100 columns, and a page.
const HELP_WIDTH: usize = 98;

/// The program's name.
const NAME: &str = "etcd-warden";

/// The release and, where it is known, the commit, as `build.rs` found them.
const VERSION: &str = env!("ETCD_WARDEN_VERSION");

/// Keeps etcd clusters on Kubernetes from being broken by the manifests that describe them.
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    version = VERSION,
    max_term_width = HELP_WIDTH,
    // `serve` where none is named; the usage and the manual page say so.
    subcommand_required = false,
    arg_required_else_help = false,
    subcommand_value_name = "COMMAND",
    after_help = "\
Examples:
  etcd-warden                                         a server to try, on 127.0.0.1:9443
  etcd-warden explain                                 the rules that it holds manifests to
  etcd-warden crd | kubectl apply --server-side -f -
  etcd-warden help serve                              the flags of a command"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer admission reviews (also without a command)
    Serve(Box<serve::Args>),
    /// Run a member: decide how it may start, and etcd as a child (in a pod that the loop made)
    Agent(Box<agent::Args>),
    /// Show an Etcd: its members, who waits for what, votes and events
    Status(status::Args),
    /// Judge manifests in files, as the server would
    Lint(lint::Args),
    /// Read the audit log: list, show, count, report, judge anew
    Audit(Box<audit::Args>),
    /// Print the custom resource definition
    Crd(crd::Args),
    /// Say why a rule is there, what it spares, and how to mend what it refuses
    Explain(explain::Args),
    /// Print a shell's completions
    Completions(completions::Args),
    /// Print the manual page, or write those of all commands
    Man(man::Args),
}

/// Why a command ended otherwise than well.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The flags can't be followed: exit status 2.
    #[error("{0}")]
    Usage(String),
    /// What is to be read can't be: exit status 2.
    #[error("{0}")]
    Unreadable(String),
    /// What the flags ask for can't be done: exit status 1.
    #[error("{0}")]
    Failed(String),
    /// What is wrong was said already: this exit status.
    #[error("exit status {0}")]
    Told(u8),
    /// Who reads standard output has read enough (`| head`): nothing is left to do or to say, exit status 0.
    #[error("standard output is closed")]
    ReaderGone,
    /// Ended at once by a second signal of this number: exit status 128 and that number.
    #[error("ended at once by a second signal; requests in flight are lost")]
    Signal(u8),
}

impl Failure {
    fn status(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Unreadable(_) => 2,
            Self::Failed(_) => 1,
            Self::Told(status) => *status,
            Self::ReaderGone => 0,
            Self::Signal(number) => 128 + number,
        }
    }
}

/// Runs the command of these arguments (the program's name first) and says how the process should end.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match parse(arguments.into_iter().collect()) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come as errors too. Nothing can be done where they can't be printed.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let done = match cli.command {
        Command::Serve(args) => serve::run(*args),
        Command::Agent(args) => agent::run(*args),
        Command::Status(args) => status::run(&args),
        Command::Lint(args) => lint::run(&args),
        Command::Audit(args) => audit::run(*args),
        Command::Crd(args) => crd::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !matches!(failure, Failure::Told(_) | Failure::ReaderGone) {
                print_error(&failure);
            }
            ExitCode::from(failure.status())
        }
    }
}

fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let (command, arguments) = (with_empty_unset(Cli::command()), with_command(arguments));
    let matches = command.clone().try_get_matches_from(&arguments);
    let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map_err(|error| environment::with_variable(error, &command, &arguments))
}

/// `serve` is what is meant where no command is named: with flags only, and without arguments.
fn with_command(mut arguments: Vec<OsString>) -> Vec<OsString> {
    let of_root = ["-h", "--help", "-V", "--version"].map(OsStr::new);
    let names_none = match arguments.get(1) {
        None => true,
        Some(first) => first.as_encoded_bytes().starts_with(b"-") && !of_root.contains(&first.as_os_str()),
    };
    if names_none {
        arguments.insert(arguments.len().min(1), "serve".into());
    }
    arguments
}

fn with_empty_unset(command: clap::Command) -> clap::Command {
    command.mut_args(unset_if_empty).mut_subcommands(with_empty_unset)
}

/// A variable that is set to nothing is what a template leaves of a value that was not given.
fn unset_if_empty(argument: clap::Arg) -> clap::Arg {
    let empty = argument.get_env().and_then(std::env::var_os).is_some_and(|value| value.is_empty());
    if empty { argument.env(None::<&str>) } else { argument }
}

#[allow(clippy::print_stderr, reason = "the last words of a command")]
fn print_error(failure: &Failure) {
    eprintln!("error: {failure}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn serve_is_the_command_where_none_is_named() {
        for (given, meant) in [
            ("etcd-warden", "etcd-warden serve"),
            ("etcd-warden --listen 127.0.0.1:0", "etcd-warden serve --listen 127.0.0.1:0"),
            ("etcd-warden serve", "etcd-warden serve"),
            ("etcd-warden --help", "etcd-warden --help"),
            ("etcd-warden -V", "etcd-warden -V"),
            ("etcd-warden help", "etcd-warden help"),
        ] {
            assert_eq!(with_command(arguments(given)), arguments(meant));
        }
    }

    #[test]
    fn the_command_line_is_sound_and_every_flag_has_a_variable() {
        let mut command = Cli::command();
        command.clone().debug_assert();
        let serve = command.find_subcommand_mut("serve").unwrap();
        for argument in serve.get_arguments().filter(|argument| argument.get_id() != "help") {
            let name = argument.get_long().unwrap();
            let variable = format!("ETCD_WARDEN_{}", name.to_uppercase().replace('-', "_"));
            assert_eq!(argument.get_env().unwrap(), variable.as_str());
        }
    }

    #[test]
    fn the_usage_says_that_a_command_may_be_left_out() {
        let help = parse(arguments("etcd-warden --help")).unwrap_err().to_string();
        assert!(help.contains("\nUsage: etcd-warden [COMMAND]\n"), "{help}");
        for unclear in ["etcd-warden nonsense", "etcd-warden audit"] {
            assert_eq!(parse(arguments(unclear)).unwrap_err().exit_code(), 2, "{unclear}");
        }
    }

    #[test]
    fn the_version_is_the_release_and_the_commit_where_it_is_known() {
        let error = parse(arguments("etcd-warden --version")).unwrap_err();
        let text = error.to_string();
        let version = text.trim().strip_prefix("etcd-warden ").unwrap();
        let commit = version.strip_prefix(env!("CARGO_PKG_VERSION")).unwrap();
        let in_brackets = commit.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
        assert!(commit.is_empty() || in_brackets.is_some_and(|commit| commit.len() >= 7), "{version}");
    }

    /// The words after the program's name, for the program itself and for every command below it.
    fn commands(command: &clap::Command, path: &[String], found: &mut Vec<Vec<String>>) {
        found.push(path.to_vec());
        for below in command.get_subcommands() {
            commands(below, &[path, &[below.get_name().to_owned()]].concat(), found);
        }
    }

    fn every_command() -> Vec<Vec<String>> {
        let mut found = Vec::new();
        commands(&Cli::command(), &[], &mut found);
        found
    }

    #[test]
    fn the_help_of_every_command_fits_and_shows_examples() {
        assert!(every_command().len() > 5);
        for path in every_command() {
            for flag in ["--help", "-h"] {
                let words = [NAME].into_iter().chain(path.iter().map(String::as_str)).chain([flag]);
                let help = parse(words.map(OsString::from).collect()).unwrap_err().to_string();
                let examples = help.split_once("\nExamples:\n  ").map_or("", |(_, examples)| examples);
                let named = [&[NAME.to_owned()], path.get(..1).unwrap_or_default()].concat().join(" ");
                assert!(examples.contains(&named), "{path:?} {flag}: {help}");
                for line in help.lines() {
                    assert!(line.chars().count() < 100, "{path:?} {flag}: {line}");
                }
            }
        }
    }

    /// More flags than fit a glance stand under headings.
    #[test]
    fn many_flags_are_grouped() {
        const GLANCE: usize = 6;
        for path in every_command() {
            let root = Cli::command();
            let command = path.iter().fold(&root, |command, name| command.find_subcommand(name).unwrap());
            let flags: Vec<_> = command.get_opts().collect();
            for flag in flags.iter().filter(|_| flags.len() > GLANCE) {
                assert!(flag.get_help_heading().is_some(), "{path:?}: {}", flag.get_id());
            }
        }
    }
}
