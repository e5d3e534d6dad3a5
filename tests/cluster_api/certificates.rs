//! CA, leaves and bundles.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use etcd_warden::kubernetes::Cluster;
use etcd_warden::pki::managed::{Access, Keeper, Leaf, Leaves, Metrics, Settings, State, Status};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::api::{Api, Reserved, kubeconfig};
use super::support::{SOON, STEP, until};

pub const SECRET: &str = "/api/v1/namespaces/warden/secrets/etcd-warden-ca";
pub const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/etcd-warden";
pub const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/etcd-warden";
const HOUR: Duration = Duration::from_hours(1);

fn settings() -> Settings {
    Settings {
        namespace: "warden".to_owned(),
        secret: "etcd-warden-ca".to_owned(),
        service: "etcd-warden".to_owned(),
        configuration: "etcd-warden".to_owned(),
        ca_life: 9 * HOUR,
        leaf_life: HOUR,
        settle: Duration::from_millis(300),
    }
}

/// Both configurations, as manifests install them.
pub fn install(api: &Api) {
    for (path, hooks) in [(VALIDATING, ["etcds", "status"].as_slice()), (MUTATING, &["etcds"])] {
        let webhooks: Vec<Value> = hooks
            .iter()
            .map(|name| json!({"name": name, "clientConfig": {"service": {"name": "etcd-warden", "namespace": "warden"}}}))
            .collect();
        api.put(path, json!({"metadata": {"name": "etcd-warden"}, "webhooks": webhooks}));
    }
}

/// Replicas over an API server; each has its keeper, as if it led, and its leaves.
struct Replica {
    status: Arc<Status>,
    served: Arc<Mutex<Vec<Leaf>>>,
    stop: CancellationToken,
    _tasks: Vec<AbortOnDropHandle<()>>,
}

impl Replica {
    async fn start(api: &Fixture, settings: Settings, leads: bool) -> Self {
        let client = Cluster::connect(Some(&api.kubeconfig)).await.unwrap().unwrap().client;
        let (status, stop) = (Arc::new(Status::new(Metrics::default())), CancellationToken::new());
        let access = Access::new(client, settings, "replica".to_owned());
        let served = Arc::new(Mutex::new(Vec::new()));
        let serve = Arc::clone(&served);
        let leaves =
            Leaves::new(access.clone(), Arc::clone(&status), move |leaf| serve.lock().unwrap().push(leaf));
        let token = stop.clone();
        let mut tasks = vec![tokio::spawn(async move { leaves.run(token).await.unwrap() })];
        if leads {
            tasks.push(tokio::spawn(Keeper::new(access, Arc::clone(&status)).run(stop.clone())));
        }
        let tasks = tasks.into_iter().map(AbortOnDropHandle::new).collect();
        Self { status, served, stop, _tasks: tasks }
    }

    fn leaf(&self) -> Option<Leaf> {
        self.served.lock().unwrap().last().cloned()
    }

    /// Waits until nothing is left to be looked after.
    async fn is_well(&self) {
        let good = async || self.status.state() == State::Good;
        let end = Instant::now() + SOON;
        while !good().await {
            assert!(Instant::now() < end, "{}", self.says());
            tokio::time::sleep(STEP).await;
        }
    }

    fn says(&self) -> String {
        format!("{:?}", self.status.state())
    }
}

struct Fixture {
    api: Api,
    kubeconfig: std::path::PathBuf,
    _directory: tempfile::TempDir,
}

impl Fixture {
    fn start() -> Self {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let (directory, port) = (tempfile::tempdir().unwrap(), Reserved::new());
        let kubeconfig = kubeconfig(directory.path(), port.address());
        Self { api: port.listen(), kubeconfig, _directory: directory }
    }

    fn bundles(&self) -> Vec<Vec<u8>> {
        let hooks = [VALIDATING, MUTATING].into_iter().filter_map(|path| self.api.get(path));
        hooks
            .flat_map(|object| object["webhooks"].as_array().unwrap().clone())
            .map(|hook| {
                let bundle = hook["clientConfig"]["caBundle"].as_str().unwrap_or_default().to_owned();
                STANDARD.decode(bundle).unwrap()
            })
            .collect()
    }

    fn secret(&self, field: &str) -> Option<Vec<u8>> {
        let secret = self.api.get(SECRET)?;
        Some(STANDARD.decode(secret["data"][field].as_str()?).unwrap())
    }
}

