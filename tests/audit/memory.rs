//! However long a log is, reading it takes little memory.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use super::support::process::command;

/// Of resident memory: what must never be exceeded.
const KIBIBYTES_MAX: u64 = 50 * 1024;

/// What 32 MiB of records that are held back, to be put in order, take besides.
const HELD_BACK: u64 = 50 * 1024;

/// How much log there is; a gigabyte in the long form.
fn mebibytes() -> u64 {
    if std::env::var_os("ETCD_WARDEN_LONG").is_some() { 1024 } else { 64 }
}

/// A record of about 2 KiB, whose user, namespace and name are no other's.
fn record(number: u64) -> String {
    let hour = number / 3600 % 24;
    let (minute, second) = (number / 60 % 60, number % 60);
    let note = "x".repeat(1500);
    format!(
        r#"{{"time":"2026-11-29T{hour:02}:{minute:02}:{second:02}.000Z","stage":"validate","decision":"rejected","uid":"uid-{number}","operation":"CREATE","object":{{"namespace":"namespace-{number}","name":"etcd-{number}","hash":"00"}},"user":{{"name":"user-{number}","groups":["g"]}},"dryRun":false,"code":422,"violations":[{{"rule":"rule-{number}","field":"spec.replicas","cause":"FieldValueInvalid","message":"no"}}],"manifest":{{"apiVersion":"druid.gardener.cloud/v1alpha1","kind":"Etcd","metadata":{{"annotations":{{"note":"{note}"}}}}}},"durationMicros":100}}"#
    )
}

/// Feeds a command a log by standard input. The number of its records, the most memory that it took, in KiB, and what it
/// printed on `stdout`, if that is a pipe.
fn fed(arguments: &[&str], stdout: Stdio) -> (u64, u64, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let mut child = command(directory.path());
    child.arg("audit").args(arguments).arg("-").stdin(Stdio::piped()).stdout(stdout);
    let mut child = child.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let (mut bytes, mut records) = (0, 0);
    while bytes < mebibytes() * 1024 * 1024 {
        let line = record(records);
        writeln!(stdin, "{line}").unwrap();
        bytes += line.len() as u64 + 1;
        records += 1;
    }
    // Everything but what is still in the pipe has been read by now.
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    println!("{arguments:?}: {} MiB of log, {records} records: {peak} KiB of memory at most", mebibytes());
    (records, peak, output.stdout)
}

#[test]
fn a_long_log_of_many_names_is_summarised_in_little_memory() {
    let (records, peak, printed) = fed(&["summary", "--output", "json"], Stdio::piped());
    let told: serde_json::Value = serde_json::from_slice(&printed).unwrap();
    assert_eq!(told["records"], records);
    let kept: u64 = told["byUser"]["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["records"].as_u64().unwrap())
        .sum();
    assert_eq!(kept + told["byUser"]["others"].as_u64().unwrap(), records);
    assert!(peak < KIBIBYTES_MAX, "{peak} KiB");
}

/// Records are held back until there are 32 MiB of them, whatever the log holds.
#[test]
fn a_long_log_is_listed_in_bounded_memory() {
    let (_, peak, _) = fed(&["list", "--output", "json"], Stdio::null());
    assert!(peak < KIBIBYTES_MAX + HELD_BACK, "{peak} KiB");
}
