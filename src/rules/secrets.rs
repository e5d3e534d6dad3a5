//! References to Secrets.

use super::report::Report;
use super::settings::Settings;
use super::view::View;
use crate::etcd::{SecretRef, Slot, Tls};

/// Complete, and in the Etcd's own namespace: pods can't mount a Secret from another.
pub(super) fn tls_secret_refs(view: &View<'_>, _: &Settings, report: &mut Report) {
    let refs = Refs { namespace: view.namespace, report };
    let Some(spec) = view.spec() else { return };
    refs.check(spec.etcd.get(), spec.backup.get());
}

struct Refs<'v, 'r> {
    namespace: &'v str,
    report: &'r mut Report,
}

impl Refs<'_, '_> {
    fn check(mut self, etcd: Option<&crate::etcd::EtcdConfig<'_>>, backup: Option<&crate::etcd::Backup<'_>>) {
        if let Some(etcd) = etcd {
            self.tls("spec.etcd.clientUrlTls", &etcd.client_url_tls, true);
            self.tls("spec.etcd.peerUrlTls", &etcd.peer_url_tls, false);
        }
        if let Some(backup) = backup {
            self.tls("spec.backup.tls", &backup.tls, false);
            let reference = backup.store.get().map(|store| &store.secret_ref);
            if let Some(reference) = reference.filter(|reference| reference.is_set()) {
                self.required("spec.backup.store.secretRef", reference, "the credentials of the store");
            }
        }
    }

    fn tls(&mut self, block: &str, tls: &Slot<Tls<'_>>, agent_dials: bool) {
        let Some(tls) = tls.get() else { return };
        let at = |reference: &str| format!("{block}.{reference}");
        self.required(&at("tlsCASecretRef"), &tls.tls_ca_secret_ref, "the certificate authority");
        self.required(&at("serverTLSSecretRef"), &tls.server_tls_secret_ref, "the serving certificate");
        if agent_dials {
            let what = "the client certificate, with which the members dial";
            self.required(&at("clientTLSSecretRef"), &tls.client_tls_secret_ref, what);
        } else {
            self.own_namespace(&at("clientTLSSecretRef"), &tls.client_tls_secret_ref);
        }
    }

    fn required(&mut self, field: &str, reference: &Slot<SecretRef<'_>>, what: &str) {
        let absent = match reference {
            Slot::Absent => true,
            Slot::Wrong(_) => false,
            Slot::Set(reference) => reference.name.is_absent(),
        };
        let detail = format!("write the name of the Secret that holds {what}; a pod without it can't start");
        if absent {
            self.report.required(format_args!("{field}.name"), &detail);
        }
        if let Some(name) =
            reference.get().and_then(|reference| reference.name.text()).filter(|name| name.is_empty())
        {
            self.report.invalid(format_args!("{field}.name"), name, detail);
        }
        self.own_namespace(field, reference);
    }

    fn own_namespace(&mut self, field: &str, reference: &Slot<SecretRef<'_>>) {
        let namespace = reference.get().and_then(|reference| reference.namespace.text()).unwrap_or_default();
        if namespace.is_empty() || namespace == self.namespace {
            return;
        }
        let into = match self.namespace {
            "" => String::new(),
            own => format!(", and put the Secret into \"{own}\""),
        };
        let detail = format!("pods mount Secrets of their own namespace only; remove the namespace{into}");
        self.report.invalid(format_args!("{field}.namespace"), namespace, detail);
    }
}
