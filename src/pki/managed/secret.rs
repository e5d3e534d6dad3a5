//! The Secret's content: current, next and previous CAs.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use zeroize::{Zeroize, Zeroizing};

use super::authority::{Authority, Certificate};

const CURRENT: (&str, &str) = ("ca.crt", "ca.key");
const NEXT: (&str, &str) = ("next.crt", "next.key");
const PREVIOUS: &str = "previous.crt";

/// The CAs of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Authorities {
    /// Signs leaves.
    pub(super) current: Option<Authority>,
    /// Will, once it is trusted.
    pub(super) next: Option<Authority>,
    /// Trusted for leaves that may still be served.
    pub(super) previous: Vec<Certificate>,
}

/// A Secret as it was read.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) authorities: Authorities,
    /// What is kept of it when its content is replaced: its version, and the labels and annotations of others. Absent
    /// where there is no Secret.
    pub(super) metadata: Option<ObjectMeta>,
}

/// A Secret that is not ours to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Secret {name:?} in namespace {namespace:?}: {field} {fault}: it is left as it is; empty it (kubectl -n {namespace} patch secret {name} --type json --patch '[{{\"op\":\"remove\",\"path\":\"/data\"}}]') to have a new CA made, or give another name with --ca-secret"
)]
pub(super) struct NotOurs {
    namespace: String,
    name: String,
    field: String,
    fault: String,
}

impl Found {
    /// Reads a Secret, and wipes what it was read from.
    pub(super) fn of(mut secret: Secret) -> Result<Self, NotOurs> {
        let mut data = secret.data.take().unwrap_or_default();
        let read = read(&data);
        for value in data.values_mut() {
            value.0.zeroize();
        }
        let mut metadata = secret.metadata;
        metadata.managed_fields = None;
        let authorities = read.map_err(|(field, fault)| NotOurs {
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
            field,
            fault,
        })?;
        Ok(Self { authorities, metadata: Some(metadata) })
    }
}

type Data = BTreeMap<String, ByteString>;

fn read(data: &Data) -> Result<Authorities, (String, String)> {
    let known = [CURRENT.0, CURRENT.1, NEXT.0, NEXT.1, PREVIOUS];
    if let Some(field) = data.keys().find(|field| !known.contains(&field.as_str())) {
        return Err((field.clone(), "is nothing that etcd-warden wrote".to_owned()));
    }
    Ok(Authorities {
        current: authority(data, CURRENT)?,
        next: authority(data, NEXT)?,
        previous: data.get(PREVIOUS).map(|bundle| Certificate::all(&bundle.0)).unwrap_or_default(),
    })
}

fn authority(data: &Data, (certificate, key): (&str, &str)) -> Result<Option<Authority>, (String, String)> {
    let text = |field: &str| {
        data.get(field).map(|value| Zeroizing::new(String::from_utf8_lossy(&value.0).into_owned()))
    };
    match (text(certificate), text(key)) {
        (None, None) => Ok(None),
        (Some(_), None) => Err((key.to_owned(), "is missing".to_owned())),
        (None, Some(_)) => Err((certificate.to_owned(), "is missing".to_owned())),
        (Some(pem), Some(text)) => Authority::read(&pem, text).map(Some).map_err(|fault| {
            let field = if fault.is_of_key() { key } else { certificate };
            (field.to_owned(), fault.to_string())
        }),
    }
}

impl Authorities {
    /// What clients are to trust, as PEM.
    pub(super) fn bundle(&self) -> String {
        let signing = self.current.iter().chain(&self.next).map(|authority| &authority.certificate);
        let mut bundle: Vec<String> = signing.chain(&self.previous).map(Certificate::pem).collect();
        // In an order of its own, so that a CA that comes to sign changes nothing.
        bundle.sort_unstable();
        bundle.dedup();
        bundle.concat()
    }

