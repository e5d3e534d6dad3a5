//! The pod: what it is started with, its bounds, and what it may not do.

use super::yaml::{NAME, documents, flags, help, list, object, objects, path, text};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Two objects of 3 MB, the API server's bound, and an envelope: the longest review that is read.
const REVIEW_BYTES: u64 = 7 * 1024 * 1024;

/// The Etcds at hand, twice: a new list replaces the old one when it is complete.
const CACHE_BYTES: u64 = 2 * 64 * 1024 * 1024;

/// Audit records that wait for the disk.
const AUDIT_BYTES: u64 = 32 * 1024 * 1024;

/// Handshakes and first requests have 10 s each, after accepting stops.
const HANDSHAKE_AND_FIRST_REQUEST: u64 = 20;

/// The audit log's last record.
const LAST_RECORD: u64 = 1;

fn deployment() -> Value {
    object("base/server.yaml", "Deployment")
}

fn container() -> Value {
    deployment()["spec"]["template"]["spec"]["containers"][0].clone()
}

fn arguments() -> Vec<String> {
    list(&container()["args"]).iter().map(|argument| text(argument).to_owned()).collect()
}

/// The number that a flag is given, of seconds or of things.
fn number(flag: &str) -> u64 {
    let begin = format!("--{flag}=");
    let value = arguments().into_iter().find_map(|argument| argument.strip_prefix(&begin).map(str::to_owned));
    let value = value.unwrap_or_else(|| panic!("no --{flag}"));
    value.trim_end_matches('s').parse().expect("a number")
}

/// The variables of the server in a Deployment or a patch of one.
fn variables(deployment: &Value) -> Vec<(String, Option<String>)> {
    let env = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    let of = |entry: &Value| (text(&entry["name"]).to_owned(), entry["value"].as_str().map(str::to_owned));
    env.as_array().into_iter().flatten().map(of).collect()
}

/// The Deployment, and every patch of it in the components.
fn all_variables() -> Vec<(String, Option<String>)> {
    let mut found = variables(&deployment());
    found.extend(variables(&object("components/cert-manager/files.yaml", "Deployment")));
    found.extend(variables(&object("standalone/server.yaml", "Deployment")));
    let component = object("components/warn-only/kustomization.yaml", "Component");
    let patches = list(&component["patches"]).iter();
    found.extend(
        patches.flat_map(|patch| documents(text(&patch["patch"]))).flat_map(|patch| variables(&patch)),
    );
    found
}

#[test]
fn every_flag_and_variable_exists() {
    let known = flags(&help());
    let of_variable = |name: &str| {
        let flag = name.strip_prefix("ETCD_WARDEN_").unwrap_or_else(|| panic!("{name} is none of ours"));
        flag.to_lowercase().replace('_', "-")
    };
    let arguments = arguments();
    let used = arguments.iter().filter_map(|argument| argument.strip_prefix("--")?.split('=').next());
    let used = used.map(str::to_owned);
    for flag in used.chain(all_variables().iter().map(|(name, _)| of_variable(name))) {
        assert!(known.contains(&flag), "no --{flag}");
    }
}

/// A filter of log levels that can't be read is found when all else is in order. The cluster that a pod would be in is
/// named instead, and isn't asked yet.
#[test]
fn the_arguments_can_be_followed() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_etcd-warden"));
    command.args(arguments()).args(["--kubeconfig=no-such-file", "--log-level=["]);
    for (name, value) in variables(&deployment()) {
        command.env(name, value.unwrap_or_else(|| NAME.to_owned()));
    }
    let output = command.output().expect("a run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--log-level") && said.contains("is no filter"), "{said}");
}

#[test]
fn the_pod_lives_as_long_as_its_end_takes() {
    let registrations = objects("base/registration.yaml");
    let timeouts = registrations.iter().flat_map(|registration| list(&registration["webhooks"]));
    let timeout = timeouts.map(|webhook| webhook["timeoutSeconds"].as_u64().expect("seconds")).max();
    let longest_review = timeout.expect("webhooks") - 1;
    assert!(number("shutdown-grace") >= longest_review);
    let needed = number("drain-time") + HANDSHAKE_AND_FIRST_REQUEST + number("shutdown-grace") + LAST_RECORD;
    let given = deployment()["spec"]["template"]["spec"]["terminationGracePeriodSeconds"].as_u64();
    let given = given.expect("seconds");
    assert!((needed..needed + 10).contains(&given), "needs {needed} s, has {given} s");
}

#[test]
fn the_reviews_in_hand_fit_the_memory() {
    let limit = &container()["resources"]["limits"];
    let mebibytes: u64 = text(&limit["memory"]).trim_end_matches("Mi").parse().expect("Mi");
    let needed = number("max-concurrent") * REVIEW_BYTES + CACHE_BYTES + AUDIT_BYTES;
    assert!(needed < mebibytes * 1024 * 1024, "{needed} bytes, {limit}");
    assert_eq!(limit["cpu"], Value::Null, "a throttled server misses its deadlines");
}

