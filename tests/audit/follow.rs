//! A log that is followed while the server writes it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use super::support::SOON;
use super::support::client::connect;
use super::support::process::{command, spawn};
use super::support::review_of;
use super::support::until;

/// Killed when dropped.
struct Following {
    child: Child,
    lines: Receiver<String>,
}

impl Following {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // The test may be over.
                let _ = tell.send(line);
            }
        });
        Self { child, lines }
    }

    fn uid(&self) -> String {
        let line = self.lines.recv_timeout(SOON).expect("a record");
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        record["uid"].as_str().unwrap().to_owned()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_record_is_missed_or_seen_twice_over_rotations() {
    let directory = tempfile::tempdir().unwrap();
    // Every few records a rotation, so that several happen between two looks.
    let flags = ["--audit-log", "audit.log", "--audit-max-size", "3000", "--audit-max-files", "200"];
    let server = spawn(directory.path(), &flags);
    let mut client = connect(server.https, &server.ca).await;
    client.post("/validate", &review_of(-1, "first", "")).await.unwrap();
    let mut follow = command(directory.path());
    follow.args(["audit", "list", "--follow", "--output", "json", "audit.log"]);
    let following = Following::new(follow);
    assert_eq!(following.uid(), "first");
    for number in 0..300 {
        client.post("/validate", &review_of(-1, &format!("number-{number}"), "")).await.unwrap();
    }
    for number in 0..300 {
        assert_eq!(following.uid(), format!("number-{number}"));
    }
    assert!(directory.path().join("audit.log.20").exists(), "it was rotated");
}

/// A pipe doesn't say by itself that its reader has gone.
#[tokio::test(flavor = "multi_thread")]
async fn following_ends_with_its_reader_also_where_nothing_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let server = spawn(directory.path(), &["--audit-log", "audit.log"]);
    let mut client = connect(server.https, &server.ca).await;
    client.post("/validate", &review_of(-1, "first", "")).await.unwrap();
    let mut follow = command(directory.path());
    follow.args(["audit", "list", "--follow", "--output", "json", "audit.log"]).stdout(Stdio::piped());
    // Nobody but this test reads a line.
    let mut following = Following { child: follow.spawn().unwrap(), lines: mpsc::channel().1 };
    let mut first = String::new();
    BufReader::new(following.child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.contains("first"), "{first}");
    until("it ends", async || following.child.try_wait().unwrap().is_some()).await;
}