/// What an API server does with a bundle and a certificate.
fn trusts(bundle: &[u8], leaf: &Leaf) -> bool {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok) {
        roots.add(certificate).unwrap();
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let Ok(verifier) = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build() else {
        return false;
    };
    let leaf = CertificateDer::from_pem_slice(leaf.certificate.as_bytes()).unwrap();
    let name = ServerName::try_from("etcd-warden.warden.svc").unwrap();
    verifier.verify_server_cert(&leaf, &[], &name, &[], UnixTime::now()).is_ok()
}

fn number_in(bundle: &[u8]) -> usize {
    CertificateDer::pem_slice_iter(bundle).count()
}

/// A CA as etcd-warden makes it, good from and to these times.
fn authority(name: &str, from: SystemTime, to: SystemTime) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.distinguished_name.push(DnType::CommonName, name);
    (params.not_before, params.not_after) = (from.into(), to.into());
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

const OURS: &str = "etcd-warden webhook CA";

fn put_secret(api: &Api, data: &[(&str, &str)]) {
    let data: serde_json::Map<String, Value> =
        data.iter().map(|(field, text)| ((*field).to_owned(), json!(STANDARD.encode(text)))).collect();
    api.put(SECRET, json!({"metadata": {"name": "etcd-warden-ca", "namespace": "warden"}, "data": data}));
}

#[tokio::test]
async fn the_first_start_serves_as_soon_as_the_bundles_are_written() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let replica = Replica::start(&fixture, settings(), true).await;
    replica.is_well().await;
    let leaf = replica.leaf().unwrap();
    assert_eq!(fixture.bundles().len(), 3);
    assert!(fixture.bundles().iter().all(|bundle| trusts(bundle, &leaf) && number_in(bundle) == 1));
    let service = &fixture.api.get(VALIDATING).unwrap()["webhooks"][1]["clientConfig"]["service"];
    assert_eq!(service["name"], "etcd-warden", "nothing else is touched");
    assert_eq!(fixture.api.writes("secrets"), 1);
}

#[tokio::test]
async fn nothing_is_written_while_nothing_happens() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let replica = Replica::start(&fixture, settings(), true).await;
    replica.is_well().await;
    let writes = fixture.api.writes("");
    // Ten rounds of this keeper.
    tokio::time::sleep(settings().settle * 10 / 4).await;
    assert_eq!(fixture.api.writes(""), writes);
}

#[tokio::test]
async fn an_empty_secret_is_filled_without_the_right_to_create_one() {
    let fixture = Fixture::start();
    install(&fixture.api);
    fixture.api.forbid("create", "secrets");
    put_secret(&fixture.api, &[]);
    let replica = Replica::start(&fixture, settings(), true).await;
    replica.is_well().await;
}

#[tokio::test]
async fn a_secret_that_is_broken_or_foreign_is_left_alone_and_the_way_out_is_said() {
    let now = SystemTime::now();
    let (ours, key) = authority(OURS, now - HOUR, now + HOUR);
    let (foreign, foreign_key) = authority("elsewhere", now - HOUR, now + HOUR);
    for (data, said) in [
        ([("ca.crt", "mine"), ("ca.key", key.as_str())], "ca.crt holds no readable certificate"),
        (
            [("ca.crt", &foreign), ("ca.key", &foreign_key)],
            "ca.crt holds a certificate that etcd-warden did not make",
        ),
        ([("ca.crt", &ours), ("ca.key", &foreign_key)], "ca.key does not belong"),
        ([("tls.crt", &ours), ("tls.key", &key)], "tls.crt is nothing that etcd-warden wrote"),
    ] {
        let fixture = Fixture::start();
        install(&fixture.api);
        put_secret(&fixture.api, &data);
        let before = fixture.api.get(SECRET);
        let replica = Replica::start(&fixture, settings(), true).await;
        until(said, async || replica.says().contains(said)).await;
        assert!(
            replica.says().contains("kubectl -n warden patch secret etcd-warden-ca"),
            "{}",
            replica.says()
        );
        assert_eq!(fixture.api.get(SECRET), before);
        fixture.api.delete(SECRET);
        until("it recovers when the Secret is gone", async || replica.status.state() == State::Good).await;
    }
}

