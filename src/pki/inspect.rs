//! What a certificate says: validity and names.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

/// From when to when a certificate is good, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// The first second.
    pub not_before: i64,
    /// The last second.
    pub not_after: i64,
}

impl Validity {
    /// Whether the last second has passed.
    pub fn has_expired(self, now: SystemTime) -> bool {
        seconds(now) > self.not_after
    }

    /// Whether the first second is still to come.
    pub fn has_not_begun(self, now: SystemTime) -> bool {
        seconds(now) < self.not_before
    }
}

// A clock before 1970 sees every certificate as not begun.
fn seconds(time: SystemTime) -> i64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX)
}

/// The validity of a certificate in DER; nothing where it can't be read.
pub fn validity(certificate: &[u8]) -> Option<Validity> {
    let validity = parse(certificate)?.validity().clone();
    Some(Validity { not_before: validity.not_before.timestamp(), not_after: validity.not_after.timestamp() })
}

/// Every name of a certificate in DER: the subject's common names, then the subject alternative names (DNS,
/// address, URI, e-mail).
pub fn names(certificate: &[u8]) -> Vec<String> {
    let Some(certificate) = parse(certificate) else { return Vec::new() };
    let mut names = common_names(&certificate);
    if let Ok(Some(alternative)) = certificate.subject_alternative_name() {
        names.extend(alternative.value.general_names.iter().filter_map(general_name));
    }
    names
}

pub(super) fn parse(certificate: &[u8]) -> Option<X509Certificate<'_>> {
    X509Certificate::from_der(certificate).ok().map(|(_, certificate)| certificate)
}

pub(super) fn common_names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let names = certificate.subject().iter_common_name();
    names.filter_map(|name| name.as_str().ok()).map(str::to_owned).collect()
}

fn general_name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) | GeneralName::URI(name) | GeneralName::RFC822Name(name) => {
            Some((*name).to_owned())
        }
        GeneralName::IPAddress(octets) => address(octets).map(|address| address.to_string()),
        _ => None,
    }
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_validity_are_good() {
        let validity = Validity { not_before: 100, not_after: 200 };
        let at = |second| UNIX_EPOCH + Duration::from_secs(second);
        assert!(validity.has_not_begun(at(99)));
        assert!(!validity.has_not_begun(at(100)));
        assert!(!validity.has_expired(at(200)));
        assert!(validity.has_expired(at(201)));
    }

    #[test]
    fn every_kind_of_name_is_read() {
        let mut params =
            rcgen::CertificateParams::new(["api.example".into(), "10.0.0.1".into(), "::1".into()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "kube-apiserver");
        let certificate = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        let found = names(certificate.der());
        for name in ["kube-apiserver", "api.example", "10.0.0.1", "::1"] {
            assert!(found.iter().any(|found| found == name), "{name} in {found:?}");
        }
        assert_eq!(names(b"no certificate"), Vec::<String>::new());
    }
}
