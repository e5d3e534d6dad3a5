//! What is judged, what is passed over, and what comments allow.

use super::*;

fn linted(text: &str) -> Linted {
    Lint::default().text(Source::new("x.yaml", text), &Stored::default())
}

/// Level, rule and line of what is found.
fn found(text: &str) -> Vec<(Level, String, usize)> {
    let linted = linted(text);
    let report = &linted.report;
    let line = |finding: &Finding| report.source.position(finding.place.unwrap().span.start).line;
    report.findings.iter().map(|finding| (finding.level, finding.rule.clone(), line(finding))).collect()
}

fn etcd(spec: &str) -> String {
    format!(
        "apiVersion: druid.gardener.cloud/v1alpha1\nkind: Etcd\nmetadata: {{name: main}}\nspec:\n  labels: {{}}\n  etcd: {{}}\n  backup: {{}}\n{spec}"
    )
}

#[test]
fn a_comment_allows_a_warning() {
    for (spec, rules) in [
        ("  replicas: 2\n", &["even-replicas"][..]),
        ("  replicas: 2 # etcd-warden: allow(even-replicas) a test\n", &[]),
        ("  replicas: 2 #etcd-warden:allow( long-name , even-replicas )\n", &[]),
        ("  replicas: 2 #etcd-warden:allow( ports , even-replicas )\n", &["allow"]),
        ("  # etcd-warden: allow(even-replicas) a test\n  replicas: 2\n", &[]),
        ("  # etcd-warden: allow(even-replicas) a test,\n  # for a day\n\n  replicas: 2\n", &[]),
        ("  # etcd-warden: allow(long-name)\n  replicas: 2\n", &["even-replicas"]),
        ("  # etcd-warden: allow(even-replicas)\n  storageClass: x\n  replicas: 2\n", &["even-replicas"]),
        ("  replicas: 2 # etcd-warden: allow even-replicas\n", &["even-replicas", "allow"]),
        ("  replicas: 2 # etcd-warden: allow(even-replica)\n", &["even-replicas", "allow"]),
        ("  replicas: -1 # etcd-warden: allow(replicas-range)\n", &["replicas-range", "allow"]),
        ("  replica: 2 # etcd-warden: allow(unknown-field)\n  replicas: 1\n", &[]),
    ] {
        let rules: Vec<&str> = rules.to_vec();
        let found = found(&etcd(spec));
        assert_eq!(found.iter().map(|(_, rule, _)| rule.as_str()).collect::<Vec<_>>(), rules, "{spec}");
    }
}

/// Whoever writes a comment for this program and means another thing than it does learns it from the comment alone.
#[test]
fn comments_that_allow_nothing_are_told() {
    for comment in [
        "etcd-warden: allow",
        "etcd-warden: allow()",
        "etcd-warden: allow( , )",
        "etcd-warden: Allow(even-replicas)",
        "etcd-warden: allow(even-replicas,",
        "etcd-warden: allow (even-replicas)",
        "etcd-warden allow(even-replicas)",
        "etcd-warden-allow(even-replicas)",
        "etcd-warden allow even-replicas",
        "etcd-warden : allow(even-replicas)",
        "Etcd-Warden: allow(even-replicas)",
        "etcd-warden: deny(even-replicas)",
        // Errors and unknown ids, wherever they stand.
        "etcd-warden: allow(ports)",
        "etcd-warden: allow(syntax)",
        "etcd-warden: allow(left-out)",
        "etcd-warden: allow(unreadable)",
        "etcd-warden: allow(not-judged)",
        "etcd-warden: allow(evenreplica)",
    ] {
        for text in [
            etcd("  replicas: 3\n").replace("spec:", &format!("spec: # {comment}")),
            format!("# {comment}\n---\n{}", etcd("  replicas: 3\n")),
            format!("kind: Pod # {comment}\n"),
        ] {
            let line = text[..text.find(comment).unwrap()].lines().count();
            assert_eq!(found(&text), [(Level::Warning, "allow".to_owned(), line)], "{text}");
        }
    }
    for prose in [
        "etcd-warden is great",
        "etcd-warden allows it",
        "etcd-warden.dev/x: y",
        "etcd-wardens: x",
        "etcd-warden: ",
        "etcd-warden",
    ] {
        assert_eq!(found(&etcd(&format!("  replicas: 3 # {prose}\n"))), [], "{prose}");
    }
    assert_eq!(found(&etcd("  replicas: 3 # etcd-warden: allow(even-replicas) one day\n")), []);
}

