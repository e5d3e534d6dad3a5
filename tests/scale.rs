//! Scales, judged by the Etcd that is stored.
#![allow(unreachable_pub, reason = "the crate is a test")]

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use etcd_warden::admission::{Asked, Audited, Enforcement, Lookup, Outcome, Policy, Stored, review};
    use etcd_warden::audit::{Decision, Stage};
    use etcd_warden::rules::Settings;
    use serde_json::{Value, json};

    /// Knows one Etcd, or why it knows none.
    #[derive(Debug)]
    struct Known(Result<String, &'static str>);

    impl Stored for Known {
        fn etcd(&self, asked: &Asked<'_>) -> Lookup {
            assert_eq!((asked.namespace, asked.name), ("shop", "main"));
            assert_eq!((asked.uid, asked.resource_version), (Some("u"), Some("7")));
            match &self.0 {
                Ok(json) => Lookup::Found(Arc::from(json.as_str())),
                Err(why) => Lookup::NotYet((*why).to_owned()),
            }
        }
    }

    fn known(etcd: &Value) -> Known {
        Known(Ok(etcd.to_string()))
    }

    /// An Etcd that breaks no rule, with these changes merged in.
    fn etcd(changes: &Value) -> Value {
        let mut etcd = json!({
            "metadata": {"name": "main", "namespace": "shop", "uid": "u", "resourceVersion": "7"},
            "spec": {
                "replicas": 3,
                "labels": {"app": "etcd"},
                "selector": {"matchLabels": {"app": "etcd"}},
                "etcd": {},
                "backup": {}
            }
        });
        json_patch::merge(&mut etcd, changes);
        etcd
    }

    /// An Etcd that joins another cluster.
    fn joining(status: &Value) -> Value {
        etcd(&json!({
            "spec": {"etcd": {"bootstrapWithExistingCluster": {
                "members": [{"name": "old-0", "peerUrls": ["http://old-0.elsewhere:2380"]}],
                "clientEndpoints": ["http://old-0.elsewhere:2379"]
            }}},
            "status": status
        }))
    }

    fn joined() -> Value {
        joining(&json!({
            "conditions": [{"type": "BootstrappedWithExistingCluster", "status": "True"}],
            "bootstrapWithExistingCluster": {
                "joinedAt": "2026-01-01T00:00:00Z",
                "members": [{"name": "old-0", "peerUrls": ["http://old-0.elsewhere:2380"]}]
            },
            "members": [{"name": "main-0"}, {"name": "main-1"}, {"name": "main-2"}]
        }))
    }

    fn scale(from: &Value, to: &Value) -> String {
        let scale = |replicas: &Value| {
            json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": "main", "namespace": "shop", "uid": "u", "resourceVersion": "7"},
                "spec": {"replicas": replicas}
            })
        };
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "operation": "UPDATE", "name": "main", "namespace": "shop", "subResource": "scale",
                "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                "resource": {"group": "druid.gardener.cloud", "version": "v1alpha1", "resource": "etcds"},
                "userInfo": {"username": "alice"},
                "object": scale(to), "oldObject": scale(from)
            }
        })
        .to_string()
    }

    fn judged(stage: Stage, stored: &Known, enforcement: Enforcement, body: &str) -> (Outcome, Value) {
        let settings = Settings::default();
        let policy =
            Policy { stored: Some(stored), enforcement, ..Policy::new(&settings, Audited::Rejections) };
        let outcome = review(stage, body.as_bytes(), &policy).expect("a review");
        let answer: Value = serde_json::from_slice(&outcome.body).expect("JSON");
        (outcome, answer["response"].clone())
    }

    fn response(stored: &Known, from: i32, to: i32) -> Value {
        judged(Stage::Validate, stored, Enforcement::Deny, &scale(&json!(from), &json!(to))).1
    }

    /// The rules that are broken; each at the only field that a Scale has.
    fn broken(stored: &Known, from: i32, to: i32) -> String {
        let response = response(stored, from, to);
        for cause in response["status"]["details"]["causes"].as_array().into_iter().flatten() {
            assert_eq!(cause["field"], "spec.replicas", "{cause}");
        }
        response["auditAnnotations"]["rules"].as_str().unwrap_or_default().to_owned()
    }

    #[test]
    fn every_rule_that_a_number_can_break_speaks() {
        let advertising = etcd(&json!({
            "spec": {"replicas": 3, "etcd": {"additionalAdvertisePeerURLs": [
                {"memberName": "main-2", "urls": ["http://elsewhere:2380"]}
            ]}}
        }));
        let asleep = etcd(
            &json!({"spec": {"replicas": 0}, "status": {"members": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}}),
        );
        for (situation, stored, from, to, rules) in [
            ("plain", etcd(&json!({})), 3, 5, ""),
            ("plain, hibernated", etcd(&json!({})), 3, 0, ""),
            ("shrinks", etcd(&json!({})), 5, 3, "replicas-no-shrink"),
            ("negative", etcd(&json!({})), 3, -1, "replicas-range"),
            ("joining", joining(&json!({})), 3, 5, "bootstrap-replicas-frozen"),
            ("joining, its first size", joining(&json!({})), 0, 3, ""),
            ("joined", joined(), 3, 5, ""),
            ("joined, hibernated", joined(), 3, 0, "joined-hibernate"),
            ("wakes too small", asleep.clone(), 0, 1, "replicas-no-shrink"),
            ("wakes", asleep, 0, 3, ""),
            ("wakes without an advertised member", advertising, 0, 1, "advertise-peer-urls"),
        ] {
            assert_eq!(broken(&known(&stored), from, to), rules, "{situation}");
        }
    }

    #[test]
    fn the_annotation_of_the_stored_etcd_counts() {
        let mut stored = joined();
        stored["metadata"]["annotations"] = json!({"etcd-warden.dev/allow-quorum-loss": "true"});
        assert_eq!(broken(&known(&stored), 3, 0), "");
    }

    #[test]
    fn what_was_wrong_before_does_not_stand_in_the_way() {
        let stored = etcd(&json!({"spec": {"etcd": {"quota": "-1"}}}));
        let response = response(&known(&stored), 3, 5);
        assert_eq!(response["allowed"], true);
        let warnings = response["warnings"].to_string();
        assert!(warnings.contains("[quantities]"), "{warnings}");
    }

    #[test]
    fn a_violation_elsewhere_names_the_etcd_s_field_in_its_message() {
        let advertising = etcd(&json!({
            "spec": {"etcd": {"additionalAdvertisePeerURLs": [{"memberName": "main-2", "urls": ["http://elsewhere:2380"]}]}}
        }));
        let response = response(&known(&advertising), 0, 1);
        let message = response["status"]["details"]["causes"][0]["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("the Etcd's spec.etcd.additionalAdvertisePeerURLs[0]"), "{message}");
    }

    #[test]
    fn what_is_not_known_yet_is_to_be_tried_again() {
        let stored = Known(Err("this server has not seen the Etcd yet"));
        let status = response(&stored, 3, 5)["status"].clone();
        assert_eq!((&status["code"], &status["reason"]), (&json!(503), &json!("ServiceUnavailable")));
        assert_eq!(status["details"]["retryAfterSeconds"], 1);
        let message = status["message"].as_str().unwrap();
        assert!(message.contains("has not seen the Etcd yet") && message.contains("try again"), "{message}");
        let body = scale(&json!(3), &json!(5));
        let (outcome, answer) = judged(Stage::Mutate, &stored, Enforcement::Deny, &body);
        assert_eq!((&answer["allowed"], outcome.facts.decision), (&json!(true), Decision::Allowed));
    }

    #[test]
    fn an_etcd_that_can_t_be_read_is_scaled_otherwise() {
        let deep = format!("{}1{}", r#"{"a":"#.repeat(300), "}".repeat(300));
        for json in ["[]".to_owned(), r#"{"spec":3}"#.to_owned(), format!(r#"{{"spec":{deep}}}"#)] {
            let message = response(&Known(Ok(json)), 3, 5)["status"]["message"].to_string();
            assert!(message.contains("spec.replicas of the Etcd itself"), "{message}");
        }
    }

    #[test]
    fn a_scale_of_the_wrong_type_is_that_and_nothing_else() {
        let stored = known(&etcd(&json!({})));
        let (_, answer) =
            judged(Stage::Validate, &stored, Enforcement::Deny, &scale(&json!(3), &json!("five")));
        assert_eq!(answer["auditAnnotations"]["rules"], "type");
    }

    #[test]
    fn under_warn_nothing_is_refused_and_everything_is_said_and_recorded() {
        let stored = known(&etcd(&json!({})));
        let (outcome, answer) =
            judged(Stage::Validate, &stored, Enforcement::Warn, &scale(&json!(5), &json!(3)));
        assert_eq!(answer["allowed"], true);
        let warning = answer["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("would be refused: spec.replicas: Forbidden: "), "{warning}");
        assert!(warning.ends_with(" [replicas-no-shrink]") && warning.chars().count() <= 256, "{warning}");
        assert_eq!(outcome.facts.decision, Decision::Warned);
        assert_eq!(outcome.facts.rules, ["replicas-no-shrink"]);
        let record = serde_json::to_value(outcome.record.expect("a record")).unwrap();
        assert_eq!(
            (&record["decision"], &record["enforcement"], &record["code"]),
            (&json!("warned"), &json!("warn"), &json!(422))
        );
        assert_eq!(record["violations"][0]["rule"], "replicas-no-shrink");
        let unknown = Known(Err("not yet"));
        let (outcome, answer) =
            judged(Stage::Validate, &unknown, Enforcement::Warn, &scale(&json!(3), &json!(5)));
        assert_eq!((&answer["allowed"], outcome.facts.decision), (&json!(true), Decision::Warned));
        assert!(answer["warnings"][0].as_str().unwrap().ends_with(" [not-judged]"), "{answer}");
    }
}
