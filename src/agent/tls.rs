//! The mounted files of a TLS endpoint, read anew for each connection, so that a changed certificate counts at once.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, RootCertStore};
use zeroize::Zeroizing;

use crate::member::{Config, Scheme, TlsFiles};

/// Of a client that shows a certificate.
#[derive(Clone)]
pub struct Files {
    /// Authorities that sign the other side.
    pub ca: Vec<u8>,
    /// The client's certificate.
    pub certificate: Vec<u8>,
    /// Its key.
    pub key: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Files {
    // A key has no place in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Files").finish_non_exhaustive()
    }
}

/// A file that can't be read.
#[derive(Debug, thiserror::Error)]
#[error("can't read {path}: {cause}: is the Secret there, with this key?", path = .path.display())]
pub struct NoFile {
    path: PathBuf,
    cause: io::Error,
}

/// Files that hold no certificates and keys that can be used.
#[derive(Debug, thiserror::Error)]
#[error("the mounted certificates can't be used: {0}")]
pub struct Unusable(String);

impl Files {
    /// How a client dials that shows this certificate, and trusts these authorities.
    pub fn client_config(&self) -> Result<ClientConfig, Unusable> {
        let key = PrivateKeyDer::from_pem_slice(&self.key)
            .map_err(|error| Unusable(format!("the key: {error}")))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Unusable(error.to_string()))?;
        let builder = builder.with_root_certificates(self.authorities()?);
        builder.with_client_auth_cert(self.chain()?, key).map_err(|error| Unusable(error.to_string()))
    }

    /// Why others would not take the certificate for that of a server at one of these hosts, if so.
    pub fn refused_as_server(&self, hosts: &[String]) -> Option<String> {
        let faults: Result<Vec<String>, Unusable> =
            hosts.iter().filter_map(|host| self.checked_for(host).transpose()).collect();
        match faults {
            Ok(faults) if faults.len() < hosts.len() => None,
            Ok(faults) => faults.into_iter().next(),
            Err(unusable) => Some(unusable.to_string()),
        }
    }

    fn checked_for(&self, host: &str) -> Result<Option<String>, Unusable> {
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|_| Unusable(format!("{host} is no name that a certificate can be for")))?;
        let chain = self.chain()?;
        let [own, rest @ ..] = chain.as_slice() else { return Err(Unusable("no certificate".to_owned())) };
        let verifier = WebPkiServerVerifier::builder_with_provider(
            Arc::new(self.authorities()?),
            Arc::new(default_provider()),
        );
        let verifier = verifier.build().map_err(|error| Unusable(error.to_string()))?;
        let checked = verifier.verify_server_cert(own, rest, &name, &[], UnixTime::now());
        Ok(checked.err().map(|error| error.to_string()))
    }

    fn authorities(&self) -> Result<RootCertStore, Unusable> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&self.ca).flatten());
        if roots.is_empty() { Err(Unusable("ca.crt holds no certificate".to_owned())) } else { Ok(roots) }
    }

    fn chain(&self) -> Result<Vec<CertificateDer<'static>>, Unusable> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.certificate).collect();
        chain.map_err(|error| Unusable(format!("the certificate: {error}")))
    }
}

/// What the authorities' files held when etcd was started, by path: it reads them once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Authorities(BTreeMap<PathBuf, Vec<u8>>);

impl Authorities {
    /// Whether a file holds something else by now. One that can't be read for a moment has not changed.
    pub fn have_changed(&self) -> bool {
        self.0.iter().any(|(path, before)| fs::read(path).is_ok_and(|now| now != *before))
    }
}

/// Where the Secrets are mounted.
#[derive(Clone, Debug)]
pub struct Mounted {
    root: PathBuf,
}

/// A TLS endpoint's files, by path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Authorities.
    pub ca: PathBuf,
    /// The serving certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The certificate that is shown to others.
    pub client_certificate: PathBuf,
    /// Its key.
    pub client_key: PathBuf,
}

impl Mounted {
    /// Below `/` in a pod.
    pub fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The files of an endpoint.
    pub fn paths(&self, files: &TlsFiles) -> Paths {
        let within = |directory: &str| self.root.join(directory.trim_start_matches('/'));
        let (server, client) = (within(files.server), within(files.client));
        let client = if client.join("tls.crt").exists() { client } else { server.clone() };
        Paths {
            ca: within(files.ca).join("ca.crt"),
            certificate: server.join("tls.crt"),
            key: server.join("tls.key"),
            client_certificate: client.join("tls.crt"),
            client_key: client.join("tls.key"),
        }
    }