    /// The Secret that holds them, in the place of the one whose metadata was read. What is sent is wiped by [`wipe`].
    pub(super) fn secret(&self, namespace: &str, name: &str, metadata: Option<ObjectMeta>) -> Secret {
        let mut data = Data::new();
        for ((certificate, key), authority) in [(CURRENT, &self.current), (NEXT, &self.next)] {
            let Some(authority) = authority else { continue };
            data.insert(certificate.to_owned(), ByteString(authority.pem.clone().into_bytes()));
            data.insert(key.to_owned(), ByteString(authority.key.as_bytes().to_vec()));
        }
        if !self.previous.is_empty() {
            let bundle: String = self.previous.iter().map(Certificate::pem).collect();
            data.insert(PREVIOUS.to_owned(), ByteString(bundle.into_bytes()));
        }
        let mut metadata = metadata.unwrap_or_default();
        metadata.name = Some(name.to_owned());
        metadata.namespace = Some(namespace.to_owned());
        let labels = metadata.labels.get_or_insert_default();
        labels.entry("app.kubernetes.io/managed-by".to_owned()).or_insert_with(|| "etcd-warden".to_owned());
        Secret { metadata, data: Some(data), type_: Some("Opaque".to_owned()), ..Secret::default() }
    }
}

/// Overwrites the keys of a Secret that is no longer needed.
pub(super) fn wipe(secret: Secret) {
    for (_, mut value) in secret.data.unwrap_or_default() {
        value.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn made() -> Authority {
        Authority::make(SystemTime::now(), Duration::from_hours(1)).unwrap()
    }

    fn full() -> Authorities {
        Authorities {
            current: Some(made()),
            next: Some(made()),
            previous: vec![made().certificate, made().certificate],
        }
    }

    #[test]
    fn a_secret_says_what_was_written() {
        let authorities = full();
        let metadata = ObjectMeta {
            resource_version: Some("7".to_owned()),
            labels: Some([("team".to_owned(), "storage".to_owned())].into()),
            annotations: Some([("tracked-by".to_owned(), "somebody".to_owned())].into()),
            ..ObjectMeta::default()
        };
        let secret = authorities.secret("ns", "ca", Some(metadata.clone()));
        let found = Found::of(secret).unwrap();
        let kept = found.metadata.unwrap();
        assert_eq!(found.authorities, authorities);
        assert_eq!(
            (kept.resource_version, kept.annotations),
            (metadata.resource_version, metadata.annotations),
            "what others wrote of the Secret is lost"
        );
        assert_eq!(kept.labels.unwrap()["team"], "storage");
    }

    #[test]
    fn an_empty_secret_holds_nothing() {
        assert_eq!(Found::of(Secret::default()).unwrap().authorities, Authorities::default());
    }

    #[test]
    fn the_bundle_holds_every_ca_once() {
        let authorities = full();
        let held = Certificate::all(authorities.bundle().as_bytes());
        assert_eq!(held.len(), 4);
        let promoted = Authorities {
            current: authorities.next.clone(),
            next: authorities.current.clone(),
            ..authorities.clone()
        };
        assert_eq!(promoted.bundle(), authorities.bundle());
    }

    #[test]
    fn what_is_broken_or_foreign_is_named_with_the_way_out() {
        type Spoil = fn(&mut Data);
        let spoils: [(&str, Spoil); 5] = [
            ("ca.crt holds no readable certificate", |data| {
                data.insert("ca.crt".into(), ByteString(b"\xff\xfe".to_vec()));
            }),
            ("ca.key is missing", |data| {
                data.remove("ca.key");
            }),
            ("next.crt is missing", |data| {
                data.remove("next.crt");
            }),
            ("ca.key does not belong to the certificate beside it", |data| {
                let other = data["next.key"].clone();
                data.insert("ca.key".into(), other);
            }),
            ("tls.crt is nothing that etcd-warden wrote", |data| {
                data.insert("tls.crt".into(), ByteString(Vec::new()));
            }),
        ];
        for (said, spoil) in spoils {
            let mut secret = full().secret("ns", "ca", None);
            spoil(secret.data.as_mut().unwrap());
            let error = Found::of(secret).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
            assert!(
                error.contains("kubectl -n ns patch secret ca") && error.contains("--ca-secret"),
                "{error}"
            );
        }
    }
}
