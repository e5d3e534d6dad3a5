//! kubectl, as somebody at a terminal runs it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// What a command said and how it ended.
#[derive(Debug)]
pub struct Output {
    pub command: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Output {
    /// Runs `command` with `input`.
    pub fn of(command: &mut Command, input: &str) -> Self {
        let said = format!("{command:?}");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{said}: {error}"));
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_owned();
        // A command that reads nothing has closed the pipe already.
        let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            command: said,
            status: output.status,
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// The output of a command that must succeed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert!(self.status.success(), "{} failed: {}{}", self.command, self.stdout, self.stderr);
        self.stdout
    }

    /// The complaint of a command that must be refused.
    #[track_caller]
    pub fn refused(self) -> String {
        assert!(!self.status.success(), "{} was let pass: {}", self.command, self.stdout);
        self.stderr
    }

    /// For waiting: what it printed, or why it failed.
    pub fn attempt(self) -> Result<String, String> {
        if self.status.success() { Ok(self.stdout) } else { Err(self.stderr) }
    }
}

/// kubectl as one user of one cluster.
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Kubectl {
    pub fn new(program: &Path, kubeconfig: &Path) -> Self {
        Self { program: program.to_owned(), kubeconfig: kubeconfig.to_owned() }
    }

    /// Nothing of the caller's own configuration has a say.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_remove("KUBECONFIG").env("KUBECACHEDIR", self.kubeconfig.with_extension("cache"));
        command.arg("--kubeconfig").arg(&self.kubeconfig).args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str], input: &str) -> Output {
        Output::of(&mut self.command(arguments), input)
    }
}
