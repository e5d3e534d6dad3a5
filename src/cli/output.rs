//! What a command prints: where to, how wide, and whether in colours.

use std::io::{self, Write};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Failure, HELP_WIDTH};
use crate::diagnostics::text::Style;

/// The flag of every command that prints in colours.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct ColorArgs {
    /// When text is coloured; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long = "color", value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    when: When,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    Always,
    Never,
}

impl ColorArgs {
    /// Whether standard output is written in colours.
    pub(super) fn on_stdout(self) -> bool {
        match self.when {
            When::Always => true,
            When::Never => false,
            When::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        }
    }
}

impl From<ColorArgs> for Style {
    /// How findings are written on standard output.
    fn from(color: ColorArgs) -> Self {
        let style = if color.on_stdout() { Self::COLOURED } else { Self::PLAIN };
        terminal_width().map_or(style, |columns| style.for_terminal(columns))
    }
}

/// Prints text on standard output, without its colours where they aren't wanted.
pub(super) fn print(text: &str, color: ColorArgs) -> Result<(), Failure> {
    let choice = if color.on_stdout() { ColorChoice::Always } else { ColorChoice::Never };
    let mut out = AutoStream::new(io::stdout().lock(), choice);
    read_enough(written(out.write_all(text.as_bytes()).and_then(|()| out.flush())))
}

/// Prints bytes on standard output as they are.
pub(super) fn print_as_is(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    read_enough(written(out.write_all(bytes).and_then(|()| out.flush())))
}

/// What became of a write on standard output.
pub(super) fn written<T>(result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Failed(format!("can't write to standard output: {error}")),
    })
}

/// Who closed the output (a pager, `head`) has read enough of what is all that there is.
fn read_enough(done: Result<(), Failure>) -> Result<(), Failure> {
    match done {
        Err(Failure::ReaderGone) => Ok(()),
        done => done,
    }
}

/// Whether nobody reads standard output any more: without a write, a pipe doesn't say so by itself.
pub(super) fn reader_is_gone() -> bool {
    let out = io::stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    // An output that can't be asked is found out by the next write.
    let asked = poll(&mut polled, Some(&Timespec::default()));
    let gone = PollFlags::ERR | PollFlags::HUP;
    asked.is_ok() && polled.iter().any(|out| out.revents().intersects(gone))
}

/// Columns of the terminal that standard output is; nothing where it is none.
pub(super) fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Columns of a text to be read: those of the terminal, and no more than can be read well.
pub(super) fn reading_width() -> usize {
    terminal_width().map_or(HELP_WIDTH, |columns| columns.min(HELP_WIDTH))
}
