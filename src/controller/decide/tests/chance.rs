//! What holds whatever is seen.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What one pod may be in while a cluster is being formed.
fn any_pod(ordinal: u32) -> impl Strategy<Value = Option<Pod>> {
    let word = prop_oneof![Just(None), (1_u32..4, any::<bool>()).prop_map(Some)];
    let took = prop_oneof![Just(None), (1_u32..4).prop_map(Some)];
    (0..8_u8, word, took, any::<bool>()).prop_map(move |(state, word, took, ready)| {
        let mut pod = match state {
            0 => return None,
            1 => Pod { said: Said::Stale, ..pod(ordinal, report(ordinal)) },
            2 => voter(ordinal),
            3 => Pod { is_terminating: true, ..pod(ordinal, report(ordinal)) },
            // It has just taken its word.
            4 => pod(ordinal, Report { waiting: None, ..report(ordinal) }),
            _ => pod(ordinal, report(ordinal)),
        };
        pod.is_ready &= ready;
        pod.word = word.map(|(attempt, ours)| {
            let initial_cluster = if ours { initial_cluster() } else { "another".to_owned() };
            Word::Form(Form { token: Form::token(UID, attempt), initial_cluster })
        });
        if let Said::Report(report) = &mut pod.said {
            report.took = took.map(|attempt| Form::token(UID, attempt));
        }
        Some(pod)
    })
}

/// Whether it runs no etcd, and is about to run none.
fn is_idle(pod: &Pod) -> bool {
    pod.report()
        .is_some_and(|report| report.waiting.as_ref().is_some_and(|waiting| waiting.why == Why::NoWord))
}

fn initial_cluster() -> String {
    let world = World::new(&three());
    let config: Config = config(&world.etcd, &Standing::default()).unwrap();
    config.initial_cluster()
}

proptest! {
    /// The word is given only where no earlier one can have led, or lead, to a cluster.
    #[test]
    fn the_word_is_safe(
        pods in (any_pod(0), any_pod(1), any_pod(2)),
        recorded in any::<bool>(),
        attempt in prop_oneof![Just(None), (1_u32..4).prop_map(Some)],
    ) {
        let mut world = World::new(&three());
        world.pods = [pods.0, pods.1, pods.2].into_iter().flatten().collect();
        world.etcd.status.forming_attempt = attempt;
        if recorded {
            world.record("9");
        }
        let decision = world.decide();
        let words: BTreeMap<String, String> = given(&decision.steps).into_iter().collect();
        if let Some(next) = decision.status.forming_attempt.filter(|_| decision.status.forming_attempt != attempt) {
            prop_assert!(attempt.is_none_or(|attempt| next > attempt));
            prop_assert!(words.is_empty(), "recorded first");
            prop_assert!(world.pods.iter().all(is_idle), "a word is being used");
        }
        if words.is_empty() {
            return Ok(());
        }
        prop_assert!(!recorded);
        prop_assert_eq!(world.pods.len(), 3);
        for pod in &world.pods {
            let report = pod.report().unwrap();
            prop_assert_eq!(&report.volume, &Volume::Empty);
            prop_assert!(report.role.is_none() && !pod.is_terminating && is_idle(pod));
            for token in words.values() {
                prop_assert_ne!(report.took.as_ref(), Some(token), "a new attempt has a new token");
                prop_assert_eq!(token, &Form::token(UID, attempt.unwrap()));
                if let Some(Word::Form(held)) = &pod.word {
                    prop_assert_eq!(&held.token, token, "no two attempts at once");
                    prop_assert_eq!(&held.initial_cluster, &initial_cluster());
                }
            }
        }
    }

    /// Whatever is seen, a second look at it writes nothing new.
    #[test]
    fn status_settles(pods in (any_pod(0), any_pod(1), any_pod(2)), joins in any::<bool>()) {
        let mut world = World::new(&if joins { joining() } else { three() });
        world.pods = [pods.0, pods.1, pods.2].into_iter().flatten().collect();
        world.settle();
    }

    /// At most one pod is replaced, and none of a cluster that could miss it.
    #[test]
    fn replacing_is_safe(
        pods in (any_pod(0), any_pod(1), any_pod(2)),
        outdated in any::<[bool; 3]>(),
    ) {
        let mut world = World::new(&three());
        world.pods = [pods.0, pods.1, pods.2].into_iter().flatten().collect();
        world.record("9");
        for pod in &mut world.pods {
            if outdated[pod.ordinal as usize] {
                pod.revision = "main-old".to_owned();
            }
        }
        let decision = world.decide();
        let replaced: Vec<&Pod> = world.pods.iter().filter(|pod| decision.steps.iter().any(|step| matches!(step, Step::Replace { pod: seen, .. } if seen.name == pod.name))).collect();
        prop_assert!(replaced.len() <= 1);
        if let [pod] = replaced[..] {
            prop_assert!(outdated[pod.ordinal as usize] && world.pods.len() == 3);
            let all_well = world.pods.iter().all(|pod| pod.is_ready && pod.is_voter());
            let others_well =
                world.pods.iter().all(|other| other.uid == pod.uid || other.is_ready && other.is_voter());
            let gives_nothing = !pod.is_running || !pod.is_voter();
            prop_assert!(others_well || gives_nothing);
            if all_well && pod.role() == Some(Role::Leader) {
                prop_assert!(outdated == [true, false, false]);
            }
        }
    }
}
