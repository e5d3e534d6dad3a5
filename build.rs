//! Finds out which commit is built, for `--version`, and makes the client of etcd's API from its definition.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// etcd's messages.
const DEFINITIONS: [&str; 2] = ["proto/etcd.proto", "proto/wal.proto"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=ETCD_WARDEN_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    let version = match given().or_else(checked_out) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=ETCD_WARDEN_VERSION={version}");
    etcd_client()
}

fn etcd_client() -> Result<(), Box<dyn Error>> {
    for file in DEFINITIONS {
        println!("cargo:rerun-if-changed={file}");
    }
    let definitions = protox::compile(DEFINITIONS, ["proto"])?;
    tonic_prost_build::configure().build_server(false).build_transport(false).compile_fds(definitions)?;
    Ok(())
}

/// For a build from an archive of the source, or of a tree with changes.
fn given() -> Option<String> {
    std::env::var("ETCD_WARDEN_COMMIT").ok().filter(|commit| !commit.is_empty())
}

/// The commit of this very directory: not that of a repository around it, in which it is vendored.
fn checked_out() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != here {
        return None;
    }
    // Both change with each commit and each checkout; the second is absent where Git keeps no log.
    for file in ["HEAD", "logs/HEAD"] {
        let file = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&file).exists() {
            println!("cargo:rerun-if-changed={file}");
        }
    }
    // A fixed length: what Git finds short enough depends on how much a clone holds.
    git(&["rev-parse", "HEAD"])?.get(..12).map(str::to_owned)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}
