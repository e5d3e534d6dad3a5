//! `etcd-warden status`, where there is nobody who could say in the Etcd's own status what is wrong.

use std::time::Duration;

use crate::harness::certificates::{secrets, with_tls};
use crate::harness::{Etcd, IMAGE_3_6, Installed, eventually, spec};
use crate::support::pem::Authority;

/// Kubernetes tries again after longer and longer pauses.
const SOON: Duration = Duration::from_mins(3);

#[track_caller]
fn shows(main: &Etcd<'_>, words: &[&str]) {
    eventually(SOON, &format!("status shows {words:?}"), || {
        let shown = main.shown();
        if words.iter().all(|word| shown.contains(word)) { Ok(()) } else { Err(shown) }
    });
}

#[test]
fn what_only_a_stateful_set_and_pods_are_told_is_shown_until_it_is_mended() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let enforce = "pod-security.kubernetes.io/enforce";
    shop.bed.kubectl(&["label", "namespace", &shop.name, &format!("{enforce}=restricted")]).ok();
    let main = Etcd::create(&shop, "main", &with_tls(spec(1, IMAGE_3_6)));
    let hint = format!("main-0 has no pod yet; if it lasts, see etcd-warden status main -n {}", shop.name);
    main.until("Ready", "Unknown", &hint);
    shows(&main, &[" FailedCreate of statefulset/main", "violates PodSecurity \"restricted"]);

    shop.bed.kubectl(&["label", "namespace", &shop.name, &format!("{enforce}-")]).ok();
    shows(&main, &[" FailedMount of pod/main-0", "secret \"ca\" not found"]);

    secrets(&shop, "main", &Authority::new("etcd's CA"));
    main.until_ready();
    shows(&main, &["Running"]);
    let shown = main.shown();
    assert!(!shown.contains("Failed"), "{shown}");
}
