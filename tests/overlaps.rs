//! Where rules meet: one mistake is one violation, what was so before doesn't count, and what is final speaks where
//! other rules are waived.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, reason = "a test")]

use etcd_warden::admission::{Audited, Policy, review};
use etcd_warden::audit::Stage;
use etcd_warden::rules::Settings;
use serde_json::{Value, json};

#[path = "support/reviews.rs"]
#[allow(dead_code, reason = "each test program uses its part of what is shared")]
mod reviews;
use reviews::{create, delete, etcd, joining, update};

fn answer(stage: Stage, review: &Value, settings: &Settings) -> Value {
    let body = review.to_string();
    let outcome =
        self::review(stage, body.as_bytes(), &Policy::new(settings, Audited::Rejections)).expect("a review");
    assert!(outcome.body.len() < 64 * 1024, "{} bytes", outcome.body.len());
    serde_json::from_slice(&outcome.body).expect("JSON")
}

/// The violations in an answer, as `rule@field`; none where it allows.
fn violations(review: &Value) -> Vec<String> {
    let answer = answer(Stage::Validate, review, &Settings::default());
    let causes = answer["response"]["status"]["details"]["causes"].as_array().cloned().unwrap_or_default();
    assert_eq!(answer["response"]["allowed"], json!(causes.is_empty()), "{answer}");
    let rule = |message: &str| message.rsplit_once('[').expect("a rule").1.trim_end_matches(']').to_owned();
    causes
        .iter()
        .map(|cause| {
            format!(
                "{}@{}",
                rule(cause["message"].as_str().expect("text")),
                cause["field"].as_str().unwrap_or_default()
            )
        })
        .collect()
}

fn warnings(review: &Value, settings: &Settings) -> Vec<String> {
    let warnings = answer(Stage::Validate, review, settings)["response"]["warnings"].as_array().cloned();
    warnings.unwrap_or_default().iter().map(|text| text.as_str().expect("text").to_owned()).collect()
}

/// An object with values set at places; a value of `null` is as good as none.
fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (path, value) in changes {
        let (parent, field) = path.rsplit_once('/').expect("a path");
        let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"));
        match parent {
            Value::Array(list) => list[field.parse::<usize>().expect("an index")] = value.clone(),
            object => object[field] = value.clone(),
        }
    }
    object
}

const B: &str = "/spec/etcd/bootstrapWithExistingCluster";

fn complete(object: Value) -> Value {
    let condition = json!([{"type": "BootstrappedWithExistingCluster", "status": "True"}]);
    with(object, &[("/status", json!({"conditions": condition}))])
}

fn advertising(object: Value, member: &str) -> Value {
    let entry = json!([{"memberName": member, "urls": ["http://203.0.113.7:2380"]}]);
    with(object, &[("/spec/etcd/additionalAdvertisePeerURLs", entry)])
}

#[test]
fn one_mistake_is_one_violation_on_create() {
    let own = "http://main-0.main-peer.test.svc:2380";
    for (what, object, expected) in [
        (
            "a prefix of the wrong type says nothing of member names",
            with(advertising(etcd(), "p-main-0"), &[("/spec/memberNamePrefix", json!(5))]),
            vec!["type@spec.memberNamePrefix"],
        ),
        (
            "neither does one that is no label",
            with(advertising(etcd(), "main-0"), &[("/spec/memberNamePrefix", json!(""))]),
            vec!["member-name-prefix@spec.memberNamePrefix"],
        ),
        (
            "a name that is too long isn't too long twice",
            with(
                etcd(),
                &[("/metadata/name", json!("n".repeat(60))), ("/spec/memberNamePrefix", json!("p"))],
            ),
            vec!["name@metadata.name"],
        ),
        (
            "an own address that is advertised too is one address",
            with(
                joining(),
                &[
                    (&format!("{B}/members/0/peerUrls"), json!([own])),
                    (
                        "/spec/etcd/additionalAdvertisePeerURLs",
                        json!([{"memberName": "main-0", "urls": [own]}]),
                    ),
                ],
            ),
            vec!["bootstrap-peer-url-own@spec.etcd.bootstrapWithExistingCluster.members[0].peerUrls[0]"],
        ),
        (
            "a missing block has no default port",
            with(etcd(), &[("/spec/backup", Value::Null), ("/spec/etcd/serverPort", json!(8080))]),
            vec!["required@spec.backup"],
        ),
    ] {
        assert_eq!(violations(&create(&object)), expected, "{what}");
    }
}

