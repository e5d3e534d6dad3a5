//! Beds don't disturb each other, and leave nothing.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Bed, FOLDER, Options, Traces, can_be_had, eventually};

/// How long the machine may take to be rid of a bed.
const GONE: Duration = Duration::from_secs(15);

fn assert_up(traces: &Traces) {
    assert!(traces.processes.len() > 3, "{traces:#?}");
    for kind in [&traces.links, &traces.routes, &traces.control_groups, &traces.files] {
        assert!(!kind.is_empty(), "{traces:#?}");
    }
}

#[test]
fn two_beds_side_by_side_and_nothing_left_of_the_one_that_ends() {
    let Some(stays) = Bed::shared() else { return };
    let ends = Bed::start().unwrap();
    assert_ne!(stays.number, ends.number);
    let shop = stays.namespace();
    shop.apply(include_str!("../manifests/web.yaml"));
    shop.ready("pod/web");
    let other = ends.namespace();
    other.apply(include_str!("../manifests/web.yaml"));
    other.ready("pod/web");
    assert!(ends.exec(&["cat", "/proc/1/cmdline"]).ok().contains("lib/inside"), "processes of its own");
    let number = ends.number;
    assert_up(&Traces::of(number));

    drop(other);
    drop(ends);
    Traces::of(number).are_gone().unwrap();
    assert_up(&Traces::of(stays.number));
    assert_eq!(shop.kubectl(&["logs", "web"]).ok(), "serving\n");
    assert_eq!(
        shop.kubectl(&["get", "pod", "web", "--output=jsonpath={.status.containerStatuses[0].restartCount}"])
            .ok(),
        "0"
    );
}

#[test]
fn an_api_server_that_was_away_has_forgotten_nothing() {
    let Some(bed) = Bed::with(&Options { control_plane: true, ..Options::default() }) else { return };
    let shop = bed.namespace();
    shop.kubectl(&["create", "configmap", "color", "--from-literal=color=blue"]).ok();
    bed.stop("kube-apiserver");
    shop.kubectl(&["get", "configmap", "color"]).refused();
    bed.start_again("kube-apiserver");
    let color = eventually(Duration::from_secs(30), "the API server answers again", || {
        shop.kubectl(&["get", "configmap", "color", "--output=jsonpath={.data.color}"]).attempt()
    });
    assert_eq!(color, "blue");
}

#[test]
fn the_bed_of_a_killed_supervisor_ends_and_its_rest_is_swept_up() {
    let Some(bed) = Bed::with(&Options { control_plane: true, ..Options::default() }) else { return };
    let number = bed.number;
    let supervisor = std::fs::read_to_string(format!("{FOLDER}/{number}/supervisor")).unwrap();
    let supervisor = Pid::from_raw(supervisor.trim().parse().unwrap()).unwrap();
    kill_process(supervisor, Signal::KILL).unwrap();
    eventually(GONE, "the kernel has ended the bed", || {
        let left = Traces::of(number).processes;
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    });
    drop(bed);
    Traces::of(number).are_gone().unwrap();
}

#[test]
fn a_killed_test_leaves_nothing() {
    if !can_be_had() {
        return;
    }
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "scenarios::beds::holds_a_bed_until_it_is_killed", "--ignored", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(test.stdout.take().unwrap()).lines().map_while(Result::ok);
    let number = said.into_iter().find_map(|line| line.strip_prefix("holding bed ")?.parse().ok()).unwrap();
    assert_up(&Traces::of(number));
    // SIGKILL: nothing in the process can clean up.
    test.kill().unwrap();
    test.wait().unwrap();
    eventually(GONE, "nothing is left of the bed of a killed test", || Traces::of(number).are_gone());
}

#[test]
#[ignore = "started by the scenario that kills it"]
fn holds_a_bed_until_it_is_killed() {
    let bed = Bed::start().unwrap();
    let shop = bed.namespace();
    shop.apply(include_str!("../manifests/web.yaml"));
    shop.ready("pod/web");
    println!("\nholding bed {}", bed.number);
    // Its other end closes when whoever started this is killed in turn.
    let _ = std::io::stdin().read(&mut [0]);
}
