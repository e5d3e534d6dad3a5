//! The API server's audit log as a counter of writes. It is written before an answer leaves, so nothing is missing
//! once kubectl is back.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// A place in the log.
#[derive(Clone, Copy, Debug)]
pub struct Mark(usize);

/// One write, refused or not. Leases, events and heartbeats of nodes aren't in the log.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Write {
    pub verb: String,
    user: User,
    object_ref: Option<Object>,
    response_status: Option<Status>,
}

#[derive(Clone, Debug, Deserialize)]
struct User {
    username: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Object {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Status {
    code: u16,
}

impl Write {
    pub fn user(&self) -> &str {
        &self.user.username
    }

    /// As a rule names it: `etcds`, `etcds/status`.
    pub fn resource(&self) -> String {
        let Some(object) = &self.object_ref else { return String::new() };
        match object.subresource.as_str() {
            "" => object.resource.clone(),
            subresource => format!("{}/{subresource}", object.resource),
        }
    }

    pub fn namespace(&self) -> &str {
        self.object_ref.as_ref().map_or("", |object| &object.namespace)
    }

    pub fn name(&self) -> &str {
        self.object_ref.as_ref().map_or("", |object| &object.name)
    }

    /// The answer's HTTP status.
    pub fn code(&self) -> u16 {
        self.response_status.as_ref().map_or(0, |status| status.code)
    }
}

fn log(logs: &Path) -> String {
    fs::read_to_string(logs.join("audit.log")).unwrap()
}

pub fn mark(logs: &Path) -> Mark {
    Mark(log(logs).len())
}

pub fn writes_since(logs: &Path, mark: Mark) -> Vec<Write> {
    let log = log(logs);
    let new = &log[mark.0..];
    // Another answer's line may be half written.
    let whole = new.rfind('\n').map_or("", |end| &new[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}
