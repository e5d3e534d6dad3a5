//! Whether the API server should send reviews here: every named condition holds.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwapOption;
use tokio_util::sync::CancellationToken;

use crate::audit::Counters;
use crate::pki::Validity;

use super::attached::{Condition, State};

/// The conditions of a server.
pub(super) struct Readiness {
    /// Absent until the first certificate is served.
    certificate: ArcSwapOption<Validity>,
    /// Set when the server has been told to end.
    draining: CancellationToken,
    audit: Option<Audit>,
    attached: Vec<Arc<dyn Condition>>,
}

#[derive(Debug)]
pub(super) struct Audit {
    pub(super) counters: Counters,
    pub(super) required: bool,
}

/// One condition, as it is now.
#[derive(Debug, PartialEq, Eq)]
struct Reported {
    name: &'static str,
    state: State,
}

/// What `/readyz` says.
#[derive(Debug)]
pub(super) struct Report(Vec<Reported>);

impl Readiness {
    pub(super) fn new(
        draining: CancellationToken,
        audit: Option<Audit>,
        attached: Vec<Arc<dyn Condition>>,
    ) -> Self {
        Self { certificate: ArcSwapOption::empty(), draining, audit, attached }
    }

    /// A certificate is served from here on.
    pub(super) fn serves(&self, validity: Validity) {
        self.certificate.store(Some(Arc::new(validity)));
    }

    /// The conditions at `now`, by the wall clock.
    pub(super) fn report(&self, now: SystemTime) -> Report {
        let mut conditions = vec![
            Reported { name: "certificate", state: certificate(self.certificate.load().as_deref(), now) },
            Reported { name: "serving", state: self.serving() },
        ];
        let audit = self.audit.as_ref().map(Audit::state);
        conditions.extend(audit.map(|state| Reported { name: "audit", state }));
        let attached = self.attached.iter();
        conditions.extend(
            attached.map(|condition| Reported { name: condition.name(), state: condition.state(now) }),
        );
        Report(conditions)
    }

    fn serving(&self) -> State {
        let draining = self.draining.is_cancelled();
        if draining { State::Failed("draining: told to end".into()) } else { State::Good }
    }
}

fn certificate(validity: Option<&Validity>, now: SystemTime) -> State {
    let Some(validity) = validity else {
        return State::Failed("no certificate is served yet: waiting for the CA".into());
    };
    if validity.has_expired(now) {
        State::Failed(
            "the served certificate has expired: replace its files, restart where the server made them, or see the log \
             where it renews them itself"
                .into(),
        )
    } else if validity.has_not_begun(now) {
        State::Failed("the served certificate is not valid yet: check the clock, or renew it".into())
    } else {
        State::Good
    }
}

impl Audit {
    fn state(&self) -> State {
        const WHY: &str = "records are not written: see the log, and make room or mend the disk";
        match (self.counters.degraded(), self.required) {
            (false, _) => State::Good,
            (true, false) => State::Degraded(WHY.into()),
            (true, true) => State::Failed(WHY.into()),
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
        for Reported { name, state } in &self.0 {
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
        let readiness = Readiness::new(draining.clone(), audit, Vec::new());
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
    fn a_server_without_a_certificate_is_not_ready() {
        let readiness = Readiness::new(CancellationToken::new(), None, Vec::new());
        let report = readiness.report(at(150));
        assert!(!report.is_ready());
        assert!(report.text(false).contains("[-] certificate: no certificate is served yet"), "{report:?}");
    }

    struct Attached(State);

    impl Condition for Attached {
        fn name(&self) -> &'static str {
            "etcds"
        }

        fn state(&self, _: SystemTime) -> State {
            self.0.clone()
        }
    }

    #[test]
    fn what_is_attached_counts_like_the_server_s_own() {
        for (state, ready, line) in [
            (State::Good, true, "[+] etcds: ok\n"),
            (State::Degraded("late".into()), true, "[!] etcds: degraded: late\n"),
            (State::Failed("away".into()), false, "[-] etcds: away\n"),
        ] {
            let readiness = Readiness::new(CancellationToken::new(), None, vec![Arc::new(Attached(state))]);
            readiness.serves(Validity { not_before: 100, not_after: 200 });
            let report = readiness.report(at(150));
            assert_eq!(report.is_ready(), ready);
            assert!(report.text(true).contains(line), "{report:?}");
        }
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
