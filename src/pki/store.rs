//! The four files of a directory: read, checked, written, never overwritten unless they are ours and expired.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rcgen::Issuer;

use super::found::Found;
use super::issue::{self, CA_LIFE, SERVER_LIFE};

/// Where the files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The CA's certificate: what clients trust.
    pub ca_certificate: PathBuf,
    /// The CA's key.
    pub ca_key: PathBuf,
    /// The serving certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// What had to be done to have good files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing: the files were there.
    Reused,
    /// All were made.
    Made,
    /// The serving certificate had expired and was made anew, from the same CA.
    RenewedCertificate,
    /// The CA had expired: its certificate and the serving certificate were made anew, with the same keys.
    RenewedCa,
}

/// Why there are no certificates to serve with. Every variant says what to do.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    /// A file or the directory can't be read, written, or made.
    #[error("can't {action} {path}: {cause}: mend its permissions, or give another directory with --certs-dir", path = .path.display())]
    Unusable {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// Some of the files are there, and this one is not.
    #[error("{path} is missing, the others of its set are there: put it back, or move ca.crt, ca.key, tls.crt and tls.key away to have all four made anew", path = .path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is not one that a server of ours made.
    #[error("{path} {fault}: it is left as it is; serve it with --tls-cert and --tls-key, give another directory with --certs-dir, or move ca.crt, ca.key, tls.crt and tls.key away to have all four made anew", path = .path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// A key or certificate could not be made.
    #[error("can't make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
}

impl Files {
    /// The names of the files in `directory`.
    pub fn of(directory: &Path) -> Self {
        let file = |name| directory.join(name);
        Self {
            ca_certificate: file("ca.crt"),
            ca_key: file("ca.key"),
            certificate: file("tls.crt"),
            key: file("tls.key"),
        }
    }

    fn all(&self) -> [&Path; 4] {
        [&self.ca_certificate, &self.ca_key, &self.certificate, &self.key]
    }
}

/// Makes sure that `directory` holds a CA and a serving certificate of ours that are good at `now`.
/// Existing files are used again; only our own expired certificates are replaced.
pub fn ensure(directory: &Path, now: SystemTime) -> Result<(Files, Done), CertsError> {
    make_directory(directory)?;
    // Two servers that start at the same time don't make two CAs.
    let _lock = lock(directory)?;
    let files = Files::of(directory);
    let missing = files.all().into_iter().filter(|path| !is_there(path)).collect::<Vec<_>>();
    let done = match missing.first() {
        None => Found::read(&files)?.renew(&files, now)?,
        Some(_) if missing.len() == files.all().len() => make(&files, now)?,
        Some(path) => return Err(CertsError::Missing { path: (*path).to_owned() }),
    };
    Ok((files, done))
}

// A dangling link is there: it is not ours to replace.
fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn make_directory(directory: &Path) -> Result<(), CertsError> {
    if directory.is_dir() {
        return Ok(());
    }
    let made = DirBuilder::new().mode(0o700).recursive(true).create(directory);
    made.map_err(|cause| unusable("write", directory, cause))
}

fn lock(directory: &Path) -> Result<File, CertsError> {
    let lock = File::open(directory).and_then(|file| file.lock().map(|()| file));
    lock.map_err(|cause| unusable("read", directory, cause))
}

fn make(files: &Files, now: SystemTime) -> Result<Done, CertsError> {
    let (ca_key, key) = (issue::key()?, issue::key()?);
    let ca = issue::ca(&ca_key, now, CA_LIFE)?;
    let (ca_key_pem, key_pem) = (ca_key.serialize_pem(), key.serialize_pem());
    let certificate = issue::server(&key, &Issuer::from_ca_cert_pem(&ca, ca_key)?, now, SERVER_LIFE)?;
    write(&files.ca_key, &ca_key_pem, 0o600)?;
    write(&files.ca_certificate, &ca, 0o644)?;
    write(&files.key, &key_pem, 0o600)?;
    write(&files.certificate, &certificate, 0o644)?;
    Ok(Done::Made)
}

pub(super) fn read(path: &Path) -> Result<String, CertsError> {
    fs::read_to_string(path).map_err(|cause| unusable("read", path, cause))
}

/// Written beside its place, with its mode from the first byte on, and moved there when it is whole.
pub(super) fn write(path: &Path, content: &str, mode: u32) -> Result<(), CertsError> {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    let new = path.with_extension(format!("new-{}-{nanos}", std::process::id()));
    let written =
        OpenOptions::new().write(true).create_new(true).mode(mode).open(&new).and_then(|mut file| {
            file.write_all(content.as_bytes())?;
            file.sync_all()?;
            fs::rename(&new, path)
        });
    written.map_err(|cause| {
        // What could not be written whole is of no use to anybody; its loss is not the error to report.
        let _ = fs::remove_file(&new);
        unusable("write", path, cause)
    })
}

fn unusable(action: &'static str, path: &Path, cause: io::Error) -> CertsError {
    CertsError::Unusable { action, path: path.to_owned(), cause }
}

