//! What the server may do in the cluster: exactly what it does.

use super::yaml::{NAME, help, list, object, objects, path, text, texts};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// A verb on a resource: where it holds, group, resource, name (or any), verb.
type Right = (String, String, String, Option<String>, String);

/// Rights on one resource, with all their verbs.
type Row = (&'static str, &'static str, &'static str, Option<&'static str>, &'static [&'static str]);

fn rights(file: &str) -> BTreeSet<Right> {
    let mut rights = BTreeSet::new();
    for role in objects(file).iter().filter(|object| text(&object["kind"]).ends_with("Role")) {
        let place = role["metadata"]["namespace"].as_str().unwrap_or("cluster");
        for rule in list(&role["rules"]) {
            rights.extend(rights_of(place, rule));
        }
    }
    rights
}

fn rights_of(place: &str, rule: &Value) -> Vec<Right> {
    let names = rule["resourceNames"].as_array();
    let names: Vec<Option<String>> = names
        .map_or_else(|| vec![None], |names| names.iter().map(|name| Some(text(name).to_owned())).collect());
    let mut rights = Vec::new();
    for group in texts(&rule["apiGroups"]) {
        for resource in texts(&rule["resources"]) {
            for name in &names {
                for verb in texts(&rule["verbs"]) {
                    rights.push((
                        place.to_owned(),
                        group.to_owned(),
                        resource.to_owned(),
                        name.clone(),
                        verb.to_owned(),
                    ));
                }
            }
        }
    }
    rights
}

fn expected(rows: &[Row]) -> BTreeSet<Right> {
    let of = |(place, group, resource, name, verbs): &Row| {
        let right =
            ((*place).to_owned(), (*group).to_owned(), (*resource).to_owned(), name.map(str::to_owned));
        verbs
            .iter()
            .map(move |verb| {
                let (place, group, resource, name) = right.clone();
                (place, group, resource, name, (*verb).to_owned())
            })
            .collect::<Vec<_>>()
    };
    rows.iter().flat_map(of).collect()
}

/// How the documentation calls a resource.
fn called(resource: &str) -> &str {
    if resource.ends_with("webhookconfigurations") {
        return "registrations";
    }
    resource.rsplit('/').next().unwrap_or(resource).trim_end_matches('s')
}

/// Each right stands in a row of the page on security, with its verb and the name that it is limited to.
#[test]
fn every_right_is_explained() {
    let page = fs::read_to_string(path("docs/security.md")).expect("a page").to_lowercase();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
    let mut looked_for = 0;
    for file in ["base/identity.yaml", "base/certificates.yaml", "standalone/loop.yaml"] {
        for (_, _, resource, name, verb) in rights(file) {
            let name = name.map(|name| format!("`{name}`")).unwrap_or_default();
            let explains =
                |row: &str| [called(&resource), &verb, &name].iter().all(|word| row.contains(word));
            assert!(rows.iter().any(|row| explains(row)), "{file}: {verb} {resource} {name}");
            looked_for += 1;
        }
    }
    assert!(looked_for > 50, "{looked_for}");
}

#[test]
fn it_reads_etcds() {
    let watch: &'static [&'static str] = &["list", "watch"];
    let table = [("cluster", "druid.gardener.cloud", "etcds", None, watch)];
    assert_eq!(rights("base/identity.yaml"), expected(&table));
}

/// Nothing without a name but events, and so no `create` of anything else.
#[test]
fn it_writes_its_own_objects_by_name() {
    let (replace, follow): (&'static [&'static str], &'static [&'static str]) =
        (&["get", "update"], &["get", "list", "watch", "patch"]);
    let registration = "admissionregistration.k8s.io";
    let table = [
        (NAME, "", "secrets", Some("etcd-warden-ca"), replace),
        (NAME, "coordination.k8s.io", "leases", Some(NAME), replace),
        ("default", "events.k8s.io", "events", None, &["create"]),
        ("cluster", registration, "mutatingwebhookconfigurations", Some(NAME), follow),
        ("cluster", registration, "validatingwebhookconfigurations", Some(NAME), follow),
    ];
    assert_eq!(rights("base/certificates.yaml"), expected(&table));
}

/// The loop's rights are those that its requests need, and those that it hands on to members.
#[test]
fn the_loop_keeps_what_an_etcd_is_made_of() {
    let keep: &'static [&'static str] = &["get", "list", "watch", "create", "patch", "delete"];
    let (druid, rbac) = ("druid.gardener.cloud", "rbac.authorization.k8s.io");
    let table = [
        (NAME, "coordination.k8s.io", "leases", Some("etcd-warden-loop"), &["get", "update"] as &[_]),
        ("cluster", druid, "etcds", None, &["get", "patch"]),
        ("cluster", druid, "etcds/status", None, &["patch"]),
        ("cluster", druid, "etcds/finalizers", None, &["update"]),
        ("cluster", "", "pods", None, &["get", "list", "watch", "patch", "delete"]),
        ("cluster", "", "configmaps", None, keep),
        ("cluster", "", "serviceaccounts", None, keep),
        ("cluster", "", "services", None, keep),
        ("cluster", "apps", "statefulsets", None, keep),
        ("cluster", "policy", "poddisruptionbudgets", None, keep),
        ("cluster", rbac, "rolebindings", None, keep),
        ("cluster", rbac, "roles", None, keep),
        ("cluster", "events.k8s.io", "events", None, &["create", "patch"]),
    ];
    assert_eq!(rights("standalone/loop.yaml"), expected(&table));
    // Every kind that is rendered is among them.
    for kind in etcd_warden::controller::Kind::ALL {
        let resource = kind.api_resource();
        assert!(
            table.iter().any(|row| (row.1, row.2) == (&*resource.group, &*resource.plural)),
            "{resource:?}"
        );
    }
}

