//! How many source members, peer URLs and client endpoints there are.

use super::report::Report;
use super::settings::Settings;
use super::view::{BOOTSTRAP, View};
use crate::etcd::Slot;
use std::fmt::{Debug, Display};

/// Most source members; etcd-druid's bound.
const MEMBERS_MAX: usize = 10;
/// Most peer URLs of one member; etcd-druid's bound.
pub(super) const URLS_MAX: usize = 5;
/// Most client endpoints; etcd-druid's bound.
const ENDPOINTS_MAX: usize = 10;

/// 1 to 10 source members.
pub(super) fn bootstrap_members(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(bootstrap) = view.bootstrap() else { return };
    let detail = "list every member of the existing cluster, 1 to 10 of them: etcd refuses to join a cluster of which \
                  it isn't told all members";
    count(report, format!("{BOOTSTRAP}.members"), &bootstrap.members, MEMBERS_MAX, detail, "");
}

/// 1 to 5 peer URLs a source member.
pub(super) fn bootstrap_peer_urls(view: &View<'_>, _: &Settings, report: &mut Report) {
    for (index, member) in &view.members {
        let detail = "list every peer URL of this member, 1 to 5 of them: etcd compares them with what the existing \
                      cluster knows of it";
        let owner = member.name.text().unwrap_or_default();
        count(
            report,
            format!("{BOOTSTRAP}.members[{index}].peerUrls"),
            &member.peer_urls,
            URLS_MAX,
            detail,
            owner,
        );
    }
}

/// 1 to 10 client endpoints.
pub(super) fn bootstrap_client_endpoints(view: &View<'_>, _: &Settings, report: &mut Report) {
    let Some(bootstrap) = view.bootstrap() else { return };
    let detail = "list where the existing cluster answers clients, 1 to 10 URLs such as \"http://10.0.0.1:2379\": the \
                  join is asked for there";
    count(
        report,
        format!("{BOOTSTRAP}.clientEndpoints"),
        &bootstrap.client_endpoints,
        ENDPOINTS_MAX,
        detail,
        "",
    );
}

/// A list has 1 to `most` entries; `owner` tells one missing list from another.
pub(super) fn count<T: Debug>(
    report: &mut Report,
    field: impl Display,
    list: &Slot<Vec<Slot<T>>>,
    most: usize,
    detail: &str,
    owner: &str,
) {
    let length = list.get().map_or(0, Vec::len);
    if length > most {
        report.too_many(field, length, most, list);
    } else if length == 0 && !list.is_wrong() {
        report.required(field, detail).with(owner);
    }
}
