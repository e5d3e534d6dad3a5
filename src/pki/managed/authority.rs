//! One CA: made, read, checked; what is to be done when.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{Issuer, KeyPair};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use zeroize::{Zeroize, Zeroizing};

use super::leaf::Leaf;
use crate::pki::issue::{self, BACKDATED, MANAGED_CA_NAME};
use crate::pki::{Validity, inspect, validity};

/// A certificate that others trust, without its key.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    der: Vec<u8>,
    pub(super) validity: Validity,
}

/// A CA that can sign.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Authority {
    pub(super) certificate: Certificate,
    pub(super) pem: String,
    pub(super) key: Zeroizing<String>,
}

impl Certificate {
    pub(super) fn read(pem: &str) -> Option<Self> {
        Self::of(CertificateDer::from_pem_slice(pem.as_bytes()).ok()?.as_ref())
    }

    /// Every readable certificate of a bundle.
    pub(super) fn all(bundle: &[u8]) -> Vec<Self> {
        let certificates = CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok);
        certificates.filter_map(|der| Self::of(&der)).collect()
    }

    fn of(der: &[u8]) -> Option<Self> {
        Some(Self { der: der.to_vec(), validity: validity(der)? })
    }

    pub(super) fn pem(&self) -> String {
        use base64::Engine as _;
        let text = base64::engine::general_purpose::STANDARD.encode(&self.der);
        let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
        for line in text.as_bytes().chunks(64) {
            pem.push_str(&String::from_utf8_lossy(line));
            pem.push('\n');
        }
        pem.push_str("-----END CERTIFICATE-----\n");
        pem
    }

    fn bears(&self, name: &str) -> bool {
        inspect::parse(&self.der)
            .is_some_and(|parsed| parsed.is_ca() && inspect::common_names(&parsed).iter().any(|n| n == name))
    }

    fn belongs_to(&self, key: &KeyPair) -> bool {
        inspect::parse(&self.der).is_some_and(|parsed| {
            parsed.public_key().subject_public_key.data.as_ref() == rcgen::PublicKeyData::der_bytes(key)
        })
    }
}

impl Authority {
    pub(super) fn make(now: SystemTime, life: Duration) -> Result<Self, rcgen::Error> {
        let mut key = issue::key()?;
        let pem = issue::authority(MANAGED_CA_NAME, &key, now, life);
        let text = Zeroizing::new(key.serialize_pem());
        key.zeroize();
        Self::read(&pem?, text).map_err(|_| rcgen::Error::CouldNotParseCertificate)
    }

    /// Reads a CA of ours; the error says what is wrong with which half.
    pub(super) fn read(pem: &str, key: Zeroizing<String>) -> Result<Self, Fault> {
        let certificate = Certificate::read(pem).ok_or(Fault::NoCertificate)?;
        if !certificate.bears(MANAGED_CA_NAME) {
            return Err(Fault::Foreign);
        }
        let mut pair = KeyPair::from_pem(&key).map_err(|_| Fault::NoKey)?;
        let belongs = certificate.belongs_to(&pair);
        pair.zeroize();
        if !belongs {
            return Err(Fault::OtherKey);
        }
        Ok(Self { pem: certificate.pem(), certificate, key })
    }

    /// A leaf with a key of its own, which doesn't outlive this CA.
    pub(super) fn sign(&self, name: &str, now: SystemTime, life: Duration) -> Result<Leaf, rcgen::Error> {
        let mut ca_key = KeyPair::from_pem(&self.key)?;
        let mut key = issue::key()?;
        let signed = Issuer::from_ca_cert_pem(&self.pem, &ca_key).and_then(|issuer| {
            let life = life.min(self.left(now));
            issue::serving(name, vec![name.to_owned()], &key, &issuer, now, life)
        });
        let text = Zeroizing::new(key.serialize_pem());
        key.zeroize();
        ca_key.zeroize();
        let certificate = signed?;
        let validity =
            Certificate::read(&certificate).ok_or(rcgen::Error::CouldNotParseCertificate)?.validity;
        Ok(Leaf { certificate, key: text, validity })
    }

    fn left(&self, now: SystemTime) -> Duration {
        at(self.certificate.validity.not_after).duration_since(now).unwrap_or_default()
    }
}

/// Why something is no CA of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("holds no readable certificate")]
    NoCertificate,
    #[error("holds a certificate that etcd-warden did not make")]
    Foreign,
    #[error("holds no readable private key")]
    NoKey,
    #[error("does not belong to the certificate beside it")]
    OtherKey,
}

impl Fault {
    /// Whether it is the key that is wrong.
    pub(super) fn is_of_key(self) -> bool {
        matches!(self, Self::NoKey | Self::OtherKey)
    }
}

/// When two thirds of a life are over that began an hour after the certificate did.
pub(super) fn two_thirds(validity: Validity) -> SystemTime {
    let (made, end) = (at(validity.not_before) + BACKDATED, at(validity.not_after));
    made + end.duration_since(made).unwrap_or_default() * 2 / 3
}

/// A certificate's time.
pub(super) fn at(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or_default())
}

impl fmt::Debug for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Certificate").field("validity", &self.validity).finish_non_exhaustive()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Authority").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);

    #[test]
    fn a_leaf_is_for_one_name_and_does_not_outlive_its_ca() {
        let now = SystemTime::now();
        let ca = Authority::make(now, DAY).unwrap();
        for (life, expected) in [(DAY / 2, DAY / 2), (DAY * 9, DAY)] {
            let leaf = ca.sign("warden.shop.svc", now, life).unwrap();
            let end = at(leaf.validity.not_after);
            let wrong = end.duration_since(now + expected).unwrap_or_else(|early| early.duration());
            assert!(wrong < Duration::from_secs(2), "{wrong:?}");
            let der = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap();
            assert_eq!(crate::pki::names(&der), ["warden.shop.svc", "warden.shop.svc"]);
        }
    }

    #[test]
    fn two_thirds_are_counted_from_when_it_was_made() {
        let now = at(1_000_000);
        let ca = Authority::make(now, Duration::from_secs(90)).unwrap();
        assert_eq!(two_thirds(ca.certificate.validity), now + Duration::from_mins(1));
    }

    #[test]
    fn what_is_no_ca_of_ours_is_told() {
        let (ca, other) = (
            Authority::make(SystemTime::now(), DAY).unwrap(),
            Authority::make(SystemTime::now(), DAY).unwrap(),
        );
        let foreign = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).unwrap();
        let (foreign, foreign_key) = (foreign.cert.pem(), foreign.signing_key.serialize_pem());
        for (pem, key, fault) in [
            ("", ca.key.as_str(), Fault::NoCertificate),
            ("mine", &ca.key, Fault::NoCertificate),
            (&foreign, &foreign_key, Fault::Foreign),
            (&ca.pem, "mine", Fault::NoKey),
            (&ca.pem, &other.key, Fault::OtherKey),
        ] {
            let read = Authority::read(pem, Zeroizing::new(key.to_owned()));
            assert_eq!(read.unwrap_err(), fault);
        }
        assert!(Authority::read(&ca.pem, ca.key.clone()).is_ok());
    }

    #[test]
    fn no_key_is_in_what_is_printed() {
        let ca = Authority::make(SystemTime::now(), DAY).unwrap();
        let leaf = ca.sign("warden.shop.svc", SystemTime::now(), DAY).unwrap();
        let printed = format!("{ca:?} {leaf:?}");
        assert!(!printed.contains("PRIVATE") && !printed.contains("key"), "{printed}");
    }
}
