//! Peer URLs and client endpoints of the source: each rule once, for both lists.

use super::address::Place;
use super::own::OwnNames;
use super::report::Report;
use super::settings::Settings;
use super::view::{CLIENT_TLS, PEER_TLS, UrlAt, View, is_on};
use std::collections::HashMap;

/// Scheme, host, port, and nothing else.
pub(super) fn bootstrap_peer_url_syntax(view: &View<'_>, _: &Settings, report: &mut Report) {
    syntax(&view.peer_urls, report);
}

/// Scheme, host, perhaps a port, and nothing else.
pub(super) fn bootstrap_client_endpoint_syntax(view: &View<'_>, _: &Settings, report: &mut Report) {
    syntax(&view.client_endpoints, report);
}

/// `https` exactly when `peerUrlTls` is set.
pub(super) fn bootstrap_peer_url_scheme(view: &View<'_>, _: &Settings, report: &mut Report) {
    let tls = view.config().and_then(|config| is_on(&config.peer_url_tls));
    scheme(&view.peer_urls, tls, PEER_TLS, report);
}

/// `https` exactly when `clientUrlTls` is set.
pub(super) fn bootstrap_client_endpoint_scheme(view: &View<'_>, _: &Settings, report: &mut Report) {
    let tls = view.config().and_then(|config| is_on(&config.client_url_tls));
    scheme(&view.client_endpoints, tls, CLIENT_TLS, report);
}

/// No peer URL twice.
pub(super) fn bootstrap_peer_url_unique(view: &View<'_>, _: &Settings, report: &mut Report) {
    unique(&view.peer_urls, report);
}

/// No client endpoint twice.
pub(super) fn bootstrap_client_endpoint_unique(view: &View<'_>, _: &Settings, report: &mut Report) {
    unique(&view.client_endpoints, report);
}

/// A host that another pod reaches.
pub(super) fn bootstrap_peer_url_host(view: &View<'_>, _: &Settings, report: &mut Report) {
    host(&view.peer_urls, report);
}

/// A host that another pod reaches.
pub(super) fn bootstrap_client_endpoint_host(view: &View<'_>, _: &Settings, report: &mut Report) {
    host(&view.client_endpoints, report);
}

/// Not an address of the target itself.
pub(super) fn bootstrap_peer_url_own(view: &View<'_>, _: &Settings, report: &mut Report) {
    own_names(view, &view.peer_urls, report);
    let advertised = by_address(&view.advertised_urls);
    for url in view.peer_urls.iter().filter(|url| !has_own_name(view, url)) {
        if let Some(advertised) = url.read.as_ref().ok().and_then(|address| advertised.get(&address.place()))
        {
            let detail = format!(
                "{} advertises this address for a member of this Etcd; a source member has another",
                advertised.place
            );
            report.invalid(url.place, url.text, detail).with(advertised.text);
        }
    }
}

/// Not the target itself.
pub(super) fn bootstrap_client_endpoint_own(view: &View<'_>, _: &Settings, report: &mut Report) {
    own_names(view, &view.client_endpoints, report);
}

/// Reports every URL that can't be read.
pub(super) fn syntax(urls: &[UrlAt<'_>], report: &mut Report) {
    for url in urls {
        if let Err(fault) = &url.read {
            report.invalid(url.place, url.text, fault);
        }
    }
}

/// Reports every URL whose scheme doesn't fit the TLS settings at `field`.
pub(super) fn scheme(urls: &[UrlAt<'_>], tls: Option<bool>, field: &'static str, report: &mut Report) {
    let Some(tls) = tls else { return };
    for url in urls.iter().filter(|url| url.read.as_ref().is_ok_and(|address| address.https != tls)) {
        let detail = if tls {
            format!("{field} is set, so that etcd dials with TLS; write \"https://\", or remove {field}")
        } else {
            format!("{field} is not set, so that etcd dials without TLS; write \"http://\", or set {field}")
        };
        report.invalid(url.place, url.text, detail).with(tls).about(field);
    }
}

/// Reports every URL whose address stands in the list before.
pub(super) fn unique(urls: &[UrlAt<'_>], report: &mut Report) {
    if urls.len() < 2 {
        return;
    }
    let mut seen: HashMap<(Place<'_>, Option<u16>), &UrlAt<'_>> = HashMap::with_capacity(urls.len());
    for url in urls {
        let Ok(address) = &url.read else { continue };
        if let Some(first) = seen.get(&address.place()) {
            let detail = format!("{} has this address already; remove one of the two", first.place);
            report.duplicate(url.place, url.text, detail).with(first.text);
        } else {
            seen.insert(address.place(), url);
        }
    }
}

/// Reports every URL whose host another pod can't reach.
pub(super) fn host(urls: &[UrlAt<'_>], report: &mut Report) {
    for url in urls {
        if let Some(what) = url.read.as_ref().ok().and_then(super::address::Address::unreachable) {
            let detail = format!(
                "the host is {what}, which leads every pod to itself or nowhere; write a name or an address that \
                 other pods reach"
            );
            report.invalid(url.place, url.text, detail);
        }
    }
}

fn own_names(view: &View<'_>, urls: &[UrlAt<'_>], report: &mut Report) {
    for url in urls.iter().filter(|url| has_own_name(view, url)) {
        let detail = "is an address of this Etcd's own Services or pods, which would be asked to join themselves; \
                      write where the existing cluster is reached";
        report.invalid(url.place, url.text, detail);
    }
}

fn has_own_name(view: &View<'_>, url: &UrlAt<'_>) -> bool {
    let own = OwnNames { name: view.name(), namespace: view.namespace };
    url.read.as_ref().ok().and_then(super::address::Address::name).is_some_and(|name| own.holds(name))
}

/// The URLs that can be read, by their addresses; of several with one address, the first.
pub(super) fn by_address<'u, 'a>(urls: &'u [UrlAt<'a>]) -> HashMap<(Place<'u>, Option<u16>), &'u UrlAt<'a>> {
    let mut places = HashMap::with_capacity(urls.len());
    for url in urls {
        if let Ok(address) = &url.read {
            places.entry(address.place()).or_insert(url);
        }
    }
    places
}
