//! What must not be the Etcd's own, and what must be: at the root, where its name is.

use super::fragments::{ADVERTISED, BOOTSTRAP, has, is_plain, matches, unchanged, with_plain};
use super::{Validation, literal};

pub(super) fn validations() -> Vec<Validation> {
    vec![
        bootstrap_member_name_collision(),
        peer_url_own(),
        client_endpoint_own(),
        peer_url_advertised(),
        advertised_member(),
        advertised_ordinal(),
    ]
}

/// The target's member names without their ordinals: `<name>-` or `<prefix>-<name>-`.
const STEM: &str = "((has(self.spec.memberNamePrefix) ? self.spec.memberNamePrefix + '-' : '') + \
                    self.metadata.name + '-')";

/// A condition in which the stem is called `stem`. Made once, since its cost counts.
fn with_stem(condition: &str) -> String {
    format!("[{STEM}].all(stem, {condition})")
}

/// Whether a name is one that the target gives to its members.
fn is_members(name: &str) -> String {
    format!(
        "(has({name}) && {name}.startsWith(stem) && {})",
        matches(&format!("{name}.substring(size(stem))"), "^(0|[1-9][0-9]*)$")
    )
}

fn bootstrap_member_name_collision() -> Validation {
    let members = format!("{BOOTSTRAP}.members");
    Validation::new(
        "bootstrap-member-name-collision",
        "",
        format!(
            "!{} || {} || {}",
            has("self", &members),
            unchanged(&members),
            with_stem(&format!("self.{members}.all(m, !{})", is_members("m.name")))
        ),
        format!(
            "{} + {STEM} + {}",
            literal("a source member bears a name that this Etcd gives to its own members ("),
            literal("0 and so on); rename the Etcd, or set spec.memberNamePrefix")
        ),
    )
    .at(".spec.etcd.bootstrapWithExistingCluster.members")
    .seeing_the_old()
}

/// A condition in which `own` is how own hosts begin or end: names under the Etcd's own Services without a
/// namespace, which CEL doesn't know. Made once: the cost of a name is that of the longest request.
fn with_own(condition: &str) -> String {
    let names = [
        "'://' + self.metadata.name + '-client",
        "'://' + self.metadata.name + '-peer",
        "'.' + self.metadata.name + '-peer",
    ];
    let names = names.map(|name| format!("{name}', {name}.'")).join(", ");
    format!("[[{names}]].all(own, {condition})")
}

/// Whether a URL's host is one of `own`, or its last label is.
fn is_own(url: &str) -> String {
    let host = format!("{url}.find({}).lowerAscii()", literal("://[^:]+"));
    format!("[{host}].exists(h, own.exists(o, o == h || o == h.find({})))", literal(r"\.[^.]+\.?$"))
}

const OWN: &str = "one of them is an address of this Etcd's own Services or pods, which would be asked to join \
                   themselves; write where the existing cluster is reached";

fn peer_url_own() -> Validation {
    let members = format!("{BOOTSTRAP}.members");
    Validation::new(
        "bootstrap-peer-url-own",
        "",
        format!(
            "!{} || {} || {}",
            has("self", &members),
            unchanged(&members),
            with_own(&format!(
                "self.{members}.all(m, !has(m.peerUrls) || m.peerUrls.all(u, !{}))",
                is_own("u")
            ))
        ),
        literal(OWN),
    )
    .at(".spec.etcd.bootstrapWithExistingCluster.members")
    .seeing_the_old()
}

fn client_endpoint_own() -> Validation {
    let endpoints = format!("{BOOTSTRAP}.clientEndpoints");
    Validation::new(
        "bootstrap-client-endpoint-own",
        "",
        format!(
            "!{} || {} || {}",
            has("self", &endpoints),
            unchanged(&endpoints),
            with_own(&format!("self.{endpoints}.all(u, !{})", is_own("u")))
        ),
        literal(OWN),
    )
    .at(".spec.etcd.bootstrapWithExistingCluster.clientEndpoints")
    .seeing_the_old()
}

/// No peer URL of the source is one that the target advertises.
fn peer_url_advertised() -> Validation {
    const PEERS: &str = "bootstrapWithExistingCluster.members";
    const OWN_URLS: &str = "additionalAdvertisePeerURLs";
    Validation::new(
        "bootstrap-peer-url-own",
        "spec.etcd",
        format!(
            "!{} || !has(self.{OWN_URLS}) || ({} && {}) || self.{PEERS}.all(m, !has(m.peerUrls) || m.peerUrls.all(u, {}))",
            has("self", PEERS),
            unchanged(PEERS),
            unchanged(OWN_URLS),
            with_plain("u", &format!("!self.{OWN_URLS}.exists(a, has(a.urls) && a.urls.exists(v, {}))", is_plain("v")))
        ),
        literal(
            "one of them is an address that additionalAdvertisePeerURLs advertises for a member of this Etcd; a \
             source member has another",
        ),
    )
    .at(".bootstrapWithExistingCluster.members")
    .seeing_the_old()
}

fn advertised_member() -> Validation {
    Validation::new(
        "advertise-peer-urls",
        "",
        format!(
            "!{} || {} || {}",
            has("self", ADVERTISED),
            unchanged(ADVERTISED),
            with_stem(&format!(
                "self.{ADVERTISED}.all(m, !has(m.memberName) || {})",
                is_members("m.memberName")
            ))
        ),
        format!(
            "{} + {STEM} + {}",
            literal("a memberName is no member of this Etcd: they are called "),
            literal("0 and so on")
        ),
    )
    .at(".spec.etcd.additionalAdvertisePeerURLs")
    .seeing_the_old()
}

/// The bound isn't checked at 0 replicas. What was beyond it before stays while the size does.
fn advertised_ordinal() -> Validation {
    let ordinal = "m.memberName.substring(size(stem))";
    let within = format!(
        "!{} || (size({ordinal}) < 10 && int({ordinal}) < self.spec.replicas)",
        is_members("m.memberName")
    );
    Validation::new(
        "advertise-peer-urls",
        "",
        format!(
            "!{} || !has(self.spec.replicas) || self.spec.replicas <= 0 || ({} && has(oldSelf.value().spec.replicas) && oldSelf.value().spec.replicas == self.spec.replicas) || \
             {}",
            has("self", ADVERTISED),
            unchanged(ADVERTISED),
            with_stem(&format!("self.{ADVERTISED}.all(m, {within})"))
        ),
        literal("a memberName is beyond the last member; write ordinals from 0 to replicas - 1"),
    )
    .at(".spec.etcd.additionalAdvertisePeerURLs")
    .seeing_the_old()
}
