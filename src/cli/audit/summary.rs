//! `audit summary`.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::ValueEnum;

use crate::audit::Decision;
use crate::audit::query::{Span, Summary, Tally, Timeline};
use crate::cli::Failure;
use crate::cli::output::{terminal_width, written};
use crate::text::{escaped, shortened};

use super::reader::Logs;
use super::select::Selection;
use super::{OUTPUT, how_many, yaml};

/// Decisions that are counted where none is asked for: what became of a request. What `/mutate` found is in the log
/// once more where `/validate` refuses it.
pub(super) const COUNTED: [Decision; 2] = [Decision::Rejected, Decision::Warned];

/// Most lines of the chart over time.
const SPANS_MAX: usize = 24;

/// Most characters of a name on a terminal, and of a bar.
const NAME_MAX: usize = 56;
const BAR_MAX: usize = 30;

/// The flags of `audit summary`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  etcd-warden audit summary --since 7d audit.log
  etcd-warden audit summary --output json audit.log | jq '.byRule.items[0]'")]
pub(super) struct Args {
    #[command(flatten)]
    logs: Logs,
    #[command(flatten)]
    selection: Selection,
    /// How it is printed
    #[arg(long, short, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    output: Output,
    /// Lines of each table
    #[arg(long, value_name = "NUMBER", default_value = "10", help_heading = OUTPUT, value_parser = how_many, allow_hyphen_values = true)]
    top: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Tables with bars
    Text,
    /// One object, everything in it
    Json,
    /// The same as YAML
    Yaml,
}

/// Prints the summary.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut reader = args.logs.open(args.selection.filter()?, false)?;
    let mut summary = Summary::of(&args.selection.decisions(&COUNTED));
    while let Some(recorded) = reader.next_record()? {
        summary.add(&recorded.entry);
    }
    let told = summary.told(reader.finish());
    reader.warn_of_nothing();
    let text = match args.output {
        Output::Text => text(&summary, args.top, terminal_width()),
        Output::Json => json(&told)?,
        Output::Yaml => yaml(&told)?,
    };
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n").map_err(|error| Failure::Failed(format!("can't write JSON: {error}")))
}

fn text(summary: &Summary, top: usize, terminal: Option<usize>) -> String {
    let mut text = opening(summary);
    for (title, tally) in [
        ("By rule", &summary.rules),
        ("By namespace", &summary.namespaces),
        ("By user", &summary.users),
        ("By object", &summary.objects),
    ] {
        let name_max = if terminal.is_some() { NAME_MAX } else { usize::MAX };
        text += &lines(title, &ranked(tally, top, name_max), terminal);
    }
    text + &over_time(&summary.times, terminal)
}

fn opening(summary: &Summary) -> String {
    let mut text = match (&summary.first, &summary.last) {
        (Some(first), Some(last)) => {
            format!("{}, {} to {}", records(summary.records), first.text, last.text)
        }
        _ => "no records".to_owned(),
    };
    if summary.dry_runs > 0 {
        let _ = write!(text, ", {} of them dry runs", summary.dry_runs);
    }
    text.push('\n');
    let decisions = summary.decisions.iter();
    let all: Vec<String> =
        decisions.map(|(decision, count)| format!("{count} {}", decision.word())).collect();
    if all.len() > 1 || summary.records == 0 && !all.is_empty() {
        let _ = writeln!(text, "in the log: {} (--decision says which are counted)", all.join(", "));
    }
    text
}

pub(super) fn records(count: u64) -> String {
    if count == 1 { "1 record".to_owned() } else { format!("{count} records") }
}

fn ranked(tally: &Tally, top: usize, name_max: usize) -> Vec<(String, u64)> {
    let rows = tally.rows();
    // One more name takes no more room than the word that there is one.
    let top = if tally.folded() == 0 && rows.len() == top + 1 { top + 1 } else { top };
    let mut lines: Vec<(String, u64)> =
        rows.iter().take(top).map(|row| (named(&row.name, name_max), row.count)).collect();
    let more = rows.get(top..).unwrap_or_default();
    let others = more.iter().map(|row| row.count).sum::<u64>() + tally.folded();
    if others > 0 {
        let at_least = if tally.folded() > 0 { "more than " } else { "" };
        let names = if more.len() == 1 { "other" } else { "others" };
        lines.push((format!("({at_least}{} {names})", more.len()), others));
    }
    lines
}

