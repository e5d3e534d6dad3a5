//! Clusters that are formed, and what becomes of them: restarts, lost disks, hibernation, growth, rolling changes.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::certificates::{secrets, with_tls};
use crate::harness::{
    Etcd, IMAGE_3_5, IMAGE_3_6, IMAGE_3_7, IMAGE_WITHOUT, Installed, Writer, eventually, spec,
};
use crate::support::pem::Authority;

use std::time::Duration;

const SOON: Duration = Duration::from_mins(2);

#[test]
fn three_members_over_tls_keep_identity_and_data_through_restarts_a_lost_disk_and_hibernation() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    secrets(&shop, "main", &Authority::new("etcd's CA"));
    let main = Etcd::create(&shop, "main", &with_tls(spec(3, IMAGE_3_6)));
    main.until_ready();
    let formed = main.members(0);
    assert_eq!(main.voters(0), ["main-0", "main-1", "main-2"]);
    status_says_what_etcd_says(&main);
    main.etcdctl(0, &["put", "color", "blue"]).ok();

    main.replace_pods(&[1]);
    assert_eq!(main.members(1), formed, "a restart is no membership change");
    main.replace_pods(&[0, 1, 2]);
    assert_eq!(main.members(2), formed, "nor is one of all at once");
    assert_eq!(main.get(2, "color"), "blue");

    main.lose_disk(2);
    main.until_ready();
    assert_eq!(main.voters(0), ["main-0", "main-1", "main-2"]);
    let (cluster, members) = main.members(2);
    assert_eq!((cluster, &members[..2]), (formed.0, &formed.1[..2]), "the others are who they were");
    assert_ne!(members[2].id, formed.1[2].id, "a disk that is lost takes its member with it");
    assert_eq!(main.get(2, "color"), "blue");

    main.change(&json!({"replicas": 0}));
    eventually(SOON, "no pod is left", || (0..3).all(|ordinal| main.pod(ordinal).is_null()));
    main.change(&json!({"replicas": 3}));
    main.until_ready();
    assert_eq!(main.members(1), (cluster, members), "who wakes is who fell asleep");
    assert_eq!(main.get(1, "color"), "blue");
    status_says_what_etcd_says(&main);
}

pub(super) fn status_says_what_etcd_says(etcd: &Etcd<'_>) {
    let of_etcd: Vec<(String, String)> =
        etcd.members(0).1.into_iter().map(|member| (member.name, format!("{:x}", member.id))).collect();
    eventually(SOON, "status has the members that etcd has", || {
        let status = etcd.object()["status"].clone();
        let listed = status["members"].as_array().cloned().unwrap_or_default();
        let text =
            |member: &serde_json::Value, field: &str| member[field].as_str().unwrap_or_default().to_owned();
        let said: Vec<_> = listed.iter().map(|member| (text(member, "name"), text(member, "id"))).collect();
        if said == of_etcd { Ok(()) } else { Err(status["members"].to_string()) }
    });
}

#[test]
fn one_member_grows_to_three_and_changes_its_version_and_settings_under_writes() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let main = Etcd::create(&shop, "main", &spec(1, IMAGE_3_5));
    main.until_ready();
    let formed = main.members(0);
    let writer = Writer::start(&shop, "http://main-client:2379", None);

    main.change(&json!({"replicas": 3}));
    main.until_ready();
    let grown = main.members(0);
    assert_eq!(main.voters(2), ["main-0", "main-1", "main-2"]);
    assert_eq!((grown.0, &grown.1[0]), (formed.0, &formed.1[0]));

    main.change(&json!({"etcd": {"image": IMAGE_3_6, "snapshotCount": 5000}}));
    main.until_ready();
    assert_eq!(main.members(0), grown, "a rolling change is no membership change");
    let versions: BTreeSet<String> = (0..3).map(|ordinal| version(&main, ordinal)).collect();
    assert!(versions.iter().all(|version| version.starts_with("3.6.")), "{versions:?}");
    let configured = shop.exec("main-0", &["cat", "/var/etcd/data/etcd.conf.yaml"]).ok();
    assert!(configured.contains("5000"), "{configured}");

    let (written, refused) = writer.nothing_is_lost_by(&main, 2);
    assert!(written > 20, "{written} writes; refused: {refused}");
}

/// What a wrong spec has broken, the one that corrects it mends: of three the first that is tried stays down, of one all.
#[test]
fn an_image_without_etcd_is_corrected_though_a_member_is_down_by_it() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let all = [1, 3].map(|size| Etcd::create(&shop, &format!("of-{size}"), &spec(size, IMAGE_3_6)));
    for etcd in &all {
        etcd.until_ready();
        etcd.etcdctl(0, &["put", "color", "blue"]).ok();
    }
    let formed = all.each_ref().map(|etcd| etcd.members(0));
    for etcd in &all {
        etcd.change(&json!({"etcd": {"image": IMAGE_WITHOUT}}));
        etcd.until("AllMembersReady", "False", "the image has no etcd in its PATH");
    }
    for etcd in &all {
        etcd.change(&json!({"etcd": {"image": IMAGE_3_6}}));
    }
    for (etcd, formed) in all.iter().zip(formed) {
        etcd.until_ready();
        assert_eq!(etcd.members(0), formed);
        assert_eq!(etcd.get(0, "color"), "blue");
    }
}

