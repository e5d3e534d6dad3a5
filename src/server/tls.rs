//! From files to what a handshake needs.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert, WantsServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ConfigBuilder, RootCertStore, ServerConfig, SupportedProtocolVersion};

use zeroize::Zeroizing;

use crate::pki::{self, Validity};

use super::client_auth::NamedClients;
use super::config::{Source, Tls, TlsVersion};
use super::held::Pair;

/// Why certificate files can't be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read.
    #[error("can't read {path}: {cause}: check the path and its permissions", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path} holds no {wanted} in PEM: {remedy}", path = .path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// `certificate`, `private key`.
        wanted: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The key is not the certificate's, or of a kind that is not served.
    #[error("{certificate} and {key} can't be served together: {cause}: give the key that belongs to the first certificate", certificate = .certificate.display(), key = .key.display())]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What rustls says.
        cause: rustls::Error,
    },
    /// The client CA can't be used.
    #[error("{path} can't be used to check clients: {cause}: give CA certificates in PEM", path = .path.display())]
    ClientCa {
        /// The file.
        path: PathBuf,
        /// What rustls says.
        cause: String,
    },
}

/// The bytes of all files, as they were at one time.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Bytes {
    /// Absent where none has been handed over yet.
    pair: Option<(Vec<u8>, Zeroizing<Vec<u8>>)>,
    client_ca: Option<Vec<u8>>,
}

impl fmt::Debug for Bytes {
    // A key has no place in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Bytes").finish_non_exhaustive()
    }
}

/// What is served.
#[derive(Debug)]
pub(super) struct Material {
    pub(super) config: Arc<ServerConfig>,
    /// Absent where there is no certificate yet.
    pub(super) validity: Option<Validity>,
}

/// Until there is a certificate, no handshake succeeds.
#[derive(Debug)]
struct NoCertificate;

impl ResolvesServerCert for NoCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}

impl Bytes {
    pub(super) fn read(tls: &Tls) -> Result<Self, TlsError> {
        let pair = match &tls.source {
            Source::Files { certificate, key } => {
                let (certificate, key) = one_directory(certificate, key);
                Some((read(&certificate)?, Zeroizing::new(read(&key)?)))
            }
            Source::Held(held) => held.pair().map(|Pair { certificate, key }| (certificate, key)),
        };
        Ok(Self { pair, client_ca: tls.clients.as_ref().map(|clients| read(&clients.ca)).transpose()? })
    }

    /// Checks everything that can be known before a handshake.
    pub(super) fn check(&self, tls: &Tls) -> Result<Material, TlsError> {
        let Some((certificate, key)) = &self.pair else {
            let config = finished(self.builder(tls)?.with_cert_resolver(Arc::new(NoCertificate)));
            return Ok(Material { config, validity: None });
        };
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.map_err(|_| no_certificate(tls))?;
        let validity =
            chain.first().and_then(|leaf| pki::validity(leaf)).ok_or_else(|| no_certificate(tls))?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| TlsError::Empty {
            path: tls.source.names().1,
            wanted: "private key",
            remedy: "give a key that is not encrypted",
        })?;
        let config = self.builder(tls)?.with_single_cert(chain, key).map_err(|cause| mismatch(tls, cause))?;
        Ok(Material { config: finished(config), validity: Some(validity) })
    }

    fn builder(&self, tls: &Tls) -> Result<ConfigBuilder<ServerConfig, WantsServerCert>, TlsError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions(tls.minimum))
            .map_err(|cause| mismatch(tls, cause))?;
        Ok(match self.clients(tls, provider)? {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(clients),
        })
    }

    fn clients(
        &self,
        tls: &Tls,
        provider: Arc<CryptoProvider>,
    ) -> Result<Option<Arc<NamedClients>>, TlsError> {
        let (Some(clients), Some(pem)) = (&tls.clients, &self.client_ca) else { return Ok(None) };
        let failed = |cause: String| TlsError::ClientCa { path: clients.ca.clone(), cause };
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| failed(error.to_string()))?;
            roots.add(certificate).map_err(|error| failed(error.to_string()))?;
        }
        let named = NamedClients::new(roots, clients.names.clone(), provider);
        named.map(|named| Some(Arc::new(named))).map_err(|error| failed(error.to_string()))
    }
}

fn finished(mut config: ServerConfig) -> Arc<ServerConfig> {
    // The API server speaks HTTP/1.1 to webhooks; HTTP/2 would only be more to attack.
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A resumed session would skip the check of a client's certificate against today's CA and names. The
    // API server keeps its connections, so nothing is gained by resuming without that check either.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Arc::new(config)
}

fn mismatch(tls: &Tls, cause: rustls::Error) -> TlsError {
    let (certificate, key) = tls.source.names();
    TlsError::Mismatch { certificate, key, cause }
}

fn versions(minimum: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];
    static NEWEST: [&SupportedProtocolVersion; 1] = [&TLS13];
    match minimum {
        TlsVersion::V1_2 => &BOTH,
        TlsVersion::V1_3 => &NEWEST,
    }
}

fn no_certificate(tls: &Tls) -> TlsError {
    TlsError::Empty {
        path: tls.source.names().0,
        wanted: "certificate",
        remedy: "give the chain, the server's own certificate first",
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|cause| TlsError::Unreadable { path: path.to_owned(), cause })
}

/// The kubelet replaces all files of a Secret at once by turning the link `..data` to another directory. Both
/// files are read from the directory that it leads to now, so that a turn in between can't mix two pairs.
fn one_directory(certificate: &Path, key: &Path) -> (PathBuf, PathBuf) {
    let in_volume = || {
        let directory = certificate.parent()?;
        if key.parent()? != directory {
            return None;
        }
        let data = fs::canonicalize(directory.join("..data")).ok()?;
        let (certificate, key) = (data.join(certificate.file_name()?), data.join(key.file_name()?));
        (certificate.exists() && key.exists()).then_some((certificate, key))
    };
    in_volume().unwrap_or_else(|| (certificate.to_owned(), key.to_owned()))
}
