//! The existing cluster, and the target's own further URLs: names and URLs.

use super::fragments::{BOOTSTRAP, has, is_plain, matches, quoted, with_plain};
use super::{Reason, Validation, literal};

const MEMBERS: &str = "spec.etcd.bootstrapWithExistingCluster.members";
const MEMBER_NAME: &str = "spec.etcd.bootstrapWithExistingCluster.members[].name";
const ADVERTISED: &str = "spec.etcd.additionalAdvertisePeerURLs";

/// The three lists of URLs.
struct Urls {
    /// Node of one URL.
    path: &'static str,
    syntax: &'static str,
    host: &'static str,
    port_is_optional: bool,
}

const LISTS: [Urls; 3] = [
    Urls {
        path: "spec.etcd.bootstrapWithExistingCluster.members[].peerUrls[]",
        syntax: "bootstrap-peer-url-syntax",
        host: "bootstrap-peer-url-host",
        port_is_optional: false,
    },
    Urls {
        path: "spec.etcd.bootstrapWithExistingCluster.clientEndpoints[]",
        syntax: "bootstrap-client-endpoint-syntax",
        host: "bootstrap-client-endpoint-host",
        port_is_optional: true,
    },
    Urls {
        path: "spec.etcd.additionalAdvertisePeerURLs[].urls[]",
        syntax: "advertise-peer-urls",
        host: "advertise-peer-urls",
        port_is_optional: false,
    },
];

pub(super) fn validations() -> Vec<Validation> {
    let mut all =
        vec![bootstrap_member_name(), bootstrap_member_name_default(), bootstrap_member_name_collision()];
    all.extend(LISTS.iter().flat_map(|urls| [syntax(urls), host(urls)]));
    all.extend(schemes());
    all.extend([peer_url_unique(), client_endpoint_unique(), advertised_url_unique()]);
    all.extend([peer_url_own(), client_endpoint_own(), peer_url_advertised()]);
    all.extend([advertised_member(), advertised_ordinal()]);
    all
}

fn bootstrap_member_name() -> Validation {
    Validation::new(
        "bootstrap-member-name",
        MEMBER_NAME,
        format!("self.matches({})", literal("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")),
        format!(
            "{} + {}",
            quoted("self"),
            literal(
                " is no RFC 1123 label: 1 to 63 characters of a-z, 0-9 and -, beginning and ending with a letter or a \
                 digit. Rename the member at the source (restart it with another --name)"
            )
        ),
    )
}

