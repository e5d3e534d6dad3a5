//! `lint`: judges manifests in files, as the server would.

mod before;
mod files;
mod git;
mod output;

use super::Failure;
use super::ids::IdParser;
use super::output::ColorArgs;
use super::rules::{NamesNothing, given, names_nothing};
use crate::etcd::is_rfc1123_label;
use crate::lint::{Filter, Lint, Linted};
use crate::rules::{Entry, Settings};
use before::Before;
use clap::ValueEnum;
use files::Input;
use std::path::{Path, PathBuf};
use std::thread;

/// The flags of `lint`.
#[derive(Debug, clap::Args)]
#[command(
    next_line_help = true,
    after_help = "\
Examples:
  etcd-warden lint manifests/ etcd.yaml
  helm template chart | etcd-warden lint --deny warnings -
  kubectl get etcd main -o yaml | etcd-warden lint --old - main.yaml
  etcd-warden lint --against origin/main --format github manifests/
  etcd-warden lint --format sarif . > etcd-warden.sarif

A comment behind a value or above it allows a warning:
  replicas: 2  # etcd-warden: allow(even-replicas) a test cluster

Exit status: 0 nothing wrong, 1 violations, 2 an input that can't be read or holds nothing."
)]
pub(super) struct Args {
    /// Files, folders (of which .yaml, .yml and .json files are read), or - for standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// The objects as they are stored, or - for standard input: what bears the name of one is its update
    #[arg(long, value_name = "FILE", help_heading = UPDATES, conflicts_with = "against")]
    old: Option<PathBuf>,
    /// Git revision: each file is judged as an update of what it held then
    #[arg(long, value_name = "REVISION", help_heading = UPDATES)]
    against: Option<String>,

    /// Ids of the rules and warnings that are looked for, comma-separated [default: all]
    #[arg(long, value_name = "IDS", help_heading = RULES, value_delimiter = ',', value_parser = IdParser, hide_possible_values = true)]
    rule: Vec<Entry>,
    /// Ids of rules and warnings that are passed over, comma-separated
    #[arg(long, value_name = "IDS", help_heading = RULES, value_delimiter = ',', value_parser = IdParser, hide_possible_values = true)]
    skip: Vec<Entry>,
    /// What counts as an error besides errors
    #[arg(long, value_name = "WHAT", help_heading = RULES)]
    deny: Option<Denied>,
    /// Namespace of manifests that name none [default: not known, and not asked for]
    #[arg(long, short, value_name = "NAME", help_heading = RULES, value_parser = namespace)]
    namespace: Option<String>,
    /// Comma-separated prefixes, as the server's; an etcd image begins with one of them [default: any image]
    #[arg(long, value_name = "PREFIXES", help_heading = RULES, value_delimiter = ',')]
    allowed_images: Vec<String>,

    /// How findings are written
    #[arg(long, value_name = "FORMAT", help_heading = OUTPUT, default_value = "text")]
    format: Format,
    #[command(flatten, next_help_heading = OUTPUT)]
    color: ColorArgs,
}

const UPDATES: &str = "Updates";
const RULES: &str = "Rules";
const OUTPUT: &str = "Output";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Denied {
    /// Every warning
    Warnings,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// As a compiler writes: the line, the value underlined
    Text,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of a pull request on GitHub
    Github,
}

/// Judges what the flags name, prints what was found, and says how the process should end.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let inputs = files::find(&args.paths);
    let uses_stdin = |path: &Path| path == Path::new(files::STDIN);
    if args.old.as_deref().is_some_and(uses_stdin) && args.paths.iter().any(|path| uses_stdin(path)) {
        return Err(Failure::Usage("standard input can be read once: --old or PATH is a file".to_owned()));
    }
    let lint = lint(args)?;
    let before = Before::read(args, &lint, &inputs)?;
    let found = judge(&lint, &inputs, before);
    output::print(args, &found)?;
    match status(&found) {
        0 => Ok(()),
        status => Err(Failure::Told(status)),
    }
}

/// Everything that was found.
struct Found {
    /// In each file.
    files: Vec<Linted>,
    /// In what they were compared with; nothing where they weren't.
    before: Option<Vec<Linted>>,
}

impl Found {
    /// All of it, in the order in which it is told.
    fn all(&self) -> impl Iterator<Item = &Linted> {
        self.before.iter().flatten().chain(&self.files)
    }
}

/// The name of a namespace: one that can't be would be in no cluster.
fn namespace(text: &str) -> Result<String, String> {
    match text {
        "" => Err("names no namespace: write one, or leave the flag out (is a variable empty?)".to_owned()),
        name if is_rfc1123_label(name) => Ok(name.to_owned()),
        _ => Err("write 1 to 63 characters of a-z, 0-9 and -, beginning and ending with a letter or a digit"
            .to_owned()),
    }
}

fn lint(args: &Args) -> Result<Lint, Failure> {
    let filter = Filter::new(&args.rule, &args.skip);
    if names_nothing(&args.allowed_images) {
        return Err(Failure::Usage(NamesNothing("--allowed-images").to_string()));
    }
    let settings = Settings { allowed_images: given(args.allowed_images.clone()), ..Settings::default() };
    let mut lint = Lint::new(settings, filter);
    lint.namespace.clone_from(&args.namespace);
    lint.deny_warnings = args.deny.is_some();
    Ok(lint)
}

/// Judges every input; many at once, their order kept.
fn judge(lint: &Lint, inputs: &[Input], before: Before) -> Found {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = inputs.len().div_ceil(workers).max(1);
    let judged: Vec<(Linted, Option<Linted>)> = thread::scope(|scope| {
        let before = &before;
        let work =
            move |inputs: &[Input]| inputs.iter().map(|input| one(lint, input, before)).collect::<Vec<_>>();
        let started: Vec<_> =
            inputs.chunks(share).map(|inputs| (inputs, scope.spawn(move || work(inputs)))).collect();
        let ended = started.into_iter().map(|(inputs, thread)| {
            // What made a worker panic is judged again where it can be seen.
            thread.join().unwrap_or_else(|_| work(inputs))
        });
        ended.flatten().collect()
    });
    let (files, of_files): (Vec<Linted>, Vec<Option<Linted>>) = judged.into_iter().unzip();
    let before = before
        .is_something()
        .then(|| before.into_said().into_iter().chain(of_files.into_iter().flatten()).collect());
    Found { files, before }
}

fn one(lint: &Lint, input: &Input, before: &Before) -> (Linted, Option<Linted>) {
    match input.read() {
        Ok(text) => before.judge(lint, input, text),
        Err(why) => (lint.unreadable(&input.name, &why), None),
    }
}

/// 2 where something can't be read, else 1 where something is wrong.
fn status(found: &Found) -> u8 {
    if found.all().any(|linted| linted.unreadable) {
        2
    } else {
        u8::from(output::count(found, crate::diagnostics::Level::Error) > 0)
    }
}
