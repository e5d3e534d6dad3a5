//! What files held at a Git revision.

use super::files::Input;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A revision, and what the folders in question held then.
pub(super) struct Revision {
    name: String,
    folders: HashMap<PathBuf, Folder>,
}

/// What Git knows of the files of one folder. Asked once for a folder, since a process for each file takes longer
/// than all the judging.
struct Folder {
    /// Files that were there at the revision.
    known: HashSet<OsString>,
    /// Files that differ from what they were.
    changed: HashSet<OsString>,
}

impl Revision {
    /// Asks Git about the folders of all inputs; the error is a sentence.
    pub(super) fn look_at(revision: &str, inputs: &[Input]) -> Result<Self, String> {
        if revision.trim().is_empty() {
            return Err(
                "--against names no revision: write one, such as origin/main or HEAD~1, or leave it out \
                        (is a variable empty?)"
                    .to_owned(),
            );
        }
        if inputs.iter().any(Input::is_stdin) {
            return Err("--against compares files, and standard input is none: use --old".to_owned());
        }
        let mut folders = HashMap::new();
        for path in inputs.iter().filter_map(Input::path) {
            let folder = folder_of(path);
            if !folders.contains_key(folder) {
                folders.insert(folder.to_owned(), Folder::look_at(revision, folder)?);
            }
        }
        Ok(Self { name: revision.to_owned(), folders })
    }

    /// What a file held then: its present text where it hasn't changed, nothing where it wasn't there.
    pub(super) fn text(&self, input: &Input, present: &str) -> Result<String, String> {
        let Some((path, name)) = input.path().and_then(|path| Some((path, path.file_name()?))) else {
            return Ok(String::new());
        };
        match self.folders.get(folder_of(path)) {
            Some(folder) if folder.changed.contains(name) && folder.known.contains(name) => {
                let mut object = OsString::from(format!("{}:./", self.name));
                object.push(name);
                let text =
                    git(folder_of(path), ["show".as_ref(), "--end-of-options".as_ref(), object.as_os_str()])?;
                String::from_utf8(text).map_err(|_| format!("was not UTF-8 at {}", self.name))
            }
            Some(folder) if folder.known.contains(name) => Ok(present.to_owned()),
            Some(_) | None => Ok(String::new()),
        }
    }
}

impl Folder {
    fn look_at(revision: &str, folder: &Path) -> Result<Self, String> {
        let commit = format!("{revision}^{{commit}}");
        git(folder, ["rev-parse", "--quiet", "--verify", "--end-of-options", &commit].map(OsStr::new))
            .map_err(|why| unknown(revision, folder, &why))?;
        let known = ["ls-tree", "--name-only", "-z", "--end-of-options", revision, "./"];
        let changed = [
            "diff",
            "--name-only",
            "--relative",
            "--no-renames",
            "-z",
            "--end-of-options",
            revision,
            "--",
            ".",
        ];
        Ok(Self {
            known: names(&git(folder, known.map(OsStr::new))?),
            changed: names(&git(folder, changed.map(OsStr::new))?),
        })
    }
}

fn unknown(revision: &str, folder: &Path, why: &str) -> String {
    match why {
        "" => format!(
            "--against {revision}: Git knows no such commit in {}; a CI job's clone often holds the newest commit \
             alone: fetch the revision (git fetch origin BRANCH), or clone whole (actions/checkout: fetch-depth: 0)",
            folder.display()
        ),
        why => format!("--against {revision}: {why}"),
    }
}

/// Where a file is, as a path that a command can be run in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

fn names(output: &[u8]) -> HashSet<OsString> {
    use std::os::unix::ffi::OsStrExt;
    output
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| OsStr::from_bytes(name).to_owned())
        .collect()
}

/// What Git prints; the error is what it says of its own.
fn git<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<Vec<u8>, String> {
    let command = Command::new("git").arg("-C").arg(folder).args(arguments).output();
    let output = command.map_err(|error| format!("git can't be run: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().trim_start_matches("fatal: ").to_owned())
}
