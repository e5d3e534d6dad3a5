//! `audit report`.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use jiff::Timestamp;

use crate::audit::query::{Newest, Summary};
use crate::audit::report::{Report, page};
use crate::cli::{Failure, VERSION};
use crate::rules::RULES;

use super::OUTPUT;
use super::select::{Logs, Selection};
use super::summary::COUNTED;
use super::written;

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
    #[arg(long, value_name = "NUMBER", default_value = "1000", help_heading = OUTPUT)]
    limit: usize,
}

/// Writes the page.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let mut reader = args.logs.open(args.selection.filter()?, false)?;
    let decisions = args.selection.decisions(&COUNTED);
    let (mut summary, mut newest) = (Summary::of(&decisions), Newest::new(args.limit, BYTES_MAX));
    while let Some(recorded) = reader.next_record()? {
        if summary.add(&recorded.entry) {
            newest.add(recorded);
        }
    }
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
    let unwritable =
        |error: io::Error| Failure::Failed(format!("can't write {}: {error}", args.html.display()));
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(&args.html);
    let mut out = BufWriter::new(file.map_err(unwritable)?);
    page(&report, &mut out).and_then(|()| out.flush()).map_err(unwritable)?;
    said(args, &summary, &newest)
}

fn said(args: &Args, summary: &Summary, newest: &Newest) -> Result<(), Failure> {
    let whole = summary.records - newest.left_out();
    let text = format!(
        "{}: {} records counted, the newest {whole} in it whole\n",
        args.html.display(),
        summary.records
    );
    written(io::stdout().write_all(text.as_bytes()))
}
