//! Makes keys and certificates.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SigningKey,
};

/// The common name by which a CA of ours is known again.
pub(super) const CA_NAME: &str = "etcd-warden local CA";

/// The common name by which a serving certificate of ours is known again.
pub(super) const SERVER_NAME: &str = "etcd-warden local server";

/// The common name by which a CA in a Secret of ours is known again.
pub(super) const MANAGED_CA_NAME: &str = "etcd-warden webhook CA";

/// Certificates begin an hour in the past: the clients' clocks may be behind.
pub(super) const BACKDATED: Duration = Duration::from_hours(1);

const DAY: Duration = Duration::from_hours(24);

/// Whoever put the CA into a webhook configuration should not have to do so again soon.
pub(super) const CA_LIFE: Duration = DAY.saturating_mul(3650);

/// Clients refuse serving certificates that live much longer than a year.
pub(super) const SERVER_LIFE: Duration = DAY.saturating_mul(365);

/// A new key, for ECDSA on P-256: what every client of the API server's family speaks.
pub(super) fn key() -> Result<KeyPair, rcgen::Error> {
    KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)
}

/// A certificate for our own CA of this machine, as PEM.
pub(super) fn ca(key: &KeyPair, now: SystemTime, life: Duration) -> Result<String, rcgen::Error> {
    authority(CA_NAME, key, now, life)
}

/// A certificate for a CA, as PEM.
pub(super) fn authority(
    name: &str,
    key: &KeyPair,
    now: SystemTime,
    life: Duration,
) -> Result<String, rcgen::Error> {
    let mut params = named(name, Vec::new(), now, life)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params.self_signed(key)?.pem())
}

/// A serving certificate from our own CA, as PEM, for this machine's names.
pub(super) fn server(
    key: &KeyPair,
    ca: &Issuer<'_, KeyPair>,
    now: SystemTime,
    life: Duration,
) -> Result<String, rcgen::Error> {
    serving(SERVER_NAME, own_names(), key, ca, now, life)
}

/// A serving certificate, as PEM.
pub(super) fn serving(
    name: &str,
    names: Vec<String>,
    key: &KeyPair,
    ca: &Issuer<'_, impl SigningKey>,
    now: SystemTime,
    life: Duration,
) -> Result<String, rcgen::Error> {
    let mut params = named(name, names, now, life)?;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params.signed_by(key, ca)?.pem())
}

fn named(
    name: &str,
    names: Vec<String>,
    now: SystemTime,
    life: Duration,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.push(DnType::OrganizationName, "etcd-warden");
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = (now - BACKDATED).into();
    params.not_after = (now + life).into();
    Ok(params)
}

fn own_names() -> Vec<String> {
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    names.extend(host_name().filter(|host| !names.contains(host)));
    names
}

// A host name that is no DNS name has no place in a certificate.
fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_owned();
    let is_dns = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    (!name.is_empty() && name.bytes().all(is_dns)).then_some(name)
}
