//! Ports of one pod.

use super::report::Report;
use super::settings::Settings;
use super::view::View;
use crate::etcd::{Int32, Slot};

/// A port of the pod: where it is set, and what it is where it isn't.
struct Port {
    field: &'static str,
    set: bool,
    number: i64,
}

impl Port {
    /// Nothing where the value has another type or can't be a port: then it collides with nothing.
    fn read(field: &'static str, default: i64, slot: Option<&Slot<Int32>>) -> Option<Self> {
        match slot {
            Some(Slot::Wrong(_)) => None,
            Some(Slot::Set(port)) => {
                (1..=65535).contains(&port.0).then_some(Self { field, set: true, number: port.0 })
            }
            Some(Slot::Absent) | None => Some(Self { field, set: false, number: default }),
        }
    }
}

/// Pairwise different, defaults counted in; reported at the later one that the manifest sets.
pub(super) fn ports(view: &View<'_>, _: &Settings, report: &mut Report) {
    let etcd = view.config();
    let ports = [
        Port::read("spec.etcd.serverPort", 2380, etcd.map(|etcd| &etcd.server_port)),
        Port::read("spec.etcd.clientPort", 2379, etcd.map(|etcd| &etcd.client_port)),
        Port::read("spec.etcd.wrapperPort", 9095, etcd.map(|etcd| &etcd.wrapper_port)),
        view.backup().and_then(|backup| Port::read("spec.backup.port", 8080, Some(&backup.port))),
    ];
    let ports: Vec<Port> = ports.into_iter().flatten().collect();
    for (at, port) in ports.iter().enumerate().filter(|(_, port)| port.set) {
        let collides = |(index, other): &(usize, &Port)| {
            other.number == port.number && (*index < at || (*index > at && !other.set))
        };
        let Some((_, other)) = ports.iter().enumerate().find(collides) else { continue };
        let is = if other.set { "is the same port" } else { "has it by default" };
        let number = port.number.to_string();
        let detail = format!("{} {is}; one pod can't listen on a port twice, write another", other.field);
        let mut pair = [port.field, other.field];
        pair.sort_unstable();
        report
            .duplicate_number(port.field, &number, detail)
            .same_at("ports", format!("{pair:?} {number}"))
            .about(other.field);
    }
}