/// The agent is of the server's own version, and the Lease is there under the name that the flag has by default.
#[test]
fn the_loop_has_its_lease_and_the_servers_own_image() {
    let server = object("base/server.yaml", "Deployment");
    let patch = object("standalone/server.yaml", "Deployment");
    let container = |deployment: &Value| deployment["spec"]["template"]["spec"]["containers"][0].clone();
    let image = container(&server)["image"].clone();
    let env = container(&patch)["env"].clone();
    let value = |name: &str| {
        let found = list(&env).iter().find(|variable| variable["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))["value"].clone()
    };
    assert_eq!(value("ETCD_WARDEN_AGENT_IMAGE"), image);
    assert_eq!(value("ETCD_WARDEN_CONTROLLER"), "true");
    // A version that upgrades count on, not one that moves.
    let etcd = value("ETCD_WARDEN_ETCD_IMAGE");
    let tag = text(&etcd).rsplit_once(":v").map(|(_, tag)| tag.split('.').collect::<Vec<_>>());
    assert!(
        tag.is_some_and(|tag| tag.len() == 3 && tag.iter().all(|part| part.parse::<u32>().is_ok())),
        "{etcd}"
    );
    let lease = object("standalone/loop.yaml", "Lease");
    assert_eq!(default_of(&help(), "loop-lease").as_deref(), lease["metadata"]["name"].as_str());
}

#[test]
fn every_role_is_bound_to_the_server_alone() {
    for file in ["base/identity.yaml", "base/certificates.yaml", "standalone/loop.yaml"] {
        let objects = objects(file);
        for role in objects.iter().filter(|object| text(&object["kind"]).ends_with("Role")) {
            let binding = objects.iter().find(|binding| {
                binding["roleRef"]["kind"] == role["kind"]
                    && binding["roleRef"]["name"] == role["metadata"]["name"]
            });
            let binding = binding.unwrap_or_else(|| panic!("{} isn't bound", role["metadata"]["name"]));
            let [subject] = list(&binding["subjects"]) else { panic!("{binding} has not one subject") };
            let account = object("base/identity.yaml", "ServiceAccount");
            assert_eq!(
                (&subject["name"], &subject["namespace"]),
                (&account["metadata"]["name"], &account["metadata"]["namespace"])
            );
        }
    }
}

/// The objects that may be written by name are there, since they can't be created, and bear the names that the flags
/// have by default.
#[test]
fn what_is_written_by_name_is_there_and_called_as_the_flags_say() {
    let objects =
        ["base/certificates.yaml", "base/registration.yaml", "base/server.yaml"].map(objects).concat();
    let help = help();
    for (kind, flag, name) in [
        ("Secret", "ca-secret", "etcd-warden-ca"),
        ("Lease", "lease", NAME),
        ("MutatingWebhookConfiguration", "webhook-configuration", NAME),
        ("ValidatingWebhookConfiguration", "webhook-configuration", NAME),
        ("Service", "service", NAME),
    ] {
        let there = objects.iter().any(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        assert!(there, "no {kind} {name}");
        assert_eq!(default_of(&help, flag).as_deref(), Some(name), "--{flag}");
    }
}

/// The default that the help names for a flag.
fn default_of(help: &str, flag: &str) -> Option<String> {
    let (_, after) = help.split_once(&format!("\n      --{flag} "))?;
    let (_, value) = after.split("\n      --").next()?.split_once("[default: ")?;
    Some(value.split(']').next()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The policies name the loop by the `ServiceAccount` that the server runs as.
#[test]
fn the_policies_name_the_servers_account() {
    let account = object("base/identity.yaml", "ServiceAccount");
    let (namespace, name) = (text(&account["metadata"]["namespace"]), text(&account["metadata"]["name"]));
    let user = format!("system:serviceaccount:{namespace}:{name}");
    let policies = objects("standalone/policies.yaml");
    let policy = policies.iter().find(|policy| policy["metadata"]["name"] == "etcd-warden-annotations");
    let words = &policy.expect("the policy")["spec"]["validations"][0];
    assert!(
        text(&words["expression"]).contains(&format!("'{user}'")) && text(&words["message"]).contains(&user)
    );
    for bound in policies.iter().filter(|object| object["kind"] == "ValidatingAdmissionPolicy") {
        let binds = |object: &&Value| object["spec"]["policyName"] == bound["metadata"]["name"];
        let binding = policies
            .iter()
            .find(binds)
            .unwrap_or_else(|| panic!("{} isn't bound", bound["metadata"]["name"]));
        assert_eq!(binding["spec"]["validationActions"], serde_json::json!(["Deny"]));
        assert_eq!(bound["spec"]["failurePolicy"], "Fail");
    }
}
