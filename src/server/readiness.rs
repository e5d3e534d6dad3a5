//! Whether the API server should send reviews here: every named condition holds.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;

use crate::audit::Counters;
use crate::pki::Validity;

/// The conditions of a server.
#[derive(Debug)]
pub(super) struct Readiness {
    certificate: ArcSwap<Validity>,
    /// Set when the server has been told to end.
    draining: CancellationToken,
    audit: Option<Audit>,
}

#[derive(Debug)]
pub(super) struct Audit {
    pub(super) counters: Counters,
    pub(super) required: bool,
}

/// One condition, as it is now.
#[derive(Debug, PartialEq, Eq)]
struct Condition {
    name: &'static str,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Good,
    /// Something to look after; reviews are answered all the same.
    Degraded(&'static str),
    Failed(&'static str),
}

/// What `/readyz` says.
#[derive(Debug)]
pub(super) struct Report(Vec<Condition>);

impl Readiness {
    pub(super) fn new(draining: CancellationToken, audit: Option<Audit>) -> Self {
        // Not begun, until the first certificate is served.
        let none = Validity { not_before: i64::MAX, not_after: i64::MAX };
        Self { certificate: ArcSwap::new(Arc::new(none)), draining, audit }
    }

    /// A certificate is served from here on.
    pub(super) fn serves(&self, validity: Validity) {
        self.certificate.store(Arc::new(validity));
    }

    /// The conditions at `now`, by the wall clock.
    pub(super) fn report(&self, now: SystemTime) -> Report {
        let mut conditions = vec![
            Condition { name: "certificate", state: certificate(**self.certificate.load(), now) },
            Condition { name: "serving", state: self.serving() },
        ];
        let audit = self.audit.as_ref().map(Audit::state);
        conditions.extend(audit.map(|state| Condition { name: "audit", state }));
        Report(conditions)
    }

    fn serving(&self) -> State {
        let draining = self.draining.is_cancelled();
        if draining { State::Failed("draining: told to end") } else { State::Good }
    }
}

fn certificate(validity: Validity, now: SystemTime) -> State {
    if validity.has_expired(now) {
        State::Failed(
            "the served certificate has expired: replace its files, or restart where the server made them",
        )
    } else if validity.has_not_begun(now) {
        State::Failed("the served certificate is not valid yet: check the clock, or renew it")
    } else {
        State::Good
    }
}

impl Audit {
    fn state(&self) -> State {
        const WHY: &str = "records are not written: see the log, and make room or mend the disk";
        match (self.counters.degraded(), self.required) {
            (false, _) => State::Good,
            (true, false) => State::Degraded(WHY),
            (true, true) => State::Failed(WHY),
        }
    }
}

impl Report {
    pub(super) fn is_ready(&self) -> bool {
        !self.0.iter().any(|condition| matches!(condition.state, State::Failed(_)))
    }

    /// A line for each condition that does not hold, or with `verbose` for each, and one for the whole.
    pub(super) fn text(&self, verbose: bool) -> String {
        let mut text = String::new();
        for Condition { name, state } in &self.0 {
            // Writing to a string can't fail.
            let _ = match state {
                State::Good if verbose => writeln!(text, "[+] {name}: ok"),
                State::Degraded(why) if verbose => writeln!(text, "[!] {name}: degraded: {why}"),
                State::Failed(why) => writeln!(text, "[-] {name}: {why}"),
                State::Good | State::Degraded(_) => Ok(()),
            };
        }
        text.push_str(if self.is_ready() { "ready\n" } else { "not ready\n" });
        text
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn at(second: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(second)
    }

    fn readiness(audit: Option<Audit>) -> (Readiness, CancellationToken) {
        let draining = CancellationToken::new();
        let readiness = Readiness::new(draining.clone(), audit);
        readiness.serves(Validity { not_before: 100, not_after: 200 });
        (readiness, draining)
    }

    #[test]
    fn the_certificate_must_be_good_at_the_time_of_asking() {
        let (readiness, _) = readiness(None);
        for (second, ready) in [(99, false), (100, true), (200, true), (201, false)] {
            assert_eq!(readiness.report(at(second)).is_ready(), ready, "{second}");
        }
        assert!(
            readiness
                .report(at(201))
                .text(false)
                .contains("[-] certificate: the served certificate has expired")
        );
    }

    #[test]
    fn a_draining_server_is_not_ready() {
        let (readiness, draining) = readiness(None);
        assert_eq!(readiness.report(at(150)).text(true), "[+] certificate: ok\n[+] serving: ok\nready\n");
        draining.cancel();
        assert_eq!(readiness.report(at(150)).text(false), "[-] serving: draining: told to end\nnot ready\n");
    }

    #[test]
    fn a_failing_audit_log_degrades_or_ends_readiness_as_wished() {
        for required in [false, true] {
            let counters = Counters::new();
            let (readiness, _) = readiness(Some(Audit { counters: counters.clone(), required }));
            assert!(readiness.report(at(150)).text(true).contains("[+] audit: ok"));
            counters.is_behind(1);
            let report = readiness.report(at(150));
            assert_eq!(report.is_ready(), !required);
            assert_eq!(report.text(true).contains("[!] audit: degraded"), !required);
            counters.wrote(1, 1);
            assert!(readiness.report(at(150)).is_ready());
        }
    }
}