#[test]
fn one_mistake_is_one_violation_on_update() {
    let five = with(advertising(etcd(), "main-4"), &[("/spec/replicas", json!(5))]);
    let prefixed = with(advertising(etcd(), "p-main-0"), &[("/spec/memberNamePrefix", json!("p"))]);
    let collides = with(
        complete(joining()),
        &[
            ("/spec/memberNamePrefix", json!("p")),
            ("/spec/etcd/additionalAdvertisePeerURLs", Value::Null),
            (&format!("{B}/members/0/name"), json!("main-0")),
        ],
    );
    let held = with(
        etcd(),
        &[
            ("/metadata/finalizers", json!(["etcd-warden.dev/leave"])),
            ("/status", json!({"members": [{"name": "main-0"}]})),
        ],
    );
    for (what, old, change, expected) in [
        (
            "shrunk beyond an advertised member",
            &five,
            ("/spec/replicas", json!(3)),
            "replicas-no-shrink@spec.replicas",
        ),
        (
            "a prefix removed under an advertised member",
            &prefixed,
            ("/spec/memberNamePrefix", Value::Null),
            "member-name-prefix-immutable@spec.memberNamePrefix",
        ),
        (
            "a prefix removed beside a source member",
            &collides,
            ("/spec/memberNamePrefix", Value::Null),
            "member-name-prefix-immutable@spec.memberNamePrefix",
        ),
        (
            "finalizers of the wrong type",
            &held,
            ("/metadata/finalizers", json!("x")),
            "type@metadata.finalizers",
        ),
    ] {
        assert_eq!(violations(&update(old, &with(old.clone(), &[change]))), [expected], "{what}");
    }
}

#[test]
fn what_cant_be_read_is_warned_of_as_nothing_else() {
    let joined = complete(joining());
    for (what, old, change) in [
        (
            "no default image",
            with(etcd(), &[("/spec/etcd/image", json!("etcd:v3.5.1"))]),
            ("/spec/etcd/image", json!(5)),
        ),
        ("no leave", joined.clone(), ("/spec/etcd/bootstrapWithExistingCluster", json!("x"))),
        ("no edit", joined, ("/spec/etcd/bootstrapWithExistingCluster/members", json!("x"))),
    ] {
        let review = update(&old, &with(old.clone(), &[change]));
        assert_eq!(violations(&review).len(), 1, "{what}");
        assert_eq!(warnings(&review, &Settings::default()), [""; 0], "{what}");
    }
}

#[test]
fn a_refused_deletion_is_told_no_consequences() {
    let snapshot =
        json!({"joinedAt": "2026-01-01T00:00:00Z", "members": [{"name": "a"}, {"name": "b"}, {"name": "c"}]});
    let guarded = json!({"etcd-warden.dev/deletion-protection": "true"});
    let joined = with(complete(etcd()), &[("/status/bootstrapWithExistingCluster", snapshot)]);
    let leaving = with(joined.clone(), &[("/metadata/finalizers", json!(["etcd-warden.dev/leave"]))]);
    let settings = Settings { loop_user: Some("loop".to_owned()), ..Settings::default() };
    for object in [joined, leaving, joining()] {
        assert_eq!(warnings(&delete(&object), &settings).len(), 1);
        let object = with(object, &[("/metadata/annotations", guarded.clone())]);
        assert_eq!(warnings(&delete(&object), &settings), [""; 0]);
        assert_eq!(violations(&delete(&object)), ["deletion-protected@metadata.name"]);
    }
}

