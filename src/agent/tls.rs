//! The mounted files of a TLS endpoint, read anew for each connection, so that a changed certificate counts at once.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::member::TlsFiles;

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

    #[test]
    fn a_file_that_is_missing_is_named() {
        let root = tempfile::tempdir().unwrap();
        let error = Mounted::below(root.path()).read(&TlsFiles::PEER).unwrap_err().to_string();
        assert!(error.contains("var/etcd/ssl/peer/ca/ca.crt") && error.contains("Secret"), "{error}");
    }
}