#[test]
fn a_comment_that_allows_nothing_is_shown_with_how_it_is_written() {
    let linted = linted("kind: Pod # etcd-warden: allow(ports\n");
    let finding = &linted.report.findings[0];
    assert_eq!(
        finding.message,
        "\"etcd-warden: allow(ports\" allows nothing: it isn't written as such a comment is"
    );
    let help = "write \"# etcd-warden: allow(id) reason\", the id as it stands in the warning's brackets";
    assert_eq!(finding.help.as_deref(), Some(help));
    assert_eq!(finding.place.unwrap().span.of(linted.report.source.text()), "# etcd-warden: allow(ports");
}

/// What was wrong before is a warning, but not one that a comment could have allowed before.
#[test]
fn a_comment_doesnt_allow_what_was_wrong_before() {
    let wrong = etcd("  storageCapacity: -1Gi # etcd-warden: allow(quantities)\n  replicas: 3\n");
    let (stored, _) = Lint::default().stored(Source::new("old", wrong.clone()));
    let new = wrong.replace("replicas: 3", "replicas: 5");
    let linted = Lint::default().text(Source::new("x.yaml", new), &stored);
    let rules: Vec<&str> = linted.report.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["quantities", "allow"]);
}

#[test]
fn lists_hold_objects() {
    let item = "  - apiVersion: druid.gardener.cloud/v1alpha1\n    kind: Etcd\n    spec: {replicas: -1}\n";
    for (list, judged) in [
        (format!("apiVersion: v1\nkind: List\nitems:\n  - {{kind: Pod}}\n{item}"), 1),
        (
            format!(
                "kind: List\nitems:\n{item}  - kind: List\n    items: [{{kind: Etcd, apiVersion: druid.gardener.cloud/v1alpha1}}]\n"
            ),
            2,
        ),
        (
            "apiVersion: druid.gardener.cloud/v1alpha1\nkind: EtcdList\nitems: [{spec: {replicas: -1}}]\n"
                .into(),
            1,
        ),
        ("kind: PriorityList\nspec: {}\n".into(), 0),
    ] {
        let linted = linted(&list);
        assert_eq!(linted.counts.judged, judged, "{list}");
        let replicas = linted.report.findings.iter().filter(|finding| finding.rule == "replicas-range");
        assert_eq!(replicas.count() > 0, judged > 0, "{list}");
    }
}

#[test]
fn other_objects_are_counted() {
    let linted =
        linted("kind: Pod\n---\nkind: Pod\n---\n# nothing\n---\nreplicas: 3\n---\n- 1\n---\nkind: Service\n");
    let counted: Vec<(&str, usize)> =
        linted.counts.passed_over.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(counted, [("Pod", 2), ("Service", 1), ("document without a kind", 2)]);
    assert_eq!((linted.counts.judged, linted.report.findings.len()), (0, 0));
}

#[test]
fn an_etcd_that_no_rule_knows_is_named() {
    for (text, line) in [
        ("apiVersion: etcd.database.coreos.com/v1beta2\nkind: Etcd\n", 1),
        ("kind: Etcd\nspec: {}\n", 1),
        ("kind: Etcd\napiVersion: druid.gardener.cloud/v1beta1\n", 2),
        ("apiVersion: druid.gardener.cloud/v1alpha1\nkind: etcd\n", 2),
        ("apiVersion: druid.gardener.cloud/v1alpha1\nkind: Ectd\n", 2),
        ("apiVersion: druid.gardener.cloud/v1alpha1\nmetadata: {name: a}\n", 1),
        ("- {kind: Pod}\n- kind: Etcd\n  apiVersion: druid.gardener.cloud/v1alpha1\n", 2),
        ("[{\"kind\": \"Etcd\", \"apiVersion\": \"druid.gardener.cloud/v1alpha1\"}]", 1),
        ("items:\n- kind: Etcd\n  apiVersion: druid.gardener.cloud/v1alpha1\n", 2),
        ("kind: list\nitems:\n- kind: Etcd\n  apiVersion: druid.gardener.cloud/v1alpha1\n", 3),
    ] {
        assert_eq!(found(text), [(Level::Warning, "foreign-etcd".to_owned(), line)], "{text}");
        assert!(linted(text).counts.passed_over.is_empty(), "{text}");
    }
    for text in [
        "apiVersion: druid.gardener.cloud/v1alpha1\nkind: EtcdCopyBackupsTask\n",
        "apiVersion: apps/v1\nkind: etcd\n",
        "- kind: Etcd\n  apiVersion: apps/v1\n",
        "kind: Bundle\nitems: [{kind: Etcd, apiVersion: druid.gardener.cloud/v1alpha1}]\n",
    ] {
        assert_eq!((found(text), linted(text).counts.passed_over.len()), (Vec::new(), 1), "{text}");
    }
}

