//! Certificates for tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

pub const HOUR: Duration = Duration::from_hours(1);

/// A CA, and what it signs.
pub struct Authority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate chain and its key, as PEM.
pub struct Pair {
    pub chain: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = ca_params(name);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A CA below this one; the PEM is its own certificate.
    pub fn below(&self, name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = ca_params(name);
        let pem = params.signed_by(&key, &self.issuer).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate with a common name, for localhost, good from an hour ago to in an hour.
    pub fn sign(&self, common_name: &str) -> Pair {
        let now = SystemTime::now();
        self.sign_for(common_name, now - HOUR, now + HOUR)
    }

    pub fn sign_for(&self, common_name: &str, from: SystemTime, to: SystemTime) -> Pair {
        self.issue(&["localhost".to_owned()], common_name, from, to)
    }

    /// A certificate for a host, a name or an address.
    pub fn sign_host(&self, host: &str) -> Pair {
        self.sign_hosts(&[host.to_owned()])
    }

    /// A certificate for several hosts.
    pub fn sign_hosts(&self, hosts: &[String]) -> Pair {
        let now = SystemTime::now();
        self.issue(hosts, &hosts[0], now - HOUR, now + HOUR)
    }

    fn issue(&self, hosts: &[String], common_name: &str, from: SystemTime, to: SystemTime) -> Pair {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(hosts).unwrap();
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.not_before = from.into();
        params.not_after = to.into();
        let chain = params.signed_by(&key, &self.issuer).unwrap().pem();
        Pair { chain, key: key.serialize_pem() }
    }
}

fn ca_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

impl Pair {
    /// Writes `<name>.crt` and `<name>.key`.
    pub fn write(&self, directory: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (certificate, key) =
            (directory.join(format!("{name}.crt")), directory.join(format!("{name}.key")));
        fs::write(&certificate, &self.chain).unwrap();
        fs::write(&key, &self.key).unwrap();
        (certificate, key)
    }
}

/// A directory as the kubelet keeps a Secret in: links through `..data` to a directory that is replaced whole.
pub struct Volume {
    pub directory: PathBuf,
    version: u32,
}

impl Volume {
    pub fn new(directory: PathBuf, pair: &Pair) -> Self {
        fs::create_dir(&directory).unwrap();
        let mut volume = Self { directory, version: 0 };
        volume.swap(pair);
        for name in ["tls.crt", "tls.key"] {
            std::os::unix::fs::symlink(format!("..data/{name}"), volume.directory.join(name)).unwrap();
        }
        volume
    }

    /// Turns `..data` to a new directory and removes the old one, as the kubelet does.
    pub fn swap(&mut self, pair: &Pair) {
        self.version += 1;
        let name = |version: u32| format!("..2026_{version}");
        let new = self.directory.join(name(self.version));
        fs::create_dir(&new).unwrap();
        pair.write(&new, "tls");
        let link = self.directory.join("..data_tmp");
        std::os::unix::fs::symlink(name(self.version), &link).unwrap();
        fs::rename(&link, self.directory.join("..data")).unwrap();
        // There is none the first time.
        let _ = fs::remove_dir_all(self.directory.join(name(self.version - 1)));
    }
}
