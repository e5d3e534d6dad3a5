//! Targets whose name or peer URL somebody else has at the source.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Etcd, IMAGE_3_6, Installed, Namespace, Source, Writer, eventually, joining};

const SOON: Duration = Duration::from_mins(2);

#[test]
fn a_peer_url_and_a_name_that_are_taken_stop_a_target_and_are_named() {
    let Some(installed) = Installed::looping() else { return };
    let (shop, elsewhere) = (installed.namespace(), installed.namespace());
    let source = Source::serving(&shop, "src", 1, IMAGE_3_6);
    let writer = Writer::start(&shop, "http://src:2379", None);
    let (cluster, before) = source.members();
    let spec = joining(1, IMAGE_3_6, &source.bootstrap());
    whose_url_a_source_member_holds(&shop, &source, &spec);

    let [first, second] = two_of_one_name([&shop, &elsewhere], &spec);
    let theirs = format!("http://c2-0.c2-peer.{}.svc:2380", first.shop.name);
    second.until_held_up(&["its name c2-0 is that of c2-0 (", &theirs, "memberNamePrefix", "[Collision]"]);
    let members = first.members(0);
    second.delete();
    second.until_gone();
    assert_eq!(first.members(0), members, "who never was a member takes nobody out");
    let mut prefixed = spec.clone();
    prefixed["memberNamePrefix"] = json!("second");
    let second = Etcd::create(second.shop, "c2", &prefixed);
    second.until_joined();

    assert_eq!(first.voters(0), ["c2-0", "c3-0", "second-c2-0", "src-0"]);
    let (of_all, members) = second.members(0);
    assert_eq!((of_all, first.members(0)), (cluster, source.members()));
    assert!(before.iter().all(|member| members.contains(member)), "{members:?}");
    let (written, refused) = writer.nothing_is_lost_by(&second, 0);
    assert!(written > 10, "{written} writes; refused: {refused}");
}

/// Stops before it is added, and joins once the URL is free again.
fn whose_url_a_source_member_holds(shop: &Namespace<'_>, source: &Source<'_>, spec: &Value) {
    let before = source.members();
    let id = format!("{:x}", before.1[0].id);
    let bootstrap = source.bootstrap();
    let own = bootstrap["members"][0]["peerUrls"][0].as_str().unwrap();
    let taken = format!("http://c3-0.c3-peer.{}.svc:2380", shop.name);
    let advertise =
        |urls: &str| source.etcdctl(0, &["member", "update", &id, &format!("--peer-urls={urls}")]);
    advertise(&format!("{own},{taken}"));
    let c3 = Etcd::create(shop, "c3", spec);
    let told = format!("etcdctl member update {id}");
    c3.until_held_up(&[&format!("its peer URL {taken} is that of src-0 ({id}"), &told, "[Collision]"]);
    assert_eq!(source.members(), before);
    advertise(own);
    c3.until_joined();
    assert_eq!(c3.voters(0), ["c3-0", "src-0"]);
}

/// Two Etcds at the same time; the one that has joined comes first.
fn two_of_one_name<'a>(shops: [&'a Namespace<'a>; 2], spec: &Value) -> [Etcd<'a>; 2] {
    let [one, other] = shops.map(|shop| Etcd::create(shop, "c2", spec));
    let is_one =
        eventually(SOON, "one of the two has joined", || match (one.has_joined(), other.has_joined()) {
            (false, false) => Err("neither has".to_owned()),
            (is_one, is_other) => {
                assert_ne!(is_one, is_other, "both have, under one name");
                Ok(is_one)
            }
        });
    let both = if is_one { [one, other] } else { [other, one] };
    both[0].until_ready();
    both
}