/// What etcd 3.5 wrote, 3.7 can't read, and no image goes back: a cluster of one would be lost.
#[test]
fn from_3_5_by_3_6_a_cluster_comes_to_3_7_only_once_its_log_can_be_read_there() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let main = Etcd::create(&shop, "main", &spec(1, IMAGE_3_5));
    main.until_ready();
    main.etcdctl(0, &["put", "color", "blue"]).ok();
    main.change(&json!({"etcd": {"image": IMAGE_3_6}}));
    main.until_ready();
    assert!(version(&main, 0).starts_with("3.6."));

    main.change(&json!({"etcd": {"image": IMAGE_3_7}}));
    main.until("AllMembersUpdated", "False", "the log of main-0 holds what etcd 3.5 wrote");
    main.replace_pods(&[0]);
    assert!(version(&main, 0).starts_with("3.6."), "whoever restarts its pod");
    main.change(&json!({"etcd": {"snapshotCount": 10}}));
    let script = "for n in $(seq 30); do etcdctl put filler $n; done";
    eventually(SOON, "it runs 3.7", || {
        shop.exec("main-0", &["sh", "-c", script]);
        let status = main.etcdctl(0, &["endpoint", "status"]).stdout;
        if status.contains("3.7.") { Ok(()) } else { Err(status) }
    });
    main.until_ready();
    assert_eq!(main.get(0, "color"), "blue");
}

/// The release that a member runs.
pub(super) fn version(etcd: &Etcd<'_>, ordinal: u32) -> String {
    etcd.endpoint_status(ordinal)["version"].as_str().unwrap().to_owned()
}

/// What bears a name that is needed and isn't ours stays as it is; the status says what to do, and nothing is formed
/// before it is done.
#[test]
fn an_object_of_somebody_else_is_named_and_never_taken_over() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    shop.kubectl(&["create", "configmap", "main-config", "--from-literal=mine=1"]).ok();
    let get = ["get", "configmap", "main-config", "--output=json", "--show-managed-fields"];
    let before = shop.kubectl(&get).ok();
    let main = Etcd::create(&shop, "main", &spec(1, IMAGE_3_6));
    let said = eventually(SOON, "status names it", || {
        let errors = main.object()["status"]["lastErrors"].clone();
        let said = errors[0]["description"].as_str().map(str::to_owned);
        said.ok_or_else(|| errors.to_string())
    });
    assert!(
        said.contains("ConfigMap \"main-config\"") && said.contains("kubectl delete configmap main-config"),
        "{said}"
    );
    let events = shop.kubectl(&["get", "events", "--output=jsonpath={.items[*].reason}"]).ok();
    assert!(events.contains("ERR_FOREIGN_OBJECT"), "{events}");
    assert_eq!(shop.kubectl(&get).ok(), before);
    assert!(
        main.object()["status"]["members"].as_array().is_none_or(Vec::is_empty),
        "nothing is formed meanwhile"
    );

    shop.kubectl(&["delete", "configmap", "main-config"]).ok();
    main.until_ready();
    assert_eq!(main.voters(0), ["main-0"]);
    assert!(main.object()["status"]["lastErrors"].as_array().is_none_or(Vec::is_empty));
    main.delete();
    main.until_gone();
}

/// 200 of them for five minutes in the long form.
#[test]
fn etcds_at_rest_cost_no_write() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let (count, rest) =
        if crate::harness::is_long() { (200, Duration::from_mins(5)) } else { (10, Duration::from_secs(20)) };
    let etcds: Vec<_> = (0..count)
        .map(|number| Etcd::create(&shop, &format!("rests-{number}"), &spec(0, IMAGE_3_6)))
        .collect();
    for etcd in &etcds {
        eventually(SOON * 5, "it is looked after", || {
            let status = etcd.object()["status"].clone();
            if status["observedGeneration"] == 1 { Ok(()) } else { Err(status.to_string()) }
        });
    }
    let here = |mark| {
        let writes = installed.bed.writes_since(mark).into_iter();
        writes.filter(|write| write.namespace() == shop.name).collect::<Vec<_>>()
    };
    // Objects are made in one sweep; its last status writes may be on their way.
    let mark = eventually(SOON, "the last write is over", || {
        let mark = installed.bed.mark();
        std::thread::sleep(Duration::from_secs(2));
        let writes = here(mark);
        if writes.is_empty() { Ok(mark) } else { Err(format!("{writes:?}")) }
    });
    std::thread::sleep(rest);
    let writes = here(mark);
    assert!(writes.is_empty(), "{writes:#?}");
}
