//! What is listed, shown, counted and reported.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::logs::{Logged, said};
use super::reviews::{create, etcd, update};

const ROTATED: [&str; 4] = ["--audit-max-size", "2000", "--audit-max-files", "100"];

/// Twenty refused creations, two in a row by the same of ten users, and an update, over several files.
async fn log() -> Logged {
    let mut reviews = Vec::new();
    for number in 0..20 {
        let mut object = etcd();
        object["metadata"]["namespace"] = json!(if number < 15 { "shop" } else { "bank" });
        object["metadata"]["name"] = json!(format!("etcd-{number}"));
        object["spec"]["replicas"] = json!(-1);
        if number == 19 {
            object["spec"]["etcd"]["serverPort"] = json!(0);
            object["metadata"]["annotations"] = json!({"note": "<script>alert(1)</script>"});
        }
        let mut review = create(&object);
        review["request"]["uid"] = json!(format!("{number:08}-create"));
        review["request"]["userInfo"]["username"] = json!(format!("user-{}", number / 2));
        reviews.push(("/validate", review.to_string().into_bytes()));
    }
    let (mut old, new) = (etcd(), etcd());
    old["spec"]["replicas"] = json!(3);
    reviews.push(("/validate", update(&old, &new).to_string().into_bytes()));
    let log = Logged::new(&ROTATED, &reviews).await;
    assert!(log.path("audit.log.2").exists(), "the log is in several files");
    log
}

