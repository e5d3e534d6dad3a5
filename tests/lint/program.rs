//! The program, run as a person runs it.

use std::fs;
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

/// An Etcd in block style.
pub fn etcd(name: &str, replicas: &str) -> String {
    format!(
        "apiVersion: druid.gardener.cloud/v1alpha1\nkind: Etcd\nmetadata:\n  name: {name}\nspec:\n  replicas: {replicas}\n  labels: {{}}\n  etcd: {{}}\n  backup: {{}}\n"
    )
}

/// A folder of its own.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Writes a file, and the folders above it.
pub fn write(folder: &Path, file: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(file);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Runs Git in a folder.
pub fn git(folder: &Path, arguments: &[&str]) {
    let settings = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"];
    let output =
        Command::new("git").arg("-C").arg(folder).args(settings).args(arguments).output().expect("git");
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
}