#[tokio::test]
async fn an_expired_ca_of_ours_is_made_anew() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let (pem, key) = authority(OURS, SystemTime::now() - 9 * HOUR, SystemTime::now() - HOUR);
    put_secret(&fixture.api, &[("ca.crt", &pem), ("ca.key", &key)]);
    let replica = Replica::start(&fixture, settings(), true).await;
    replica.is_well().await;
    assert_ne!(fixture.secret("ca.crt").unwrap(), pem.into_bytes());
    assert!(fixture.bundles().iter().all(|bundle| trusts(bundle, &replica.leaf().unwrap())));
}

#[tokio::test]
async fn a_clock_before_the_ca_began_is_said_and_borne() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let (pem, key) = authority(OURS, SystemTime::now() + HOUR, SystemTime::now() + 99 * HOUR);
    put_secret(&fixture.api, &[("ca.crt", &pem), ("ca.key", &key)]);
    let replica = Replica::start(&fixture, settings(), true).await;
    until("it is said", async || {
        replica.says().contains("Degraded") && replica.says().contains("clock is behind")
    })
    .await;
    assert!(replica.leaf().is_some());
    assert_eq!(fixture.api.writes("secrets"), 0);
}

#[tokio::test]
async fn a_deleted_secret_costs_no_trust_in_what_is_served() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let replica =
        Replica::start(&fixture, Settings { leaf_life: Duration::from_secs(4), ..settings() }, true).await;
    replica.is_well().await;
    let first = fixture.secret("ca.crt").unwrap();
    fixture.api.delete(SECRET);
    let trusted = async || {
        let leaf = replica.leaf().unwrap();
        assert!(
            fixture.bundles().iter().all(|bundle| trusts(bundle, &leaf)),
            "what is served is not trusted"
        );
        fixture.secret("ca.crt").is_some_and(|current| current != first)
    };
    until("another CA signs", trusted).await;
    let old = replica.leaf().unwrap();
    until("a leaf of the other CA is served", async || trusted().await && replica.leaf().unwrap() != old)
        .await;
}

#[tokio::test]
async fn a_leaf_is_kept_while_the_configurations_do_not_trust_the_ca_that_signs_now() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let settings = Settings { leaf_life: Duration::from_secs(8), ..settings() };
    let leader = Replica::start(&fixture, settings.clone(), true).await;
    let replica = Replica::start(&fixture, settings, false).await;
    leader.is_well().await;
    replica.is_well().await;
    leader.stop.cancel();
    let (pem, key) = authority(OURS, SystemTime::now() - HOUR, SystemTime::now() + 9 * HOUR);
    put_secret(&fixture.api, &[("ca.crt", &pem), ("ca.key", &key)]);
    until("it is said", async || replica.says().contains("the old leaf is kept")).await;
    let leaf = replica.leaf().unwrap();
    assert!(fixture.bundles().iter().all(|bundle| trusts(bundle, &leaf)));
}

#[tokio::test]
async fn rotations_never_serve_what_is_not_trusted() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let settle = Duration::from_millis(500);
    let settings =
        Settings { ca_life: Duration::from_secs(4), leaf_life: Duration::from_secs(2), settle, ..settings() };
    let replicas = [
        Replica::start(&fixture, settings.clone(), true).await,
        Replica::start(&fixture, settings, false).await,
    ];
    until("both serve", async || replicas.iter().all(|replica| replica.leaf().is_some())).await;
    until("both are trusted", async || replicas.iter().all(|replica| replica.status.state() == State::Good))
        .await;
    let (mut announced, mut signing, mut rotations) =
        (None::<(Vec<u8>, Instant)>, fixture.secret("ca.crt").unwrap(), 0);
    until("three rotations", async || {
        for replica in &replicas {
            let leaf = replica.leaf().unwrap();
            assert!(fixture.bundles().iter().all(|bundle| trusts(bundle, &leaf)), "not trusted");
        }
        if let Some(next) = fixture.secret("next.crt")
            && announced.as_ref().is_none_or(|(known, _)| *known != next)
        {
            announced = Some((next, Instant::now()));
        }
        if let Some(current) = fixture.secret("ca.crt")
            && current != signing
        {
            let (next, since) = announced.as_ref().expect("announced first");
            assert_eq!(*next, current, "what was announced signs");
            assert!(since.elapsed() + Duration::from_millis(50) >= settle, "after {:?}", since.elapsed());
            (signing, rotations) = (current, rotations + 1);
        }
        rotations == 3
    })
    .await;
    assert!(fixture.bundles().iter().all(|bundle| number_in(bundle) <= 3), "expired CAs are forgotten");
    for replica in &replicas {
        assert!(replica.served.lock().unwrap().len() > 3, "leaves are renewed");
        replica.stop.cancel();
    }
}

