//! What holds for every review, whatever is in it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test; clippy knows only functions that are tests themselves"
)]

use base64::Engine;
use etcd_warden::admission::{Audited, NoReview, Outcome, Policy, review};
use etcd_warden::audit::Stage;
use etcd_warden::rules::Settings;
use proptest::prelude::*;
use serde_json::{Value, json};

#[path = "support/reviews.rs"]
#[allow(dead_code, reason = "each test program uses its part of what is shared")]
mod reviews;
use reviews::{create, delete, etcd, joining, update};

fn ask(stage: Stage, body: &[u8]) -> Result<Outcome, NoReview> {
    review(stage, body, &Policy::new(&Settings::default(), Audited::All))
}

fn answer(stage: Stage, review: &Value) -> Value {
    let body = review.to_string();
    let outcome = ask(stage, body.as_bytes()).expect("a review");
    serde_json::from_slice(&outcome.body).expect("JSON")
}

fn allowed(review: &Value) -> bool {
    answer(Stage::Validate, review)["response"]["allowed"] == json!(true)
}

/// The patch in an answer of `/mutate`, if there is one.
fn patch(answer: &Value) -> Option<Value> {
    let patch = answer["response"]["patch"].as_str()?;
    assert_eq!(answer["response"]["patchType"], json!("JSONPatch"));
    let bytes = base64::engine::general_purpose::STANDARD.decode(patch).expect("base64");
    Some(serde_json::from_slice(&bytes).expect("a patch"))
}

/// An object as the API server would have it after `/mutate`, by another library's reading of the patch.
fn mutated(review: &Value) -> Value {
    let mut object = review["request"]["object"].clone();
    if let Some(patch) = patch(&answer(Stage::Mutate, review)) {
        let patch: json_patch::Patch = serde_json::from_value(patch).expect("RFC 6902");
        json_patch::patch(&mut object, &patch).expect("a patch that applies");
    }
    object
}

/// Any JSON, a few levels deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("")),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-zA-Z/~]{0,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A place in an object, chosen by numbers.
fn place<'v>(value: &'v mut Value, path: &[usize]) -> &'v mut Value {
    let Some((step, rest)) = path.split_first() else { return value };
    let children = match value {
        Value::Object(map) => map.len(),
        Value::Array(list) => list.len(),
        _ => 0,
    };
    if children == 0 {
        return value;
    }
    let child = match value {
        Value::Object(map) => map.values_mut().nth(step % children),
        Value::Array(list) => list.get_mut(step % children),
        _ => None,
    };
    place(child.expect("counted"), rest)
}

/// A manifest of a joining Etcd in which something somewhere is replaced by anything.
fn damaged() -> impl Strategy<Value = Value> {
    (prop::collection::vec(any::<usize>(), 0..7), any_json()).prop_map(|(path, anything)| {
        let mut object = joining();
        *place(&mut object, &path) = anything;
        object
    })
}

/// The same, with the damage somewhere in `spec` or `status`.
fn damaged_below_the_root() -> impl Strategy<Value = Value> {
    (prop::collection::vec(any::<usize>(), 0..6), any_json(), any::<bool>()).prop_map(|(path, anything, below)| {
        let mut object = joining();
        object["status"] = json!({"conditions": [{"type": "BootstrappedWithExistingCluster", "status": "False"}],
            "members": [{"name": "main-0"}]});
        *place(&mut object[if below { "spec" } else { "status" }], &path) = anything;
        object
    })
}

