//! The program itself, as a child.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::{SOON, STEP};

/// A running server; killed when dropped.
pub struct Process {
    pub child: Child,
    pub https: SocketAddr,
    pub probes: SocketAddr,
    pub ca: PathBuf,
}

/// The command, in `directory`, without anything from the environment that it could read.
pub fn command(directory: &Path) -> Command {
    clean(Command::new(env!("CARGO_BIN_EXE_etcd-warden")), directory)
}

fn clean(mut command: Command, directory: &Path) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ETCD_WARDEN_") {
            command.env_remove(name);
        }
    }
    // No client of the program takes a proxy from the environment: nobody listens there.
    for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"] {
        command.env(name, "http://127.0.0.1:1");
    }
    command.current_dir(directory);
    command
}

/// Starts the program in `directory` on ports of the system's choice, and waits until it listens.
pub fn spawn(directory: &Path, arguments: &[&str]) -> Process {
    listen(command(directory), directory, "127.0.0.1", arguments)
}

/// The same on another address of this machine. It ends with the thread that starts it, however that ends: one that
/// others can reach must not outlive a test that was killed.
pub fn spawn_on(host: &str, directory: &Path, arguments: &[&str]) -> Process {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_etcd-warden")]);
    listen(clean(command, directory), directory, host, arguments)
}

fn listen(mut command: Command, directory: &Path, host: &str, arguments: &[&str]) -> Process {
    let address = format!("{host}:0");
    command.args(["--listen", &address, "--probes-listen", &address, "--log-format", "json"]);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (tell, told) = mpsc::channel();
    let log = BufReader::new(child.stderr.take().unwrap());
    // Reads to the end, so that the child is never held up by a full pipe.
    std::thread::spawn(move || {
        for line in log.lines().map_while(Result::ok) {
            let Ok(line) = serde_json::from_str::<serde_json::Value>(&line) else { continue };
            if line["message"] == "listening" {
                let address = |name: &str| line[name].as_str().unwrap().parse::<SocketAddr>().unwrap();
                // The test may be over.
                let _ = tell.send((address("https"), address("probes")));
            }
        }
    });
    let (https, probes) = told.recv_timeout(SOON).expect("the server listens");
    Process { child, https, probes, ca: directory.join("certs/ca.crt") }
}

impl Process {
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub fn status(&mut self) -> ExitStatus {
        let end = Instant::now() + SOON;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the process does not end");
            std::thread::sleep(STEP);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
