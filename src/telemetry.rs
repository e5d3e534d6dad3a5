//! Logs: text on a terminal, JSON elsewhere; on standard error, since standard output may be the audit log.

use std::io::{self, IsTerminal};
use std::panic;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::fmt;

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text on a terminal, JSON elsewhere
    Auto,
    /// One line a message, for people
    Text,
    /// One object a line, for programs
    Json,
}

/// Installs the process's logger and has it note panics too. `level` is an env filter such as `info` or
/// `info,etcd_warden::server=debug`. A second call changes nothing.
pub fn init(format: Format, level: &str) -> Result<(), ParseError> {
    let filter = EnvFilter::try_new(level)?;
    let terminal = io::stderr().is_terminal();
    let builder = fmt().with_env_filter(filter).with_writer(io::stderr);
    // An error means that there is a logger already: a test's, say.
    let _ = match format {
        Format::Text => builder.with_ansi(terminal && colours()).try_init(),
        Format::Auto if terminal => builder.with_ansi(colours()).try_init(),
        Format::Auto | Format::Json => builder.json().flatten_event(true).try_init(),
    };
    log_panics();
    Ok(())
}

// https://no-color.org: present and not empty.
fn colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn log_panics() {
    panic::set_hook(Box::new(|panicked| {
        let text = panicked.payload().downcast_ref::<&str>().copied();
        let message = text.or_else(|| panicked.payload().downcast_ref::<String>().map(String::as_str));
        let place = panicked.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(
            panicked = message.unwrap_or("without a text"),
            place,
            "a defect in etcd-warden: please report it"
        );
    }));
}
