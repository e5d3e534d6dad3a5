//! Volumes that are swapped, lost, rolled back, kept, or somebody else's: etcd's member list and its data are the witness,
//! and the status says what is wrong.

use std::time::Duration;

use serde_json::{Value, json};

use super::forming::status_says_what_etcd_says;
use crate::harness::certificates::{secrets, with_tls};
use crate::harness::{Etcd, IMAGE_3_6, Installed, Listed, Namespace, Volume, eventually, spec};
use crate::support::pem::Authority;

const SOON: Duration = Duration::from_mins(2);

/// Cluster id and members.
type Members = (u64, Vec<Listed>);

/// A cluster of three with a value in it.
fn three<'a>(shop: &'a Namespace<'a>) -> (Etcd<'a>, Members) {
    let main = Etcd::create(shop, "main", &spec(3, IMAGE_3_6));
    main.until_ready();
    main.etcdctl(0, &["put", "color", "blue"]).ok();
    let formed = main.members(0);
    (main, formed)
}

#[track_caller]
fn goes_on(main: &Etcd<'_>, formed: &Members) {
    main.until_ready();
    assert_eq!(main.members(1), *formed);
    assert_eq!(main.get(2, "color"), "blue");
}

#[test]
fn swapped_and_lost_volumes_are_told_and_no_second_cluster_is_formed() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let (main, formed) = three(&shop);
    let volumes = [0, 1, 2].map(|ordinal| Volume::of(&main, ordinal));

    volumes[1].swap(&volumes[2]);
    main.restart_pods(&[1, 2]);
    main.until("AllMembersReady", "False", "main-1: the claim of pod main-1 holds the data of main-2");
    main.until("AllMembersReady", "False", "main-2: the claim of pod main-2 holds the data of main-1");
    main.until("Ready", "False", "give each pod its own claim again; nothing was changed [ForeignData]");
    volumes[1].swap(&volumes[2]);
    main.replace_pods(&[1, 2]);
    goes_on(&main, &formed);

    for volume in &volumes[1..] {
        volume.empty();
    }
    main.restart_pods(&[1, 2]);
    main.until("Ready", "False", "main-1: waits for http://main-client:2379");
    main.until("Ready", "False", "main-2: waits for http://main-client:2379");
    let read = ["get", "color", "--print-value-only", "--consistency=s"];
    assert_eq!(main.etcdctl(0, &read).ok().trim_end(), "blue", "the third has the data");
    nothing_is_begun(&volumes[1..]);
    for volume in &volumes[1..] {
        volume.put_back();
    }
    main.replace_pods(&[1, 2]);
    goes_on(&main, &formed);

    for volume in &volumes {
        volume.empty();
    }
    main.restart_pods(&[0, 1, 2]);
    for ordinal in 0..3 {
        let said = format!("main-{ordinal}: every member of this Etcd has lost its data: restore a backup");
        main.until("Ready", "False", &said);
    }
    nothing_is_begun(&volumes);
    for volume in &volumes {
        volume.put_back();
    }
    main.replace_pods(&[0, 1, 2]);
    goes_on(&main, &formed);
    assert_eq!(main.object()["status"]["formingAttempt"], 1, "one word to form was given");
}

/// The manifests of `docs/backup.md`, as somebody with another namespace, image and storage would write them.
fn documented(shop: &Namespace<'_>, snapshot: &str) -> Vec<String> {
    let page = include_str!("../../../docs/backup.md");
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let changes = [
        ("namespace: shop", format!("namespace: {}", shop.name)),
        (".shop.svc", format!(".{}.svc", shop.name)),
        ("gcr.io/etcd-development/etcd:v3.6.16", IMAGE_3_6.to_owned()),
        ("storage: 16Gi", "storage: 64Mi".to_owned()),
        // A bed's volumes belong to root.
        ("runAsNonRoot: true", "runAsNonRoot: false".to_owned()),
        ("runAsUser: 65532", "runAsUser: 0".to_owned()),
        ("SNAPSHOT", snapshot.to_owned()),
    ];
    let adapted =
        |block: &str| changes.iter().fold(block.to_owned(), |text, (from, to)| text.replace(from, to));
    blocks.map(adapted).collect()
}

