//! Further peer URLs of own members.

use super::report::Report;
use super::settings::Settings;
use super::source::{URLS_MAX, count};
use super::source_urls;
use super::view::{ADVERTISED, PEER_TLS, View, is_on, items};
use crate::etcd::AdvertisedUrls;
use std::collections::HashMap;

/// Most entries; etcd-druid's bound.
const ENTRIES_MAX: usize = 10;

/// Entries, their members, and their URLs.
pub(super) fn advertise_peer_urls(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(config) = view.config() else { return };
    let list = &config.additional_advertise_peer_urls;
    if let Some(entries) = list.get().filter(|entries| entries.len() > ENTRIES_MAX) {
        report.too_many(ADVERTISED, entries.len(), ENTRIES_MAX, entries);
    }
    let mut seen = HashMap::new();
    for (index, entry) in items(list) {
        member(view, index, entry, report);
        once(&mut seen, index, entry, report);
        let owner = entry.member_name.text().unwrap_or_default();
        let detail = "list the further peer URLs of this member, 1 to 5 of them, or remove the entry";
        count(report, format_args!("{ADVERTISED}[{index}].urls"), &entry.urls, URLS_MAX, detail, owner);
    }
    source_urls::syntax(&view.advertised_urls, report);
    source_urls::scheme(&view.advertised_urls, is_on(&config.peer_url_tls), PEER_TLS, report);
    source_urls::host(&view.advertised_urls, report);
    source_urls::unique(&view.advertised_urls, report);
}

/// A member of this target that exists at its present size.
fn member(view: &View<'_>, index: usize, entry: &AdvertisedUrls<'_>, report: &mut Report) {
    let field = format!("{ADVERTISED}[{index}].memberName");
    let own = view.member_names();
    if entry.member_name.is_absent() {
        let example = own.map_or_else(|| "main-0".to_owned(), |own| format!("{own}-0"));
        report.required(&field, format_args!("write which member the URLs belong to, such as \"{example}\""));
    }
    let (Some(own), Some(name)) = (own, entry.member_name.text()) else { return };
    let replicas = view.replicas().unwrap_or(0);
    match own.ordinal(name) {
        None => {
            let detail = format!("is no member of this Etcd: they are called {own}-0, {own}-1, …");
            report.invalid(field, name, detail).with(own).about("spec.memberNamePrefix");
        }
        Some(ordinal) if replicas > 0 && ordinal >= replicas.unsigned_abs() => {
            let detail =
                format!("is beyond the last member: with {replicas} replicas that is {own}-{}", replicas - 1);
            report.invalid(field, name, detail).with(replicas).about("spec.replicas");
        }
        Some(_) => {}
    }
}

fn once<'e>(
    seen: &mut HashMap<&'e str, usize>,
    index: usize,
    entry: &'e AdvertisedUrls<'_>,
    report: &mut Report,
) {
    let Some(name) = entry.member_name.text().filter(|name| !name.is_empty()) else { return };
    if let Some(first) = seen.get(name) {
        let detail = format!("{ADVERTISED}[{first}] is about this member already; put all its URLs there");
        report.duplicate(format_args!("{ADVERTISED}[{index}].memberName"), name, detail);
    } else {
        seen.insert(name, index);
    }
}
