//! Starts that fail: what is said, and the exit status.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use super::support::process::{command, spawn};

fn run(directory: &Path, arguments: &[&str]) -> Output {
    command(directory).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// That the program ends with `status` and says every one of `parts`.
fn fails(directory: &Path, arguments: &[&str], status: i32, parts: &[&str]) {
    let output = run(directory, arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{arguments:?}: {part:?} in {said}");
    }
}

const FREE: [&str; 4] = ["--listen", "127.0.0.1:0", "--probes-listen", "127.0.0.1:0"];

fn with_free_ports<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    FREE.into_iter().chain(arguments.iter().copied()).collect()
}

#[test]
fn flags_that_contradict_each_other_end_with_2_and_a_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let table: [(&[&str], &[&str]); 25] = [
        (&["--tls-cert", "x"], &["--tls-key"]),
        (&["--tls-key", "x"], &["--tls-cert"]),
        (&["--client-names", "a"], &["--client-ca"]),
        (&["--client-ca", "x", "--client-names", " ,"], &["--client-names names nothing"]),
        (&["--allowed-images", ""], &["--allowed-images names nothing"]),
        (&["--audit-required"], &["--audit-log"]),
        (&["--audit-required", "--audit", "off", "--audit-log", "x"], &["--audit off"]),
        (&["--audit-max-size", "0"], &["--audit-max-size", "such as 100Mi"]),
        (&["--audit-max-size", "much"], &["100Mi"]),
        (&["--listen", "127.0.0.1:8080"], &["127.0.0.1:8080", "two ports"]),
        (&["--listen", "[::]:8080"], &["two ports"]),
        (&["--listen", "localhost:9443"], &["--listen", "such as 127.0.0.1:9443", "names aren't looked up"]),
        (&["--drain-time", "10"], &["10s"]),
        (&["--max-concurrent", "0"], &["1 to"]),
        (&["--tls-min-version", "1.1"], &["1.2", "1.3"]),
        (&["--certificates", "files"], &["--certificates files", "--tls-cert"]),
        (&["--certificates", "directory", "--tls-cert", "x", "--tls-key", "y"], &["--certificates files"]),
        (&["--certificates", "self-managed", "--tls-cert", "x", "--tls-key", "y"], &["--certificates files"]),
        (&["--certificates", "self-managed"], &["needs a cluster", "--kubeconfig"]),
        (
            &["--certificates", "self-managed", "--leaf-lifetime", "9000h"],
            &["--leaf-lifetime", "--ca-lifetime"],
        ),
        (&["--certificates", "self-managed", "--leaf-lifetime", "0s"], &["--leaf-lifetime", "24h"]),
        (&["--certificates", "self-managed", "--ca-settle-time", "3000h"], &["--ca-settle-time", "a third"]),
        (&["--certificates", "mounted"], &["directory", "self-managed"]),
        (&["--enforcement", "never"], &["deny", "warn"]),
        (&["--log-level", "a=b=c"], &["--log-level", "debug"]),
    ];
    for (arguments, parts) in table {
        fails(directory.path(), arguments, 2, parts);
    }
    fails(directory.path(), &["nonsense"], 2, &["nonsense"]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing was made");
}

#[test]
fn variables_stand_for_flags_and_empty_ones_for_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let run = |value: &str| {
        let mut command = command(directory.path());
        command
            .env("ETCD_WARDEN_TLS_CERT", value)
            .env("ETCD_WARDEN_DRAIN_TIME", "")
            .env("ETCD_WARDEN_LISTEN", "127.0.0.1:8080");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (status, said) = run("x");
    assert_eq!((status, said.contains("--tls-key")), (Some(2), true), "{said}");
    let (status, said) = run("");
    assert_eq!((status, said.contains("two ports")), (Some(2), true), "{said}");
}