/// The name of the pod of a Job, once that is complete.
#[track_caller]
fn complete(shop: &Namespace<'_>, job: &str) -> String {
    let selector = format!("--selector=job-name={job}");
    eventually(SOON, &format!("{job} is complete"), || {
        let done = "--field-selector=status.phase=Succeeded";
        shop.kubectl(&["get", "pods", &selector, done, "--output=jsonpath={.items[0].metadata.name}"])
            .attempt()
    })
}

/// What the messages advise, by the page that says how.
#[test]
fn a_lost_cluster_is_restored_from_a_snapshot_as_documented() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let (main, formed) = three(&shop);
    shop.apply(&documented(&shop, "")[0]);
    shop.kubectl(&["create", "job", "--from=cronjob/main-snapshot", "now"]).ok();
    let snapshot = complete(&shop, "now");
    main.etcdctl(0, &["put", "color", "after the snapshot"]).ok();
    for ordinal in 0..3 {
        Volume::of(&main, ordinal).empty();
    }
    main.restart_pods(&[0, 1, 2]);
    main.until("Ready", "False", "every member of this Etcd has lost its data: restore a backup");

    main.delete();
    main.until_gone();
    shop.kubectl(&["delete", "pvc", "--selector=app.kubernetes.io/part-of=main"]).ok();
    shop.apply(&documented(&shop, &snapshot)[1]);
    eventually(SOON, "it is restored", || {
        let phase =
            shop.kubectl(&["get", "pod", "main-restore", "--output=jsonpath={.status.phase}"]).attempt()?;
        let logs = || shop.kubectl(&["logs", "main-restore"]).stdout;
        assert_ne!(phase, "Failed", "{}", logs());
        if phase == "Succeeded" { Ok(()) } else { Err(phase) }
    });
    let said = shop.kubectl(&["logs", "main-restore"]);
    assert!((said.stdout.clone() + &said.stderr).contains("restored snapshot"), "{}", said.stdout);
    shop.kubectl(&["delete", "pod", "main-restore"]).ok();

    let again = Etcd::create(&shop, "main", &spec(1, IMAGE_3_6));
    again.until_ready();
    assert_eq!(again.get(0, "color"), "blue");
    again.change(&json!({"replicas": 3}));
    again.until_ready();
    let (cluster, members) = again.members(2);
    assert!(cluster != formed.0 && members.len() == 3, "{members:?}");
    assert_eq!(again.get(2, "color"), "blue");
    let revision = again.endpoint_status(2)["header"]["revision"].as_u64();
    assert!(revision.is_some_and(|revision| revision > 1_000_000_000), "{revision:?}");
    again.replace_pods(&[0, 1, 2]);
    assert_eq!(again.members(0), (cluster, members));
    status_says_what_etcd_says(&again);
}

