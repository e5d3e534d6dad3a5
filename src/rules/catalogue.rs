//! The table of rules. A rule is registered here and nowhere else: what lists rules reads this table.

use super::change::Change;
use super::report::Report;
use super::settings::Settings;
use super::view::View;
use super::{
    advertise, backup, end, freeze, image, immutable, object, ports, secrets, size, source, source_names,
    source_urls, status,
};

/// One rule.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Stable id: in messages, metrics, audit records and documentation.
    pub id: &'static str,
    /// Where it is documented.
    pub group: Group,
    /// What it looks at; several where one rule has parts of several kinds.
    pub checks: &'static [Check],
    /// Whether an `autoscaling/v1` Scale says enough to run it.
    pub scale: bool,
    /// What it demands, in one sentence.
    pub summary: &'static str,
    /// What the CRD alone can't see of it, and why: half a sentence; nothing where the CRD says it all.
    pub beyond_crd: Option<&'static str>,
    /// What explains it, in Markdown: `docs/rules/<id>.md`.
    pub page: &'static str,
}

/// What a rule looks at, and the function that looks.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// One field's value: run by the resource's own validation, see [`crate::etcd::checks`]. On CREATE and UPDATE.
    Field,
    /// The object: on CREATE and, with ratcheting, on UPDATE.
    Object(fn(&View<'_>, &Settings, &mut Report)),
    /// The object: on CREATE only.
    Created(fn(&View<'_>, &mut Report)),
    /// The change: on UPDATE.
    Changed(fn(&Change<'_>, &mut Report)),
    /// A change that makes a value final: as [`Check::Changed`], and what else is wrong with the value is not
    /// reported beside it.
    Frozen(fn(&Change<'_>, &mut Report)),
    /// The change of the status: on UPDATE of `etcds/status`.
    Status(fn(&Change<'_>, &mut Report)),
    /// The object that is to go: on DELETE.
    Deleted(fn(&View<'_>, &Settings, &mut Report)),
}

/// The chapters of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Joining an existing cluster.
    Joining,
    /// Size and life of the cluster.
    Life,
    /// The rest of the object.
    Object,
    /// Status subresource.
    Status,
    /// Files and their text: what `lint` says, and no rule.
    Files,
}

impl Group {
    /// All of them, in the order in which the documentation has them.
    pub const ALL: [Self; 5] = [Self::Joining, Self::Life, Self::Object, Self::Status, Self::Files];

    /// The chapter's title.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Joining => "Joining an existing cluster",
            Self::Life => "Size and life of the cluster",
            Self::Object => "The rest of the object",
            Self::Status => "Status subresource",
            Self::Files => "Files (lint alone)",
        }
    }
}

impl Rule {
    /// The operations that the rule runs on, as they are written in the documentation.
    pub fn runs(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for check in self.checks {
            let runs: &[&str] = match check {
                Field | Object(_) => &["CREATE", "UPDATE"],
                Created(_) => &["CREATE"],
                Changed(_) | Frozen(_) => &["UPDATE"],
                Status(_) => &["UPDATE status"],
                Deleted(_) => &["DELETE"],
            };
            names.extend(runs.iter().filter(|run| !names.contains(run)).copied().collect::<Vec<_>>());
        }
        if self.scale {
            names.push("UPDATE scale");
        }
        names.join(", ")
    }
}

/// A row of the table. A rule whose page isn't there doesn't compile.
macro_rules! rule {
    ($id:literal, $group:expr, $checks:expr, $summary:literal $(,)?) => {
        Rule {
            id: $id,
            group: $group,
            checks: $checks,
            scale: false,
            summary: $summary,
            beyond_crd: None,
            page: page!($id),
        }
    };
}

const fn on_scale_too(rule: Rule) -> Rule {
    Rule { scale: true, ..rule }
}

/// The CRD says nothing of this, or not all of it.
const fn beyond_crd(rule: Rule, why: &'static str) -> Rule {
    Rule { beyond_crd: Some(why), ..rule }
}

use Check::{Changed, Created, Deleted, Field, Frozen, Object, Status};
use Group::{Joining, Life, Object as Rest, Status as OfStatus};

/// Every rule, in the order in which the documentation lists them.
pub const RULES: &[Rule] = &[
    on_scale_too(rule!("type", Rest, &[Object(object::type_)], "A value has its field's JSON type.")),
    rule!("required", Rest, &[Object(object::required)], "`spec`, `spec.etcd` and `spec.backup` are there."),
    rule!(
        "bootstrap-create-only",
        Joining,
        &[Frozen(freeze::bootstrap_create_only)],
        "An existing cluster is named when the Etcd is created, never later.",
    ),
    rule!(
        "bootstrap-frozen",
        Joining,
        &[Frozen(freeze::bootstrap_frozen)],
        "Until the join is complete, `members` and `clientEndpoints` stay what they are.",
    ),
    rule!(
        "bootstrap-no-removal",
        Joining,
        &[Frozen(freeze::bootstrap_no_removal)],
        "Until the join is complete, the existing cluster is neither removed nor emptied.",
    ),
    rule!("bootstrap-members", Joining, &[Object(source::bootstrap_members)], "1 to 10 source members."),
    rule!(
        "bootstrap-member-name",
        Joining,
        &[Object(source_names::bootstrap_member_name)],
        "A source member's name is an RFC 1123 label.",
    ),
    rule!(
        "bootstrap-member-name-default",
        Joining,
        &[Object(source_names::bootstrap_member_name_default)],
        "A source member isn't called `default`, which is what etcd calls a member without a name.",
    ),
    rule!(
        "bootstrap-member-name-unique",
        Joining,
        &[Object(source_names::bootstrap_member_name_unique)],
        "No two source members bear one name.",
    ),
    rule!(
        "bootstrap-member-name-collision",
        Joining,
        &[Object(source_names::bootstrap_member_name_collision)],
        "No source member bears a name that a member of this Etcd may get.",
    ),
    rule!(
        "bootstrap-peer-urls",
        Joining,
        &[Object(source::bootstrap_peer_urls)],
        "1 to 5 peer URLs a source member.",
    ),
    rule!(
        "bootstrap-peer-url-syntax",
        Joining,
        &[Object(source_urls::bootstrap_peer_url_syntax)],
        "A peer URL is scheme, host and port, and nothing else.",
    ),
    rule!(
        "bootstrap-peer-url-scheme",
        Joining,
        &[Object(source_urls::bootstrap_peer_url_scheme)],
        "A peer URL is `https` exactly when `spec.etcd.peerUrlTls` is set.",
    ),
    beyond_crd(
        rule!(
            "bootstrap-peer-url-unique",
            Joining,
            &[Object(source_urls::bootstrap_peer_url_unique)],
            "No peer URL stands twice, in one member or in two.",
        ),
        "two spellings of one IPv6 address are not compared: the cost of 50 URLs with each other is bounded",
    ),
    rule!(
        "bootstrap-peer-url-host",
        Joining,
        &[Object(source_urls::bootstrap_peer_url_host)],
        "A peer URL's host can be reached from another pod.",
    ),
    beyond_crd(
        rule!(
            "bootstrap-peer-url-own",
            Joining,
            &[Object(source_urls::bootstrap_peer_url_own)],
            "A source's peer URL isn't an address of this Etcd itself.",
        ),
        "CEL sees no namespace: own names followed by one are not recognized",
    ),
    rule!(
        "bootstrap-client-endpoints",
        Joining,
        &[Object(source::bootstrap_client_endpoints)],
        "1 to 10 client endpoints.",
    ),
    rule!(
        "bootstrap-client-endpoint-syntax",
        Joining,
        &[Object(source_urls::bootstrap_client_endpoint_syntax)],
        "A client endpoint is scheme, host and perhaps a port, and nothing else.",
    ),
    rule!(
        "bootstrap-client-endpoint-scheme",
        Joining,
        &[Object(source_urls::bootstrap_client_endpoint_scheme)],
        "A client endpoint is `https` exactly when `spec.etcd.clientUrlTls` is set.",
    ),
    rule!(
        "bootstrap-client-endpoint-unique",
        Joining,
        &[Object(source_urls::bootstrap_client_endpoint_unique)],
        "No client endpoint stands twice.",
    ),
    rule!(
        "bootstrap-client-endpoint-host",
        Joining,
        &[Object(source_urls::bootstrap_client_endpoint_host)],
        "A client endpoint's host can be reached from another pod.",
    ),
    beyond_crd(
        rule!(
            "bootstrap-client-endpoint-own",
            Joining,
            &[Object(source_urls::bootstrap_client_endpoint_own)],
            "A client endpoint isn't this Etcd itself.",
        ),
        "CEL sees no namespace: own names followed by one are not recognized",
    ),
    rule!(
        "bootstrap-replicas-frozen",
        Joining,
        &[Frozen(freeze::bootstrap_replicas_frozen)],
        "Until the join is complete, `replicas` changes only from 0 to its first size.",
    ),
    rule!(
        "bootstrap-settings-frozen",
        Joining,
        &[Frozen(freeze::bootstrap_settings_frozen)],
        "Until the join is complete, ports, TLS and advertised peer URLs stay what they are.",
    ),
    on_scale_too(rule!(
        "replicas-range",
        Life,
        &[Object(size::replicas_range)],
        "`replicas` is present and not negative.",
    )),
    on_scale_too(rule!(
        "replicas-no-shrink",
        Life,
        &[Changed(size::replicas_no_shrink)],
        "`replicas` doesn't shrink, except to 0, and wakes with at least the members that are known.",
    )),
    rule!(
        "image-minor-jump",
        Life,
        &[Changed(image::image_minor_jump)],
        "etcd's minor version stays or rises by one.",
    ),
    beyond_crd(
        rule!(
            "image-allowed",
            Life,
            &[Object(image::image_allowed)],
            "The image begins with a prefix of `--allowed-images`, where that is set.",
        ),
        "the allowed prefixes are a flag of the server",
    ),
    beyond_crd(
        rule!(
            "leave-finalizer-held",
            Life,
            &[Changed(end::leave_finalizer_held)],
            "While members are known, only the loop removes the finalizer `etcd-warden.dev/leave`.",
        ),
        "CEL sees neither finalizers, annotations nor who asks",
    ),
    beyond_crd(
        rule!(
            "joined-hibernate",
            Life,
            &[Changed(end::joined_hibernate)],
            "A part of a combined cluster isn't hibernated where the rest alone would have no quorum.",
        ),
        "CEL sees no annotations, so that nobody could give up the quorum on purpose",
    ),
    beyond_crd(
        rule!(
            "joined-delete",
            Life,
            &[Deleted(end::joined_delete)],
            "A part of a combined cluster isn't deleted where the rest alone would have no quorum.",
        ),
        "a CRD says nothing of deletion",
    ),
    beyond_crd(
        rule!(
            "deletion-protected",
            Life,
            &[Deleted(end::deletion_protected)],
            "An Etcd that is protected from deletion isn't deleted.",
        ),
        "a CRD says nothing of deletion",
    ),
    rule!(
        "member-name-prefix-immutable",
        Life,
        &[Frozen(immutable::member_name_prefix_immutable)],
        "`memberNamePrefix` stays what it is, present or absent.",
    ),
    rule!(
        "storage-class-immutable",
        Life,
        &[Frozen(immutable::storage_class_immutable)],
        "`storageClass` stays what it is, present or absent.",
    ),
    rule!(
        "volume-claim-template-immutable",
        Life,
        &[Frozen(immutable::volume_claim_template_immutable)],
        "`volumeClaimTemplate` stays what it is, present or absent.",
    ),
    rule!(
        "name",
        Rest,
        &[Created(object::name)],
        "`metadata.name` is a DNS-1035 label of at most 52 characters.",
    ),
    rule!(
        "member-name-prefix",
        Rest,
        &[Object(object::member_name_prefix)],
        "`memberNamePrefix` is an RFC 1123 label, and no member's name is longer than 63 characters.",
    ),
    rule!("labels", Rest, &[Object(object::labels)], "`labels` is present; keys and values are well-formed."),
    beyond_crd(
        rule!(
            "tls-secret-refs",
            Rest,
            &[Object(secrets::tls_secret_refs)],
            "References to Secrets are complete and stay in the Etcd's namespace.",
        ),
        "CEL sees no namespace, so that it can not tell a foreign one",
    ),
    rule!("ports", Rest, &[Field, Object(ports::ports)], "Ports are 1 to 65535 and pairwise different."),
    rule!("quantities", Rest, &[Field], "Quantities can be read and are above 0."),
    rule!("numbers", Rest, &[Field], "Counts are above 0."),
    rule!(
        "durations",
        Rest,
        &[Field],
        "Durations can be read and are above 0, or 0 where that turns a thing off.",
    ),
    rule!("schedules", Rest, &[Field], "Schedules are five-field cron."),
    rule!("enums", Rest, &[Field], "A word is one of those that the field takes."),
    rule!(
        "auto-compaction",
        Rest,
        &[Object(backup::auto_compaction)],
        "`autoCompactionRetention` fits `autoCompactionMode`.",
    ),
    rule!(
        "backup-periods",
        Rest,
        &[Object(backup::backup_periods)],
        "`deltaSnapshotPeriod` is shorter than `garbageCollectionPeriod`.",
    ),
    rule!(
        "backup-store",
        Rest,
        &[Field, Object(backup::backup_store)],
        "The store has a prefix, and provider, container and endpoint are ones that can be used.",
    ),
    rule!(
        "advertise-peer-urls",
        Rest,
        &[Object(advertise::advertise_peer_urls)],
        "Advertised peer URLs belong to members of this Etcd and can be used.",
    ),
    rule!(
        "status-snapshot-write-once",
        OfStatus,
        &[Status(status::status_snapshot_write_once)],
        "`status.bootstrapWithExistingCluster`, once set, is neither changed nor removed.",
    ),
    rule!(
        "status-bootstrap-sticky",
        OfStatus,
        &[Status(status::status_bootstrap_sticky)],
        "While the snapshot exists, the condition `BootstrappedWithExistingCluster` stays `True`.",
    ),
];
