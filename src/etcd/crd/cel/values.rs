//! Values of single fields, and of fields together.

use super::fragments::{has, matches, quoted};
use super::{Reason, Validation, literal};
use crate::etcd::checks::{PROVIDERS, schedule_pattern};

pub(super) fn validations() -> Vec<Validation> {
    let mut all = tls_secret_refs();
    all.extend(ports());
    all.extend(QUANTITIES.iter().map(|path| quantity(path)));
    all.extend(NUMBERS.iter().map(|path| number(path)));
    all.extend(DURATIONS.iter().map(|path| duration(path, false)));
    all.extend(DURATIONS_OR_OFF.iter().map(|path| duration(path, true)));
    all.extend(SCHEDULES.iter().map(|path| schedule(path)));
    all.extend([auto_compaction_required(), auto_compaction(), backup_periods()]);
    all.extend(backup_store());
    all
}

/// References that are there have a name; which of them must be there, the schema says where it can.
fn tls_secret_refs() -> Vec<Validation> {
    const MISSING: &str = "write the name of the Secret; a pod without it can't start";
    let named = |path| {
        Validation::new("tls-secret-refs", path, "has(self.name) && self.name != ''", literal(MISSING))
            .because(Reason::Required)
    };
    let mut all: Vec<Validation> = [
        "spec.etcd.clientUrlTls.tlsCASecretRef",
        "spec.etcd.clientUrlTls.serverTLSSecretRef",
        "spec.etcd.clientUrlTls.clientTLSSecretRef",
        "spec.etcd.peerUrlTls.tlsCASecretRef",
        "spec.etcd.peerUrlTls.serverTLSSecretRef",
        "spec.backup.tls.tlsCASecretRef",
        "spec.backup.tls.serverTLSSecretRef",
        "spec.backup.store.secretRef",
    ]
    .into_iter()
    .map(named)
    .collect();
    all.push(
        Validation::new(
            "tls-secret-refs",
            "spec.etcd.clientUrlTls",
            "has(self.clientTLSSecretRef)",
            literal(
                "write the name of the Secret that holds the client certificate, with which the members dial; a pod \
                 without it can't start",
            ),
        )
        .at(".clientTLSSecretRef")
        .because(Reason::Required),
    );
    all
}

fn ports() -> Vec<Validation> {
    let range = |path| {
        Validation::new(
            "ports",
            path,
            "self >= 1 && self <= 65535",
            literal("a port is 1 to 65535; write one, or remove the field for the default"),
        )
    };
    vec![
        range("spec.etcd.serverPort"),
        range("spec.etcd.clientPort"),
        range("spec.etcd.wrapperPort"),
        range("spec.backup.port"),
        different_ports(),
    ]
}

/// Defaults are counted in; what is no port is another's fault.
fn different_ports() -> Validation {
    let of = |object: &str| {
        [
            ("etcd.serverPort", 2380),
            ("etcd.clientPort", 2379),
            ("etcd.wrapperPort", 9095),
            ("backup.port", 8080),
        ]
        .map(|(path, default)| format!("({} ? {object}.{path} : {default})", has(object, path)))
        .join(", ")
    };
    let (new, old) = (of("self"), of("oldSelf.value()"));
    Validation::new(
        "ports",
        "spec",
        format!(
            "(oldSelf.hasValue() && [{old}] == [{new}]) || [[{new}]].all(l, l.all(p, p < 1 || p > 65535 || \
             l.exists_one(q, q == p)))"
        ),
        literal(
            "one pod can't listen on a port twice: etcd.serverPort (2380 if absent), etcd.clientPort (2379), \
             etcd.wrapperPort (9095) and backup.port (8080) must differ",
        ),
    )
    .because(Reason::Duplicate)
    .seeing_the_old()
}

const QUANTITIES: [&str; 3] =
    ["spec.storageCapacity", "spec.etcd.quota", "spec.backup.deltaSnapshotMemoryLimit"];

fn quantity(path: &'static str) -> Validation {
    Validation::new(
        "quantities",
        path,
        "type(self) == int ? int(self) > 0 : (isQuantity(string(self)) && quantity(string(self)).isGreaterThan(quantity('0')))",
        literal(
            "is no quantity above 0: write a number with a unit, such as 8Gi or 512Mi, or remove the field for the \
             default",
        ),
    )
}

const NUMBERS: [&str; 4] = [
    "spec.etcd.snapshotCount",
    "spec.backup.maxBackupsLimitBasedGC",
    "spec.backup.snapshotCompaction.eventsThreshold",
    "spec.backup.snapshotCompaction.triggerFullSnapshotThreshold",
];

fn number(path: &'static str) -> Validation {
    Validation::new(
        "numbers",
        path,
        "self > 0",
        literal("must be above 0; remove the field for the default, or write 1 or more"),
    )
}

const DURATIONS: [&str; 5] = [
    "spec.etcd.etcdDefragTimeout",
    "spec.etcd.heartbeatDuration",
    "spec.backup.etcdSnapshotTimeout",
    "spec.backup.leaderElection.reelectionPeriod",
    "spec.backup.leaderElection.etcdConnectionTimeout",
];
const DURATIONS_OR_OFF: [&str; 3] = [
    "spec.backup.garbageCollectionPeriod",
    "spec.backup.deltaSnapshotPeriod",
    "spec.backup.deltaSnapshotRetentionPeriod",
];
const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$";