#[test]
fn what_is_wrong_with_an_apiversion_or_a_kind_is_named() {
    for (text, message) in [
        ("kind: Etcd\n", "this Etcd has no apiVersion and isn't judged"),
        (
            "kind: Etcd\napiVersion: [druid.gardener.cloud/v1alpha1]\n",
            "apiVersion of this Etcd is a list, where a text should be: it isn't judged",
        ),
        (
            "kind: Etcd\napiVersion: 1\n",
            "apiVersion of this Etcd is a number, where a text should be: it isn't judged",
        ),
        (
            "kind: Etcd\napiVersion:\n",
            "apiVersion of this Etcd is empty, where a text should be: it isn't judged",
        ),
        (
            "apiVersion: druid.gardener.cloud/v1alpha1\nkind: [Etcd]\n",
            "kind of this object of druid.gardener.cloud is a list, where a text should be: it isn't judged",
        ),
        (
            "apiVersion: druid.gardener.cloud/v1alpha1\nspec: {}\n",
            "this object of druid.gardener.cloud has no kind and isn't judged",
        ),
        (
            "apiVersion: druid.gardener.cloud/v1alpha1\nkind: etcd\n",
            "druid.gardener.cloud has no kind \"etcd\": this object isn't judged",
        ),
    ] {
        assert_eq!(linted(text).report.findings[0].message, message);
    }
}

#[test]
fn unknown_fields_are_named_with_what_was_meant() {
    let text = etcd("  replicas: 1\n").replace(
        "etcd: {}",
        "etcd: {additionalAdvertisePeerUrls: [], quotaa: 1, storageCapacity: 1Gi, zzz: 1, bootstrapWithExistingCluster: {members: [{name: a, peerURLs: []}], clientEndpoints: [\"http://a:1\"]}}",
    ) + "status: {anything: 1}\nmetadat: {}\n";
    let linted = linted(&text.replace("{name: main}", "{name: main, label: {a: b}, labels: {any: thing}}"));
    let unknown = linted.report.findings.iter().filter(|finding| finding.rule == "unknown-field");
    let told: Vec<(&str, &str)> = unknown
        .map(|finding| (finding.field.as_deref().unwrap(), finding.help.as_deref().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("metadata.label", "write \"labels\""),
            ("spec.etcd.additionalAdvertisePeerUrls", "write \"additionalAdvertisePeerURLs\""),
            ("spec.etcd.quotaa", "write \"quota\""),
            ("spec.etcd.storageCapacity", "there is spec.storageCapacity, if that is meant"),
            ("spec.etcd.zzz", "remove it, or look for its name with kubectl explain etcd"),
            ("spec.etcd.bootstrapWithExistingCluster.members[0].peerURLs", "write \"peerUrls\""),
            ("metadat", "write \"metadata\""),
        ]
    );
}

/// Fields that hold other types than objects have none to be unknown, and maps have any.
#[test]
fn known_fields_are_not_named() {
    let text = etcd("  replicas: 1\n  annotations: {a: b}\n  schedulingConstraints:\n    affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: x, labelSelector: {matchLabels: {a: b}}}]}}\n  selector: {matchLabels: {a: b}}\n  priorityClassName: x\n  runAsRoot: false\n")
        .replace("etcd: {}", "etcd: {resources: {requests: {cpu: 1, memory: 1Gi}}, clientService: {labels: {x: z}}}");
    assert_eq!(found(&text), []);
}

#[test]
fn a_foreign_secret_is_wrong_where_the_namespace_is_known() {
    let tls = "clientUrlTls: {tlsCASecretRef: {name: a, namespace: x}, serverTLSSecretRef: {name: b}, clientTLSSecretRef: {name: c}}";
    let text = etcd("  replicas: 1\n").replace("etcd: {}", &format!("etcd: {{{tls}}}"));
    assert_eq!(found(&text), []);
    let mut lint = Lint::default();
    for (namespace, errors) in [("x", 0), ("y", 1)] {
        lint.namespace = Some(namespace.to_owned());
        let linted = lint.text(Source::new("x.yaml", text.as_str()), &Stored::default());
        assert_eq!(linted.report.findings.len(), errors, "{namespace}: {linted:?}");
    }
}

