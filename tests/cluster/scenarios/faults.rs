//! What holds a join up: named, with the remedy; nothing changes at the source meanwhile, and the join goes on by itself
//! where the cause is mended.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::certificates::{secrets, trust, with_tls};
use crate::harness::{
    Etcd, IMAGE_3_5, IMAGE_3_6, IMAGE_3_7, Installed, Namespace, Source, Writer, eventually, joining, spec,
};
use crate::support::pem::Authority;

const SOON: Duration = Duration::from_mins(2);

#[test]
fn a_spec_that_differs_foreign_data_a_stale_learner_and_a_dead_voter_are_named_and_mended() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::start(&shop, "src", 3, IMAGE_3_6);
    source.publish();
    let foreign = claim_with_foreign_data(&shop, "occupied");
    source.until_ready();
    let before = source.members();
    let writer = Writer::start(&shop, "http://src:2379", None);
    let right = source.bootstrap();
    let (mut fewer, mut renamed) = (right.clone(), right.clone());
    fewer["members"].as_array_mut().unwrap().pop();
    renamed["members"][0]["name"] = json!("source-zero");
    let create = |name: &str, bootstrap: &Value| Etcd::create(&shop, name, &joining(1, IMAGE_3_6, bootstrap));

    let (fewer, renamed) = (create("fewer", &fewer), create("renamed", &renamed));
    let occupied = create("occupied", &right);
    let lacks_one = ["0/1 joined", "src-2 (", "add it", "created anew", "[SourceDiffers]"];
    let misnames_one = ["src-0 (", "by the name source-zero", "created anew", "[SourceDiffers]"];
    fewer.until_held_up(&lacks_one);
    renamed.until_held_up(&misnames_one);
    occupied.until_held_up(&["holds data of member", &foreign, "delete the claim", "[ForeignData]"]);
    assert_eq!(source.members(), before);

    let late = waits_for_a_stale_learner(&source, &create);
    source.stop(2);
    remove_as_told(&source, &late);
    late.until_held_up(&["2 of 3 voters are well, and an add needs 3", "src-2 (", "[Unhealthy]"]);
    assert_eq!(source.members(), before);
    source.run(2, IMAGE_3_6);
    late.until_joined();

    occupied.lose_disk(0);
    occupied.until_joined();
    fewer.until_held_up(&lacks_one);
    renamed.until_held_up(&misnames_one);
    fewer.delete();
    fewer.until_gone();
    create("fewer", &right).until_joined();
    assert_eq!(late.voters(0), ["fewer-0", "late-0", "occupied-0", "src-0", "src-1", "src-2"]);
    assert_eq!(late.members(0).0, before.0);
    let (written, refused) = writer.nothing_is_lost_by(&late, 0);
    assert!(written > 10, "{written} writes; refused: {refused}");
}

/// Gives an Etcd's first pod a volume that another cluster has used. Returns that cluster's id.
fn claim_with_foreign_data(shop: &Namespace<'_>, etcd: &str) -> String {
    let claim = format!("{etcd}-{etcd}-0");
    let items = json!([
        {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}},
        },
        {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "stranger"},
            "spec": {
                "containers": [{
                    "name": "etcd", "image": IMAGE_3_6, "imagePullPolicy": "Never",
                    "command": ["etcd", "--name=stranger", "--data-dir=/data/new.etcd"],
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                }],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}],
            },
        },
    ]);
    shop.apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string());
    let list = eventually(SOON, "the other cluster answers", || {
        shop.exec("stranger", &["etcdctl", "member", "list", "--write-out=json"]).attempt()
    });
    shop.kubectl(&["delete", "pod", "stranger", "--now"]).ok();
    let list: Value = serde_json::from_str(&list).unwrap();
    format!("{:x}", list["header"]["cluster_id"].as_u64().unwrap())
}

/// An Etcd that finds a learner of nobody's at the source.
fn waits_for_a_stale_learner<'a>(
    source: &Source<'_>,
    create: &impl Fn(&str, &Value) -> Etcd<'a>,
) -> Etcd<'a> {
    let stale = ["member", "add", "stale", "--learner", "--peer-urls", "http://192.0.2.1:2380"];
    source.etcdctl(0, &stale);
    let with_it = source.members();
    let late = create("late", &source.bootstrap());
    late.until_held_up(&["is a learner", "etcdctl member remove", "[OtherLearner]"]);
    assert_eq!(source.members(), with_it, "it is left alone");
    late
}

