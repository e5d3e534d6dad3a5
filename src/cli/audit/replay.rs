//! `audit replay`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::admission::{Missing, Replayed, decided, replay};
use crate::audit::Decision;
use crate::audit::query::{Entry, Recorded};
use crate::cli::Failure;
use crate::cli::output::{terminal_width, written};
use crate::cli::rules::RulesArgs;

use super::OUTPUT;
use super::columns::{Cells, OBJECT, OPERATION, REVIEW, RULES, TIME, USER};
use super::reader::Logs;
use super::select::Selection;
use super::summary::records;
use super::table::{Column, Row, Table};

/// Decisions of `/validate`: they are final. What `/mutate` found comes before it once more.
const JUDGED: [Decision; 3] = [Decision::Rejected, Decision::Warned, Decision::Allowed];

/// The flags of `audit replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Give the flags of the server whose verdicts are wanted. Of a server that logs all
decisions (--audit all) it also tells what the present rules would refuse.

Exit status: 0 where every verdict is what it was, 1 where a refusal is an acceptance now or the
other way round, 2 where a log can't be read.

Examples:
  etcd-warden audit replay audit.log
  etcd-warden audit replay --allowed-images quay.io/coreos/ --since 30d --output json audit.log")]
pub(super) struct Args {
    #[command(flatten)]
    logs: Logs,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    rules: RulesArgs,
    /// How the differences are printed
    #[arg(long, short, value_name = "FORMAT", default_value = "table", help_heading = OUTPUT)]
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A line each, then how many there are
    Table,
    /// One object: the differences, then how many there are
    Json,
}

/// What became of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
enum Change {
    /// It was refused.
    NowAccepted,
    /// It was let in.
    NowRefused,
    /// It is refused still, for other reasons.
    OtherRules,
}

/// How many of what.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    records: u64,
    same: u64,
    now_accepted: u64,
    now_refused: u64,
    other_rules: u64,
    not_judged: BTreeMap<&'static str, u64>,
    #[serde(skip)]
    missing: BTreeMap<Missing, u64>,
}

/// A verdict that is another one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference<'e> {
    #[serde(skip)]
    entry: &'e Entry,
    time: &'e str,
    uid: &'e str,
    operation: String,
    namespace: &'e str,
    name: &'e str,
    user: &'e str,
    change: Change,
    /// Rules that it broke then, and no longer does.
    gone: Vec<String>,
    /// Rules that it breaks now, and didn't then.
    new: Vec<String>,
}

/// Judges the records anew.
pub(super) fn run(args: Args) -> Result<(), Failure> {
    args.rules.check().map_err(|error| Failure::Usage(error.to_string()))?;
    let mut filter = args.selection.filter()?;
    filter.decisions = args.selection.decisions(&JUDGED);
    let mut reader = args.logs.open(filter, false)?;
    let settings = args.rules.settings(None);
    let (mut counts, mut printer) = (Counts::default(), Printer::new(args.output));
    written(printer.begin())?;
    while let Some(recorded) = reader.next_by_time()? {
        let now = replay(&recorded.entry, recorded.evidence(), &settings);
        if let Some(difference) = counts.add(&recorded, now) {
            written(printer.print(&difference))?;
        }
    }
    reader.finish();
    reader.warn_of_nothing();
    written(printer.end(&counts))?;
    if counts.now_accepted + counts.now_refused > 0 { Err(Failure::Told(1)) } else { Ok(()) }
}

impl Counts {
    /// One record more, and what is otherwise, if anything is.
    fn add<'r>(&mut self, recorded: &'r Recorded, now: Replayed) -> Option<Difference<'r>> {
        self.records += 1;
        let (count, change, then, now) = match (decided(&recorded.entry), now) {
            (Replayed::NotJudged(missing), _) | (_, Replayed::NotJudged(missing)) => {
                *self.not_judged.entry(missing.id()).or_default() += 1;
                *self.missing.entry(missing).or_default() += 1;
                return None;
            }
            (then, now) if then == now => {
                self.same += 1;
                return None;
            }
            (Replayed::Refused(then), Replayed::Refused(now)) => {
                (&mut self.other_rules, Change::OtherRules, then, now)
            }
            (Replayed::Refused(then), Replayed::Accepted) => {
                (&mut self.now_accepted, Change::NowAccepted, then, Vec::new())
            }
            (Replayed::Accepted, Replayed::Refused(now)) => {
                (&mut self.now_refused, Change::NowRefused, Vec::new(), now)
            }
            (Replayed::Accepted, Replayed::Accepted) => return None,
        };
        *count += 1;
        Some(Difference::of(&recorded.entry, change, &then, &now))
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} judged anew: {} as before, {} would be accepted now, {} would be refused now, {} refused by \
             other rules\n",
            records(self.records - self.missing.values().sum::<u64>()),
            self.same,
            self.now_accepted,
            self.now_refused,
            self.other_rules
        );
        for (missing, count) in &self.missing {
            let _ = writeln!(text, "not judged: {count} {}", missing.words(*count));
        }
        text
    }
}

impl<'e> Difference<'e> {
    fn of(entry: &'e Entry, change: Change, then: &[String], now: &[String]) -> Self {
        let without = |some: &[String], others: &[String]| {
            some.iter().filter(|rule| !others.contains(rule)).cloned().collect()
        };
        Self {
            entry,
            time: &entry.time.text,
            uid: &entry.uid,
            operation: entry.operation(),
            namespace: &entry.object.namespace,
            name: &entry.object.name,
            user: &entry.user.name,
            change,
            gone: without(then, now),
            new: without(now, then),
        }
    }

    fn row(&self) -> Row {
        let change = match self.change {
            Change::NowAccepted => "accepted",
            Change::NowRefused => "refused",
            Change::OtherRules => "other rules",
        };
        let Cells { time, review, operation, object, user } = Cells::of(self.entry);
        let gone = self.gone.iter().map(|rule| format!("-{rule}"));
        let new = self.new.iter().map(|rule| format!("+{rule}"));
        Row {
            cells: vec![time, review, operation, object, user, change.to_owned()],
            words: gone.chain(new).collect(),
        }
    }
}

type Out = BufWriter<StdoutLock<'static>>;

enum Printer {
    Table(Table<Out>),
    Json { out: Out, is_first: bool },
}

const COLUMNS: &[Column] = &[TIME, REVIEW, OPERATION, OBJECT, USER, Column::new("NOW", 11), RULES];

impl Printer {
    fn new(output: Output) -> Self {
        let out = BufWriter::new(io::stdout().lock());
        match output {
            Output::Table => Self::Table(Table::new(out, COLUMNS, terminal_width())),
            Output::Json => Self::Json { out, is_first: true },
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        match self {
            Self::Table(_) => Ok(()),
            Self::Json { out, .. } => write!(out, "{{\"differences\":["),
        }
    }

    fn print(&mut self, difference: &Difference<'_>) -> io::Result<()> {
        match self {
            Self::Table(table) => table.row(difference.row()),
            Self::Json { out, is_first } => {
                let separator = if std::mem::take(is_first) { "\n" } else { ",\n" };
                write!(out, "{separator}{}", serde_json::to_string(difference)?)
            }
        }
    }

    fn end(&mut self, counts: &Counts) -> io::Result<()> {
        match self {
            Self::Table(table) => {
                table.settle()?;
                table.below(&counts.text())
            }
            Self::Json { out, .. } => {
                writeln!(out, "],\n\"summary\":{}}}", serde_json::to_string(counts)?)?;
                out.flush()
            }
        }
    }
}