fn duration(path: &'static str, zero: bool) -> Validation {
    let shape = format!("self.matches({})", literal(DURATION));
    // Without a digit other than 0 it is no time at all.
    let expression = if zero { shape } else { format!("{shape} && self.matches('[1-9]')") };
    let above = if zero { "" } else { " above 0" };
    Validation::new(
        "durations",
        path,
        expression,
        format!(
            "{} + {}",
            quoted("self"),
            literal(&format!(
                " is no duration{above}: write numbers with the units ns, us, ms, s, m or h, such as \"30s\" or \
                 \"1h30m\" (a day is \"24h\")"
            ))
        ),
    )
}

const SCHEDULES: [&str; 2] = ["spec.etcd.defragmentationSchedule", "spec.backup.fullSnapshotSchedule"];

fn schedule(path: &'static str) -> Validation {
    Validation::new(
        "schedules",
        path,
        format!("self.matches({})", literal(&schedule_pattern())),
        format!(
            "{} + {}",
            quoted("self"),
            literal(
                " is no schedule: write minute, hour, day of month, month and day of week (1-7), each as *, a number, \
                 a-b, a/step or */step, such as \"0 */24 * * *\""
            )
        ),
    )
}

/// Whether the mode is `revision`.
const BY_REVISION: &str = "has(self.autoCompactionMode) && self.autoCompactionMode == 'revision'";

fn auto_compaction_required() -> Validation {
    Validation::new(
        "auto-compaction",
        "spec.sharedConfig",
        format!("!({BY_REVISION}) || has(self.autoCompactionRetention)"),
        literal(
            "write how many revisions to keep, such as \"1000\": the default, 30m, is no number of revisions, and etcd \
             would never compact",
        ),
    )
    .at(".autoCompactionRetention")
    .because(Reason::Required)
}

fn auto_compaction() -> Validation {
    const RETENTION: &str = "self.autoCompactionRetention";
    // 18 digits: below what 63 bits hold.
    let whole = matches(RETENTION, "^0*[0-9]{1,18}$");
    Validation::new(
        "auto-compaction",
        "spec.sharedConfig",
        format!("!has({RETENTION}) || {whole} || !({BY_REVISION}) && {}", matches(RETENTION, DURATION)),
        format!(
            "{} + ({BY_REVISION} ? {} : {})",
            quoted(RETENTION),
            literal(
                " doesn't fit mode revision: write a number of revisions such as \"1000\". etcd reads a duration as a \
                 huge number, and never compacts"
            ),
            literal(
                " doesn't fit mode periodic: write a duration such as \"30m\", or whole hours such as \"1\""
            )
        ),
    )
    .at(".autoCompactionRetention")
}

/// Compared where both are durations that CEL can hold.
fn backup_periods() -> Validation {
    let (delta, garbage) = ("self.deltaSnapshotPeriod", "self.garbageCollectionPeriod");
    let held = r"^([0-9]{1,5}(\.[0-9]{1,9})?(ns|us|µs|ms|s|m|h)){1,6}$";
    let on = |text: &str| format!("{text}.matches({}) && {text}.matches('[1-9]')", literal(held));
    Validation::new(
        "backup-periods",
        "spec.backup",
        format!(
            "!has({delta}) || !has({garbage}) || !({} && {}) || duration({delta}) < duration({garbage}) || \
             (oldSelf.hasValue() && has(oldSelf.value().deltaSnapshotPeriod) && \
             has(oldSelf.value().garbageCollectionPeriod) && oldSelf.value().deltaSnapshotPeriod == {delta} && \
             oldSelf.value().garbageCollectionPeriod == {garbage})",
            on(delta),
            on(garbage)
        ),
        format!(
            "{} + {} + {delta} + {}",
            quoted(garbage),
            literal(" must be longer than spec.backup.deltaSnapshotPeriod (\""),
            literal(
                "\"), or snapshots are tidied before there are any; write a longer period here or a shorter one there"
            )
        ),
    )
    .at(".garbageCollectionPeriod")
    .seeing_the_old()
}

fn backup_store() -> Vec<Validation> {
    let providers: Vec<String> = PROVIDERS.iter().map(|provider| literal(provider)).collect();
    vec![
        Validation::new(
            "backup-store",
            "spec.backup.store.provider",
            format!("self in [{}]", providers.join(", ")),
            format!(
                "{} + {}",
                quoted("self"),
                literal(&format!(" is no provider: write one of {}", PROVIDERS.join(", ")))
            ),
        ),
        Validation::new(
            "backup-store",
            "spec.backup.store.container",
            format!("self.matches({})", literal("^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$")),
            format!(
                "{} + {}",
                quoted("self"),
                literal(
                    " is no container's name: write 3 to 63 characters of A-Z a-z 0-9 . _ -, beginning and ending \
                     with a letter or a digit"
                )
            ),
        ),
        Validation::new(
            "backup-store",
            "spec.backup.store.endpointOverride",
            format!("self.matches({})", literal(r"^(?i:https?)://[^/?#\s[:cntrl:]]+[^\s[:cntrl:]]*$")),
            format!(
                "{} + {}",
                quoted("self"),
                literal(
                    " is no address of a store: write an http or https URL with a host, such as \
                     \"https://minio.example:9000\""
                )
            ),
        ),
    ]
}
