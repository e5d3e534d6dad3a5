//! etcd as a child process: started, heard, told to end.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child as Process, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::facts::Member;
use super::lines::Lines;
use super::version::Release;
use crate::member::Why;

/// For `etcd --version`.
const VERSION: Duration = Duration::from_secs(20);

/// Variables that must not reach etcd: its own settings, and proxies that peers would be dialled through.
fn is_kept(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    !lower.starts_with("etcd_")
        && !matches!(lower.as_str(), "http_proxy" | "https_proxy" | "all_proxy" | "no_proxy")
}

/// The etcd binary.
#[derive(Clone, Debug)]
pub struct Binary {
    path: PathBuf,
    /// What it says that it is.
    pub release: Release,
}

/// Why there is no binary to run.
#[derive(Debug, thiserror::Error)]
pub enum NoBinary {
    /// None in `PATH`.
    #[error(
        "the image has no etcd in its PATH ({0}): etcd-druid's images hold etcd-wrapper instead; give an etcd image with \
         spec.etcd.image or --etcd-image"
    )]
    Missing(String),
    /// It can't be run, or doesn't say its release.
    #[error("{} --version: {said}: give an etcd image for this machine", .path.display())]
    Mute {
        /// The binary.
        path: PathBuf,
        /// What happened.
        said: String,
    },
}

impl Binary {
    /// Looks for it in `PATH`, and asks it.
    pub async fn find(search: &std::ffi::OsStr) -> Result<Self, NoBinary> {
        let found =
            std::env::split_paths(search).map(|directory| directory.join("etcd")).find(|path| path.is_file());
        let path = found.ok_or_else(|| NoBinary::Missing(search.to_string_lossy().into_owned()))?;
        let asked = timeout(VERSION, command(&path).arg("--version").stdin(Stdio::null()).output()).await;
        let said = match asked {
            Ok(Ok(output)) => String::from_utf8_lossy(&output.stdout).into_owned(),
            Ok(Err(error)) => return Err(NoBinary::Mute { path, said: error.to_string() }),
            Err(_) => return Err(NoBinary::Mute { path, said: "no answer".to_owned() }),
        };
        match Release::of_binary(&said) {
            Some(release) => Ok(Self { path, release }),
            None => Err(NoBinary::Mute { path, said: super::quote::quote(&said) }),
        }
    }
}

/// An etcd that runs.
#[derive(Debug)]
pub struct Child {
    process: Process,
    lines: Arc<Mutex<Lines>>,
    readers: [JoinHandle<()>; 2],
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why, as far as it said.
    pub why: Why,
    /// Its own words, and the remedy where one is known.
    pub message: String,
}

impl Child {
    /// Starts it with a configuration file.
    pub fn start(binary: &Binary, file: &Path) -> io::Result<Self> {
        let mut process = command(&binary.path)
            .arg("--config-file")
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            // A terminal's interrupt is the agent's to pass on.
            .process_group(0)
            .spawn()?;
        let lines = Arc::new(Mutex::new(Lines::default()));
        let readers = [
            pass_on(process.stdout.take(), Arc::clone(&lines)),
            pass_on(process.stderr.take(), Arc::clone(&lines)),
        ];
        Ok(Self { process, lines, readers })
    }

    /// Its process id, until it has ended.
    pub fn id(&self) -> Option<u32> {
        self.process.id()
    }

    /// What it said that tells why it doesn't get on.
    pub fn complaint(&self) -> Option<(Why, String)> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).reason()
    }

    /// Those of these members that hold no connection to it.
    pub fn unreached<'a>(&self, members: impl Iterator<Item = &'a Member>) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        members.filter(|member| !lines.streams.is_reached_by(member.id)).map(Member::title).collect()
    }

    /// What it said last of a peer whose connection it refused, or that refused its own.
    pub fn rejected(&self) -> Option<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).rejected()
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> Ended {
        let status = self.process.wait().await;
        for reader in self.readers.iter_mut().filter(|reader| !reader.is_finished()) {
            // What it wrote last is read, unless something it left behind holds the pipe.
            let _ = timeout(Duration::from_secs(1), reader).await;
        }
        self.describe(status)
    }

    fn describe(&self, status: io::Result<ExitStatus>) -> Ended {
        let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((why, message)) = lines.reason() {
            return Ended { why, message: format!("etcd ended ({how}): {message}") };
        }
        let last = lines.last().unwrap_or_else(|| "nothing".to_owned());
        Ended { why: Why::EtcdEnds, message: format!("etcd ended ({how}); it said last: {last}") }
    }

    /// Tells it to end, and kills it where it doesn't within `grace`.
    pub async fn stop(&mut self, grace: Duration) -> io::Result<()> {
        let pid = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            kill_process(pid, Signal::TERM)?;
        }
        match timeout(grace, self.process.wait()).await {
            Ok(ended) => ended.map(drop),
            Err(_) => self.process.kill().await,
        }
    }
}

