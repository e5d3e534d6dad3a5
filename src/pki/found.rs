//! Files that are there already: whether they are ours, and whether they are to be renewed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{Issuer, KeyPair};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::issue::{self, CA_LIFE, CA_NAME, SERVER_LIFE, SERVER_NAME};
use super::store::{CertsError, Done, Files, foreign, read, write};
use super::{Validity, inspect, validity};

/// The four files as they were found, and found to be ours.
pub(super) struct Found {
    ca_pem: String,
    ca_key: KeyPair,
    ca_validity: Validity,
    key: KeyPair,
    validity: Validity,
}

impl Found {
    pub(super) fn read(files: &Files) -> Result<Self, CertsError> {
        let ca_pem = read(&files.ca_certificate)?;
        let ca = certificate(&files.ca_certificate, &ca_pem, CA_NAME)?;
        let ca_key = key(&files.ca_key, &ca, "does not belong to ca.crt")?;
        let own = certificate(&files.certificate, &read(&files.certificate)?, SERVER_NAME)?;
        let validity = check_chain(files, &ca, &own)?;
        let key = key(&files.key, &own, "does not belong to tls.crt")?;
        let ca_validity = validity_of(&files.ca_certificate, &ca)?;
        Ok(Self { ca_pem, ca_key, ca_validity, key, validity })
    }

    /// Keys are kept, so that each renewal is the change of one file: a crash in between leaves a good set.
    pub(super) fn renew(self, files: &Files, now: SystemTime) -> Result<Done, CertsError> {
        let renew_ca = self.ca_validity.has_expired(now);
        if !renew_ca && !self.validity.has_expired(now) {
            return Ok(Done::Reused);
        }
        let ca_pem = if renew_ca { issue::ca(&self.ca_key, now, CA_LIFE)? } else { self.ca_pem };
        let issuer = Issuer::from_ca_cert_pem(&ca_pem, self.ca_key)?;
        let certificate = issue::server(&self.key, &issuer, now, SERVER_LIFE)?;
        if renew_ca {
            write(&files.ca_certificate, &ca_pem, 0o644)?;
        }
        write(&files.certificate, &certificate, 0o644)?;
        Ok(if renew_ca { Done::RenewedCa } else { Done::RenewedCertificate })
    }
}

fn certificate(path: &Path, pem: &str, name: &str) -> Result<CertificateDer<'static>, CertsError> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes());
    let der = der.map_err(|_| foreign(path, "holds no certificate"))?;
    let parsed = inspect::parse(&der).ok_or_else(|| foreign(path, "holds no readable certificate"))?;
    if !inspect::common_names(&parsed).iter().any(|found| found == name) {
        return Err(foreign(path, "was not made by etcd-warden"));
    }
    Ok(der)
}

fn key(path: &Path, certificate: &CertificateDer<'_>, fault: &'static str) -> Result<KeyPair, CertsError> {
    let key = KeyPair::from_pem(&read(path)?).map_err(|_| foreign(path, "holds no readable private key"))?;
    let public =
        inspect::parse(certificate).map(|parsed| parsed.public_key().subject_public_key.data.to_vec());
    if public.as_deref() == Some(key.public_key_raw()) { Ok(key) } else { Err(foreign(path, fault)) }
}

/// The validity of `own`, once it is known to be signed by `ca`; both may have expired.
fn check_chain(
    files: &Files,
    ca: &CertificateDer<'static>,
    own: &CertificateDer<'_>,
) -> Result<Validity, CertsError> {
    let validity = validity_of(&files.certificate, own)?;
    let fault = || foreign(&files.certificate, "is not signed by ca.crt");
    let mut roots = RootCertStore::empty();
    roots.add(ca.clone()).map_err(|_| foreign(&files.ca_certificate, "is no usable CA certificate"))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let name = ServerName::try_from("localhost").map_err(|_| fault())?;
    let signed =
        verifier.map_err(|_| fault())?.verify_server_cert(own, &[], &name, &[], while_good(validity));
    signed.map(|_| validity).map_err(|_| fault())
}

// The question is who signed it, not whether it is good today.
fn while_good(validity: Validity) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(u64::try_from(validity.not_after).unwrap_or_default()))
}

fn validity_of(path: &Path, certificate: &CertificateDer<'_>) -> Result<Validity, CertsError> {
    validity(certificate).ok_or_else(|| foreign(path, "holds no readable certificate"))
}
