//! What files held at a Git revision.

use super::files::Input;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A revision, and what the folders in question held then.
pub(super) struct Revision {
    name: String,
    folders: HashMap<PathBuf, Folder>,
}

/// What Git knows of the files of one folder. Asked once for a folder, since a process for each file takes longer
/// than all the judging.
struct Folder {
    /// Files that were there at the revision, and which of them were links.
    known: HashMap<OsString, bool>,
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
            // What isn't there is told when it is read.
            if folder.is_dir() && !folders.contains_key(folder) {
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
        let Some(folder) = self.folders.get(folder_of(path)) else { return Ok(String::new()) };
        let bytes = match (folder.known.get(name), folder.changed.contains(name)) {
            (None, _) => return Ok(String::new()),
            (Some(false), false) => return Ok(present.to_owned()),
            (Some(false), true) => self.show(folder_of(path), name)?,
            // A link says nothing of whether what it leads to is another one.
            (Some(true), _) => self.follow(folder_of(path), name)?,
        };
        String::from_utf8(bytes).map_err(|_| format!("was not UTF-8 at {}", self.name))
    }

    /// How Git calls an input at the revision.
    pub(super) fn place(&self, input: &Input) -> String {
        format!("{}:{}", self.name, input.name)
    }

    fn show(&self, folder: &Path, name: &OsStr) -> Result<Vec<u8>, String> {
        let mut object = OsString::from(format!("{}:./", self.name));
        object.push(name);
        git(folder, ["show".as_ref(), "--end-of-options".as_ref(), object.as_os_str()])
    }

    /// What the file held that a link led to, within the revision. Git follows it, through other links and folders.
    fn follow(&self, folder: &Path, name: &OsStr) -> Result<Vec<u8>, String> {
        let object = format!("{}:./{}\n", self.name, name.to_string_lossy());
        let answer =
            git_asked(folder, ["cat-file", "--batch", "--follow-symlinks"].map(OsStr::new), &object)?;
        let end = answer.iter().position(|byte| *byte == b'\n').unwrap_or(answer.len());
        let (line, rest) = answer.split_at(end);
        let line = String::from_utf8_lossy(line).into_owned();
        let text = || rest.get(1..).and_then(|rest| rest.strip_suffix(b"\n")).unwrap_or_default();
        match line.split(' ').collect::<Vec<_>>().as_slice() {
            [_hash, "blob", size] if size.parse::<u64>().is_ok() => Ok(text().to_vec()),
            ["symlink", _size] => {
                let target = String::from_utf8_lossy(text()).into_owned();
                Err(format!("was a link to {target} at {}, out of the repository: {COMPARE}", self.name))
            }
            _ => Err(format!("was a link at {} that leads to no file there: {COMPARE}", self.name)),
        }
    }
}

impl Folder {
    fn look_at(revision: &str, folder: &Path) -> Result<Self, String> {
        if revision.starts_with('^') {
            return Err(unknown(revision, folder, ""));
        }
        let commit = format!("{revision}^{{commit}}");
        git(folder, ["rev-parse", "--quiet", "--verify", "--end-of-options", &commit].map(OsStr::new))
            .map_err(|why| unknown(revision, folder, &why))?;
        let known = ["ls-tree", "-z", "--end-of-options", revision, "./"];
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
            known: listed(&git(folder, known.map(OsStr::new))?),
            changed: names(&git(folder, changed.map(OsStr::new))?).map(OsStr::to_owned).collect(),
        })
    }
}

/// What to do where it isn't known what a file held.
const COMPARE: &str = "what it held isn't known; compare with --old";
/// What Git says outside of a repository.
const NO_REPOSITORY: &str = "not a git repository";

fn unknown(revision: &str, folder: &Path, why: &str) -> String {
    // "." says nothing in the log of a job.
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let folder = folder.display();
    let what = match why {
        why if why.starts_with(NO_REPOSITORY) => format!(
            "{folder} is in no Git repository, and what its files held isn't known: name files of one, or use --old"
        ),
        "" if !is_one(revision) => {
            "this is no single revision: write one commit, such as origin/main, HEAD~1, v1.2.0 or \
                                    0a1b2c3; --against takes neither a range nor a path"
                .to_owned()
        }
        "" => format!(
            "Git knows no such commit in {folder}; a CI job's clone often holds the newest commit alone: fetch the \
             revision (git fetch origin BRANCH), or clone whole (actions/checkout: fetch-depth: 0)"
        ),
        why => format!("{folder}: {why}"),
    };
    format!("--against {revision}: {what}")
}

/// Whether a text might be one revision: not a range, a revision with a path, or several. A search in messages
/// (`HEAD^{/text}`) and a time (`main@{2 days ago}`) may hold anything.
fn is_one(revision: &str) -> bool {
    let is_free = revision.contains("^{/") || revision.contains("@{");
    is_free || !(revision.starts_with('^') || revision.contains("..") || revision.contains([':', ' ']))
}

/// Where a file is, as a path that a command can be run in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

fn names(output: &[u8]) -> impl Iterator<Item = &OsStr> {
    let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(OsStr::from_bytes)
}

/// The files that `ls-tree` lists (mode, type and hash, a tab, the name), and whether each is a link.
fn listed(output: &[u8]) -> HashMap<OsString, bool> {
    const LINK: &[u8] = b"120000 ";
    let files = names(output).map(OsStr::as_bytes).filter_map(|line| {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        Some((OsStr::from_bytes(line.get(tab + 1..)?).to_owned(), line.starts_with(LINK)))
    });
    files.collect()
}

/// What Git prints; the error is what it says of its own.
fn git<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<Vec<u8>, String> {
    git_asked(folder, arguments, "")
}

/// What Git prints when it is asked something on its standard input.
fn git_asked<'a>(
    folder: &Path,
    arguments: impl IntoIterator<Item = &'a OsStr>,
    question: &str,
) -> Result<Vec<u8>, String> {
    let mut command = Command::new("git");
    // Its messages are looked at: in English.
    command.arg("-C").arg(folder).args(arguments).env("LC_ALL", "C");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let cannot_run = |error: io::Error| format!("git can't be run: {error}");
    let mut child = command.spawn().map_err(cannot_run)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A Git that ends without reading says why on its standard error.
        let _ = stdin.write_all(question.as_bytes());
    }
    let output = child.wait_with_output().map_err(cannot_run)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().trim_start_matches("fatal: ").to_owned())
}