#[test]
fn an_update_is_judged_by_what_is_stored() {
    let stored = |text: &str| Lint::default().stored(Source::new("old", text)).0;
    let judge = |new: &str, old: &str| {
        let linted = Lint::default().text(Source::new("x.yaml", new), &stored(old));
        let rules = linted.report.findings.iter().map(|finding| (finding.level, finding.rule.clone()));
        rules.collect::<Vec<_>>()
    };
    let error = |rule: &str| (Level::Error, rule.to_owned());
    let (three, five) = (etcd("  replicas: 3\n"), etcd("  replicas: 5\n"));
    assert_eq!(judge(&three, &five), [error("replicas-no-shrink")]);
    assert_eq!(judge(&five, &three), []);
    let elsewhere = five.replace("name: main", "name: main, namespace: x");
    assert_eq!(judge(&three, &elsewhere), [error("replicas-no-shrink")], "one of the two names no namespace");
    let here = three.replace("name: main", "name: main, namespace: z");
    assert_eq!(judge(&here, &elsewhere), [], "another object");
    // What was wrong already is a warning, and only where the spec is another.
    let wrong = etcd("  replicas: 3\n  storageCapacity: -1Gi\n");
    assert_eq!(judge(&wrong, &wrong), []);
    let changed = wrong.replace("replicas: 3", "replicas: 5");
    assert_eq!(judge(&changed, &wrong), [(Level::Warning, "quantities".to_owned())]);
    // A default that is written out is no change.
    assert_eq!(judge(&etcd("  replicas: 3\n  storageCapacity: 16Gi\n"), &three), []);
}

/// `kubectl get -o yaml` shows what the API server keeps; a manifest says nothing of it.
#[test]
fn status_and_finalizers_are_what_is_stored() {
    let join = "etcd: {bootstrapWithExistingCluster: {members: [{name: a, peerUrls: [\"http://a:1\"]}], clientEndpoints: [\"http://a:2\"]}}";
    let new = etcd("  replicas: 2\n").replace("etcd: {}", join);
    let edited = new.replace("http://a:2", "http://b:2");
    let rules = |old: &str| {
        let linted = Lint::default()
            .text(Source::new("x.yaml", edited.as_str()), &Lint::default().stored(Source::new("old", old)).0);
        linted.report.findings.iter().map(|finding| finding.rule.clone()).collect::<Vec<_>>()
    };
    assert_eq!(rules(&new), ["bootstrap-frozen"]);
    let complete =
        format!("{new}status: {{conditions: [{{type: BootstrappedWithExistingCluster, status: 'True'}}]}}\n");
    assert_eq!(rules(&complete), ["edit-after-join"]);
    let held = complete.replace("name: main", "name: main, finalizers: [etcd-warden.dev/leave]");
    assert_eq!(rules(&(held + "  \n")), ["edit-after-join"]);
}

#[test]
fn reviews_are_judged_as_the_server_does() {
    let delete = "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nrequest:\n  uid: x\n  operation: DELETE\n  namespace: shop\n  resource: {group: druid.gardener.cloud, version: v1alpha1, resource: etcds}\n  oldObject:\n    apiVersion: druid.gardener.cloud/v1alpha1\n    kind: Etcd\n    metadata:\n      name: main\n      annotations: {etcd-warden.dev/deletion-protection: 'true'}\n";
    assert_eq!(found(delete), [(Level::Error, "deletion-protected".to_owned(), 12)]);
    let no_uid = delete.replace("  uid: x\n", "");
    assert_eq!(found(&no_uid), [(Level::Error, "not-judged".to_owned(), 1)]);
    let answered =
        "apiVersion: admission.k8s.io/v1\nkind: AdmissionReview\nresponse: {uid: x, allowed: true}\n";
    assert_eq!(found(answered), []);
    assert_eq!(linted(answered).counts.judged, 0);
}

#[test]
fn what_cant_be_read_is_told_with_the_rest() {
    let text = format!("a: [\n---\n{}--- # x\n{{\"a\": 1,,}}\n", etcd("  replicas: -1\n"));
    let rules: Vec<(String, usize)> = found(&text).into_iter().map(|(_, rule, line)| (rule, line)).collect();
    assert_eq!(
        rules,
        [("syntax".to_owned(), 1), ("replicas-range".to_owned(), 10), ("syntax".to_owned(), 12)]
    );
    assert!(linted(&text).unreadable);
}