#[test]
fn what_is_final_speaks_where_other_rules_are_waived() {
    let terminating =
        |object: Value| with(object, &[("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"))]);
    let plain = with(etcd(), &[("/spec/replicas", json!(3)), ("/spec/storageClass", json!("fast"))]);
    for (old, change, expected) in [
        (joining(), ("/spec/replicas", Value::Null), "bootstrap-replicas-frozen@spec.replicas"),
        (joining(), ("/spec/replicas", json!("x")), "bootstrap-replicas-frozen@spec.replicas"),
        (plain.clone(), ("/spec/replicas", Value::Null), "replicas-no-shrink@spec.replicas"),
        (plain.clone(), ("/spec/replicas", json!(-1)), "replicas-no-shrink@spec.replicas"),
        (plain.clone(), ("/spec/storageClass", json!(5)), "storage-class-immutable@spec.storageClass"),
        (joining(), (B, json!("x")), "bootstrap-no-removal@spec.etcd.bootstrapWithExistingCluster"),
        (
            joining(),
            ("/spec/etcd/bootstrapWithExistingCluster/members", json!("x")),
            "bootstrap-frozen@spec.etcd.bootstrapWithExistingCluster.members",
        ),
        (joining(), ("/spec/etcd/peerUrlTls", json!("x")), "bootstrap-settings-frozen@spec.etcd.peerUrlTls"),
        (joining(), ("/spec/etcd/serverPort", json!("x")), "bootstrap-settings-frozen@spec.etcd.serverPort"),
        (
            joining(),
            ("/spec/etcd/additionalAdvertisePeerURLs", json!("x")),
            "bootstrap-settings-frozen@spec.etcd.additionalAdvertisePeerURLs",
        ),
    ] {
        let old = terminating(old);
        assert_eq!(
            violations(&update(&old, &with(old.clone(), std::slice::from_ref(&change)))),
            [expected],
            "{change:?}"
        );
    }
}

#[test]
fn a_spec_that_is_taken_from_a_terminating_object_is_missed_by_what_is_final() {
    let old = with(
        etcd(),
        &[
            ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
            ("/spec/storageClass", json!("fast")),
        ],
    );
    let taken = with(old.clone(), &[("/spec", Value::Null)]);
    let expected = ["replicas-no-shrink@spec.replicas", "storage-class-immutable@spec.storageClass"];
    assert_eq!(violations(&update(&old, &taken)), expected);
}

#[test]
fn a_value_that_was_wrong_before_may_move_in_its_list_and_nowhere_else() {
    let labels = |one: &str, two: &str| with(etcd(), &[("/spec/labels", json!({"1": one, "2": two}))]);
    let emptied = |first: Value, second: Value| {
        with(
            complete(joining()),
            &[(&format!("{B}/members/0/peerUrls"), first), (&format!("{B}/members/1/peerUrls"), second)],
        )
    };
    let url = || json!(["http://10.0.0.9:2380"]);
    let port = with(etcd(), &[("/spec/etcd/serverPort", json!(2379))]);
    for (what, old, new, expected) in [
        ("another key", labels("a b", "ok"), labels("ok", "a b"), vec!["labels@spec.labels[2]"]),
        (
            "another member",
            emptied(json!([]), url()),
            emptied(url(), json!([])),
            vec!["bootstrap-peer-urls@spec.etcd.bootstrapWithExistingCluster.members[1].peerUrls"],
        ),
        (
            "a default written out",
            port.clone(),
            with(port, &[("/spec/etcd/clientPort", json!(2379))]),
            vec![],
        ),
    ] {
        assert_eq!(violations(&update(&old, &new)), expected, "{what}");
    }
}

