//! What is printed: nothing shortened in a pipe, times in UTC, numbers that agree with their words.

use std::fs;

use super::logs::{Logged, SAMPLE};

const ACCOUNT: &str = "system:serviceaccount:flux-system:kustomize-controller";

#[test]
fn nothing_is_shortened_in_a_pipe() {
    let log = Logged::sample();
    let (user, name) = ("u".repeat(200), "n".repeat(100));
    let text =
        SAMPLE.replace("\"bob\"", &format!("\"{user}\"")).replace("\"ledger\"", &format!("\"{name}\""));
    fs::write(log.path("audit.log"), text).unwrap();
    for command in ["list", "summary"] {
        let out = log.audit(&[command, "audit.log"]).out;
        for whole in [ACCOUNT, &user, &format!("bank/{name}")] {
            assert!(out.contains(whole), "{command}: {whole} is not in\n{out}");
        }
        assert!(!out.contains('…'), "{out}");
    }
    let replayed = log.audit(&["replay", "--deletion-protection", "audit.log"]).out;
    assert!(replayed.contains(&format!("bank/{name}")), "{replayed}");
}

#[test]
fn every_time_that_is_printed_is_utc() {
    let log = Logged::sample();
    let text = SAMPLE.replace("2026-11-28T11:47:55.681Z", "2026-11-28T13:47:55.681+02:00");
    fs::write(log.path("audit.log"), text).unwrap();
    for arguments in [
        &["list", "--output", "wide"][..],
        &["list"],
        &["show", "525e"],
        &["summary"],
        &["summary", "--output", "json"],
        &["report", "--html", "-"],
    ] {
        let out = log.audit(&[arguments, &["audit.log"]].concat()).out;
        assert!(out.contains("2026-11-28T11:47:55") && !out.contains("13:47:55"), "{arguments:?}: {out}");
    }
    let record = log.audit(&["list", "--output", "json", "--uid", "525e", "audit.log"]).out;
    assert!(record.contains("2026-11-28T13:47:55.681+02:00"), "a record stays as it is: {record}");
}

/// Records of all times that there are.
#[test]
fn a_chart_has_few_lines_however_far_apart_the_records_are() {
    let log = Logged::sample();
    let at = |time: &str| SAMPLE.lines().next().unwrap().replace("2026-11-27T08:12:31.204Z", time) + "\n";
    for times in [
        &["1970-01-01T00:00:00Z", "2026-11-27T08:12:31Z", "9998-01-01T00:00:00Z"][..],
        &["1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"],
        &["-009998-01-01T00:00:00Z", "2026-11-27T08:12:31Z", "9998-01-01T00:00:00Z"],
    ] {
        fs::write(log.path("audit.log"), times.iter().map(|time| at(time)).collect::<String>()).unwrap();
        let out = log.audit(&["summary", "audit.log"]).out;
        let (_, chart) = out.rsplit_once("\nBy ").unwrap();
        let counts = chart.lines().skip(1).map(|line| line.split_whitespace().nth(1).unwrap());
        let counts: Vec<usize> = counts.map(|count| count.parse().unwrap()).collect();
        assert!(counts.len() <= 24, "{} lines: {out}", counts.len());
        assert_eq!(counts.iter().sum::<usize>(), times.len(), "{out}");
        let page = log.audit(&["report", "--html", "-", "audit.log"]).out;
        assert!(page.matches("class=\"column\"").count() <= 72, "{} bytes", page.len());
    }
}

#[test]
fn one_of_something_is_told_as_one() {
    let log = Logged::sample();
    let one = ["--uid", "525e", "audit.log"];
    let replayed = log.audit(&[&["replay"][..], &one].concat()).out;
    assert!(replayed.starts_with("1 record judged anew: "), "{replayed}");
    let said = log.audit(&[&["report", "--html", "page.html"][..], &one].concat()).out;
    assert_eq!(said, "page.html: 1 record counted, and in it whole\n");
    let left_out = SAMPLE.replacen("\"violations\":", "\"violationsLeftOut\":1,\"violations\":", 1);
    fs::write(log.path("audit.log"), left_out).unwrap();
    let shown = log.audit(&["show", "0e6a", "audit.log"]).out;
    assert!(shown.ends_with("and 1 violation more, which the record leaves out\n"), "{shown}");
}