fn names(records: &[Value]) -> Vec<String> {
    records.iter().map(|record| record["object"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_listed_newest_last_over_all_files() {
    let log = log().await;
    let expected: Vec<String> =
        (0..20).map(|number| format!("etcd-{number}")).chain(["main".into()]).collect();
    assert_eq!(names(&log.records()), expected);
    let table = log.audit(&["list", "--limit", "3", "audit.log"]);
    let lines: Vec<Vec<&str>> = table.out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["TIME", "REVIEW", "DECISION", "OPERATION", "NAMESPACE/NAME", "USER", "RULES"]);
    assert_eq!(
        lines[2][1..],
        ["00000019", "rejected", "CREATE", "bank/etcd-19", "user-9", "ports,", "replicas-range"]
    );
    assert_eq!((lines.len(), lines[3][3], lines[3][6]), (4, "UPDATE", "replicas-no-shrink"));
    assert!(table.out.lines().all(|line| line.chars().count() <= 110), "{}", table.out);
    let wide = log.audit(&["list", "--output", "wide", "--name", "etcd-19", "audit.log"]).out;
    for shown in ["00000019-create", "validate", "422", "false", "µs", "ports (spec.etcd.serverPort)"] {
        assert!(wide.contains(shown), "{shown} is not in {wide}");
    }
}

/// As `kubectl logs -l` prints the logs of several pods: one behind the other.
#[tokio::test(flavor = "multi_thread")]
async fn logs_that_come_one_behind_the_other_are_put_in_order() {
    let log = log().await;
    let whole = log.audit(&["list", "--output", "json", "audit.log"]).out;
    let lines: Vec<&str> = whole.lines().collect();
    let (odd, even): (Vec<_>, Vec<_>) = lines.iter().enumerate().partition(|(at, _)| at % 2 == 1);
    let text: Vec<&str> = odd.into_iter().chain(even).map(|(_, line)| *line).collect();
    assert_ne!(text, lines);
    fs::write(log.path("piped"), text.join("\n")).unwrap();
    let piped = |arguments: &[&str]| {
        let stdin = fs::File::open(log.path("piped")).unwrap();
        let told = said(log.command(arguments).stdin(stdin).output().unwrap());
        assert_eq!(told.err, "", "{arguments:?}");
        told.out
    };
    // Times are to the millisecond: of those that are equal, either may be first.
    let times = |text: &str| -> Vec<String> {
        let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        records.map(|record| record["time"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(times(&piped(&["list", "--output", "json", "-"])), times(&whole));
    assert_eq!(
        times(&piped(&["list", "--output", "json", "--limit", "4", "-"])),
        times(&lines[17..].join("\n"))
    );
    let replayed = piped(&["replay", "--output", "json", "-"]);
    assert_eq!(serde_json::from_str::<Value>(&replayed).unwrap()["summary"]["same"], 21);
}

#[tokio::test(flavor = "multi_thread")]
async fn that_no_record_fits_is_said() {
    let log = log().await;
    for command in ["list", "replay", "summary"] {
        let none = log.audit(&[command, "-n", "nowhere", "audit.log"]);
        let expected =
            "warning: no record fits: none of the 21 in the log is of those that the flags select\n";
        assert_eq!((none.status, none.err.as_str()), (0, expected), "{command}");
        let nothing = log.audit(&[command, "/dev/null"]);
        assert_eq!(nothing.err, "warning: no record fits: there is none in the log\n", "{command}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_filter_takes_its_part() {
    let log = log().await;
    let time = log.records()[5]["time"].as_str().unwrap().to_owned();
    let count = |arguments: &[&str]| {
        let said = log.audit(&[&["list", "--output", "json", "audit.log"], arguments].concat());
        assert_eq!(said.status, 0, "{}", said.err);
        said.out.lines().count()
    };
    for (arguments, expected) in [
        (vec!["-n", "bank"], 5),
        (vec!["-n", "bank", "-n", "shop"], 20),
        (vec!["-n", "b*"], 5),
        (vec!["--name", "etcd-1"], 1),
        (vec!["--name", "etcd-1*"], 11),
        (vec!["--user", "user-3"], 2),
        (vec!["--rule", "ports"], 1),
        (vec!["--rule", "replicas-*"], 21),
        (vec!["--uid", "0000001"], 10),
        (vec!["--decision", "found,allowed"], 0),
        (vec!["--decision", "rejected"], 21),
        (vec!["--since", "1h"], 21),
        (vec!["--until", "1h"], 0),
        (vec!["--since", "1h", "--until", "2000-01-01"], usize::MAX),
        (vec!["--since", &time, "-n", "shop", "--limit", "2"], 2),
    ] {
        if expected == usize::MAX {
            let said = log.audit(&[&["list", "audit.log"], arguments.as_slice()].concat());
            assert!(said.status == 2 && said.err.contains("is not before --until"), "{}", said.err);
        } else {
            assert_eq!(count(&arguments), expected, "{arguments:?}");
        }
    }
    assert!(
        (15..=17).contains(&count(&["--since", &time])),
        "the record itself and what came with or after it"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_listed_as_json_is_read_again() {
    let log = log().await;
    let mut list = log.command(&["list", "--output", "json", "-n", "bank", "audit.log"]);
    let mut list = list.stdout(Stdio::piped()).spawn().unwrap();
    let mut summary = log.command(&["summary", "--output", "json", "-"]);
    let told = said(summary.stdin(list.stdout.take().unwrap()).output().unwrap());
    assert!(list.wait().unwrap().success());
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((&told["records"], &told["skippedLines"]), (&json!(5), &json!(0)));
    assert_eq!(told["byNamespace"]["items"], json!([{"name": "bank", "records": 5}]));
    assert_eq!(told["byRule"]["items"][0], json!({"name": "replicas-range", "records": 5}));
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_lines_are_named_counted_and_passed_over() {
    let log = log().await;
    let mut text = fs::read_to_string(log.path("audit.log")).unwrap();
    text = format!("{}{{\"level\":\"INFO\"}}\n{}", "W1129 starting\n".repeat(12), text) + "{\"torn\":";
    fs::write(log.path("audit.log"), text).unwrap();
    let said = log.audit(&["summary", "audit.log"]);
    assert!(said.status == 0 && said.out.starts_with("21 records, "), "{}", said.out);
    let lines: Vec<&str> = said.err.lines().collect();
    assert_eq!(lines[0], "warning: audit.log:1: not JSON: skipped");
    assert_eq!((lines.len(), lines[10]), (11, "warning: 14 lines in all were no records and were skipped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_record_is_shown_whole() {
    let log = log().await;
    let shown = log.audit(&["show", "00000019", "audit.log"]);
    for text in [
        "Review:      00000019-create\n",
        "Decision:    rejected (code 422)\n",
        "Groups:      system:authenticated\n",
        "[ports]",
        "replicas: -1",
    ] {
        assert!(shown.out.contains(text), "{text} is not in {}", shown.out);
    }
    let coloured = log.audit(&["show", "00000019", "--color", "always", "audit.log"]).out;
    assert!(coloured.contains("\u{1b}[") && !shown.out.contains('\u{1b}'), "{coloured}");
    let update = log.audit(&["show", "705ab4f5", "audit.log"]).out;
    assert!(update.contains("Stored before:\n  /spec/replicas 3\n"), "{update}");
    let record: Value =
        serde_json::from_str(&log.audit(&["show", "00000019", "-o", "json", "audit.log"]).out).unwrap();
    assert_eq!(record["manifest"]["metadata"]["annotations"]["note"], "<script>alert(1)</script>");
    let several = log.audit(&["show", "0000000", "audit.log"]);
    assert!(
        several.status == 1 && several.err.contains("several reviews begin with \"0000000\""),
        "{}",
        several.err
    );
    let none = log.audit(&["show", "nobody", "audit.log"]);
    assert!(
        none.status == 1 && none.err.contains("no record's review begins with \"nobody\""),
        "{}",
        none.err
    );
    let empty = log.audit(&["show", "", "audit.log"]);
    assert!(empty.status == 2 && empty.err.contains("UID is empty"), "{}", empty.err);
    let absent = log.audit(&["show", "0000", "absent.log"]);
    assert!(absent.status == 2 && absent.err.contains("there is no audit log absent.log"), "{}", absent.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_counts_by_everything() {
    let log = log().await;
    let text = log.audit(&["summary", "--top", "2", "audit.log"]).out;
    let lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let full = "█".repeat(30);
    for line in ["By rule", &format!("replicas-range 20 {full}"), &format!("shop 15 {full}"), "By hour"] {
        assert!(lines.iter().any(|found| found == line), "{line} is not in {text}");
    }
    assert!(text.contains("(9 others)"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_one_page_in_which_text_stays_text() {
    let log = log().await;
    let said = log.audit(&["report", "--html", "report.html", "--limit", "5", "audit.log"]);
    assert_eq!(
        (said.status, said.out.as_str()),
        (0, "report.html: 21 records counted, the newest 5 in it whole\n")
    );
    let page = fs::read_to_string(log.path("report.html")).unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>alert"));
    assert_eq!(page.matches("<details class=\"record\"").count(), 5);
    assert!(page.contains("etcd-warden audit list --decision rejected,warned audit.log"));
    assert!(page.contains("<code>replicas</code> is present and not negative."), "rules are explained");
}

/// A log that is written over is lost, under whatever name.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_is_never_written_over_the_log() {
    let log = log().await;
    std::os::unix::fs::symlink("audit.log", log.path("link")).unwrap();
    fs::hard_link(log.path("audit.log.1"), log.path("hard")).unwrap();
    let before = log.records().len();
    for html in ["audit.log", "audit.log.1", "link", "hard"] {
        let said = log.audit(&["report", "--html", html, "audit.log"]);
        assert_eq!(said.status, 2, "{html}");
        assert!(said.err.contains(&format!("--html {html} is a log that is read")), "{}", said.err);
    }
    assert_eq!(log.records().len(), before);
}

/// What a shell makes of `audit.log*`.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_named_twice_is_read_once() {
    let log = log().await;
    for logs in [
        &["audit.log", "audit.log.1", "audit.log.2"][..],
        &["audit.log.1", "audit.log"],
        &["audit.log", "audit.log"],
    ] {
        let said = log.audit(&[&["list", "--output", "json"][..], logs].concat());
        assert_eq!(said.out.lines().count(), 21, "{logs:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_early_is_no_error() {
    let log = log().await;
    let mut list = log.command(&["list", "--output", "json", "audit.log"]);
    let mut child = list.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let said = said(child.wait_with_output().unwrap());
    assert_eq!((said.status, said.err.as_str()), (0, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_may_come_from_the_servers_variable() {
    let log = log().await;
    let with =
        |value: &str| said(log.command(&["list"]).env("ETCD_WARDEN_AUDIT_LOG", value).output().unwrap());
    assert_eq!(with("audit.log").out.lines().count(), 22);
    let none = with("");
    assert!(none.status == 2 && none.err.contains("no log is named"), "{}", none.err);
}
