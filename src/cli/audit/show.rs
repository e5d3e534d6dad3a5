//! `audit show`.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::ValueEnum;

use crate::audit::Before;
use crate::audit::query::{Entry, Evidence, Found, Newest, Recorded};
use crate::cli::Failure;
use crate::cli::output::{ColorArgs, written};
use crate::diagnostics::text::{Style, annotated};
use crate::diagnostics::{Finding, Level, Source};
use crate::manifest;
use crate::text::{escaped, quoted};

use super::list::{document, stage};
use super::reader::Logs;
use super::select::Selection;
use super::yaml;

/// Most records of one uid that are shown: a review has one, or two where a log was read twice.
const SHOWN_MAX: usize = 10;

/// The flags of `audit show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  etcd-warden audit show 705ab4f5 audit.log
  etcd-warden audit show 705ab4f5 --output json audit.log | jq .manifest > refused.json")]
pub(super) struct Args {
    /// Uid of the review, or as much of its beginning as no other one has
    #[arg(value_name = "UID")]
    uid: String,
    #[command(flatten)]
    logs: Logs,
    /// How the record is printed
    #[arg(long, short, value_name = "FORMAT", default_value = "text")]
    output: Output,
    #[command(flatten)]
    color: ColorArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people
    Text,
    /// As it stands in the log
    Json,
    /// A document
    Yaml,
}

/// Shows the record.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.uid.is_empty() {
        return Err(Failure::Usage(
            "UID is empty: write the beginning of a review's uid, as audit list shows it".to_owned(),
        ));
    }
    let mut filter = Selection::default().filter()?;
    filter.uids = vec![args.uid.clone()];
    let mut reader = args.logs.open(filter, false)?;
    let mut found = Newest::new(SHOWN_MAX, usize::MAX);
    let mut uids = Vec::new();
    while let Some(recorded) = reader.next_record()? {
        if !uids.contains(&recorded.entry.uid) && uids.len() <= SHOWN_MAX {
            uids.push(recorded.entry.uid.clone());
        }
        found.add(recorded);
    }
    reader.finish();
    one(&args.uid, &uids)?;
    let style = args.color.into();
    let mut out = io::stdout().lock();
    for recorded in found.kept() {
        let text = match args.output {
            Output::Text => text(recorded, style)?,
            Output::Json => String::from_utf8_lossy(recorded.line()).into_owned() + "\n",
            Output::Yaml => format!("---\n{}", document(recorded)?),
        };
        written(out.write_all(text.as_bytes()))?;
    }
    written(out.flush())
}

/// Whether exactly one review is meant.
fn one(asked: &str, uids: &[String]) -> Result<(), Failure> {
    match uids {
        [] => Err(Failure::Failed(format!(
            "no record's review begins with {}: audit list shows which there are",
            quoted(asked)
        ))),
        [_] => Ok(()),
        several => Err(Failure::Failed(format!(
            "{} reviews begin with {}: write more of it, such as {}",
            if several.len() > SHOWN_MAX { "many" } else { "several" },
            quoted(asked),
            several.iter().take(SHOWN_MAX).map(|uid| escaped(uid)).collect::<Vec<_>>().join(", ")
        ))),
    }
}

/// A record for people.
fn text(recorded: &Recorded, style: Style) -> Result<String, Failure> {
    let (entry, Evidence { manifest, before }) = (&recorded.entry, recorded.evidence());
    let mut text = facts(entry);
    text += &block("Warnings", entry.warnings.iter().map(|warning| escaped(warning)));
    text += &block("Stored before", before.iter().flatten().map(stored));
    match manifest {
        Some(manifest) => text = text + "Manifest:\n" + &underlined(&yaml(&manifest)?, entry, style) + "\n",
        None => text += &block("Violations", entry.violations.iter().map(sentence)),
    }
    if entry.violations_left_out > 0 {
        let _ =
            writeln!(text, "and {} more, which the record leaves out", violations(entry.violations_left_out));
    }
    Ok(text)
}

fn violations(count: usize) -> String {
    if count == 1 { "1 violation".to_owned() } else { format!("{count} violations") }
}

/// The manifest with what is wrong in it underlined; what has no place there comes before it.
fn underlined(yaml: &str, entry: &Entry, style: Style) -> String {
    let source = Source::new("manifest", yaml);
    let file = manifest::read(source.text());
    let Some(root) = file.documents.first().map(|document| document.root(source.text())) else {
        return block("Violations", entry.violations.iter().map(sentence)) + yaml;
    };
    let findings: Vec<Finding> = entry
        .violations
        .iter()
        .map(|Found { rule, field, message, .. }| {
            Finding::of_field(Level::Error, rule, field, message, root.at_field(field))
        })
        .collect();
    annotated(&source, &findings, style)
}

/// As kubectl shows it: the message ends with the rule's id.
fn sentence(Found { field, message, .. }: &Found) -> String {
    format!("{}: {}", escaped(field), escaped(message))
}

fn facts(entry: &Entry) -> String {
    let code = entry.code.map(|code| format!(" (code {code})")).unwrap_or_default();
    let generation = entry.object.generation.map(|number| number.to_string()).unwrap_or_default();
    let facts = [
        ("Review", entry.uid.clone()),
        ("Time", entry.time.text.clone()),
        ("Webhook", format!("/{}", stage(entry.stage))),
        ("Decision", format!("{}{code}", entry.decision.word())),
        ("Answer", entry.message.clone().unwrap_or_default()),
        ("Operation", entry.operation()),
        ("Dry run", if entry.dry_run { "yes".to_owned() } else { String::new() }),
        ("Object", entry.object()),
        ("Object uid", entry.object.uid.clone().unwrap_or_default()),
        ("Generation", generation),
        ("User", entry.user.name.clone()),
        ("Groups", entry.user.groups.join(", ")),
        ("Duration", format!("{} µs", entry.duration_micros)),
    ];
    let given = facts.into_iter().filter(|(_, value)| !value.is_empty());
    lines(given.map(|(name, value)| format!("{:<12} {}", format!("{name}:"), escaped(&value))))
}

fn block(name: &str, lines: impl Iterator<Item = String>) -> String {
    let text = self::lines(lines.map(|line| format!("  {line}")));
    if text.is_empty() { text } else { format!("{name}:\n{text}") }
}

fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

fn stored(Before { path, value }: &Before) -> String {
    let value = value.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string);
    format!("{} {}", escaped(path.as_str()), escaped(&value))
}