#[track_caller]
fn nothing_is_begun(volumes: &[Volume<'_>]) {
    for volume in volumes {
        let holds = volume.holds();
        assert!(!holds.iter().any(|name| name == "new.etcd"), "{holds:?}");
    }
}

#[test]
fn a_claim_of_an_older_copy_is_a_new_member_and_an_etcd_that_is_created_anew_goes_on_with_its_claims() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let (main, formed) = three(&shop);
    let last = Volume::of(&main, 2);
    main.change(&json!({"replicas": 0}));
    eventually(SOON, "no pod is left", || (0..3).all(|ordinal| main.pod(ordinal).is_null()));
    last.copy();
    main.change(&json!({"replicas": 3}));
    main.until_ready();
    main.etcdctl(0, &["put", "color", "green"]).ok();
    eventually(SOON, "the loop has seen the second start", || {
        let path = r"--output=jsonpath={.data.starts\.json}";
        let seen = shop.kubectl(&["get", "configmap", "main-config", path]).attempt()?;
        let starts: Value = serde_json::from_str(&seen).map_err(|error| format!("{error}: {seen}"))?;
        if starts["main-2"]["starts"] == 2 { Ok(()) } else { Err(seen) }
    });

    last.put_back();
    main.replace_pods(&[2]);
    main.until_ready();
    let (cluster, members) = main.members(2);
    assert_eq!((cluster, &members[..2]), (formed.0, &formed.1[..2]), "the others are who they were");
    assert_ne!(members[2].id, formed.1[2].id, "who it was might vote twice");
    assert_eq!(main.get(2, "color"), "green", "written after the copy was taken");
    assert!(last.holds().iter().any(|name| name == "new.etcd.aside"), "the older copy is set aside");
    status_says_what_etcd_says(&main);

    main.delete();
    main.until_gone();
    shop.kubectl(&["delete", "pvc", &main.claim(1)]).ok();
    let again = Etcd::create(&shop, "main", &spec(3, IMAGE_3_6));
    again.until_ready();
    let (cluster, kept) = again.members(1);
    assert_eq!((cluster, &kept[0], &kept[2]), (formed.0, &members[0], &members[2]));
    assert_ne!(kept[1].id, members[1].id, "a claim that is lost takes its member with it");
    assert_eq!(again.get(1, "color"), "green");
    assert!(again.object()["status"]["formingAttempt"].is_null(), "no word to form was given");
}

/// A bed's volumes belong to root, as on storage that heeds no `fsGroup`: that is told with its remedies, and with the
/// one that needs no root the member runs as an ordinary user, its keys included.
#[test]
fn without_root_a_member_runs_under_restricted_pod_security_once_its_volume_is_its_own() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let label = "pod-security.kubernetes.io/enforce=restricted";
    shop.bed.kubectl(&["label", "namespace", &shop.name, label]).ok();
    let refused = eventually(SOON, "a pod that may be root is refused", || {
        let said = shop.kubectl(&["run", "root", "--image=root", "--dry-run=server"]);
        if said.status.success() { Err(said.stdout) } else { Ok(said.stderr) }
    });
    assert!(refused.contains("violates PodSecurity \"restricted"), "{refused}");

    secrets(&shop, "main", &Authority::new("etcd's CA"));
    let mut spec = with_tls(spec(1, IMAGE_3_6));
    spec["runAsRoot"] = false.into();
    let main = Etcd::create(&shop, "main", &spec);
    let said = main.until("DataVolumesReady", "False", "user 65532 may not read and write /var/etcd/data");
    assert!(said.contains("set spec.runAsRoot: true, or give the volume's files to user 65532"), "{said}");
    Volume::of(&main, 0).give_to("65532:65532");
    main.until_ready();
    let formed = main.members(0);
    main.etcdctl(0, &["put", "color", "blue"]).ok();
    main.replace_pods(&[0]);
    assert_eq!(main.members(0), formed);
    assert_eq!(main.get(0, "color"), "blue");

    let processes = shop.exec("main-0", &["sh", "-c", "cat /proc/[0-9]*/status || true"]).ok();
    let of = |field: &str| -> Vec<Vec<String>> {
        let lines = processes.lines().filter_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        lines.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
    };
    let names = of("Name").concat();
    assert!(["etcd", "etcd-warden"].iter().all(|name| names.iter().any(|found| found == name)), "{names:?}");
    for (field, value) in
        [("Uid", "65532"), ("Gid", "65532"), ("CapEff", "0000000000000000"), ("NoNewPrivs", "1")]
    {
        let found = of(field);
        assert!(found.iter().flatten().all(|found| found == value), "{field}: {found:?}");
        assert_eq!(found.len(), names.len(), "{field}");
    }
}
