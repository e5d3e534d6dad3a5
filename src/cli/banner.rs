//! What a person sees who just wants to try it: where it listens, and a line to paste.

use std::io::{self, IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

use crate::pki::{Done, Files};
use crate::server::Addresses;

/// A review of an Etcd that no etcd expert would let pass.
const REVIEW: &str = r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"try-it","kind":{"group":"druid.gardener.cloud","version":"v1alpha1","kind":"Etcd"},"resource":{"group":"druid.gardener.cloud","version":"v1alpha1","resource":"etcds"},"namespace":"default","name":"main","operation":"CREATE","userInfo":{"username":"me"},"object":{"apiVersion":"druid.gardener.cloud/v1alpha1","kind":"Etcd","metadata":{"name":"main","namespace":"default"},"spec":{"labels":{"app":"etcd"},"selector":{"matchLabels":{"app":"etcd"}},"etcd":{},"backup":{},"replicas":-1}}}}"#;

/// The lines for a server with certificates of its own making.
pub(super) fn banner(addresses: Addresses, files: &Files, done: Done) -> String {
    let Addresses { https, probes } = addresses;
    let certificates = match done {
        Done::Reused => "used again",
        Done::Made => "made",
        Done::RenewedCertificate => "the serving certificate had expired: made anew",
        Done::RenewedCa => "the CA had expired: made anew, clients must trust the new one",
    };
    let directory = files.ca_certificate.parent().unwrap_or_else(|| Path::new("."));
    format!(
        "etcd-warden listens on https://{https} (/validate, /mutate) and http://{probes} (/readyz, /metrics)\n\
         certificates in {directory}: {certificates}\n\
         try it:\n\n{curl}\n\n",
        directory = directory.display(),
        curl = curl(https, &files.ca_certificate),
    )
}

fn curl(https: SocketAddr, ca: &Path) -> String {
    let (ca, review) = (quote(&ca.to_string_lossy()), quote(REVIEW));
    let (target, resolve) = target(https);
    format!(
        "curl --cacert {ca}{resolve} -H 'Content-Type: application/json' -d {review} https://{target}/validate"
    )
}

/// A name that the certificate bears, and how curl finds the server by it where the name alone doesn't do.
fn target(https: SocketAddr) -> (String, String) {
    let port = https.port();
    match https.ip() {
        ip if ip.is_unspecified() => (SocketAddr::new(loopback(ip), port).to_string(), String::new()),
        IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => {
            (https.to_string(), String::new())
        }
        ip => (format!("localhost:{port}"), format!(" --resolve 'localhost:{port}:{}'", bracketed(ip))),
    }
}

fn loopback(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() }
}

fn bracketed(ip: IpAddr) -> String {
    if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() }
}

/// One word for a POSIX shell.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Prints `text` where people look and no program reads: standard output, unless that is the audit log of a
/// server that no person watches.
#[allow(clippy::print_stdout, reason = "what the command has to say")]
pub(super) fn print(text: &str, audit_on_stdout: bool) {
    let stdout = io::stdout();
    // Whoever closed the output does not want to read it.
    let _ = if audit_on_stdout && !stdout.is_terminal() {
        io::stderr().write_all(text.as_bytes())
    } else {
        stdout.lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_leads_to_the_server_by_a_name_of_its_certificate() {
        for (listen, part) in [
            ("127.0.0.1:9443", " https://127.0.0.1:9443/validate"),
            ("0.0.0.0:1234", " https://127.0.0.1:1234/validate"),
            ("[::]:1234", " https://[::1]:1234/validate"),
            ("[::1]:1234", " https://[::1]:1234/validate"),
            ("10.0.0.5:99", " --resolve 'localhost:99:10.0.0.5' "),
            ("127.0.0.2:99", " --resolve 'localhost:99:127.0.0.2' "),
            ("[fd00::5]:99", " --resolve 'localhost:99:[fd00::5]' "),
        ] {
            let line = curl(listen.parse().unwrap(), Path::new("certs/ca.crt"));
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn paths_are_one_word_to_the_shell() {
        assert_eq!(quote("it's here"), r"'it'\''s here'");
        assert!(serde_json::from_str::<serde_json::Value>(REVIEW).is_ok());
    }
}
