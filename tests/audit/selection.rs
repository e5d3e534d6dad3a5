//! Which records the flags select, and what is said of flags that select none.

use super::logs::{Logged, SAMPLE};

/// Uids of what is listed, shortened, and what is said besides.
fn listed(log: &Logged, arguments: &[&str]) -> (Vec<String>, String) {
    let said = log.audit(&[&["list", "audit.log"], arguments].concat());
    assert_eq!(said.status, 0, "{arguments:?}: {}", said.err);
    let uid = |line: &str| line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    (said.out.lines().skip(1).map(uid).collect(), said.err)
}

#[test]
fn values_may_stand_behind_commas_or_in_flags_of_their_own() {
    let log = Logged::sample();
    for (joined, apart, count) in [
        (&["--rule", "ports,backup-store"][..], &["--rule", "ports", "--rule", "backup-store"][..], 2),
        (&["--rule", "[ports],labels"], &["--rule", "labels", "--rule", "[ports]"], 2),
        (&["-n", "bank,prod"], &["-n", "bank", "-n", "prod"], 6),
        (&["--name", "ledger,eve*"], &["--name", "ledger", "--name", "events"], 3),
        (&["--user", "bob,carol"], &["--user", "bob", "--user", "carol"], 4),
        (&["--uid", "3e4a,091f"], &["--uid", "3e4a", "--uid", "091f"], 2),
        (&["--decision", "allowed,found"], &["--decision", "allowed"], 2),
    ] {
        let (found, err) = listed(&log, joined);
        assert_eq!((found.len(), err.as_str()), (count, ""), "{joined:?}");
        assert_eq!(found, listed(&log, apart).0, "{joined:?}");
    }
}

/// Distinguished names are user names, too.
#[test]
fn a_user_with_commas_is_found_as_he_is_called() {
    let log = Logged::sample();
    std::fs::write(log.path("audit.log"), SAMPLE.replace("\"bob\"", "\"CN=bob,OU=etcd\"")).unwrap();
    assert_eq!(listed(&log, &["--user", "CN=bob,OU=etcd"]).0.len(), 2);
    assert!(log.audit(&["list", "audit.log", "--user", "CN=bob,OU=other"]).err.contains("no record fits"));
}

#[test]
fn a_warning_is_found_by_its_id() {
    let log = Logged::sample();
    let (found, err) = listed(&log, &["--rule", "dead-members-remain"]);
    assert_eq!((found, err.as_str()), (vec!["a21f320c".to_owned()], ""));
    assert_eq!(listed(&log, &["--rule", "[dead-members-remain],ports"]).0.len(), 2);
    let none = log.audit(&["list", "--rule", "even-replicas", "audit.log"]);
    assert_eq!(
        none.err,
        "warning: no record fits: none of the 11 in the log is of those that the flags select; even-replicas is a \
         warning, which refuses nothing: what was allowed is in the log only with --audit all\n"
    );
    let files = log.audit(&["list", "--rule", "duplicate-key", "audit.log"]);
    assert!(files.err.contains("duplicate-key is said by lint alone"), "{}", files.err);
}

#[test]
fn spans_in_which_no_record_can_be_are_refused_with_the_remedy() {
    let log = Logged::sample();
    for (since, until, remedy) in [
        ("2026-11-30", "2026-11-30", "write --until 2026-12-01 for the whole day"),
        ("2026-11-30T06:00", "2026-11-30T06:00", "write a later --until"),
        ("2h", "2h", "write a later --until"),
        ("2026-11-30", "2026-11-29", "exchange them"),
        ("1h", "2h", "exchange them"),
    ] {
        let said = log.audit(&["list", "--since", since, "--until", until, "audit.log"]);
        assert!(said.status == 2 && said.err.contains(remedy), "{since} {until}: {}", said.err);
        let is_moment = remedy != "exchange them";
        assert_eq!(said.err.contains("--until is exclusive"), is_moment, "{}", said.err);
    }
}

#[test]
fn a_number_that_is_none_says_how_to_write_one() {
    let log = Logged::sample();
    for (command, flag) in [("list", "--limit"), ("summary", "--top"), ("report", "--limit")] {
        for number in ["-1", "all", "1.5"] {
            let html: &[&str] = if command == "report" { &["--html", "-"] } else { &[] };
            let said = log.audit(&[&[command, flag, number, "audit.log"], html].concat());
            assert_eq!(said.status, 2);
            assert!(said.err.contains("write how many"), "{command} {flag} {number}: {}", said.err);
        }
    }
}

#[test]
fn a_time_that_is_none_says_how_to_write_one() {
    let log = Logged::sample();
    for flag in ["--since", "--until"] {
        for time in ["5x", "-2h", "-n", "tomorrow"] {
            let said = log.audit(&["list", flag, time, "audit.log"]);
            assert_eq!(said.status, 2);
            assert!(said.err.contains("write how long ago (90s, 2h, 7d)"), "{flag} {time}: {}", said.err);
        }
    }
}