/// One URL in one of its many spellings.
fn spelled() -> impl Strategy<Value = String> {
    let scheme = prop_oneof![Just("http"), Just("HTTP"), Just("Http"), Just("hTTp")];
    let host = prop_oneof![
        Just("src-0.example"),
        Just("SRC-0.Example"),
        Just("src-0.example."),
        Just("10.0.0.7"),
        Just("[2001:db8::7]"),
        Just("[2001:DB8:0:0:0:0:0:7]"),
        Just("[::ffff:10.0.0.7]"),
    ];
    let around = prop_oneof![Just(("", "")), Just((" ", "")), Just(("", "\n")), Just(("\t", " "))];
    (scheme, host, 1..4_u16, any::<bool>(), around).prop_map(
        |(scheme, host, port, slash, (before, after))| {
            format!("{before}{scheme}://{host}:{port}{}{after}", if slash { "/" } else { "" })
        },
    )
}

/// A manifest whose URLs are spelled in any way, and may stand twice.
fn oddly_spelled() -> impl Strategy<Value = Value> {
    let urls = || prop::collection::vec(spelled(), 1..4);
    (urls(), urls(), urls(), urls()).prop_map(|(first, second, endpoints, advertised)| {
        with_urls(&json!(first), &json!(second), &json!(endpoints), &json!(advertised))
    })
}

fn with_urls(first: &Value, second: &Value, endpoints: &Value, advertised: &Value) -> Value {
    let mut object = joining();
    let etcd = &mut object["spec"]["etcd"];
    etcd["bootstrapWithExistingCluster"] = json!({
        "members": [{"name": "src-0", "peerUrls": first}, {"name": "src-1", "peerUrls": second}],
        "clientEndpoints": endpoints,
    });
    etcd["additionalAdvertisePeerURLs"] = json!([{"memberName": "main-0", "urls": advertised}]);
    object
}

/// One spelling of the address of a host, which is a name, an IPv4 or an IPv6 address.
fn spelling(host: &'static str) -> impl Strategy<Value = String> {
    let around = prop_oneof![Just(("", "")), Just((" ", "")), Just(("", "\n")), Just(("\t", " "))];
    (any::<[bool; 4]>(), around).prop_map(move |([scheme, upper, dot, slash], (before, after))| {
        let scheme = if scheme { "HTTP" } else { "http" };
        let host = if upper { host.to_uppercase() } else { host.to_owned() };
        let dot = if dot && host.ends_with(['e', 'E']) { "." } else { "" };
        format!("{before}{scheme}://{host}{dot}:2380{}{after}", if slash { "/" } else { "" })
    })
}

/// One manifest in two spellings, with nothing wrong in it.
fn spelled_twice() -> impl Strategy<Value = [Value; 2]> {
    let manifest = || {
        let first = (spelling("a.example"), spelling("10.0.0.7"));
        let second = (spelling("[2001:db8::7]"), spelling("b.example"));
        let endpoints = (spelling("c.example"), spelling("[2001:db8::9]"));
        (first, second, endpoints, spelling("d.example")).prop_map(
            |(first, second, endpoints, advertised)| {
                let pair = |(one, two): (String, String)| json!([one, two]);
                with_urls(&pair(first), &pair(second), &pair(endpoints), &json!([advertised]))
            },
        )
    };
    (manifest(), manifest()).prop_map(|(one, two)| [one, two])
}

/// Leaves a field out, or sets it to one of a few values.
fn perhaps(
    path: &'static str,
    values: &[Value],
) -> impl Strategy<Value = Option<(&'static str, Value)>> + use<> {
    let values = values.to_vec();
    prop_oneof![Just(None), prop::sample::select(values).prop_map(move |value| Some((path, value)))]
}