fn bootstrap_member_name_default() -> Validation {
    Validation::new(
        "bootstrap-member-name-default",
        MEMBER_NAME,
        "self != 'default'",
        literal(
            "\"default\" is what etcd calls a member that was started without a name; several members can bear it, \
             and their entries collapse into one. Restart the source member with a --name of its own",
        ),
    )
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

/// Whether a part of the spec was stored as it is now.
fn unchanged(path: &str) -> String {
    format!(
        "(oldSelf.hasValue() && {} && oldSelf.value().{path} == self.{path})",
        has("oldSelf.value()", path)
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

const LABEL: &str = "[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?";
const PORT: &str = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";

/// A name that resolvers don't read as an address, an IPv4 address, or an IPv6 address in brackets; then a port.
/// An IPv4 address written as IPv6 is none for Kubernetes' functions, and is taken as it is.
fn syntax(urls: &Urls) -> Validation {
    let port = if urls.port_is_optional { format!("(:{PORT})?") } else { format!(":{PORT}") };
    let shape = format!(r"^(?i:https?)://({LABEL}(\.{LABEL})*\.?|\[[0-9A-Fa-f:.]+\]){port}$");
    let numeric = r"^[^:]+://([^:]*\.)?([0-9]+|0[xX][^.:]*)\.?(:|$)";
    let mapped = r"\[[0:]+:(?i:ffff):[^]]+\]";
    let host = "self.substring(self.indexOf('://') + 3).split(':')[0]";
    let inner = "self.substring(self.indexOf('[') + 1, self.indexOf(']'))";
    Validation::new(
        urls.syntax,
        urls.path,
        format!(
            "self.matches({}) && (self.contains('[') ? (isIP({inner}) && ip({inner}).family() == 6 || self.matches({})) : (!self.matches({}) || \
             isIP({host})))",
            literal(&shape),
            literal(mapped),
            literal(numeric)
        ),
        format!(
            "{} + {}",
            quoted("self"),
            literal(if urls.port_is_optional {
                " is no client endpoint: write http or https, a DNS name or an IP address (IPv6 in brackets) and \
                 perhaps a port, and nothing else, such as \"https://10.0.0.1:2379\""
            } else {
                " is no peer URL that etcd takes: write http or https, a DNS name or an IP address (IPv6 in \
                 brackets) and a port, and nothing else, such as \"https://10.0.0.1:2380\""
            })
        ),
    )
}

fn host(urls: &Urls) -> Validation {
    let local =
        r"^(?i)https?://([^:]*\.)?(localhost|localhost\.localdomain|ip6-localhost|ip6-loopback)\.?(:|$)";
    let below = r"^(?i)https?://[^:]*\.(localhost\.localdomain|ip6-localhost|ip6-loopback)\.?(:|$)";
    let host = "self.substring(self.indexOf('://') + 3).split(':')[0]";
    let inner = "self.substring(self.indexOf('[') + 1, self.indexOf(']'))";
    let bracketed = r"^[^:]+://\[[0-9A-Fa-f:.]+\]";
    let mapped = r"\[[0:]+:(?i:ffff):(127\.|0\.0\.0\.0|169\.254\.|22[4-9]\.|23[0-9]\.|255\.255\.255\.255)";
    let reachable = |ip: &str| format!("(!isIP({ip}) || ip({ip}).isGlobalUnicast())");
    Validation::new(
        urls.host,
        urls.path,
        format!(
            "!self.contains('://') || (self.matches({}) ? {} && !self.matches({}) : ({} && (!self.matches({}) || self.matches({}))))",
            literal(bracketed),
            reachable(inner),
            literal(mapped),
            reachable(host),
            literal(local),
            literal(below)
        ),
        format!(
            "{} + {}",
            quoted("self"),
            literal(
                " leads every pod to itself or nowhere: its host is loopback, unspecified, link-local, multicast or \
                 broadcast. Write a name or an address that other pods reach"
            )
        ),
    )
}

/// `https` exactly when TLS is set.
fn schemes() -> [Validation; 3] {
    [
        scheme(
            "bootstrap-peer-url-scheme",
            "peerUrlTls",
            "bootstrapWithExistingCluster.members",
            ".bootstrapWithExistingCluster.members",
            |list, test| format!("{list}.all(m, !has(m.peerUrls) || m.peerUrls.all(u, {test}))"),
        ),
        scheme(
            "bootstrap-client-endpoint-scheme",
            "clientUrlTls",
            "bootstrapWithExistingCluster.clientEndpoints",
            ".bootstrapWithExistingCluster.clientEndpoints",
            |list, test| format!("{list}.all(u, {test})"),
        ),
        scheme(
            "advertise-peer-urls",
            "peerUrlTls",
            "additionalAdvertisePeerURLs",
            ".additionalAdvertisePeerURLs",
            |list, test| format!("{list}.all(m, !has(m.urls) || m.urls.all(u, {test}))"),
        ),
    ]
}

/// `every` says of a list that a test holds for every URL `u` in it.
fn scheme(
    rule: &'static str,
    tls: &str,
    list: &str,
    field: &'static str,
    every: fn(&str, &str) -> String,
) -> Validation {
    // What can't be read is another rule's.
    let fits = format!(
        "!{} || {} == has(self.{tls})",
        matches("u", "^(?i)https?://"),
        matches("u", "^(?i)https://")
    );
    let stored = format!("(has(oldSelf.value().{tls}) == has(self.{tls}) && {})", unchanged(list));
    let remedy = |is: &str, with: &str, scheme: &str, then: &str| {
        literal(&format!(
            "spec.etcd.{tls} {is} set, so that etcd dials {with} TLS: write \"{scheme}://\" in every URL, or {then} \
             spec.etcd.{tls}"
        ))
    };
    Validation::new(
        rule,
        "spec.etcd",
        format!(
            "!{} || (oldSelf.hasValue() && {stored}) || {}",
            has("self", list),
            every(&format!("self.{list}"), &fits)
        ),
        format!(
            "(has(self.{tls}) ? {} : {})",
            remedy("is", "with", "https", "remove"),
            remedy("is not", "without", "http", "set")
        ),
    )
    .at(field)
    .seeing_the_old()
}

const TWICE: &str =
    "an address stands twice (upper case and a last dot make no difference); remove one of the two";

/// `urls` is the field of an entry that holds its URLs.
fn unique_in_entries(rule: &'static str, path: &'static str, urls: &str) -> Validation {
    let same = is_plain("v");
    let once = format!(
        "m.{urls}.exists_one(v, {same}) && self.exists_one(n, has(n.{urls}) && n.{urls}.exists(v, {same}))"
    );
    Validation::new(
        rule,
        path,
        format!("self.all(m, !has(m.{urls}) || m.{urls}.all(u, {}))", with_plain("u", &once)),
        literal(TWICE),
    )
    .because(Reason::Duplicate)
}

fn peer_url_unique() -> Validation {
    unique_in_entries("bootstrap-peer-url-unique", MEMBERS, "peerUrls")
}

fn advertised_url_unique() -> Validation {
    unique_in_entries("advertise-peer-urls", ADVERTISED, "urls")
}

fn client_endpoint_unique() -> Validation {
    Validation::new(
        "bootstrap-client-endpoint-unique",
        "spec.etcd.bootstrapWithExistingCluster.clientEndpoints",
        format!("self.all(u, {})", with_plain("u", &format!("self.exists_one(v, {})", is_plain("v")))),
        literal(TWICE),
    )
    .because(Reason::Duplicate)
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