pub(super) fn foreign(path: &Path, fault: &'static str) -> CertsError {
    CertsError::Foreign { path: path.to_owned(), fault }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject;

    use super::*;
    use crate::pki::validity;

    const YEAR: Duration = Duration::from_hours(366 * 24);

    fn made() -> (tempfile::TempDir, Files) {
        let directory = tempfile::tempdir().unwrap();
        let (files, done) = ensure(directory.path(), SystemTime::now()).unwrap();
        assert_eq!(done, Done::Made);
        (directory, files)
    }

    fn contents(files: &Files) -> Vec<String> {
        files.all().iter().map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }

    /// That `spoil` leads to an error naming `file`, and that nothing on disk changes by it.
    fn refuses(file: &str, spoil: impl FnOnce(&Files)) -> String {
        let (directory, files) = made();
        spoil(&files);
        let before = contents(&files);
        let error = ensure(directory.path(), SystemTime::now()).unwrap_err().to_string();
        assert!(error.contains(&format!("/{file}")), "{error}");
        assert!(error.contains("--certs-dir") || error.contains("made anew"), "{error}");
        assert_eq!(contents(&files), before);
        error
    }

    #[test]
    fn files_are_made_once_and_keys_are_private() {
        let (directory, files) = made();
        let before = contents(&files);
        assert_eq!(ensure(directory.path(), SystemTime::now()).unwrap().1, Done::Reused);
        assert_eq!(contents(&files), before);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&files.ca_key), mode(&files.key)), (0o600, 0o600));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 4, "nothing else is left behind");
    }

    #[test]
    fn a_directory_that_is_made_is_private() {
        let directory = tempfile::tempdir().unwrap();
        let certs = directory.path().join("deep").join("certs");
        ensure(&certs, SystemTime::now()).unwrap();
        assert_eq!(fs::metadata(&certs).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn validity_begins_an_hour_ago() {
        let (_directory, files) = made();
        for path in [&files.ca_certificate, &files.certificate] {
            let der = CertificateDer::from_pem_file(path).unwrap();
            let validity = validity(&der).unwrap();
            assert!(!validity.has_not_begun(SystemTime::now() - Duration::from_mins(59)));
            assert!(validity.has_not_begun(SystemTime::now() - Duration::from_mins(61)));
        }
    }

    #[test]
    fn an_expired_certificate_is_made_anew_from_the_same_ca() {
        let (directory, files) = made();
        let before = contents(&files);
        let later = SystemTime::now() + YEAR;
        assert_eq!(ensure(directory.path(), later).unwrap().1, Done::RenewedCertificate);
        let after = contents(&files);
        assert_eq!((&before[0], &before[1], &before[3]), (&after[0], &after[1], &after[3]));
        assert_ne!(before[2], after[2]);
        assert_eq!(ensure(directory.path(), later).unwrap().1, Done::Reused);
    }

    #[test]
    fn an_expired_ca_is_made_anew_with_its_key() {
        let (directory, _) = made();
        let later = SystemTime::now() + YEAR * 11;
        assert_eq!(ensure(directory.path(), later).unwrap().1, Done::RenewedCa);
        assert_eq!(ensure(directory.path(), later).unwrap().1, Done::Reused);
    }

    #[test]
    fn a_missing_file_is_named() {
        for file in ["ca.crt", "ca.key", "tls.crt", "tls.key"] {
            refuses(file, |files| fs::remove_file(files.ca_key.with_file_name(file)).unwrap());
        }
    }

    #[test]
    fn a_file_that_is_no_certificate_or_key_is_named() {
        for file in ["ca.crt", "ca.key", "tls.crt", "tls.key"] {
            refuses(file, |files| fs::write(files.ca_key.with_file_name(file), "mine").unwrap());
        }
    }

    #[test]
    fn keys_and_certificates_of_another_set_are_named() {
        for file in ["ca.key", "tls.crt", "tls.key"] {
            let (_other_directory, other) = made();
            refuses(file, |files| {
                let to = files.ca_key.with_file_name(file);
                fs::copy(other.ca_key.with_file_name(file), to).unwrap();
            });
        }
        let (_other_directory, other) = made();
        refuses("tls.crt", |files| {
            fs::copy(&other.certificate, &files.certificate).unwrap();
            fs::copy(&other.key, &files.key).unwrap();
        });
    }

    #[test]
    fn somebody_elses_certificate_is_not_ours() {
        let error = refuses("ca.crt", |files| {
            let foreign = rcgen::generate_simple_self_signed(["elsewhere".to_owned()]).unwrap();
            fs::write(&files.ca_certificate, foreign.cert.pem()).unwrap();
        });
        assert!(error.contains("was not made by etcd-warden"), "{error}");
    }

    #[test]
    fn a_directory_that_is_a_file_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = ensure(&file.path().join("certs"), SystemTime::now()).unwrap_err().to_string();
        assert!(error.contains(file.path().to_str().unwrap()), "{error}");
    }
}
