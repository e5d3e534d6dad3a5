//! What was decided is decided again, as long as rules and settings are the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::logs::{Logged, validated_with};
use super::reviews::{create, delete, etcd, update};

/// Every fixture that is a review for `/validate`, by the flags of its server.
fn fixtures() -> BTreeMap<Vec<String>, Vec<Vec<u8>>> {
    let mut by_flags: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for folder in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        let Some(flags) = validated_with(&folder) else { continue };
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let is_fixture = name.starts_with("accepted-") || name.starts_with("rejected-");
            // Not the answers, which are *.answer.json.
            let is_review = is_fixture && name.split('.').nth(1) == Some("json");
            if is_review && !folder.ends_with("malformed") {
                by_flags.entry(flags.clone()).or_default().push(fs::read(&file).unwrap());
            }
        }
    }
    by_flags
}

fn summary(said: &str) -> Value {
    serde_json::from_str::<Value>(said).expect(said)["summary"].clone()
}

/// Also without the enforcement: a record says what would have been refused.
fn of_the_rules(flags: &[String]) -> Vec<&str> {
    let mut words = flags.iter().map(String::as_str);
    let mut kept = Vec::new();
    while let Some(flag) = words.next() {
        match flag {
            "--enforcement" => drop(words.next()),
            "--deletion-protection" => kept.push(flag),
            flag => kept.extend([Some(flag), words.next()].into_iter().flatten()),
        }
    }
    kept
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fixture_is_judged_again_as_the_server_judged_it() {
    let mut judged = 0;
    for (flags, bodies) in fixtures() {
        let reviews: Vec<_> = bodies.into_iter().map(|body| ("/validate", body)).collect();
        let words: Vec<&str> = flags.iter().map(String::as_str).collect();
        let log = Logged::new(&[&["--audit", "all"], words.as_slice()].concat(), &reviews).await;
        let arguments = ["replay", "--output", "json", "audit.log"];
        let said = log.audit(&[&arguments, of_the_rules(&flags).as_slice()].concat());
        assert_eq!((said.status, said.err.as_str()), (0, ""), "{flags:?}: {}", said.out);
        let summary = summary(&said.out);
        assert_eq!(summary["records"], reviews.len(), "{flags:?}");
        for none in ["nowAccepted", "nowRefused", "otherRules"] {
            assert_eq!(summary[none], 0, "{flags:?}: {}", said.out);
        }
        assert!(summary["notJudged"]["stored"].is_null(), "{summary}");
        judged += summary["same"].as_u64().unwrap();
    }
    assert!(judged > 300, "{judged} fixtures are judged");
}

/// One review of each kind that settings or time can change the verdict of.
async fn log_of_all_kinds() -> Logged {
    let with = |change: fn(&mut Value)| {
        let mut object = etcd();
        change(&mut object);
        object
    };
    let imaged = with(|object| object["spec"]["etcd"]["image"] = json!("quay.io/coreos/etcd:v3.6.1"));
    let renamed = |mut object: Value, name: &str| {
        object["metadata"]["name"] = json!(name);
        object
    };
    let grown = with(|object| object["spec"]["replicas"] = json!(3));
    let reviews = [
        create(&renamed(imaged.clone(), "other-image")),
        create(&renamed(imaged, "same")),
        update(&renamed(grown, "shrinks"), &renamed(etcd(), "shrinks")),
        delete(&renamed(etcd(), "goes")),
    ];
    let numbered = |(number, mut review): (usize, Value)| {
        review["request"]["uid"] = json!(format!("{number}-uid"));
        ("/validate", review.to_string().into_bytes())
    };
    let reviews: Vec<_> = reviews.into_iter().enumerate().map(numbered).collect();
    Logged::new(&["--audit", "all", "--allowed-images", "registry.example/"], &reviews).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_other_settings_would_decide_is_told() {
    let log = log_of_all_kinds().await;
    let same = log.audit(&["replay", "--allowed-images", "registry.example/", "audit.log"]);
    assert_eq!((same.status, same.err.as_str()), (0, ""));
    assert!(same.out.starts_with("4 records judged anew: 4 as before"), "{}", same.out);

    let open = log.audit(&["replay", "audit.log"]);
    assert_eq!(open.status, 1);
    let lines: Vec<&str> = open.out.lines().collect();
    assert_eq!(lines.len(), 5, "{}", open.out);
    assert!(
        lines[1].contains("test/other-image") && lines[1].ends_with("accepted  -image-allowed"),
        "{}",
        open.out
    );

    let protected =
        log.audit(&["replay", "--deletion-protection", "--name", "goes", "--output", "json", "audit.log"]);
    assert_eq!(protected.status, 1);
    let told: Value = serde_json::from_str(&protected.out).unwrap();
    let difference = &told["differences"][0];
    assert_eq!(
        (&difference["change"], &difference["new"]),
        (&json!("nowRefused"), &json!(["deletion-protected"]))
    );
    assert_eq!(
        (&difference["operation"], &difference["name"], &difference["uid"]),
        (&json!("DELETE"), &json!("goes"), &json!("3-uid"))
    );
    assert_eq!(told["summary"]["nowRefused"], 1);
}

/// A log of an earlier release has no `before`: an update can't be judged, and that is said.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_record_lacks_is_said() {
    let log = log_of_all_kinds().await;
    let mut text = String::new();
    for mut record in log.records() {
        record.as_object_mut().unwrap().remove("before");
        text = text + &record.to_string() + "\n";
    }
    fs::write(log.path("old.log"), text).unwrap();
    let said = log.audit(&["replay", "--allowed-images", "registry.example/", "old.log"]);
    assert_eq!(said.status, 0);
    let expected = "3 records judged anew: 3 as before, 0 would be accepted now, 0 would be refused now, 0 refused by \
                    other rules\nnot judged: 1 update without what was stored (recorded by an earlier release)\n";
    assert_eq!(said.out, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_names_nothing_and_a_log_that_is_not_there_end_with_2() {
    let log = log_of_all_kinds().await;
    let said = log.audit(&["replay", "--allowed-images", ",", "audit.log"]);
    assert!(said.status == 2 && said.err.contains("--allowed-images names nothing"), "{}", said.err);
    let said = log.audit(&["replay", "nowhere.log"]);
    assert!(said.status == 2 && said.err.contains("nowhere.log"), "{}", said.err);
}
