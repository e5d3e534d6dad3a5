//! How far a join is, proved by what the members themselves report.

use std::collections::BTreeSet;

use super::facts::Facts;
use super::pod::Pod;
use super::spec::Bootstrap;
use crate::member::{ClusterId, Report, Volume};

/// How far a join is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// Every member is a started voter of the source's cluster, and every source member is still in it.
    Complete(ClusterId),
    /// Not yet.
    Waits {
        /// Own members that vote.
        joined: usize,
        /// Who waits for what.
        why: Vec<String>,
    },
}

pub(super) fn join(facts: &Facts<'_>, source: &Bootstrap) -> Join {
    let wanted = facts.etcd.spec.replicas;
    let pods: Vec<Option<&Pod>> = (0..wanted).map(|ordinal| facts.pod(ordinal)).collect();
    let joined = pods.iter().flatten().filter(|pod| votes(pod)).count();
    let mut why = facts.waits(|pod| {
        let said = || pod.waits_for().unwrap_or_else(|| format!("{} is being joined", pod.name));
        (!votes(pod)).then(said)
    });
    let all: Option<Vec<&Report>> = pods.into_iter().map(|pod| pod.and_then(Pod::report)).collect();
    match all.filter(|_| why.is_empty() && wanted > 0) {
        None if wanted == 0 => why.push("spec.replicas is 0: nothing joins yet".to_owned()),
        None => {}
        Some(all) => match proved(&all, source) {
            Ok(cluster) => return Join::Complete(cluster),
            Err(missing) => why.push(missing),
        },
    }
    Join::Waits { joined, why }
}

fn votes(pod: &Pod) -> bool {
    pod.is_ready && pod.is_voter() && !pod.is_terminating
}

/// One cluster, and one list of it that has all own members as voters and all sources.
fn proved(reports: &[&Report], source: &Bootstrap) -> Result<ClusterId, String> {
    let clusters: BTreeSet<ClusterId> = reports.iter().flat_map(|report| clusters(report)).collect();
    let mut clusters = clusters.into_iter();
    let (Some(cluster), None) = (clusters.next(), clusters.next()) else {
        return Err("the members don't report one cluster".to_owned());
    };
    let mut missing = Vec::new();
    for report in reports {
        missing = missing_in(report, reports, source);
        if missing.is_empty() {
            return Ok(cluster);
        }
    }
    Err(format!("the cluster's list of members, as it was last seen, has not: {}", missing.join(", ")))
}

/// The clusters that a report speaks of: one, if all is well.
pub fn clusters(report: &Report) -> impl Iterator<Item = ClusterId> {
    let data = match report.volume {
        Volume::Data { cluster, .. } => Some(cluster),
        Volume::Empty | Volume::Unreadable(_) => None,
    };
    report.cluster.into_iter().chain(data)
}

fn missing_in(seen_by: &Report, reports: &[&Report], source: &Bootstrap) -> Vec<String> {
    let list = &seen_by.members;
    let own = reports.iter().filter(|report| {
        !list
            .iter()
            .any(|listed| Some(listed.id) == report.id && !listed.learner && listed.name == report.name)
    });
    let own = own.map(|report| format!("{} as a voter", report.name));
    let sources =
        source.members.iter().filter(|member| !list.iter().any(|listed| listed.name == member.name));
    own.chain(sources.map(|member| format!("the source's {}", member.name))).collect()
}
