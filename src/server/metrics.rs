//! What the server counts, with controller-runtime's names where it counts the same. Every label value is
//! from a closed set, and every series that can be known beforehand is there from the start, at zero.

use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::admission::Facts;
use crate::audit::{Counters, Stage};
use crate::rules;

use super::answer::Refusal;
use super::attached::Measured;
use super::labels::{
    Answered, CODES, Decided, Handshake, HandshakeFailed, Rule, STAGES, Warning, Webhook, all_decisions,
    decided, path,
};

/// Seconds: from a small review decided in memory to the API server's default time-out.
const LATENCY_BUCKETS: [f64; 16] =
    [50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0];

/// Bytes: from a status update to the longest body.
const BODY_BUCKETS: [f64; 8] =
    [1024.0, 4096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0, 4_194_304.0, 7_340_032.0];

/// The metrics of a server, and what renders them.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    latency: Family<Webhook, Histogram, fn() -> Histogram>,
    requests: Family<Answered, Counter>,
    in_flight: Family<Webhook, Gauge>,
    panics: Counter,
    body_bytes: Histogram,
    decisions: Family<Decided, Counter>,
    violations: Family<Rule, Counter>,
    warnings: Family<Warning, Counter>,
    shed: Counter,
    deadline_exceeded: Counter,
    malformed: Counter,
    handshakes: Family<HandshakeFailed, Counter>,
    ready: Gauge,
    /// Connections to the webhook port.
    pub(super) connections: Gauge,
    /// Reads of the certificate files.
    pub(super) certificate_reads: Counter,
    /// Reads that brought no usable pair.
    pub(super) certificate_errors: Counter,
    /// Seconds since 1970.
    pub(super) certificate_not_after: Gauge,
}

