//! `audit list`.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;

use crate::audit::Stage;
use crate::audit::query::{Entry, Newest, Recorded};
use crate::cli::Failure;

use super::OUTPUT;
use super::select::{Logs, Reader, Selection, warn};
use super::table::{Column, Row, Table, terminal_width};
use super::{written, yaml};

/// How often a log that is followed is looked at; `--help` says it.
const POLL: Duration = Duration::from_millis(500);

/// Characters of a uid that a table shows: enough for `show` to find it by.
pub(super) const SHORT_UID: usize = 8;

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
    #[arg(long, value_name = "NUMBER", help_heading = OUTPUT)]
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
    let mut count = print_all(&mut reader, &mut printer, args.limit)?;
    while args.follow && !reader.is_over() {
        thread::sleep(POLL);
        count += print_all(&mut reader, &mut printer, None)?;
    }
    reader.finish();
    if count == 0 {
        warn("no record fits");
    }
    Ok(())
}

/// Prints what there is now; with a limit, the newest of it. How many that are.
fn print_all(reader: &mut Reader, printer: &mut Printer, limit: Option<usize>) -> Result<u64, Failure> {
    let mut count = 0;
    let mut newest = limit.map(|limit| Newest::new(limit, usize::MAX));
    while let Some(recorded) = reader.next_record()? {
        count += 1;
        match &mut newest {
            Some(newest) => newest.add(recorded),
            None => written(printer.print(&recorded)?)?,
        }
    }
    for recorded in newest.iter().flat_map(Newest::kept) {
        written(printer.print(recorded)?)?;
    }
    written(printer.settle())?;
    Ok(count)
}

type Out = BufWriter<StdoutLock<'static>>;

enum Printer {
    Table(Table<Out>),
    Wide(Table<Out>),
    Json(Out),
    Yaml(Out),
}

const TABLE: &[Column] = &[
    Column { heading: "TIME", most: 32 },
    Column { heading: "REVIEW", most: SHORT_UID },
    Column { heading: "DECISION", most: 8 },
    Column { heading: "OPERATION", most: 16 },
    Column { heading: "NAMESPACE/NAME", most: 40 },
    Column { heading: "USER", most: 40 },
    Column { heading: "RULES", most: 0 },
];

const WIDE: &[Column] = &[
    Column { heading: "TIME", most: usize::MAX },
    Column { heading: "REVIEW", most: usize::MAX },
    Column { heading: "STAGE", most: usize::MAX },
    Column { heading: "DECISION", most: usize::MAX },
    Column { heading: "CODE", most: usize::MAX },
    Column { heading: "OPERATION", most: usize::MAX },
    Column { heading: "DRY-RUN", most: usize::MAX },
    Column { heading: "NAMESPACE/NAME", most: usize::MAX },
    Column { heading: "USER", most: usize::MAX },
    Column { heading: "DURATION", most: usize::MAX },
    Column { heading: "RULES", most: 0 },
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
    let cells = vec![
        entry.time.to_the_second(),
        entry.uid.chars().take(SHORT_UID).collect(),
        entry.decision.word().to_owned(),
        entry.operation(),
        entry.object(),
        user(&entry.user.name),
    ];
    Row { cells, words: rules(entry) }
}

/// A user as a column has room for: of a service account, namespace and name are what tells it from others.
pub(super) fn user(name: &str) -> String {
    match name.strip_prefix("system:serviceaccount:") {
        Some(account) => format!("…:{account}"),
        None => name.to_owned(),
    }
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