/// A druid manifest that breaks no rule: any field may be there or not, with any value that fits it.
fn druid_manifest() -> impl Strategy<Value = Value> {
    let tls = json!({
        "tlsCASecretRef": {"name": "ca", "dataKey": "bundle.crt"},
        "serverTLSSecretRef": {"name": "server"},
        "clientTLSSecretRef": {"name": "client"},
    });
    let fields: Vec<BoxedStrategy<Option<(&'static str, Value)>>> = vec![
        perhaps("/spec/replicas", &[json!(0), json!(1), json!(3), json!(5), json!(2.0)]).boxed(),
        perhaps("/spec/annotations", &[json!({}), json!({"a.b/c": "any \u{e4}\n"}), Value::Null]).boxed(),
        perhaps("/spec/selector", &[Value::Null, json!({"matchLabels": {"a": "b"}})]).boxed(),
        perhaps("/spec/memberNamePrefix", &[json!("p"), json!("0-a")]).boxed(),
        perhaps("/spec/storageClass", &[json!(""), json!("fast")]).boxed(),
        perhaps("/spec/storageCapacity", &[json!("25Gi"), json!(21_474_836_480_i64), json!("5e10")]).boxed(),
        perhaps("/spec/volumeClaimTemplate", &[json!("main-etcd")]).boxed(),
        perhaps("/spec/priorityClassName", &[json!("high")]).boxed(),
        perhaps("/spec/runAsRoot", &[json!(true)]).boxed(),
        perhaps("/spec/schedulingConstraints", &[json!({"affinity": {"nodeAffinity": {}}})]).boxed(),
        perhaps("/spec/sharedConfig", &[
            json!({}), json!({"autoCompactionMode": "periodic"}), json!({"autoCompactionRetention": "30m"}),
            json!({"autoCompactionMode": "revision", "autoCompactionRetention": "1000"}),
            json!({"autoCompactionMode": "periodic", "autoCompactionRetention": "24"}),
        ]).boxed(),
        perhaps("/spec/etcd/quota", &[json!("8Gi"), json!("500M"), json!(1_000_000)]).boxed(),
        perhaps("/spec/etcd/snapshotCount", &[json!(1), json!(75_000)]).boxed(),
        perhaps("/spec/etcd/enableGRPCGateway", &[json!(true)]).boxed(),
        perhaps("/spec/etcd/defragmentationSchedule", &[json!("0 */24 * * *"), json!("*/57 23 30/31 6-12 2/7")]).boxed(),
        perhaps("/spec/etcd/serverPort", &[json!(2380), json!(12_380), json!(2380.0)]).boxed(),
        perhaps("/spec/etcd/clientPort", &[json!(2379), json!(65_535)]).boxed(),
        perhaps("/spec/etcd/wrapperPort", &[json!(9095), json!(1)]).boxed(),
        perhaps("/spec/etcd/image", &[json!("europe-docker.example/etcd-wrapper:v0.6.2"), json!("etcd@sha256:abc")]).boxed(),
        perhaps("/spec/etcd/metrics", &[json!("basic"), json!("extensive")]).boxed(),
        perhaps("/spec/etcd/resources", &[json!({"requests": {"cpu": "50m"}})]).boxed(),
        perhaps("/spec/etcd/clientUrlTls", std::slice::from_ref(&tls)).boxed(),
        perhaps("/spec/etcd/peerUrlTls", &[tls.clone(), json!({
            "tlsCASecretRef": {"name": "ca", "namespace": "test"}, "serverTLSSecretRef": {"name": "server", "namespace": ""},
            "skipClientSANVerification": true,
        })]).boxed(),
        perhaps("/spec/etcd/etcdDefragTimeout", &[json!("10h5m6m"), json!("1.5h"), json!("1\u{b5}s")]).boxed(),
        perhaps("/spec/etcd/heartbeatDuration", &[json!("10s")]).boxed(),
        perhaps("/spec/etcd/clientService", &[
            json!({}), json!({"labels": {"a": ""}, "annotations": {"Upper.Case/k": "v"}, "trafficDistribution": "PreferClose"}),
        ]).boxed(),
        perhaps("/spec/etcd/backendBboltFreelistType", &[json!("array"), json!("map")]).boxed(),
        perhaps("/spec/backup/port", &[json!(8080), json!(18_080)]).boxed(),
        perhaps("/spec/backup/tls", &[tls]).boxed(),
        perhaps("/spec/backup/store", &[
            json!({"prefix": ""}), json!({"prefix": "p", "provider": "stackit", "container": "a..b", "secretRef": {"name": "s"}}),
            json!({"prefix": "p", "provider": "local", "endpointOverride": "http://minio:9000/base"}),
        ]).boxed(),
        perhaps("/spec/backup/snapshotCompaction", &[json!({"eventsThreshold": 1, "triggerFullSnapshotThreshold": 3_000_000})]).boxed(),
        perhaps("/spec/backup/fullSnapshotSchedule", &[json!("* * * * 7"), json!("59-1 5-3 25-12 3-1 3-1")]).boxed(),
        perhaps("/spec/backup/garbageCollectionPolicy", &[json!("Exponential"), json!("LimitBased")]).boxed(),
        perhaps("/spec/backup/maxBackupsLimitBasedGC", &[json!(1)]).boxed(),
        perhaps("/spec/backup/garbageCollectionPeriod", &[json!("12h"), json!("0s")]).boxed(),
        perhaps("/spec/backup/deltaSnapshotPeriod", &[json!("300s"), json!("0h0m")]).boxed(),
        perhaps("/spec/backup/deltaSnapshotRetentionPeriod", &[json!("0s"), json!("24h")]).boxed(),
        perhaps("/spec/backup/deltaSnapshotMemoryLimit", &[json!("100Mi")]).boxed(),
        perhaps("/spec/backup/etcdSnapshotTimeout", &[json!("8m")]).boxed(),
        perhaps("/spec/backup/compression", &[json!({"enabled": false}), json!({"policy": "zlib"})]).boxed(),
        perhaps("/spec/backup/leaderElection", &[json!({"reelectionPeriod": "5s", "etcdConnectionTimeout": "5s"})]).boxed(),
    ];
    fields.prop_map(|fields| {
        let mut object = etcd();
        for (path, value) in fields.into_iter().flatten() {
            let (parent, field) = path.rsplit_once('/').expect("a path");
            object.pointer_mut(parent).expect("a parent")[field] = value;
        }
        object
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any bytes: no panic, and never an answer that allows.
    #[test]
    fn any_bytes_are_no_review(body in prop::collection::vec(any::<u8>(), 0..512)) {
        for stage in [Stage::Validate, Stage::Mutate] {
            prop_assert!(ask(stage, &body).is_err());
        }
    }

    /// A review with any bytes cut out of it or changed is no review, or is answered with its own uid.
    #[test]
    fn a_broken_review_is_none_or_keeps_its_uid(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()) {
        let mut body = create(&joining()).to_string().into_bytes();
        let at = at.index(body.len());
        if cut { body.truncate(at) } else { body[at] = byte }
        if let Ok(outcome) = ask(Stage::Validate, &body) {
            let answer: Value = serde_json::from_slice(&outcome.body).expect("JSON");
            let sent: Value = serde_json::from_slice(&body).expect("it was read");
            prop_assert_eq!(&answer["response"]["uid"], &sent["request"]["uid"]);
        }
    }

    /// Anything anywhere: the answer is a whole review with the uid, below 64 KiB; a refusal says why at a field.
    #[test]
    fn anything_anywhere_is_answered(object in damaged(), old in damaged()) {
        for review in [create(&object), update(&old, &object)] {
            let body = review.to_string();
            let Ok(outcome) = ask(Stage::Validate, body.as_bytes()) else { continue };
            prop_assert!(outcome.body.len() < 64 * 1024);
            let answer: Value = serde_json::from_slice(&outcome.body).expect("JSON");
            let response = &answer["response"];
            prop_assert_eq!(&response["uid"], &review["request"]["uid"]);
            if response["allowed"] == json!(false) {
                prop_assert!(!response["status"]["message"].as_str().expect("a message").is_empty());
                if response["status"]["code"] == json!(422) {
                    prop_assert!(!response["status"]["details"]["causes"].as_array().expect("causes").is_empty());
                }
            }
            let warnings = response["warnings"].as_array().cloned().unwrap_or_default();
            for warning in &warnings {
                let text = warning.as_str().expect("text");
                prop_assert!(text.chars().count() <= 256 && !text.chars().any(char::is_control), "{}", text);
                prop_assert!(text.ends_with(']'), "{}", text);
            }
        }
    }

    /// `/mutate` allows, its patch applies by another library's reading, and a second pass has nothing to do.
    #[test]
    fn a_patch_applies_and_is_idempotent(object in prop_oneof![damaged(), oddly_spelled()], old in oddly_spelled()) {
        for review in [create(&object), update(&old, &object)] {
            let first = answer(Stage::Mutate, &review);
            prop_assert_eq!(&first["response"]["allowed"], &json!(true));
            let mut again = review.clone();
            again["request"]["object"] = mutated(&review);
            prop_assert_eq!(patch(&answer(Stage::Mutate, &again)), None);
        }
    }

    /// Our own reading of a patch is the other library's.
    #[test]
    fn our_patches_mean_the_same_to_us(object in oddly_spelled(), old in oddly_spelled()) {
        let review = update(&old, &object);
        let body = review.to_string();
        let record = ask(Stage::Mutate, body.as_bytes()).expect("a review").record.expect("all are audited");
        prop_assert_eq!(record.manifest, Some(mutated(&review)));
    }

    /// Fields that nobody knows come through mutation as they are.
    #[test]
    fn unknown_fields_are_kept(mut object in oddly_spelled(), anything in any_json()) {
        object["spec"]["etcd"]["someday"] = anything.clone();
        object["spec"]["etcd"]["bootstrapWithExistingCluster"]["members"][1]["~/"] = anything.clone();
        let after = mutated(&create(&object));
        prop_assert_eq!(&after["spec"]["etcd"]["someday"], &anything);
        prop_assert_eq!(&after["spec"]["etcd"]["bootstrapWithExistingCluster"]["members"][1]["~/"], &anything);
    }

    /// A manifest that was accepted can be applied again, in the middle of the join and however it is spelled by
    /// then: nothing is refused and nothing changes. Also where server-side apply puts the new spelling beside
    /// the stored one.
    #[test]
    fn an_accepted_manifest_can_be_applied_again([first, second] in spelled_twice(), merged in any::<bool>()) {
        let stored = mutated(&create(&first));
        prop_assert!(allowed(&create(&stored)), "{}", answer(Stage::Validate, &create(&stored)));
        let mut again = second;
        if merged {
            merge_sets(&mut again, &stored);
        }
        let applied = mutated(&update(&stored, &again));
        prop_assert!(allowed(&update(&stored, &applied)), "{}", answer(Stage::Validate, &update(&stored, &applied)));
        prop_assert_eq!(applied["spec"].clone(), stored["spec"].clone());
    }

    /// A druid manifest that breaks no rule is accepted as it is: created, updated to itself, and left alone.
    #[test]
    fn a_druid_manifest_is_accepted_unchanged(object in druid_manifest()) {
        for review in [create(&object), update(&object, &object)] {
            prop_assert!(allowed(&review), "{}", answer(Stage::Validate, &review));
            prop_assert_eq!(patch(&answer(Stage::Mutate, &review)), None);
        }
        let unchanged = answer(Stage::Validate, &update(&object, &object));
        prop_assert_eq!(unchanged["response"].get("warnings"), None);
    }

    /// Whatever is wrong with an object already doesn't stand in the way of its labels, and an object that is
    /// terminating can always lose its finalizers.
    #[test]
    fn a_broken_object_can_be_labelled_and_deleted(mut object in damaged_below_the_root()) {
        let mut labelled = object.clone();
        labelled["metadata"]["labels"] = json!({"team": "storage"});
        let answered = answer(Stage::Validate, &update(&object, &labelled));
        prop_assert!(answered["response"]["allowed"] == json!(true), "{}", answered);
        prop_assert_eq!(answered["response"].get("warnings"), None);
        // Its members are gone: what holds that finalizer has its own rule.
        object["status"] = Value::Null;
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["metadata"]["finalizers"] = json!(["etcd-warden.dev/leave"]);
        let mut released = object.clone();
        released["metadata"]["finalizers"] = json!([]);
        prop_assert!(allowed(&update(&object, &released)));
        prop_assert!(allowed(&delete(&object)));
    }

    /// The causes of one review come in one order.
    #[test]
    fn causes_keep_their_order(object in damaged()) {
        let review = create(&object).to_string();
        let answers: Vec<Vec<u8>> = (0..4).filter_map(|_| ask(Stage::Validate, review.as_bytes()).ok()).map(|o| o.body).collect();
        prop_assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    }
}

/// Server-side apply of a list that is a set: what is stored, then what is new in the manifest.
fn merge_sets(manifest: &mut Value, stored: &Value) {
    let lists = [
        "/spec/etcd/bootstrapWithExistingCluster/clientEndpoints",
        "/spec/etcd/bootstrapWithExistingCluster/members/0/peerUrls",
        "/spec/etcd/bootstrapWithExistingCluster/members/1/peerUrls",
    ];
    for list in lists {
        let mut merged = stored.pointer(list).and_then(Value::as_array).cloned().expect("a list");
        let written = manifest.pointer_mut(list).expect("a list");
        for url in written.as_array().expect("a list") {
            if !merged.contains(url) {
                merged.push(url.clone());
            }
        }
        *written = Value::from(merged);
    }
}

#[test]
fn causes_keep_their_order_over_100_runs() {
    let mut object = etcd();
    object["spec"] = json!({
        "replicas": "x", "labels": {"b b": "c c", "a a": "", "ok": "?"}, "annotations": {"~": "", "!": ""},
        "etcd": {"serverPort": 0, "clientPort": -1, "wrapperPort": 70000, "metrics": "m", "quota": "q",
                 "heartbeatDuration": "h", "etcdDefragTimeout": "d", "snapshotCount": 0,
                 "bootstrapWithExistingCluster": {}},
        "backup": {"port": 0, "store": {}, "compression": {"policy": "p"}, "deltaSnapshotPeriod": "d"},
        "sharedConfig": {"autoCompactionMode": "m"},
    });
    let review = create(&object).to_string();
    let bodies: Vec<Vec<u8>> =
        (0..100).map(|_| ask(Stage::Validate, review.as_bytes()).expect("a review").body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]));
    let answer: Value = serde_json::from_slice(&bodies[0]).expect("JSON");
    assert_eq!(answer["response"]["status"]["details"]["causes"].as_array().expect("causes").len(), 22);
}

#[test]
fn ten_thousand_violations_are_answered_below_64_kib() {
    let members: Vec<Value> =
        (0..10_000).map(|i| json!({"name": format!("UPPER-{i}\u{1b}\""), "peerUrls": ["x"]})).collect();
    let mut object = joining();
    object["spec"]["etcd"]["bootstrapWithExistingCluster"]["members"] = json!(members);
    let body = create(&object).to_string();
    let outcome = ask(Stage::Validate, body.as_bytes()).expect("a review");
    assert!(outcome.body.len() < 64 * 1024, "{} bytes", outcome.body.len());
    let answer: Value = serde_json::from_slice(&outcome.body).expect("JSON");
    let causes = answer["response"]["status"]["details"]["causes"].as_array().expect("causes");
    let last = causes.last().expect("a cause")["message"].as_str().expect("text");
    let told: usize = last.split(' ').next().expect("a number").parse().expect("a number");
    assert_eq!(told + causes.len() - 1, 20_001, "TooMany, and name and URL of each member");
}