#[tokio::test]
async fn two_keepers_at_once_leave_one_ca() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let replicas =
        [Replica::start(&fixture, settings(), true).await, Replica::start(&fixture, settings(), true).await];
    until("both are well", async || replicas.iter().all(|replica| replica.status.state() == State::Good))
        .await;
    assert_eq!(fixture.api.writes("create /api/v1/namespaces/warden/secrets"), 1);
    for replica in &replicas {
        let leaf = replica.leaf().unwrap();
        assert!(fixture.bundles().iter().all(|bundle| trusts(bundle, &leaf) && number_in(bundle) == 1));
    }
}

fn overwrite(api: &Api) {
    let mut object = api.get(VALIDATING).unwrap();
    object["webhooks"][0]["clientConfig"]["caBundle"] = json!(STANDARD.encode("overwritten"));
    object["metadata"]["managedFields"] = json!([{
        "manager": "argocd", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:webhooks": {"k:{\"name\":\"etcds\"}": {"f:clientConfig": {"f:caBundle": {}}}}}
    }]);
    api.put(VALIDATING, object);
}

#[tokio::test]
async fn an_overwritten_bundle_is_put_right_and_who_fights_is_told() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let replica = Replica::start(&fixture, settings(), true).await;
    replica.is_well().await;
    let right = fixture.bundles();
    for _ in 0..3 {
        overwrite(&fixture.api);
        until("it is put right", async || fixture.bundles() == right).await;
    }
    until("an event names the manager", async || {
        let events = fixture.api.below("/apis/events.k8s.io/v1/namespaces/default/events/");
        events.iter().any(|event| {
            event["note"].as_str().unwrap_or_default().contains("\"argocd\" (Apply)")
                && event["regarding"]["kind"] == "ValidatingWebhookConfiguration"
        })
    })
    .await;
    overwrite(&fixture.api);
    until("the fight is said", async || replica.says().contains("again and again by field manager")).await;
    assert_ne!(fixture.bundles(), right, "the fourth repair waits");
    until("it is put right later", async || fixture.bundles() == right).await;
    until("an event says so, beside the earlier ones", async || {
        let events = fixture.api.below("/apis/events.k8s.io/v1/namespaces/default/events/");
        events.iter().any(|event| event["note"].as_str().unwrap_or_default().contains("again and again"))
    })
    .await;
}

#[tokio::test]
async fn a_configuration_that_is_gone_is_said_and_filled_when_it_is_back() {
    let fixture = Fixture::start();
    install(&fixture.api);
    let replica = Replica::start(&fixture, settings(), true).await;
    replica.is_well().await;
    fixture.api.delete(MUTATING);
    until("it is said", async || {
        replica.says().contains("Degraded") && replica.says().contains("MutatingWebhookConfiguration")
    })
    .await;
    install(&fixture.api);
    let leaf = replica.leaf().unwrap();
    until("both are filled", async || fixture.bundles().iter().all(|bundle| trusts(bundle, &leaf))).await;
    replica.is_well().await;
}

#[tokio::test]
async fn a_missing_permission_is_named_and_the_rest_goes_on() {
    for (verb, plural, object) in [
        (
            "patch",
            "validatingwebhookconfigurations",
            "patch validatingwebhookconfigurations.admissionregistration.k8s.io \\\"etcd-warden\\\"",
        ),
        ("get", "secrets", "get secrets \\\"etcd-warden-ca\\\" in namespace \\\"warden\\\""),
        ("create", "secrets", "create secrets \\\"etcd-warden-ca\\\" in namespace \\\"warden\\\""),
        (
            "watch",
            "mutatingwebhookconfigurations",
            "list and watch mutatingwebhookconfigurations.admissionregistration.k8s.io \\\"etcd-warden\\\"",
        ),
    ] {
        let fixture = Fixture::start();
        install(&fixture.api);
        fixture.api.forbid(verb, plural);
        let replica = Replica::start(&fixture, settings(), true).await;
        until(object, async || replica.says().contains(object)).await;
        assert!(replica.says().contains("no permission: grant the verb"), "{}", replica.says());
        let mutating =
            || fixture.api.get(MUTATING).unwrap()["webhooks"][0]["clientConfig"]["caBundle"].clone();
        if verb == "patch" {
            until("the other is filled all the same", async || mutating().is_string()).await;
        }
        fixture.api.allow_all();
        until("it recovers", async || replica.status.state() == State::Good).await;
    }
}
