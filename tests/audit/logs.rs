//! Logs of real servers, and the command that reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::support::client::connect;
use super::support::process::{command, spawn};

/// The log that the documentation shows.
pub(crate) const SAMPLE: &str = include_str!("sample.log");

/// What a run of the command came to.
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A folder with a server's log.
pub(crate) struct Logged {
    directory: tempfile::TempDir,
}

impl Logged {
    /// The log of a server with these flags, once it has answered these reviews.
    pub(crate) async fn new(flags: &[&str], reviews: &[(&str, Vec<u8>)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = spawn(directory.path(), &[&["--audit-log", "audit.log"], flags].concat());
        let mut client = connect(server.https, &server.ca).await;
        for (hook, body) in reviews {
            assert_eq!(client.post_bytes(hook, body).await.unwrap().status, 200);
        }
        Self { directory }
    }

    /// The log that the documentation shows: eleven records of two days.
    pub(crate) fn sample() -> Self {
        let logged = Self { directory: tempfile::tempdir().unwrap() };
        fs::write(logged.path("audit.log"), SAMPLE).unwrap();
        logged
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Runs `etcd-warden audit` in the folder.
    pub(crate) fn audit(&self, arguments: &[&str]) -> Said {
        said(self.command(arguments).output().unwrap())
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(self.directory.path());
        command.arg("audit").args(arguments).stdin(Stdio::null());
        command
    }

    /// The same with this on standard input.
    pub(crate) fn audit_of(&self, arguments: &[&str], text: impl AsRef<[u8]>) -> Said {
        fs::write(self.path("input"), text).unwrap();
        let input = fs::File::open(self.path("input")).unwrap();
        said(self.command(arguments).stdin(input).output().unwrap())
    }

    /// The records of all files of the log, the oldest first.
    pub(crate) fn records(&self) -> Vec<Value> {
        let said = self.audit(&["list", "--output", "json", "audit.log"]);
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn said(output: Output) -> Said {
    Said {
        status: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Whether a folder of fixtures is for `/validate`, and with which flags of the server.
pub(crate) fn validated_with(folder: &Path) -> Option<Vec<String>> {
    let words = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let is_validate = matches!(words("HOOK").trim(), "" | "/validate");
    is_validate.then(|| words("FLAGS").split_whitespace().map(str::to_owned).collect())
}
