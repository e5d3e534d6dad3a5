//! A kubectl that goes on and on: it watches, or follows a log.

use std::fs;
use std::process::{Child, Stdio};

use tempfile::NamedTempFile;

use super::Namespace;

/// Ends when dropped.
pub struct Follow {
    kubectl: Child,
    said: NamedTempFile,
}

impl Follow {
    /// Starts it, in a namespace.
    pub fn start(shop: &Namespace<'_>, arguments: &[&str]) -> Self {
        let said = NamedTempFile::new().unwrap();
        let arguments = [&["--namespace", shop.name.as_str()], arguments].concat();
        let mut command = shop.bed.kubectl_command(&arguments);
        command.stdin(Stdio::null()).stdout(said.reopen().unwrap()).stderr(Stdio::null());
        Self { kubectl: command.spawn().unwrap(), said }
    }

    /// What it has printed so far.
    pub fn said(&self) -> String {
        fs::read_to_string(self.said.path()).unwrap()
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.kubectl.kill();
        let _ = self.kubectl.wait();
    }
}
