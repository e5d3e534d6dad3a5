//! Certificates on peers and on clients, as etcd-druid's Secrets have them.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use etcd_warden::member::{Config, Scheme, TlsFiles, Why};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};

use super::shop::{Shop, etcd};

struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self { pem: params.self_signed(&key).unwrap().pem(), issuer: Issuer::new(params, key) }
    }

    /// One certificate for all members, which shows to servers and to clients.
    fn sign(&self, config: &Config, addresses: &[Ipv4Addr], directory: &Path) {
        let hosts = (0..3).map(|ordinal| config.host(ordinal));
        let addresses = addresses.iter().map(ToString::to_string);
        let names = hosts.chain(["main-client.shop.svc".to_owned()]).chain(addresses).collect::<Vec<_>>();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        fs::create_dir_all(directory).unwrap();
        fs::write(directory.join("tls.crt"), params.signed_by(&key, &self.issuer).unwrap().pem()).unwrap();
        fs::write(directory.join("tls.key"), key.serialize_pem()).unwrap();
    }
}

/// Writes an endpoint's Secrets, as they are mounted.
fn mount(shop: &Shop, files: &TlsFiles, trusted: &Authority, signs: &Authority) {
    let within = |path: &str| shop.secrets().join(path.trim_start_matches("/var/etcd/ssl/"));
    fs::create_dir_all(within(files.ca)).unwrap();
    fs::write(within(files.ca).join("ca.crt"), &trusted.pem).unwrap();
    let addresses: Vec<Ipv4Addr> = shop.source_addresses().collect();
    signs.sign(&shop.config, &addresses, &within(files.server));
}

/// Lets an endpoint trust several authorities.
fn trust(shop: &Shop, files: &TlsFiles, trusted: &[&Authority]) {
    let bundle: String = trusted.iter().map(|authority| authority.pem.as_str()).collect();
    let path = shop.secrets().join(files.ca.trim_start_matches("/var/etcd/ssl/")).join("ca.crt");
    fs::write(path, bundle).unwrap();
}

async fn with_tls(replicas: u32) -> Option<Shop> {
    let mut shop = Shop::open(replicas, &etcd("3.6")?).await;
    (shop.config.endpoints.peer_scheme, shop.config.endpoints.client_scheme) = (Scheme::Https, Scheme::Https);
    // Members of a test call from 127.0.0.1, whatever they listen on.
    shop.config.endpoints.skip_client_san_verification = true;
    shop.render();
    Some(shop)
}

#[tokio::test(flavor = "multi_thread")]
async fn three_members_form_with_tls_on_peers_and_clients() {
    let Some(mut shop) = with_tls(3).await else { return };
    let (peers, clients) = (Authority::new("peers"), Authority::new("clients"));
    mount(&shop, &TlsFiles::PEER, &peers, &peers);
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    shop.form().await;
    assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0", "main-1", "main-2"]);
    assert!(shop.probe(1, "/readyz").await.unwrap().starts_with("HTTP/1.1 200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn scaling_out_joins_with_tls() {
    let Some(mut shop) = with_tls(1).await else { return };
    let (peers, clients) = (Authority::new("peers"), Authority::new("clients"));
    mount(&shop, &TlsFiles::PEER, &peers, &peers);
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    let cluster = shop.form().await;
    shop.config.replicas = 2;
    shop.render();
    shop.start(1);
    assert_eq!(shop.until_voter(1).await.cluster, Some(cluster));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_joiner_with_a_wrong_ca_or_certificate_names_it_and_changes_nothing() {
    let Some(mut shop) = with_tls(1).await else { return };
    let (peers, clients, other) =
        (Authority::new("peers"), Authority::new("clients"), Authority::new("other"));
    mount(&shop, &TlsFiles::PEER, &peers, &peers);
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    shop.form().await;
    let members = shop.members(&shop.client_url(0));
    shop.config.replicas = 2;
    shop.render();
    mount(&shop, &TlsFiles::CLIENT, &other, &clients);
    shop.start(1);
    shop.until_waiting(1, Why::Certificate, &["UnknownIssuer"]).await;
    // A running etcd reads its certificate anew, and its CA once: it refuses what the other one has signed.
    mount(&shop, &TlsFiles::CLIENT, &other, &other);
    shop.until_waiting(1, Why::Certificate, &["client certificate"]).await;
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    assert_eq!(shop.members(&shop.client_url(0)), members);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_with_tls_is_joined() {
    let Some(mut shop) = with_tls(1).await else { return };
    let (peers, clients) = (Authority::new("peers"), Authority::new("clients"));
    mount(&shop, &TlsFiles::PEER, &peers, &peers);
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    let binary = shop.etcd.clone();
    shop.source(3, &binary).await;
    shop.start(0);
    shop.until_voter(0).await;
    assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0", "source-1", "source-2", "source-3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_joiner_that_peers_would_refuse_is_not_added_until_that_is_mended() {
    let Some(mut shop) = with_tls(1).await else { return };
    let (peers, clients, other) =
        (Authority::new("peers"), Authority::new("clients"), Authority::new("other"));
    mount(&shop, &TlsFiles::PEER, &peers, &peers);
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    let binary = shop.etcd.clone();
    shop.source(1, &binary).await;
    mount(&shop, &TlsFiles::PEER, &other, &peers);
    shop.start(0);
    // What it shows is signed by nobody that it trusts itself.
    shop.until_waiting(0, Why::Certificate, &["peer certificate of main-0", "UnknownIssuer"]).await;
    mount(&shop, &TlsFiles::PEER, &other, &other);
    shop.until_waiting(0, Why::Certificate, &["source-1", &shop.source_peer_url(1), "nothing was added"])
        .await;
    mount(&shop, &TlsFiles::PEER, &peers, &other);
    trust(&shop, &TlsFiles::PEER, &[&peers, &other]);
    shop.until_waiting(0, Why::Certificate, &["source-1", "refuses this member's peer certificate"]).await;
    assert_eq!(shop.members(&shop.source_url(1)), (vec!["source-1".to_owned()], Vec::new()));
    mount(&shop, &TlsFiles::PEER, &peers, &peers);
    shop.until_voter(0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_ca_is_reported_until_etcd_was_started_with_it() {
    let Some(mut shop) = with_tls(1).await else { return };
    let (peers, clients, next) = (Authority::new("peers"), Authority::new("clients"), Authority::new("next"));
    mount(&shop, &TlsFiles::PEER, &peers, &peers);
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    shop.form().await;
    assert!(!shop.report(0).unwrap().ca_changed);
    trust(&shop, &TlsFiles::CLIENT, &[&clients, &next]);
    shop.until(0, "reported the change", |report| report.ca_changed).await;
    shop.end(0, rustix::process::Signal::TERM);
    shop.start(0);
    assert!(!shop.until_voter(0).await.ca_changed);
    // Now etcd trusts what the other authority has signed.
    mount(&shop, &TlsFiles::CLIENT, &next, &next);
    trust(&shop, &TlsFiles::CLIENT, &[&clients, &next]);
    assert_eq!(shop.members(&shop.client_url(0)).0, ["main-0"]);
}