fn command(path: &Path) -> Command {
    let mut command = Command::new(path);
    let kept = std::env::vars_os().filter(|(name, _)| is_kept(&name.to_string_lossy()));
    command.env_clear().envs(kept);
    command
}

fn pass_on(
    from: Option<impl AsyncRead + Unpin + Send + 'static>,
    lines: Arc<Mutex<Lines>>,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        let Some(mut from) = from else { return };
        let mut buffer = vec![0; 8192];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let said = buffer.get(..length).unwrap_or_default();
            lines.lock().unwrap_or_else(PoisonError::into_inner).feed(said);
            // A log that can't be written must not end a member.
            let _ = io::stderr().write_all(said);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with an `etcd` that is this script. Another process writes it: a child that another thread starts
    /// meanwhile would hold this process's descriptor for a moment, and what is open for writing can't be executed.
    fn script(text: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("etcd");
        let write = "printf '#!/bin/sh\\n%s\\n' \"$2\" >\"$1\" && chmod 755 \"$1\"";
        let mut writer = std::process::Command::new("sh");
        assert!(writer.args(["-c", write, "sh"]).arg(&path).arg(text).status().unwrap().success());
        (directory, path)
    }

    const VERSION_LINE: &str = "[ \"$1\" = --version ] && echo 'etcd Version: 3.6.16' && exit";

    #[tokio::test]
    async fn a_binary_is_found_and_asked() {
        let (directory, _) = script(VERSION_LINE);
        let binary = Binary::find(directory.path().as_os_str()).await.unwrap();
        assert_eq!(binary.release.to_string(), "3.6.16");
        let (mute, _) = script("echo nothing");
        let error = Binary::find(mute.path().as_os_str()).await.unwrap_err().to_string();
        assert!(error.contains("nothing") && error.contains("image"), "{error}");
        let error = Binary::find("/nowhere".as_ref()).await.unwrap_err().to_string();
        assert!(error.contains("etcd-wrapper") && error.contains("--etcd-image"), "{error}");
    }

    #[tokio::test]
    async fn its_end_is_told_in_its_own_words() {
        let (directory, _) =
            script(&format!("{VERSION_LINE}\necho 'panic: tocommit(8) is out of range' >&2\nexit 2"));
        let binary = Binary::find(directory.path().as_os_str()).await.unwrap();
        let ended = Child::start(&binary, Path::new("/none")).unwrap().ended().await;
        assert_eq!(ended.why, Why::LostData);
        assert!(
            ended.message.contains("exit status: 2") && ended.message.contains("tocommit(8)"),
            "{ended:?}"
        );
    }

    #[tokio::test]
    async fn it_is_told_to_end_and_killed_where_it_does_not() {
        for trap in ["", "trap '' TERM"] {
            let (directory, _) = script(&format!("{VERSION_LINE}\n{trap}\nwhile :; do sleep 0.05; done"));
            let binary = Binary::find(directory.path().as_os_str()).await.unwrap();
            let mut child = Child::start(&binary, Path::new("/none")).unwrap();
            child.stop(Duration::from_millis(300)).await.unwrap();
            assert_eq!(child.id(), None);
        }
    }

    #[test]
    fn proxies_and_etcds_own_variables_are_kept_from_it() {
        for (name, kept) in
            [("HTTPS_PROXY", false), ("no_proxy", false), ("ETCD_NAME", false), ("GOGC", true)]
        {
            assert_eq!(is_kept(name), kept, "{name}");
        }
    }
}