    /// What the files of the authorities hold that etcd trusts by a configuration.
    pub fn authorities(&self, config: &Config) -> Authorities {
        let endpoints = &config.endpoints;
        let used = [(endpoints.client_scheme, TlsFiles::CLIENT), (endpoints.peer_scheme, TlsFiles::PEER)];
        let paths = used
            .into_iter()
            .filter(|(scheme, _)| *scheme == Scheme::Https)
            .map(|(_, files)| self.paths(&files).ca);
        Authorities(paths.filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect())
    }

    /// Reads what a client needs.
    pub fn read(&self, files: &TlsFiles) -> Result<Files, NoFile> {
        let paths = self.paths(files);
        Ok(Files {
            ca: read(&paths.ca)?,
            certificate: read(&paths.client_certificate)?,
            key: Zeroizing::new(read(&paths.client_key)?),
        })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, NoFile> {
    fs::read(path).map_err(|cause| NoFile { path: path.to_owned(), cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_client_certificate_the_serving_one_is_shown() {
        let root = tempfile::tempdir().unwrap();
        let mounted = Mounted::below(root.path());
        let server = root.path().join("var/etcd/ssl/server");
        assert_eq!(mounted.paths(&TlsFiles::CLIENT).client_certificate, server.join("tls.crt"));
        let client = root.path().join("var/etcd/ssl/client");
        fs::create_dir_all(&client).unwrap();
        fs::write(client.join("tls.crt"), "").unwrap();
        assert_eq!(mounted.paths(&TlsFiles::CLIENT).client_key, client.join("tls.key"));
    }

    /// A certificate for these names, by an authority of its own.
    fn signed(names: &[&str], usage: rcgen::ExtendedKeyUsagePurpose) -> Files {
        let (authority, key) = (rcgen::KeyPair::generate().unwrap(), rcgen::KeyPair::generate().unwrap());
        let mut of_authority = rcgen::CertificateParams::new(Vec::new()).unwrap();
        of_authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        of_authority.distinguished_name.push(rcgen::DnType::CommonName, names.join(" "));
        let ca = of_authority.self_signed(&authority).unwrap().pem();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = rcgen::CertificateParams::new(names).unwrap();
        params.extended_key_usages = vec![usage];
        let issuer = rcgen::Issuer::new(of_authority, authority);
        Files {
            ca: ca.into_bytes(),
            certificate: params.signed_by(&key, &issuer).unwrap().pem().into_bytes(),
            key: Zeroizing::new(key.serialize_pem().into_bytes()),
        }
    }

    #[test]
    fn a_certificate_that_nobody_could_dial_is_known_before() {
        use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
        let refused = |files: &Files, hosts: &[&str]| {
            files.refused_as_server(&hosts.iter().map(|host| (*host).to_owned()).collect::<Vec<_>>())
        };
        let good = signed(&["main-0.main-peer.shop.svc", "10.0.0.7"], ServerAuth);
        assert_eq!(refused(&good, &["main-0.main-peer.shop.svc"]), None);
        assert_eq!(refused(&good, &["10.0.0.7"]), None);
        // One URL is enough.
        assert_eq!(refused(&good, &["elsewhere", "main-0.main-peer.shop.svc"]), None);
        let other = refused(&good, &["main-1.main-peer.shop.svc"]).unwrap();
        assert!(other.contains("main-1.main-peer.shop.svc"), "{other}");
        assert!(refused(&signed(&["a"], ClientAuth), &["a"]).is_some());
        let foreign = Files { ca: signed(&["a"], ServerAuth).ca, ..good.clone() };
        assert!(refused(&foreign, &["10.0.0.7"]).unwrap().contains("UnknownIssuer"));
        let empty = Files { ca: Vec::new(), ..good };
        assert!(refused(&empty, &["10.0.0.7"]).unwrap().contains("ca.crt"));
    }

    #[test]
    fn authorities_have_changed_when_a_file_holds_something_else() {
        let root = tempfile::tempdir().unwrap();
        let mounted = Mounted::below(root.path());
        let mut config = crate::agent::testing::config(1, &[]);
        config.endpoints.peer_scheme = Scheme::Https;
        let path = mounted.paths(&TlsFiles::PEER).ca;
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "old").unwrap();
        let authorities = mounted.authorities(&config);
        assert!(!authorities.have_changed());
        fs::write(&path, "old and new").unwrap();
        assert!(authorities.have_changed());
        fs::remove_file(&path).unwrap();
        assert!(!authorities.have_changed());
    }

    #[test]
    fn a_file_that_is_missing_is_named() {
        let root = tempfile::tempdir().unwrap();
        let error = Mounted::below(root.path()).read(&TlsFiles::PEER).unwrap_err().to_string();
        assert!(error.contains("var/etcd/ssl/peer/ca/ca.crt") && error.contains("Secret"), "{error}");
    }
}