#[test]
fn a_wrong_value_is_told_with_the_variable_that_it_came_by() {
    let directory = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], variable: &str, value: &str| {
        let output = command(directory.path()).args(arguments).env(variable, value).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (variable, value) in [
        ("ETCD_WARDEN_LISTEN", "localhost:9443"),
        ("ETCD_WARDEN_AUDIT", "some"),
        ("ETCD_WARDEN_CONTROLLER", "si"),
    ] {
        let said = run(&["serve"], variable, value);
        assert!(said.contains(&format!("tip: the value is that of the variable {variable}\n")), "{said}");
    }
    let said = run(&["serve", "--listen", "here"], "ETCD_WARDEN_LISTEN", "127.0.0.1:0");
    assert!(!said.contains("ETCD_WARDEN_LISTEN"), "{said}");
}

/// A Deployment whose variable is mistyped starts all the same, and says so.
#[test]
fn a_variable_that_no_flag_has_is_warned_of() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = command(directory.path());
    // It ends by itself, once the variables have been looked at.
    command.args(with_free_ports(&["--tls-cert", "no.crt", "--tls-key", "no.key", "--log-format", "text"]));
    command.env("ETCD_WARDEN_ENFORCMENT", "warn").env("ETCD_WARDEN_EMPTIED", "");
    command.env("ETCD_WARDEN_SERVICE_HOST", "10.0.0.1").env("ETCD_WARDEN_PORT", "tcp://10.0.0.1:443");
    let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
    let warnings: Vec<&str> =
        said.lines().filter(|line| line.contains("no flag has this variable")).collect();
    assert_eq!(warnings.len(), 1, "{said}");
    assert!(
        warnings[0].contains("ETCD_WARDEN_ENFORCMENT")
            && warnings[0].contains("meant=ETCD_WARDEN_ENFORCEMENT"),
        "{said}"
    );
}

#[test]
fn a_busy_port_names_itself() {
    let directory = tempfile::tempdir().unwrap();
    let busy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = busy.local_addr().unwrap().to_string();
    for flag in ["--listen", "--probes-listen"] {
        let other = if flag == "--listen" { "--probes-listen" } else { "--listen" };
        fails(directory.path(), &[flag, &address, other, "127.0.0.1:0"], 1, &[&address, flag]);
    }
}

#[test]
fn files_that_are_missing_or_foreign_name_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    fails(
        at,
        &with_free_ports(&["--tls-cert", "no.crt", "--tls-key", "no.key"]),
        1,
        &["no.crt", "check the path"],
    );
    fails(at, &with_free_ports(&["--client-ca", "no.ca"]), 1, &["no.ca"]);
    fails(at, &with_free_ports(&["--audit-log", "no/audit.log"]), 1, &["no/audit.log", "--audit-log"]);
    fs::remove_dir_all(at.join("certs")).unwrap();
    fs::create_dir(at.join("certs")).unwrap();
    fs::write(at.join("certs/tls.crt"), "mine").unwrap();
    fails(at, &with_free_ports(&[]), 1, &["certs/ca.crt is missing"]);
    for file in ["ca.crt", "ca.key", "tls.key"] {
        fs::write(at.join("certs").join(file), "mine").unwrap();
    }
    fails(at, &with_free_ports(&[]), 1, &["certs/ca.crt", "--certs-dir"]);
    assert_eq!(fs::read_to_string(at.join("certs/tls.crt")).unwrap(), "mine");
}

#[test]
fn two_servers_do_not_share_an_audit_log() {
    let directory = tempfile::tempdir().unwrap();
    let _first = spawn(directory.path(), &["--audit-log", "audit.log"]);
    let arguments = with_free_ports(&["--audit-log", "audit.log"]);
    fails(directory.path(), &arguments, 1, &["audit.log is in use"]);
}

#[test]
fn certificates_are_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let first = spawn(directory.path(), &[]);
    let ca = fs::read(&first.ca).unwrap();
    drop(first);
    let second = spawn(directory.path(), &[]);
    assert_eq!(fs::read(&second.ca).unwrap(), ca);
}

#[test]
fn version_and_help_end_well() {
    let directory = tempfile::tempdir().unwrap();
    for (arguments, part) in [
        (["--version"].as_slice(), "etcd-warden 0."),
        (&["--help"], "serve"),
        (&["serve", "--help"], "--listen"),
    ] {
        let output = run(directory.path(), arguments);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && said.contains(part), "{said}");
    }
}
