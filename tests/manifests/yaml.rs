//! Reads the manifests.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the server's objects, wherever a name is free.
pub const NAME: &str = "etcd-warden";

/// A path in the project.
pub fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// The objects of a file below `manifests/`.
pub fn objects(file: &str) -> Vec<Value> {
    documents(&fs::read_to_string(path("manifests").join(file)).expect(file))
}

/// The documents of a YAML text.
pub fn documents(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("YAML")
}

/// The one object of this kind in a file.
pub fn object(file: &str, kind: &str) -> Value {
    let mut of_kind = objects(file).into_iter().filter(|object| object["kind"] == kind);
    let found = of_kind.next().unwrap_or_else(|| panic!("{file} has no {kind}"));
    assert!(of_kind.next().is_none(), "{file} has several {kind}");
    found
}

/// The text at a place.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

/// The entries of a list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

/// The texts of a list.
pub fn texts(value: &Value) -> BTreeSet<&str> {
    list(value).iter().map(text).collect()
}

/// What `serve --help` says.
pub fn help() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_etcd-warden")).args(["serve", "--help"]).output();
    String::from_utf8(output.expect("help").stdout).expect("UTF-8")
}

/// The names of the flags of `serve`.
pub fn flags(help: &str) -> BTreeSet<String> {
    let lines = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    lines.map(|line| line.split([' ', '=']).next().unwrap_or_default().to_owned()).collect()
}