fn named(name: &str, most: usize) -> String {
    if name.is_empty() { "(none)".to_owned() } else { shortened(&escaped(name), most) }
}

fn over_time(times: &Timeline, terminal: Option<usize>) -> String {
    let (seconds, spans) = times.at_most(SPANS_MAX);
    let title = match seconds {
        3600 => "By hour".to_owned(),
        86400 => "By day".to_owned(),
        _ if seconds % 86400 == 0 => format!("By {} days", seconds / 86400),
        _ => format!("By {} hours", seconds / 3600),
    };
    let minutes = |span: &Span| span.start.to_string().replace(":00Z", "Z");
    let rows: Vec<_> = spans.iter().map(|span| (minutes(span), span.count)).collect();
    lines(&title, &rows, terminal)
}

/// Lines of name, count and bar. Bars are as long as the terminal has room for.
fn lines(title: &str, rows: &[(String, u64)], terminal: Option<usize>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let name_width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or_default();
    let count_width = most.to_string().len();
    let room = |columns: usize| columns.saturating_sub(name_width + count_width + "      ".len());
    let longest = terminal.map_or(BAR_MAX, |columns| room(columns).min(BAR_MAX));
    let mut text = format!("\n{title}\n");
    for (name, count) in rows {
        let line = format!("  {name:name_width$}  {count:>count_width$}  {}", bar(*count, most, longest));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A bar of blocks, to the eighth; `longest` is that of the most.
fn bar(count: u64, most: u64, longest: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let whole = u128::from(most.max(1));
    let eighths = (u128::from(count) * longest as u128 * 8).div_ceil(whole);
    let eighths = usize::try_from(eighths).unwrap_or_default();
    "█".repeat(eighths / 8) + EIGHTHS.get(eighths % 8).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_the_whole_width_and_one_of_many_is_seen() {
        for (count, most, expected) in [
            (8, 8, "█".repeat(30)),
            (4, 8, "█".repeat(15)),
            (0, 8, String::new()),
            (1, 1_000_000, "▏".into()),
        ] {
            assert_eq!(bar(count, most, 30), expected, "{count}/{most}");
        }
        assert_eq!(bar(u64::MAX, u64::MAX, 30).chars().count(), 30);
    }

    #[test]
    fn bars_fit_the_terminal() {
        let rows = [("system:serviceaccount:flux-system:kustomize".to_owned(), 1000), ("bob".to_owned(), 1)];
        for (terminal, widest) in
            [(None, 2 + 43 + 2 + 4 + 2 + 30), (Some(200), 83), (Some(60), 60), (Some(20), 51)]
        {
            let text = lines("By user", &rows, terminal);
            assert_eq!(
                text.lines().map(|line| line.chars().count()).max(),
                Some(widest),
                "{terminal:?}\n{text}"
            );
        }
    }

    #[test]
    fn rare_names_are_one_line() {
        let mut tally = Tally::default();
        for name in ["a", "a", "b", "c", ""] {
            tally.add(name);
        }
        let lines =
            [("a", 2), ("(none)", 1), ("(2 others)", 2)].map(|(name, count)| (name.to_owned(), count));
        assert_eq!(ranked(&tally, 2, 9), lines);
        tally.add(&"x".repeat(60));
        assert_eq!(ranked(&tally, 9, 9)[4].0, "xxxx…xxxx");
    }

    #[test]
    fn a_chart_says_how_long_its_spans_are() {
        let mut times = Timeline::default();
        for time in ["2026-11-29T16:10:00Z", "2026-11-29T18:00:00Z"] {
            times.add(time.parse().unwrap());
        }
        let bar = "█".repeat(30);
        let expected = format!(
            "\nBy hour\n  2026-11-29T16:00Z  1  {bar}\n  2026-11-29T17:00Z  0\n  2026-11-29T18:00Z  1  {bar}\n"
        );
        assert_eq!(over_time(&times, None), expected);
        times.add("2027-11-29T18:00:00Z".parse().unwrap());
        assert!(over_time(&times, None).starts_with("\nBy 28 days\n"), "{}", over_time(&times, None));
        assert_eq!(over_time(&Timeline::default(), None), "");
    }
}
