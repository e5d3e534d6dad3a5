//! `man`: manual pages, from the definition of the command line.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::output::print_as_is;
use super::{Cli, Failure};

/// The flags of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  etcd-warden man | man -l -
  etcd-warden man --dir /usr/local/share/man/man1")]
pub(super) struct Args {
    /// Write a page for each command into DIRECTORY, which is made [default: print the first]
    #[arg(long, value_name = "DIRECTORY")]
    dir: Option<PathBuf>,
}

/// Prints the program's page, or writes all of them.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let pages = pages().map_err(|error| Failure::Failed(format!("can't make manual pages: {error}")))?;
    match (&args.dir, pages.first()) {
        (Some(directory), _) => write(directory, &pages).map_err(|error| {
            Failure::Failed(format!("can't write manual pages to {}: {error}", directory.display()))
        }),
        (None, Some((_, page))) => print_as_is(page),
        (None, None) => Ok(()),
    }
}

fn write(directory: &Path, pages: &[(String, Vec<u8>)]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    pages.iter().try_for_each(|(file, page)| fs::write(directory.join(file), page))
}

/// File names and pages: the program's first, then those of its commands.
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let mut pages = Vec::new();
    collect(&root, &mut pages)?;
    Ok(pages)
}

fn collect(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    // The library fills what stands behind the help like any text, and examples fall to pieces.
    let man = Man::new(command.clone().after_help(None::<&str>).after_long_help(None::<&str>));
    let mut page = Vec::new();
    man.render(&mut page)?;
    behind_the_help(command).to_writer(&mut page)?;
    pages.push((man.get_filename(), page));
    command
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .try_for_each(|command| collect(command, pages))
}

/// Examples and notes, line by line as they are written.
fn behind_the_help(command: &Command) -> Roff {
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    let (examples, notes) = match after.strip_prefix("Examples:\n") {
        Some(rest) => rest.split_once("\n\n").unwrap_or((rest, "")),
        None => ("", after.as_str()),
    };
    let mut roff = Roff::new();
    for (title, text) in [("EXAMPLES", examples), ("NOTES", notes)] {
        if !text.is_empty() {
            roff.control("SH", [title]).control("nf", []);
            text.lines().for_each(|line| {
                roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
            });
            roff.control("fi", []);
        }
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_flags() {
        let pages = pages().unwrap();
        let root = Cli::command();
        assert_eq!(pages[0].0, "etcd-warden.1");
        for command in root.get_subcommands() {
            let file = format!("etcd-warden-{}.1", command.get_name());
            let (_, page) = pages.iter().find(|(name, _)| *name == file).unwrap();
            let page = String::from_utf8(page.clone()).unwrap();
            for flag in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(page.contains(&flag.replace('-', "\\-")), "{file}: {flag}");
            }
            assert!(!page.contains("EXTRA"), "{page}");
            let (_, examples) = page.split_once(".SH EXAMPLES\n.nf\n").unwrap();
            assert!(examples.contains("etcd\\-warden "), "{examples}");
        }
    }

    /// Without a command it serves; `audit` alone does nothing.
    #[test]
    fn a_synopsis_says_whether_a_command_may_be_left_out() {
        let pages = pages().unwrap();
        for (file, synopsis) in
            [("etcd-warden.1", "[\\fIcommand\\fR]\n"), ("etcd-warden-audit.1", "<\\fIsubcommands\\fR>\n")]
        {
            let (_, page) = pages.iter().find(|(name, _)| name == file).unwrap();
            let page = String::from_utf8(page.clone()).unwrap();
            assert!(page.contains(synopsis), "{page}");
        }
    }

    #[test]
    fn pages_are_written_to_a_directory_that_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let below = directory.path().join("share/man1");
        run(&Args { dir: Some(below.clone()) }).unwrap();
        assert!(fs::read_to_string(below.join("etcd-warden-explain.1")).unwrap().starts_with(".ie"));
        let taken = below.join("etcd-warden.1");
        let error = run(&Args { dir: Some(taken) }).unwrap_err().to_string();
        assert!(error.contains("can't write manual pages to"), "{error}");
    }
}
