//! URLs: of the existing cluster, and the target's own further ones.

use super::fragments::{ADVERTISED, has, is_plain, matches, quoted, unchanged, with_plain};
use super::{Reason, Validation, literal};

const MEMBERS: &str = "spec.etcd.bootstrapWithExistingCluster.members";

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
    let mut all: Vec<Validation> = LISTS.iter().flat_map(|urls| [syntax(urls), host(urls)]).collect();
    all.extend(schemes());
    all.extend([peer_url_unique(), client_endpoint_unique(), advertised_url_unique()]);
    all
}

/// A URL's host where it is no IPv6 address.
const HOST: &str = "self.substring(self.indexOf('://') + 3).split(':')[0]";
/// What stands in the brackets of a URL.
const BRACKETED: &str = "self.substring(self.indexOf('[') + 1, self.indexOf(']'))";
const LABEL: &str = "[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?";

const PORT: &str = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";

/// A name that resolvers don't read as an address, an IPv4 address, or an IPv6 address in brackets; then a port.
/// An IPv4 address written as IPv6 is none for Kubernetes' functions, and is taken as it is.
fn syntax(urls: &Urls) -> Validation {
    let port = if urls.port_is_optional { format!("(:{PORT})?") } else { format!(":{PORT}") };
    let shape = format!(r"^(?i:https?)://({LABEL}(\.{LABEL})*\.?|\[[0-9A-Fa-f:.]+\]){port}$");
    let numeric = r"^[^:]+://([^:]*\.)?([0-9]+|0[xX][^.:]*)\.?(:|$)";
    let mapped = r"\[[0:]+:(?i:ffff):[^]]+\]";
    let is_ipv6 = format!("isIP({BRACKETED}) && ip({BRACKETED}).family() == 6");
    Validation::new(
        urls.syntax,
        urls.path,
        format!(
            "{} && (self.contains('[') ? {is_ipv6} || {} : !{} || isIP({HOST}))",
            matches("self", &shape),
            matches("self", mapped),
            matches("self", numeric)
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
        r"^(?i)https?://(([^:]*\.)?localhost|localhost\.localdomain|ip6-localhost|ip6-loopback)\.?(:|$)";
    let bracketed = r"^[^:]+://\[[0-9A-Fa-f:.]+\]";
    let mapped = r"\[[0:]+:(?i:ffff):(127\.|0\.0\.0\.0|169\.254\.|22[4-9]\.|23[0-9]\.|255\.255\.255\.255)";
    let reachable = |ip: &str| format!("(!isIP({ip}) || ip({ip}).isGlobalUnicast())");
    Validation::new(
        urls.host,
        urls.path,
        format!(
            "!self.contains('://') || ({} ? {} && !{} : {} && !{})",
            matches("self", bracketed),
            reachable(BRACKETED),
            matches("self", mapped),
            reachable(HOST),
            matches("self", local)
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
