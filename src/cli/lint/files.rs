//! Which texts are judged.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// What stands for standard input on a command line.
pub(super) const STDIN: &str = "-";
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];
/// Larger than anything that an API server takes, many times over.
const SIZE_MAX: u64 = 256 * 1024 * 1024;

/// One text to judge.
pub(super) struct Input {
    /// Its name in what is printed.
    pub(super) name: String,
    origin: Origin,
}

enum Origin {
    Stdin,
    File(PathBuf),
    /// It is known already that nothing can be read there.
    Nowhere(String),
}

impl Input {
    /// What a path on the command line stands for.
    pub(super) fn of(path: &Path) -> Self {
        if path == Path::new(STDIN) {
            return Self { name: "<stdin>".to_owned(), origin: Origin::Stdin };
        }
        Self { name: path.display().to_string(), origin: Origin::File(path.to_owned()) }
    }

    fn nowhere(path: &Path, why: String) -> Self {
        Self { name: path.display().to_string(), origin: Origin::Nowhere(why) }
    }

    /// Whether it is standard input.
    pub(super) fn is_stdin(&self) -> bool {
        matches!(self.origin, Origin::Stdin)
    }

    /// The file that it is, if it is one.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File(path) => Some(path),
            Origin::Stdin | Origin::Nowhere(_) => None,
        }
    }

    /// What two names of one text have in common.
    fn identity(&self) -> PathBuf {
        let real = self.path().and_then(|path| fs::canonicalize(path).ok());
        real.unwrap_or_else(|| PathBuf::from(&self.name))
    }

    /// Its text, or why there is none.
    pub(super) fn read(&self) -> Result<String, String> {
        let bytes = match &self.origin {
            Origin::Stdin => bounded(io::stdin().lock()),
            Origin::File(path) => fs::File::open(path).and_then(bounded),
            Origin::Nowhere(why) => return Err(why.clone()),
        };
        let text = text(bytes.map_err(|error| self.cannot_be_read(&error))?)?;
        if self.is_stdin() && text.trim().is_empty() {
            return Err("is empty: nothing to lint, as when the command before the pipe fails".to_owned());
        }
        Ok(text)
    }

    fn cannot_be_read(&self, error: &io::Error) -> String {
        let target = self.path().filter(|_| error.kind() == io::ErrorKind::NotFound).map(fs::read_link);
        match target {
            Some(Ok(target)) => leads_nowhere(&target),
            _ => format!("can't be read: {error}"),
        }
    }
}

fn leads_nowhere(target: &Path) -> String {
    format!("is a link to {}, which isn't there: mend it, or remove it", target.display())
}

fn bounded(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.len() as u64 > SIZE_MAX {
        return Err(format!("is larger than {} MiB: no manifest is", SIZE_MAX >> 20));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes().get(..at).unwrap_or_default().split(|byte| *byte == b'\n').count();
        format!("is not UTF-8 from byte {at} (line {line}) on: write it in UTF-8")
    })
}

/// The texts that paths stand for, in their order; those of a folder by name. Each file once, by the first of its names.
pub(super) fn find(paths: &[PathBuf]) -> Vec<Input> {
    let mut seen = HashSet::new();
    paths
        .iter()
        .flat_map(|path| if path.is_dir() { in_folder(path) } else { vec![Input::of(path)] })
        .filter(|input| seen.insert(input.identity()))
        .collect()
}

/// A folder without a manifest is as wrong as a file that isn't there: its name is mistyped, or it was moved.
fn in_folder(folder: &Path) -> Vec<Input> {
    let entries =
        WalkDir::new(folder).follow_links(true).sort_by_file_name().into_iter().filter_entry(is_shown);
    let mut found: Vec<Input> = entries
        .filter_map(|entry| match entry {
            Ok(entry) => is_manifest(&entry).then(|| Input::of(entry.path())),
            Err(error) => Some(Input::nowhere(error.path().unwrap_or(folder), not_entered(&error))),
        })
        .collect();
    if found.is_empty() {
        found.push(Input::nowhere(folder, "holds no .yaml, .yml or .json file: nothing to lint".to_owned()));
    }
    found
}

/// Why something in a folder isn't looked at.
fn not_entered(error: &walkdir::Error) -> String {
    if let Some(ancestor) = error.loop_ancestor() {
        let folder = ancestor.display();
        return format!(
            "leads back to {folder}, which holds it: remove the link, or name what is to be linted"
        );
    }
    match (error.path().map(fs::read_link), error.io_error()) {
        (Some(Ok(target)), Some(why)) if why.kind() == io::ErrorKind::NotFound => leads_nowhere(&target),
        (_, Some(why)) => format!("can't be read: {why}"),
        (_, None) => format!("can't be read: {error}"),
    }
}

/// Hidden folders hold no manifests: `.git`, and what tools keep.
fn is_shown(entry: &DirEntry) -> bool {
    let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
    entry.depth() == 0 || !(is_hidden && entry.file_type().is_dir())
}

fn is_manifest(entry: &DirEntry) -> bool {
    let extension = entry.path().extension().and_then(OsStr::to_str).map(str::to_lowercase);
    entry.file_type().is_file() && extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}
