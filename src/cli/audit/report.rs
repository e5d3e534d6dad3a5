//! `audit report`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;

use jiff::Timestamp;

use crate::audit::query::{Newest, Summary};
use crate::audit::report::{Report, page};
use crate::cli::output::written;
use crate::cli::{Failure, VERSION};
use crate::rules::RULES;

use super::reader::{Logs, Reader};
use super::select::Selection;
use super::summary::{COUNTED, records};
use super::{OUTPUT, how_many};

/// Most bytes of records that are held, whatever the limit: they are in memory until the page is written.
const BYTES_MAX: usize = 256 * 1024 * 1024;

/// As the log itself: its owner writes, its group reads.
const MODE: u32 = 0o640;

/// The flags of `audit report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "The page needs nothing else: no server, no network, no script to be read.

Examples:
  etcd-warden audit report --html refused.html audit.log
  etcd-warden audit report --since 7d --namespace shop --html shop.html audit.log")]
pub(super) struct Args {
    #[command(flatten)]
    logs: Logs,
    #[command(flatten)]
    selection: Selection,
    /// File that the page is written to; - is standard output
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    html: PathBuf,
    /// Records that are in the page whole, the newest; all are counted
    #[arg(long, value_name = "NUMBER", default_value = "1000", help_heading = OUTPUT, value_parser = how_many, allow_hyphen_values = true)]
    limit: usize,
}

/// Writes the page.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut reader = args.logs.open(args.selection.filter()?, false)?;
    if let Some(why) = spoils(&reader, &args.html) {
        let html = args.html.display();
        return Err(Failure::Usage(format!("--html {html} is {why}: give another file")));
    }
    let decisions = args.selection.decisions(&COUNTED);
    let (mut summary, mut newest) = (Summary::of(&decisions), Newest::new(args.limit, BYTES_MAX));
    while let Some(recorded) = reader.next_record()? {
        if summary.add(&recorded.entry) {
            newest.add(recorded);
        }
    }
    reader.warn_of_nothing();
    let command =
        format!("etcd-warden audit list {} {}", args.selection.flags(&decisions), args.logs.in_shell());
    let report = Report {
        made: &format!("{:.0}", Timestamp::now()),
        version: VERSION,
        selection: &args.selection.words(&decisions),
        summary: &summary,
        newest: &newest,
        skipped: reader.finish(),
        command: &command,
        about_rule: &|id| RULES.iter().find(|rule| rule.id == id).map(|rule| rule.summary),
    };
    if args.html.as_os_str() == "-" {
        let mut out = BufWriter::new(io::stdout().lock());
        return written(page(&report, &mut out).and_then(|()| out.flush()));
    }
    write(&args.html, &report).map_err(|error| {
        let html = args.html.display();
        Failure::Failed(format!(
            "can't write --html {html}: {error}: give another file, or - for standard output"
        ))
    })?;
    said(args, &summary, &newest)
}

/// Why nothing may be written there.
fn spoils(reader: &Reader, html: &Path) -> Option<&'static str> {
    if html.as_os_str() == "-" {
        None
    } else if reader.reads(html) {
        Some("a log that is read, and would be lost")
    } else if reader.claims(html) {
        Some("a name that the audit log uses, for its lock or for what it sets aside")
    } else {
        None
    }
}

/// Written beside the page that stands there, and put in its place once it is whole.
fn write(html: &Path, report: &Report<'_>) -> io::Result<()> {
    if fs::metadata(html).is_ok_and(|found| !found.is_file()) {
        return write_to(OpenOptions::new().write(true).open(html)?, report);
    }
    let html = fs::canonicalize(html).unwrap_or_else(|_| html.to_owned());
    let mut beside = html.clone().into_os_string();
    beside.push(format!(".{}", process::id()));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(&beside);
    let written = file.and_then(|file| write_to(file, report)).and_then(|()| fs::rename(&beside, &html));
    if written.is_err() {
        // Where it was never made, there is nothing to remove.
        let _ = fs::remove_file(&beside);
    }
    written
}

fn write_to(file: File, report: &Report<'_>) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    page(report, &mut out).and_then(|()| out.flush())
}

fn said(args: &Args, summary: &Summary, newest: &Newest) -> Result<(), Failure> {
    let whole = summary.records - newest.left_out();
    let in_it = match (summary.records, whole) {
        (_, 0) => "none".to_owned(),
        (1, 1) => "and".to_owned(),
        (all, whole) if all == whole => "all".to_owned(),
        (_, whole) => format!("the newest {whole}"),
    };
    let text =
        format!("{}: {} counted, {in_it} in it whole\n", args.html.display(), records(summary.records));
    written(io::stdout().write_all(text.as_bytes()))
}