#[test]
fn the_pod_asks_for_no_right_that_restricted_forbids() {
    let spec = deployment()["spec"]["template"]["spec"].clone();
    let pod = &spec["securityContext"];
    assert_eq!(
        (&pod["runAsNonRoot"], &pod["seccompProfile"]),
        (&json!(true), &json!({"type": "RuntimeDefault"}))
    );
    let expected = json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    });
    assert_eq!(container()["securityContext"], expected);
    let user = format!("USER {0}:{0}", pod["runAsUser"]);
    assert!(fs::read_to_string(path("Containerfile")).expect("Containerfile").contains(&user), "{user}");
    for field in ["hostNetwork", "hostPID", "hostIPC", "initContainers"] {
        assert_eq!(spec[field], Value::Null, "{field}");
    }
    let level = &object("base/namespace.yaml", "Namespace")["metadata"]["labels"];
    assert_eq!(level["pod-security.kubernetes.io/enforce"], "restricted");
}

/// Without it, a Service called `etcd-warden` sets `ETCD_WARDEN_PORT` and the like.
#[test]
fn no_service_sets_variables_that_look_like_flags() {
    assert_eq!(deployment()["spec"]["template"]["spec"]["enableServiceLinks"], false);
}

#[test]
fn only_a_pod_that_asks_gets_a_token() {
    assert_eq!(object("base/identity.yaml", "ServiceAccount")["automountServiceAccountToken"], false);
    assert_eq!(deployment()["spec"]["template"]["spec"]["automountServiceAccountToken"], true);
}

#[test]
fn a_roll_out_and_a_drain_leave_one_server() {
    let spec = deployment()["spec"].clone();
    assert!(spec["replicas"].as_u64() >= Some(2));
    assert_eq!(spec["strategy"]["rollingUpdate"]["maxUnavailable"], 0);
    let budget = object("base/availability.yaml", "PodDisruptionBudget");
    assert_eq!(budget["spec"]["maxUnavailable"], 1);
    assert_eq!(budget["spec"]["unhealthyPodEvictionPolicy"], "AlwaysAllow");
}

#[test]
fn the_image_is_this_release() {
    assert_eq!(container()["image"], format!("{NAME}:{}", env!("CARGO_PKG_VERSION")));
    let entry = format!("ENTRYPOINT [\"/{NAME}\"]");
    assert!(fs::read_to_string(path("Containerfile")).expect("Containerfile").contains(&entry));
}

#[test]
fn whatever_selects_the_pods_selects_them() {
    let labels = deployment()["spec"]["template"]["metadata"]["labels"].clone();
    let service = object("base/server.yaml", "Service");
    let metrics = object("components/monitoring/scraping.yaml", "Service");
    let policy = object("components/network-policy/network-policy.yaml", "NetworkPolicy");
    let mut selectors = vec![
        service["spec"]["selector"].clone(),
        metrics["spec"]["selector"].clone(),
        deployment()["spec"]["selector"]["matchLabels"].clone(),
        object("base/availability.yaml", "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].clone(),
        policy["spec"]["podSelector"]["matchLabels"].clone(),
    ];
    for spread in list(&deployment()["spec"]["template"]["spec"]["topologySpreadConstraints"]) {
        selectors.push(spread["labelSelector"]["matchLabels"].clone());
    }
    for selector in selectors {
        assert_eq!(selector, labels);
    }
}

/// Ports go by name, and the names are those of the ports that the flags open.
#[test]
fn whatever_names_a_port_names_one_that_is_open() {
    let service = object("base/server.yaml", "Service");
    let metrics = object("components/monitoring/scraping.yaml", "Service");
    let policy = object("components/network-policy/network-policy.yaml", "NetworkPolicy");
    let container = container();
    let named: Vec<&str> = list(&container["ports"]).iter().map(|port| text(&port["name"])).collect();
    let used = [
        &service["spec"]["ports"][0]["targetPort"],
        &metrics["spec"]["ports"][0]["targetPort"],
        &container["livenessProbe"]["httpGet"]["port"],
        &container["readinessProbe"]["httpGet"]["port"],
        &policy["spec"]["ingress"][0]["ports"][0]["port"],
        &policy["spec"]["ingress"][1]["ports"][0]["port"],
    ];
    for port in used {
        assert!(named.contains(&text(port)), "{port}");
    }
    for (name, flag) in [("https", "--listen="), ("probes", "--probes-listen=")] {
        let argument = arguments().into_iter().find(|argument| argument.starts_with(flag)).expect(flag);
        let port = list(&container["ports"]).iter().find(|port| port["name"] == name).expect(name);
        assert!(argument.ends_with(&format!(":{}", port["containerPort"])), "{argument} {port}");
    }
}
