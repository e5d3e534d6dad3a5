//! Certificates on peers and on clients, as etcd-druid's Secrets have them.

use std::fs;
use std::path::Path;

use etcd_warden::member::{Config, Report, Scheme, TlsFiles, Why};
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
    fn sign(&self, config: &Config, directory: &Path) {
        let hosts = (0..3).map(|ordinal| config.host(ordinal));
        let names = hosts.chain(["main-client.shop.svc".to_owned()]).collect::<Vec<_>>();
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
    signs.sign(&shop.config, &within(files.server));
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
    let waits = |report: &Report, words: &str| {
        let waiting = report.waiting.as_ref();
        waiting.is_some_and(|waiting| waiting.why == Why::Certificate && waiting.message.contains(words))
    };
    mount(&shop, &TlsFiles::CLIENT, &other, &clients);
    shop.start(1);
    shop.until(1, "distrusted the server", |report| waits(report, "UnknownIssuer")).await;
    // A running etcd reads its certificate anew, and its CA once: it refuses what the other one has signed.
    mount(&shop, &TlsFiles::CLIENT, &other, &other);
    shop.until(1, "was refused", |report| waits(report, "client certificate")).await;
    mount(&shop, &TlsFiles::CLIENT, &clients, &clients);
    assert_eq!(shop.members(&shop.client_url(0)), members);
}