/// Does what a message says about a learner.
fn remove_as_told(source: &Source<'_>, etcd: &Etcd<'_>) {
    let said = etcd.until_held_up(&["etcdctl member remove"]);
    let (_, command) = said.split_once("etcdctl ").unwrap();
    let command: Vec<&str> = command.split_whitespace().take(3).collect();
    source.etcdctl(0, &command);
}

#[test]
fn a_wrong_ca_and_a_certificate_that_the_source_refuses_are_named_and_new_secrets_are_enough() {
    let Some(installed) = Installed::looping() else { return };
    let [old, distrusting, distrusted] = [(); 3].map(|()| installed.namespace());
    let (authority, other) = (Authority::new("etcd's CA"), Authority::new("another CA"));
    secrets(&old, "main", &authority);
    secrets(&distrusting, "c2", &authority);
    trust(&distrusting, &[&other]);
    secrets(&distrusted, "c3", &other);
    trust(&distrusted, &[&authority]);
    let main = Etcd::create(&old, "main", &with_tls(spec(1, IMAGE_3_6)));
    main.until_ready();
    let before = main.members(0);
    let writer = Writer::start(&old, "https://main-client:2379", Some("client"));
    let endpoint = format!("https://main-client.{}.svc:2379", old.name);
    let bootstrap = json!({
        "members": [{"name": "main-0", "peerUrls": [format!("https://main-0.main-peer.{}.svc:2380", old.name)]}],
        "clientEndpoints": [endpoint],
    });
    let create = |shop, name| Etcd::create(shop, name, &with_tls(joining(1, IMAGE_3_6, &bootstrap)));
    let (c2, c3) = (create(&distrusting, "c2"), create(&distrusted, "c3"));
    let remedy = "compare the CA and the names in the certificates of both sides";
    c2.until_held_up(&["c2-0: waits for", &endpoint, "UnknownIssuer", remedy, "[Certificate]"]);
    c3.until_held_up(&["c3-0: waits for", &endpoint, "refuses this member's client certificate", remedy]);
    assert_eq!(main.members(0), before);

    for etcd in [&c2, &c3] {
        secrets(etcd.shop, &etcd.name, &authority);
        // The kubelet looks for new Secrets once a minute, and when the pod is written.
        etcd.shop.kubectl(&["annotate", "pod", &format!("{}-0", etcd.name), "secrets=new"]).ok();
    }
    c2.until_joined();
    c3.until_joined();
    assert_eq!(c2.voters(0), ["c2-0", "c3-0", "main-0"]);
    assert_eq!(c3.members(0), main.members(0));
    let (written, refused) = writer.nothing_is_lost_by(&c3, 0);
    assert!(written > 10, "{written} writes; refused: {refused}");
}

/// Once the source is one minor behind, its log may still begin with what the earlier minor wrote.
#[test]
fn a_source_two_minors_behind_is_left_alone_and_joined_by_an_etcd_that_is_created_anew() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 1, IMAGE_3_5);
    let before = source.members();
    let c2 = Etcd::create(&shop, "c2", &joining(1, IMAGE_3_7, &source.bootstrap()));
    let is_too_new = ["this image has etcd 3.7.", "oldest member 3.5.", "use an image of 3.5 or 3.6"];
    let remedies = ["created anew", "update the source to 3.6 first", "[Version]"];
    c2.until_held_up(&[is_too_new, remedies].concat());
    // Why the message doesn't just say: change the image.
    let lower = json!({"spec": {"etcd": {"image": IMAGE_3_6}}}).to_string();
    let refused = shop.kubectl(&["patch", "etcd", "c2", "--type=merge", "--patch", &lower]).refused();
    assert!(refused.contains("[image-minor-jump]"), "{refused}");
    assert_eq!(source.members(), before);

    source.run(0, IMAGE_3_6);
    c2.until_held_up(&["the log still holds what etcd 3.5 wrote", "3.6 is needed", "[Version]"]);
    assert_eq!(source.voters(), ["src-0"]);
    c2.delete();
    c2.until_gone();
    assert_eq!(source.members(), before);
    let c2 = Etcd::create(&shop, "c2", &joining(1, IMAGE_3_6, &source.bootstrap()));
    c2.until_joined();
    assert_eq!(c2.voters(0), ["c2-0", "src-0"]);
    assert_eq!((c2.members(0).0, source.members()), (before.0, c2.members(0)));
}
