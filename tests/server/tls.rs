//! Versions, protocols, chains, clients, and certificates that change.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use etcd_warden::server::{Clients, Held, Source, TlsVersion};
use rustls::ProtocolVersion;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::version::{TLS12, TLS13};

use super::support::client::{Client, Options};
use super::support::pem::{Authority, HOUR, Pair, Volume};
use super::support::{Running, SOON, accepted, start, start_in, until};

/// The certificate that the server shows, in DER.
fn shown(client: &Client) -> Vec<u8> {
    client.stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

fn der(pair: &Pair) -> Vec<u8> {
    CertificateDer::from_pem_slice(pair.chain.as_bytes()).unwrap().to_vec()
}

/// A server with certificates of a test's own.
fn start_with(authority: &Authority, pair: &Pair) -> Running {
    let directory = tempfile::tempdir().unwrap();
    let (certificate, key) = pair.write(directory.path(), "own");
    fs::write(directory.path().join("root.crt"), &authority.pem).unwrap();
    let mut server = start_in(directory, |config| {
        config.tls.source = Source::Files { certificate, key };
    });
    server.ca = server.directory.path().join("root.crt");
    server
}

async fn answers(client: &mut Client) -> bool {
    client.post("/validate", &accepted()).await.is_ok_and(|answer| answer.allowed())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_versions_are_spoken_unless_the_older_is_switched_off() {
    for (minimum, older) in [(TlsVersion::V1_2, true), (TlsVersion::V1_3, false)] {
        let server = start(|config| config.tls.minimum = minimum);
        for (version, protocol, spoken) in
            [(&TLS12, ProtocolVersion::TLSv1_2, older), (&TLS13, ProtocolVersion::TLSv1_3, true)]
        {
            let options = Options { versions: &[version], ..Options::new(&server.ca) };
            let client = options.connect(server.addresses.https).await;
            assert_eq!(client.is_ok(), spoken, "{protocol:?} with {minimum:?}");
            let Ok(mut client) = client else { continue };
            assert_eq!(client.stream.get_ref().1.protocol_version(), Some(protocol));
            assert!(answers(&mut client).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http_1_1_is_the_only_protocol() {
    let server = start(|_| {});
    for (offered, agreed) in [
        (["h2", "http/1.1"].as_slice(), Some(b"http/1.1".as_slice())),
        (&["http/1.1"], Some(b"http/1.1")),
        (&[], None),
    ] {
        let options = Options { alpn: offered, ..Options::new(&server.ca) };
        let mut client = options.connect(server.addresses.https).await.unwrap();
        assert_eq!(client.stream.get_ref().1.alpn_protocol(), agreed);
        assert!(answers(&mut client).await);
    }
    let options = Options { alpn: &["h2"], ..Options::new(&server.ca) };
    assert!(options.connect(server.addresses.https).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_is_served_with_its_intermediates() {
    let root = Authority::new("root");
    let between = root.below("between");
    let mut pair = between.sign("server");
    pair.chain.push_str(&between.pem);
    let server = start_with(&root, &pair);
    let mut client = Options::new(&server.ca).connect(server.addresses.https).await.unwrap();
    assert!(answers(&mut client).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_session_is_resumed() {
    let server = start(|_| {});
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(Options { versions: &[version], ..Options::new(&server.ca) }.config());
        for _ in 0..3 {
            let connecting = super::support::client::connect_with(
                Arc::clone(&config),
                "localhost",
                server.addresses.https,
            );
            let mut client = connecting.await.unwrap();
            assert!(answers(&mut client).await);
            let kind = client.stream.get_ref().1.handshake_kind();
            assert_eq!(kind, Some(rustls::HandshakeKind::Full));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_named_clients_of_the_ca_get_in() {
    let (ours, theirs) = (Authority::new("clients"), Authority::new("other"));
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().to_owned();
    fs::write(at.join("clients.crt"), &ours.pem).unwrap();
    let clients = Clients { ca: at.join("clients.crt"), names: vec!["kube-apiserver".into()] };
    let server = start_in(directory, |config| config.tls.clients = Some(clients));
    let named = ours.sign("kube-apiserver").write(&at, "named");
    let unnamed = ours.sign("somebody").write(&at, "unnamed");
    let foreign = theirs.sign("kube-apiserver").write(&at, "foreign");
    let (older, newer) = ([&TLS12], [&TLS13]);
    let gets_in = async |identity: Option<&(std::path::PathBuf, std::path::PathBuf)>, versions| {
        let identity = identity.map(|(chain, key)| (chain.as_path(), key.as_path()));
        let options = Options { versions, identity, ..Options::new(&server.ca) };
        // With TLS 1.3 the client learns of the refusal at its first read.
        match options.connect(server.addresses.https).await {
            Ok(mut client) => answers(&mut client).await,
            Err(_) => false,
        }
    };
    for versions in [older.as_slice(), &newer] {
        assert!(gets_in(Some(&named), versions).await);
        assert!(!gets_in(Some(&unnamed), versions).await);
        assert!(!gets_in(Some(&foreign), versions).await);
        assert!(!gets_in(None, versions).await);
    }
    assert_eq!(server.metric("etcd_warden_handshake_failures_total{reason=\"tls\"}").await, 6);
    // A CA that changes counts from the next handshake on.
    fs::write(at.join("clients.crt"), &theirs.pem).unwrap();
    until("the other CA counts", async || gets_in(Some(&foreign), newer.as_slice()).await).await;
    assert!(!gets_in(Some(&named), &newer).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_swapped_under_load_costs_no_request() {
    let root = Authority::new("root");
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("root.crt"), &root.pem).unwrap();
    let mut volume = Volume::new(directory.path().join("secret"), &root.sign("server"));
    let at = volume.directory.clone();
    let mut server = start_in(directory, |config| {
        config.tls.source = Source::Files { certificate: at.join("tls.crt"), key: at.join("tls.key") };
    });
    server.ca = server.directory.path().join("root.crt");
    let over = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|number| {
            tokio::spawn(load(number, server.addresses.https, server.ca.clone(), Arc::clone(&over)))
        })
        .collect();
    for _ in 0..50 {
        let pair = root.sign("server");
        volume.swap(&pair);
        until("the new certificate is served", async || {
            let client = Options::new(&server.ca).connect(server.addresses.https).await.unwrap();
            shown(&client) == der(&pair)
        })
        .await;
    }
    over.store(true, Ordering::SeqCst);
    for task in load {
        assert!(task.await.unwrap() > 0);
    }
    assert!(server.metric("certwatcher_read_certificate_total").await >= 50);
}

/// Posts until it is over, on kept connections (even numbers) or on new ones; the first failure ends the test.
async fn load(
    number: usize,
    https: std::net::SocketAddr,
    ca: std::path::PathBuf,
    over: Arc<AtomicBool>,
) -> usize {
    let mut client = Options::new(&ca).connect(https).await.unwrap();
    let mut answered = 0;
    while !over.load(Ordering::SeqCst) {
        assert!(client.post("/validate", &accepted()).await.unwrap().allowed());
        answered += 1;
        if number % 2 == 1 {
            client = Options::new(&ca).connect(https).await.unwrap();
        }
    }
    answered
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_from_memory_is_served_as_soon_as_there_is_one_to_the_clients_of_the_ca() {
    let (root, clients, held) = (Authority::new("root"), Authority::new("clients"), Held::default());
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("clients.crt");
    fs::write(&ca, &clients.pem).unwrap();
    let identity = clients.sign("kube-apiserver").write(directory.path(), "client");
    fs::write(directory.path().join("root.crt"), &root.pem).unwrap();
    let source = held.clone();
    let mut server = start_in(directory, |config| {
        config.tls.source = Source::Held(source);
        config.tls.poll = SOON;
        config.tls.clients = Some(Clients { ca, names: Vec::new() });
    });
    server.ca = server.directory.path().join("root.crt");
    assert!(Options::new(&server.ca).connect(server.addresses.https).await.is_err());
    let ready = server.probe("/readyz").await;
    assert_eq!((ready.status, ready.body.contains("no certificate is served yet")), (503, true), "{ready:?}");
    for name in ["first", "second"] {
        let pair = root.sign(name);
        held.serve(pair.chain.clone().into_bytes(), pair.key.clone().into_bytes().into());
        until("it is served", async || {
            let identity = Some((identity.0.as_path(), identity.1.as_path()));
            let options = Options { identity, ..Options::new(&server.ca) };
            let Ok(mut client) = options.connect(server.addresses.https).await else { return false };
            shown(&client) == der(&pair) && answers(&mut client).await
        })
        .await;
        let mut nobody = Options::new(&server.ca).connect(server.addresses.https).await.unwrap();
        assert!(!answers(&mut nobody).await, "a client without a certificate gets in");
        assert_eq!(server.probe("/readyz").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_written_pair_never_replaces_a_good_one() {
    let root = Authority::new("root");
    let (old, new) = (root.sign("old"), root.sign("new"));
    let server = start_with(&root, &old);
    let at = server.directory.path();
    let shows = async |pair: &Pair| {
        let client = Options::new(&server.ca).connect(server.addresses.https).await.unwrap();
        shown(&client) == der(pair)
    };
    let half = new.chain[..new.chain.len() / 2].to_owned();
    let spoilt: [(&str, &str); 4] =
        [("own.crt", &half), ("own.crt", ""), ("own.crt", &new.chain), ("own.key", "no key")];
    for (file, content) in spoilt {
        let before = server.metric("certwatcher_read_certificate_errors_total").await;
        fs::write(at.join(file), content).unwrap();
        until("the fault is counted", async || {
            server.metric("certwatcher_read_certificate_errors_total").await > before
        })
        .await;
        assert!(shows(&old).await, "{file}");
        assert_eq!(server.probe("/readyz").await.status, 200);
    }
    fs::remove_file(at.join("own.key")).unwrap();
    new.write(at, "own");
    until("the whole new pair is served", async || shows(&new).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_out_of_its_time_is_served_and_not_ready() {
    let (root, now) = (Authority::new("root"), SystemTime::now());
    let expired = root.sign_for("expired", now - HOUR * 2, now - HOUR);
    let early = root.sign_for("early", now + HOUR, now + HOUR * 2);
    for (pair, why) in [(&expired, "expired"), (&early, "not valid yet")] {
        let server = start_with(&root, pair);
        let ready = server.probe("/readyz").await;
        assert_eq!((ready.status, ready.body.contains(why)), (503, true), "{ready:?}");
        root.sign("good").write(server.directory.path(), "own");
        until("a good one makes it ready", async || server.probe("/readyz").await.status == 200).await;
    }
}
