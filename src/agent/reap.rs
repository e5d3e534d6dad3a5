//! The duty of a container's first process: processes whose parents have ended become its children, and somebody has to
//! take note of their ends.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::time::interval;

/// Between two looks. What is still there at the second is nobody's: etcd's own end is taken note of at once.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);

/// Reaps for as long as the process lasts; where it is no first process, there is nothing to reap.
pub async fn run() {
    let mut ticks = interval(BETWEEN_LOOKS);
    let mut seen = BTreeSet::new();
    loop {
        ticks.tick().await;
        if std::process::id() == 1 {
            seen = reap(&seen);
        }
    }
}

/// Reaps the zombies that were there before; returns those that are there now.
fn reap(before: &BTreeSet<i32>) -> BTreeSet<i32> {
    let now = zombies(std::process::id());
    for id in now.intersection(before) {
        if let Some(pid) = Pid::from_raw(*id) {
            // Gone already is as well.
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
    now
}

/// Children of a process that have ended, and were not taken note of.
fn zombies(parent: u32) -> BTreeSet<i32> {
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|id| is_zombie_of(*id, parent)).collect()
}

fn is_zombie_of(id: i32, parent: u32) -> bool {
    let Ok(text) = fs::read_to_string(format!("/proc/{id}/stat")) else { return false };
    // The name in brackets may hold anything.
    let mut fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.next() == Some("Z") && fields.next().and_then(|parent| parent.parse().ok()) == Some(parent)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    #[test]
    #[allow(clippy::zombie_processes, reason = "a zombie is what is wanted")]
    fn what_is_left_at_the_second_look_is_reaped() {
        let child = Command::new("true").stdin(Stdio::null()).spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_zombie_of(id, std::process::id()) {
            assert!(Instant::now() < deadline, "it never ended");
            std::thread::yield_now();
        }
        assert!(!reap(&BTreeSet::new()).is_empty());
        assert!(is_zombie_of(id, std::process::id()));
        reap(&BTreeSet::from([id]));
        assert!(!is_zombie_of(id, std::process::id()));
    }
}
