//! `audit list`.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;

use crate::audit::Stage;
use crate::audit::query::{Entry, Newest, Recorded};
use crate::cli::Failure;
use crate::cli::output::{reader_is_gone, terminal_width, written};

use super::columns::{Cells, OBJECT, OPERATION, REVIEW, RULES, TIME, USER};
use super::reader::{Logs, Reader};
use super::select::Selection;
use super::table::{Column, Row, Table};
use super::{OUTPUT, how_many, yaml};

/// How often a log that is followed is looked at; `--help` says it.
const POLL: Duration = Duration::from_millis(500);

/// The flags of `audit list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  etcd-warden audit list --since 2h -n shop audit.log
  etcd-warden audit list --rule 'bootstrap-*' --output wide audit.log
  etcd-warden audit list --output json audit.log | etcd-warden audit summary -
  etcd-warden audit list --follow --limit 10 audit.log")]
pub(super) struct Args {
    #[command(flatten)]
    logs: Logs,
    #[command(flatten)]
    selection: Selection,
    /// How records are printed
    #[arg(long, short, value_name = "FORMAT", default_value = "table", help_heading = OUTPUT)]
    output: Output,
    /// Only so many, the newest
    #[arg(long, value_name = "NUMBER", help_heading = OUTPUT, value_parser = how_many, allow_hyphen_values = true)]
    limit: Option<usize>,
    /// Go on as records are written, also over rotations; the log is looked at every half second
    #[arg(long, short, help_heading = OUTPUT)]
    follow: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A line each, cut to the terminal
    Table,
    /// A line each with everything but the manifest, not cut
    Wide,
    /// The record as it stands in the log, an object a line
    Json,
    /// A document each
    Yaml,
}

/// Lists the records.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut filter = args.selection.filter()?;
    filter.decisions = args.selection.decisions(&[]);
    let mut reader = args.logs.open(filter, args.follow)?;
    let mut printer = Printer::new(args.output);
    match args.limit {
        Some(limit) => print_newest(&mut reader, &mut printer, limit)?,
        None if args.follow => print_as_they_come(&mut reader, &mut printer)?,
        None => print_all(&mut reader, &mut printer)?,
    }
    while args.follow && !reader.is_over() {
        thread::sleep(POLL);
        if reader_is_gone() {
            return Err(Failure::ReaderGone);
        }
        print_as_they_come(&mut reader, &mut printer)?;
    }
    reader.finish();
    reader.warn_of_nothing();
    Ok(())
}

/// Prints what there is now, by time.
fn print_all(reader: &mut Reader, printer: &mut Printer) -> Result<(), Failure> {
    while let Some(recorded) = reader.next_by_time()? {
        written(printer.print(&recorded)?)?;
    }
    written(printer.settle())
}

/// Prints what there is now without waiting for more.
fn print_as_they_come(reader: &mut Reader, printer: &mut Printer) -> Result<(), Failure> {
    while let Some(recorded) = reader.next_record()? {
        written(printer.print(&recorded)?)?;
    }
    written(printer.settle())
}

/// Prints the newest of what there is now.
fn print_newest(reader: &mut Reader, printer: &mut Printer, limit: usize) -> Result<(), Failure> {
    let mut newest = Newest::new(limit, usize::MAX);
    while let Some(recorded) = reader.next_record()? {
        newest.add(recorded);
    }
    for recorded in newest.kept() {
        written(printer.print(recorded)?)?;
    }
    written(printer.settle())
}

type Out = BufWriter<StdoutLock<'static>>;

enum Printer {
    Table(Table<Out>),
    Wide(Table<Out>),
    Json(Out),
    Yaml(Out),
}

const TABLE: &[Column] = &[TIME, REVIEW, Column::new("DECISION", 8), OPERATION, OBJECT, USER, RULES];

const WIDE: &[Column] = &[
    TIME,
    REVIEW.whole(),
    Column::new("STAGE", 0).whole(),
    Column::new("DECISION", 0).whole(),
    Column::new("CODE", 0).whole(),
    OPERATION.whole(),
    Column::new("DRY-RUN", 0).whole(),
    OBJECT.whole(),
    USER.whole(),
    Column::new("DURATION", 0).whole(),
    RULES,
];

impl Printer {
    fn new(output: Output) -> Self {
        let out = BufWriter::new(io::stdout().lock());
        match output {
            Output::Table => Self::Table(Table::new(out, TABLE, terminal_width())),
            Output::Wide => Self::Wide(Table::new(out, WIDE, None)),
            Output::Json => Self::Json(out),
            Output::Yaml => Self::Yaml(out),
        }
    }

    /// The outer error is a record that can't be printed, the inner one an output that takes nothing.
    fn print(&mut self, recorded: &Recorded) -> Result<io::Result<()>, Failure> {
        Ok(match self {
            Self::Table(table) => table.row(short(&recorded.entry)),
            Self::Wide(table) => table.row(long(&recorded.entry)),
            Self::Json(out) => out.write_all(recorded.line()).and_then(|()| out.write_all(b"\n")),
            Self::Yaml(out) => {
                let document = document(recorded)?;
                out.write_all(b"---\n").and_then(|()| out.write_all(document.as_bytes()))
            }
        })
    }

    fn settle(&mut self) -> io::Result<()> {
        match self {
            Self::Table(table) | Self::Wide(table) => table.settle(),
            Self::Json(out) | Self::Yaml(out) => out.flush(),
        }
    }
}

/// The whole record as YAML.
pub(super) fn document(recorded: &Recorded) -> Result<String, Failure> {
    let whole: serde_json::Value = serde_json::from_slice(recorded.line())
        .map_err(|error| Failure::Failed(format!("can't read the record {}: {error}", recorded.entry.uid)))?;
    yaml(&whole)
}

fn short(entry: &Entry) -> Row {
    let Cells { time, review, operation, object, user } = Cells::of(entry);
    let decision = entry.decision.word().to_owned();
    Row { cells: vec![time, review, decision, operation, object, user], words: rules(entry) }
}

fn long(entry: &Entry) -> Row {
    let cells = vec![
        entry.time.text.clone(),
        entry.uid.clone(),
        stage(entry.stage).to_owned(),
        entry.decision.word().to_owned(),
        entry.code.map_or_else(|| "-".to_owned(), |code| code.to_string()),
        entry.operation(),
        entry.dry_run.to_string(),
        entry.object(),
        entry.user.name.clone(),
        format!("{} µs", entry.duration_micros),
    ];
    let words = entry.violations.iter().map(|violation| format!("{} ({})", violation.rule, violation.field));
    let message = entry.message.iter().cloned();
    Row { cells, words: words.chain(message).collect() }
}

/// The rules that were broken, or that it was for none.
fn rules(entry: &Entry) -> Vec<String> {
    match (entry.rules(), entry.code) {
        (rules, Some(code)) if rules.is_empty() => vec![format!("none (code {code})")],
        (rules, _) => rules.into_iter().map(str::to_owned).collect(),
    }
}

/// As it stands in a record.
pub(super) fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Validate => "validate",
        Stage::Mutate => "mutate",
    }
}