/// One more request in flight, until it is dropped.
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(super) fn new(audit: Option<&Counters>, attached: &[Measured]) -> Self {
        let mut metrics = Self {
            registry: Registry::default(),
            latency: Family::new_with_constructor(|| Histogram::new(LATENCY_BUCKETS)),
            requests: Family::default(),
            in_flight: Family::default(),
            panics: Counter::default(),
            body_bytes: Histogram::new(BODY_BUCKETS),
            decisions: Family::default(),
            violations: Family::default(),
            warnings: Family::default(),
            shed: Counter::default(),
            deadline_exceeded: Counter::default(),
            malformed: Counter::default(),
            handshakes: Family::default(),
            ready: Gauge::default(),
            connections: Gauge::default(),
            certificate_reads: Counter::default(),
            certificate_errors: Counter::default(),
            certificate_not_after: Gauge::default(),
        };
        metrics.begin_at_zero();
        metrics.register_requests();
        metrics.register_server();
        metrics.register_own();
        if let Some(audit) = audit {
            metrics.register_audit(audit);
        }
        for register in attached {
            register(&mut metrics.registry);
        }
        metrics
    }

    fn begin_at_zero(&self) {
        for webhook in STAGES.map(path) {
            drop(self.latency.get_or_create(&Webhook { webhook }));
            drop(self.in_flight.get_or_create(&Webhook { webhook }));
            for code in CODES {
                drop(self.requests.get_or_create(&Answered { webhook, code }));
            }
        }
        for decided in all_decisions() {
            drop(self.decisions.get_or_create(&decided));
        }
        for rule in rules::RULES {
            drop(self.violations.get_or_create(&Rule { rule: rule.id }));
        }
        // Ratcheted violations are warnings under their rule's id.
        for id in rules::ids() {
            drop(self.warnings.get_or_create(&Warning { id }));
        }
        for reason in [Handshake::timeout, Handshake::tls, Handshake::io] {
            drop(self.handshakes.get_or_create(&HandshakeFailed { reason }));
        }
    }

    fn register_requests(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "controller_runtime_webhook_latency_seconds",
            "Time from a request's headers to its answer",
            self.latency.clone(),
        );
        registry.register(
            "controller_runtime_webhook_requests",
            "Answered requests by HTTP status",
            self.requests.clone(),
        );
        registry.register(
            "controller_runtime_webhook_requests_in_flight",
            "Requests being handled",
            self.in_flight.clone(),
        );
        registry.register(
            "controller_runtime_webhook_panics",
            "Requests answered with 500 after a panic",
            self.panics.clone(),
        );
        registry.register(
            "certwatcher_read_certificate",
            "Reads of the certificate files",
            self.certificate_reads.clone(),
        );
        registry.register(
            "certwatcher_read_certificate_errors",
            "Reads that brought no usable certificate and key",
            self.certificate_errors.clone(),
        );
    }

    fn register_server(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "etcd_warden_certificate_not_after_seconds",
            "End of the served certificate's validity, since 1970",
            self.certificate_not_after.clone(),
        );
        registry.register(
            "etcd_warden_connections",
            "Connections to the webhook port",
            self.connections.clone(),
        );
        registry.register(
            "etcd_warden_handshake_failures",
            "Connections that ended before TLS stood",
            self.handshakes.clone(),
        );
        registry.register("etcd_warden_ready", "Whether /readyz says ready", self.ready.clone());
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("etcd_warden_build", "Which etcd-warden this is", build);
    }

    fn register_own(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "etcd_warden_decisions",
            "Reviews decided, by what they were about and what came of it",
            self.decisions.clone(),
        );
        registry.register(
            "etcd_warden_rule_violations",
            "Reviews in which a rule was broken",
            self.violations.clone(),
        );
        registry.register(
            "etcd_warden_warnings",
            "Reviews in which a warning was given",
            self.warnings.clone(),
        );
        registry.register("etcd_warden_body_bytes", "Length of the reviews' bodies", self.body_bytes.clone());
        registry.register(
            "etcd_warden_shed",
            "Requests answered with 503 because too many were handled",
            self.shed.clone(),
        );
        registry.register(
            "etcd_warden_deadline_exceeded",
            "Reviews not judged, or not read, in their time",
            self.deadline_exceeded.clone(),
        );
        registry.register(
            "etcd_warden_malformed",
            "Bodies that are no AdmissionReview",
            self.malformed.clone(),
        );
    }

    fn register_audit(&mut self, audit: &Counters) {
        let registry = &mut self.registry;
        registry.register(
            "etcd_warden_audit_records_written",
            "Records in the audit log",
            audit.written.clone(),
        );
        registry.register(
            "etcd_warden_audit_records_failed",
            "Records not in the audit log when their answer left",
            audit.failed.clone(),
        );
        registry.register(
            "etcd_warden_audit_rotations",
            "Times the audit log was set aside",
            audit.rotations.clone(),
        );
    }

    pub(super) fn in_flight(&self, stage: Stage) -> InFlight {
        let gauge = self.in_flight.get_or_create_owned(&Webhook { webhook: path(stage) });
        gauge.inc();
        InFlight(gauge)
    }

    pub(super) fn answered(&self, stage: Stage, status: StatusCode, took: Duration) {
        let webhook = path(stage);
        let code = CODES.into_iter().find(|code| *code == status.as_str()).unwrap_or("500");
        self.requests.get_or_create(&Answered { webhook, code }).inc();
        self.latency.get_or_create(&Webhook { webhook }).observe(took.as_secs_f64());
    }

    pub(super) fn body_bytes(&self, bytes: usize) {
        // Exact below 2^53.
        #[allow(clippy::cast_precision_loss)]
        self.body_bytes.observe(bytes as f64);
    }

    pub(super) fn refused(&self, refusal: &Refusal) {
        match refusal {
            Refusal::NoReview(_) => drop(self.malformed.inc()),
            Refusal::SlowBody => drop(self.deadline_exceeded.inc()),
            Refusal::Overloaded => drop(self.shed.inc()),
            Refusal::Panicked => drop(self.panics.inc()),
            _ => {}
        }
    }

    pub(super) fn decided(&self, facts: &Facts, late: bool) {
        self.deadline_exceeded.inc_by(u64::from(late));
        self.decisions.get_or_create(&decided(facts)).inc();
        for rule in &facts.rules {
            self.violations.get_or_create(&Rule { rule }).inc();
        }
        for id in &facts.warnings {
            self.warnings.get_or_create(&Warning { id }).inc();
        }
    }

    pub(super) fn handshake_failed(&self, reason: Handshake) {
        self.handshakes.get_or_create(&HandshakeFailed { reason }).inc();
    }

    /// OpenMetrics text.
    pub(super) fn render(&self, ready: bool) -> Result<String, std::fmt::Error> {
        self.ready.set(i64::from(ready));
        let mut rendered = String::new();
        text::encode(&mut rendered, &self.registry)?;
        Ok(rendered)
    }
}
