//! The DNS names of an Etcd's own Services and pods.

/// The names under which an Etcd's own Services and pods are reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnNames<'a> {
    /// Name of the Etcd.
    pub(super) name: &'a str,
    /// Namespace of the Etcd.
    pub(super) namespace: &'a str,
}

impl OwnNames<'_> {
    /// Whether a host name, in lower case and without a last dot, is one of them: `<name>-client`,
    /// `<name>-peer` or a pod below it, alone or followed by the own namespace and perhaps `svc…`.
    pub(super) fn holds(&self, host: &str) -> bool {
        if self.name.is_empty() || !host.contains(self.name) {
            return false;
        }
        let labels: Vec<&str> = host.split('.').collect();
        (0..labels.len()).any(|at| {
            let service = labels.get(at).and_then(|label| label.strip_prefix(self.name));
            let own = service == Some("-peer") || (at == 0 && service == Some("-client"));
            own && self.is_here(labels.get(at + 1..).unwrap_or_default())
        })
    }

    fn is_here(&self, rest: &[&str]) -> bool {
        match rest {
            [] => true,
            [namespace] => *namespace == self.namespace,
            [namespace, svc, ..] => *namespace == self.namespace && *svc == "svc",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_and_foreign_names() {
        let own = OwnNames { name: "c2", namespace: "ns" };
        for host in [
            "c2-peer",
            "c2-client",
            "c2-peer.ns",
            "c2-client.ns.svc",
            "c2-client.ns.svc.cluster.local",
            "c2-0.c2-peer.ns.svc",
            "c2-17.c2-peer",
        ] {
            assert!(own.holds(host), "{host}");
        }
        for host in [
            "c2",
            "c1-peer",
            "c2-0",
            "c2-peer.other.svc",
            "c2-0.c2-peer.other.svc.cluster.local",
            "c2-peer.ns.example",
            "x.c2-client.ns.svc",
            "xc2-peer.ns",
        ] {
            assert!(!own.holds(host), "{host}");
        }
    }
}
