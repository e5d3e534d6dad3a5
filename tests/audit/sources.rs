//! What logs come from: files, standard input, and what collectors make of them.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::symlink;

use super::logs::{Logged, SAMPLE, said};

/// Standard input is the log, whatever it is called.
#[test]
fn a_report_is_never_written_over_the_log_on_standard_input() {
    let log = Logged::sample();
    symlink("audit.log", log.path("link")).unwrap();
    fs::hard_link(log.path("audit.log"), log.path("hard")).unwrap();
    for html in ["audit.log", "link", "hard", "/dev/stdin"] {
        let stdin = File::open(log.path("audit.log")).unwrap();
        let said = said(log.command(&["report", "--html", html, "-"]).stdin(stdin).output().unwrap());
        assert_eq!(said.status, 2, "{html}: {}", said.err);
        assert!(said.err.contains(&format!("--html {html} is a log that is read")), "{}", said.err);
    }
    assert_eq!(fs::read_to_string(log.path("audit.log")).unwrap(), SAMPLE);
    let other = log.audit_of(&["report", "--html", "audit.html", "-"], SAMPLE);
    assert_eq!((other.status, other.err.as_str()), (0, ""));
    let nowhere = log.audit_of(&["report", "--html", "/dev/null", "-"], SAMPLE);
    assert_eq!((nowhere.status, nowhere.err.as_str()), (0, ""));
}

/// The next rotation would take the page for a log, or lose one to it.
#[test]
fn a_report_takes_no_name_that_the_log_uses() {
    let log = Logged::sample();
    fs::create_dir(log.path("elsewhere")).unwrap();
    symlink(log.path(""), log.path("elsewhere/folder")).unwrap();
    let full = log.path("audit.log.7").display().to_string();
    for (html, read) in [
        ("audit.log.9", "audit.log"),
        ("audit.log.lock", "audit.log"),
        ("./audit.log.9", "audit.log"),
        (&full, "audit.log"),
        ("elsewhere/folder/audit.log.9", "audit.log"),
        ("audit.log.9", "./elsewhere/folder/audit.log"),
    ] {
        let said = log.audit(&["report", "--html", html, read]);
        assert_eq!(said.status, 2, "{html}: {}", said.err);
        assert!(said.err.contains("give another file"), "{}", said.err);
    }
    let stdin = File::open(log.path("audit.log")).unwrap();
    let by_input = log.command(&["report", "--html", "audit.log.9", "-"]).stdin(stdin).output().unwrap();
    assert_eq!(by_input.status.code(), Some(2));
    fs::rename(log.path("audit.log"), log.path("audit.log.2")).unwrap();
    for html in ["audit.log", "audit.log.3", "audit.log.lock"] {
        let said = log.audit(&["report", "--html", html, "audit.log.2"]);
        assert!(said.status == 2 && said.err.contains("give another file"), "{html}: {}", said.err);
        assert!(!log.path(html).exists());
    }
    for html in ["audit.log.html", "audit.log.9.html", "elsewhere/audit.log.9"] {
        let said = log.audit(&["report", "--html", html, "audit.log.2"]);
        assert_eq!((said.status, said.err.as_str()), (0, ""), "{html}");
    }
}

/// `>>` to the log itself would feed the answer to the next question, without end with `--follow`.
#[test]
fn an_answer_is_never_appended_to_the_log() {
    let log = Logged::sample();
    for arguments in [
        &["list", "audit.log"][..],
        &["list", "--follow", "-o", "json", "audit.log"],
        &["summary", "audit.log"],
        &["replay", "audit.log"],
        &["show", "525e", "audit.log"],
        &["report", "--html", "-", "audit.log"],
    ] {
        let out = OpenOptions::new().append(true).open(log.path("audit.log")).unwrap();
        let said = said(log.command(arguments).stdout(out).output().unwrap());
        assert_eq!(said.status, 2, "{arguments:?}: {}", said.err);
        assert!(said.err.contains("standard output is a log that is read"), "{}", said.err);
        assert_eq!(fs::read_to_string(log.path("audit.log")).unwrap(), SAMPLE);
    }
}

fn with_prefix(prefix: &str) -> String {
    SAMPLE.lines().flat_map(|line| [prefix, line, "\n"]).collect()
}

