//! The program, run as a person runs it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run came to.
#[derive(Debug)]
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

/// The project's folder.
pub fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Runs `etcd-warden lint` in a folder.
pub fn lint(folder: &Path, arguments: &[&str], stdin: &str) -> Run {
    lint_with(folder, arguments, stdin, &[])
}

/// Runs it with variables.
pub fn lint_with(folder: &Path, arguments: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_etcd-warden"))
        .arg("lint")
        .args(arguments)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    child.stdin.take().expect("a pipe").write_all(stdin.as_bytes()).expect("a reader");
    let output = child.wait_with_output().expect("an end");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run {
        status: output.status.code().expect("a status"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