#[test]
fn what_is_new_is_refused_among_thousands_that_are_not() {
    let labels = |from: usize| -> Value {
        (from..2005).map(|i| (format!("bad{i:04}"), json!("a b"))).collect::<serde_json::Map<_, _>>().into()
    };
    let old = with(etcd(), &[("/spec/labels", labels(0))]);
    let mended = with(etcd(), &[("/spec/labels", labels(1))]);
    assert_eq!(violations(&update(&old, &mended)), [""; 0]);
    let worse = with(mended, &[("/spec/etcd/serverPort", json!(0))]);
    assert_eq!(violations(&update(&old, &worse)), ["ports@spec.etcd.serverPort"]);
}

#[test]
fn mutation_leaves_alone_what_an_update_leaves_alone() {
    let members = |last: Value| with(joining(), &[(&format!("{B}/members/1"), last)]);
    let endpoints: Vec<String> = (0..12).chain([0]).map(|i| format!("http://10.0.1.{i}:2379")).collect();
    for old in [
        members(json!({"name": "src-0", "peerUrls": ["HTTP://LOCALHOST:2380"]})),
        members(json!({"peerUrls": ["HTTP://LOCALHOST:2380"]})),
        with(
            members(json!({"peerUrls": ["HTTP://LOCALHOST:2380"]})),
            &[(&format!("{B}/members/0"), json!("x"))],
        ),
        members(json!({"name": 5, "peerUrls": ["http://h:2380/"]})),
        with(complete(joining()), &[(&format!("{B}/clientEndpoints"), json!(endpoints))]),
        with(joining(), &[("/spec/etcd/additionalAdvertisePeerURLs", json!([{"urls": ["HTTP://A:1"]}]))]),
    ] {
        let labelled = with(old.clone(), &[("/metadata/labels", json!({"team": "storage"}))]);
        let review = update(&old, &labelled);
        let mutated = answer(Stage::Mutate, &review, &Settings::default());
        assert_eq!(mutated["response"], json!({"uid": review["request"]["uid"], "allowed": true}));
        assert_eq!(violations(&review), [""; 0]);
    }
}

#[test]
fn a_scale_without_a_readable_spec_is_no_hibernation() {
    let scale = |spec: Value| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "main"}, "spec": spec});
    let of = |spec: Value| {
        let mut review = update(&scale(json!({"replicas": 3})), &scale(spec));
        review["request"]["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        review["request"]["subResource"] = json!("scale");
        review
    };
    assert_eq!(violations(&of(json!("x"))), ["type@spec"]);
    assert_eq!(violations(&of(json!({}))), [""; 0]);
}

#[test]
fn somebody_elses_text_is_escaped_wherever_it_is_quoted() {
    let object = with(
        advertising(joining(), "x"),
        &[
            ("/spec/memberNamePrefix", json!("p\u{1b}[31m\n\u{202e}")),
            ("/spec/etcd/defragmentationSchedule", json!("\u{1b}[31m\u{202e} 1 1 1 1")),
            (&format!("{B}/clientEndpoints"), json!(["http://h\u{202e}:2379", "http://h\u{200b}:2379"])),
        ],
    );
    let answer = answer(Stage::Validate, &create(&object), &Settings::default()).to_string();
    for unsafe_text in ["\\u001b", "\\n", "\u{202e}", "\u{200b}"] {
        assert!(!answer.contains(unsafe_text), "{unsafe_text:?} in {answer}");
    }
}

#[test]
fn no_answer_grows_beyond_its_bound() {
    let quotes: serde_json::Map<_, _> =
        (0..200).map(|i| (format!("{}{i}", "\"\\".repeat(345)), json!(""))).collect();
    let object = with(etcd(), &[("/spec/labels", quotes.into())]);
    let refused = answer(Stage::Validate, &create(&object), &Settings::default());
    assert_eq!(refused["response"]["allowed"], json!(false));
    let upper: Vec<String> = (0..1000).map(|i| format!("HTTP://{}{i}:1", "A".repeat(200))).collect();
    let many = with(joining(), &[(&format!("{B}/clientEndpoints"), json!(upper))]);
    answer(Stage::Mutate, &create(&many), &Settings::default());
}