/// As kubectl, stern and compose print lines of several containers, and a kubelet writes them.
#[test]
fn text_before_a_record_is_passed_over_and_counted() {
    let log = Logged::sample();
    let whole = log.audit(&["list", "--output", "json", "audit.log"]).out;
    let server = "{\"timestamp\":\"2026-11-29T16:00:00Z\",\"level\":\"INFO\",\"message\":\"listening\",\
                  \"target\":\"etcd_warden::cli\"}\n";
    for prefix in [
        "[pod/etcd-warden-7d4b9c-x2x/etcd-warden] ",
        "2026-11-30T06:30:48.123456789Z ",
        "[pod/etcd-warden-7d4b9c-x2x/etcd-warden] 2026-11-30T06:30:48.123456789Z ",
        "2026-11-30T06:30:48.123456789+01:00 stdout F ",
        "etcd-warden-7d4b9c-x2x etcd-warden ",
        "warden-1  | ",
    ] {
        let text = with_prefix(prefix) + prefix + server;
        let said = log.audit_of(&["list", "--output", "json", "-"], text);
        assert_eq!((said.status, &said.out), (0, &whole), "{prefix}: {}", said.err);
        let expected = format!(
            "warning: 11 records stand behind other text, which is passed over: \"{}\" for instance\n",
            prefix.trim()
        );
        assert_eq!(said.err, expected);
    }
    let one = log.audit_of(&["show", "525e", "-"], with_prefix("[pod/a/b] "));
    assert!(one.out.contains("Manifest:") && one.err.contains("stand behind other text"), "{}", one.err);
}

#[test]
fn a_foreign_line_with_a_brace_in_it_stays_foreign() {
    let log = Logged::sample();
    for (line, why) in [
        ("W1129 16:00:00 spec={\"replicas\":3}", "not JSON"),
        ("W1129 16:00:00 {\"replicas\":3}", "not JSON"),
        ("[pod/a/b] {\"time\":\"2026-11-27T08:12", "torn: it ends in the middle of a record"),
        ("2026 {", "not JSON"),
    ] {
        let said = log.audit_of(&["list", "-"], line);
        let first = said.err.lines().next().unwrap_or_default();
        assert_eq!(first, format!("warning: -:1: {why}: skipped"), "{line}");
    }
}

/// As logrotate leaves them: whoever asks for last week must not take silence for nothing.
#[test]
fn older_parts_that_another_rotation_has_named_are_said_to_be_passed_over() {
    let log = Logged::sample();
    assert_eq!(log.audit(&["list", "audit.log"]).err, "");
    fs::write(log.path("audit.log.2.gz"), b"\x1f\x8b\x08\x00rest").unwrap();
    fs::copy(log.path("audit.log"), log.path("audit.log-20261122")).unwrap();
    let said = log.audit(&["list", "audit.log"]).err;
    let begins = "warning: audit.log-20261122, audit.log.2.gz are beside the log and not read, ";
    assert!(said.starts_with(begins) && said.contains("zcat"), "{said}");
    let said = log.audit(&["list", "audit.log", "audit.log-20261122"]).err;
    assert!(said.starts_with("warning: audit.log.2.gz is beside the log and not read, "), "{said}");
}

#[test]
fn a_compressed_log_is_refused_with_what_reads_it() {
    let log = Logged::sample();
    for (name, magic, program) in [
        ("audit.log.1.gz", &b"\x1f\x8b\x08\x00rest"[..], "zcat"),
        ("audit.log.zst", b"\x28\xb5\x2f\xfdrest", "zstdcat"),
        ("audit.log.xz", b"\xfd7zXZ\x00rest", "xzcat"),
        ("audit.log.bz2", b"BZh91AY&SYrest", "bzcat"),
    ] {
        fs::write(log.path(name), magic).unwrap();
        let said = log.audit(&["list", name]);
        assert_eq!((said.status, said.out.as_str()), (2, ""), "{name}: {}", said.err);
        let expected = format!("{program} {name} | etcd-warden audit ... -");
        assert!(said.err.contains(name) && said.err.contains(&expected), "{}", said.err);
        let piped = log.audit_of(&["summary", "-"], magic);
        assert_eq!((piped.status, piped.out.as_str()), (2, ""), "{name}: {}", piped.err);
        assert!(piped.err.contains("standard input is compressed"), "{}", piped.err);
        assert!(piped.err.contains(program), "{}", piped.err);
    }
}
