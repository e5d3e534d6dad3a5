//! Joins in whose midst processes are killed: they complete, and nothing that was written is lost.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::harness::{
    Dice, Etcd, IMAGE_3_6, Installed, Namespace, Output, Source, Writer, eventually, joining,
};

/// A source that has lost two of its members for a moment changes its membership some 5 s later at the earliest.
const IN_THE_END: Duration = Duration::from_mins(4);

/// Kills that must have hit before the join was over, or it was none that was interrupted.
const HITS_MIN: usize = 3;

/// Longest time between two kills, in milliseconds.
const PAUSE_MAX: usize = 3000;

/// What is killed, and how.
#[derive(Clone, Copy)]
enum Victim {
    /// etcd of a member of the source.
    Source(u32),
    /// Agent and etcd of a target's member, which come back in the same pod.
    Agent(u32),
    /// A target's pod, which nobody waits for to end.
    Pod(u32),
}

impl Victim {
    /// Each source member once, or the kubelet would let it wait longer than the join takes.
    const ALL: [Self; 7] = [
        Self::Source(0),
        Self::Source(1),
        Self::Source(2),
        Self::Agent(0),
        Self::Agent(1),
        Self::Pod(0),
        Self::Pod(1),
    ];

    fn kill(self, shop: &Namespace<'_>) -> Output {
        match self {
            Self::Source(ordinal) => shop.kill(&format!("src-{ordinal}"), "etcd"),
            Self::Agent(ordinal) => shop.kill(&format!("c2-{ordinal}"), "etcd"),
            Self::Pod(ordinal) => {
                let pod = format!("c2-{ordinal}");
                shop.kubectl(&["delete", "pod", &pod, "--grace-period=0", "--force", "--wait=false"])
            }
        }
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(ordinal) => write!(formatter, "etcd of src-{ordinal}"),
            Self::Agent(ordinal) => write!(formatter, "the agent of c2-{ordinal}"),
            Self::Pod(ordinal) => write!(formatter, "pod c2-{ordinal}"),
        }
    }
}

/// Another one in each run, or the one that a failure has named.
fn seed() -> u64 {
    let named = std::env::var("ETCD_WARDEN_SEED").ok();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    named.map_or_else(now, |seed| seed.parse().unwrap())
}

/// Kills one after the other until the join is complete; says what it has hit.
fn kill_at_random(c2: &Etcd<'_>, seed: u64) -> Vec<String> {
    let (mut dice, mut victims) = (Dice(seed), Victim::ALL);
    dice.shuffle(&mut victims);
    let mut hits = Vec::new();
    for victim in victims {
        let pause = u64::try_from(dice.below(PAUSE_MAX)).unwrap();
        // The moment is what is tried, not something that is waited for.
        std::thread::sleep(Duration::from_millis(pause));
        if c2.has_joined() {
            break;
        }
        // One that isn't there at the moment can't be hit.
        if victim.kill(c2.shop).status.success() {
            hits.push(format!("{pause} ms later {victim}"));
        }
    }
    hits
}

#[test]
fn source_members_and_agents_that_are_killed_at_random_moments_hold_a_join_up_and_lose_nothing() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::start(&shop, "src", 3, IMAGE_3_6);
    source.publish();
    source.until_ready();
    let (cluster, before) = source.members();
    let writer = Writer::start(&shop, "http://src:2379", None);
    let c2 = Etcd::create(&shop, "c2", &joining(2, IMAGE_3_6, &source.bootstrap()));
    let seed = seed();
    let hits = kill_at_random(&c2, seed);
    let story = format!("killed: {}; again with ETCD_WARDEN_SEED={seed}", hits.join(", "));
    println!("{story}");
    assert!(hits.len() >= HITS_MIN, "the join was too quick for this; {story}");

    eventually(IN_THE_END, &format!("the join is complete; {story}"), || {
        let (status, message) = c2.condition("BootstrappedWithExistingCluster");
        if status == "True" { Ok(()) } else { Err(message) }
    });
    c2.until_ready();
    let (of_all, members) = c2.members(0);
    assert_eq!(of_all, cluster, "{story}");
    assert_eq!(c2.voters(1), ["c2-0", "c2-1", "src-0", "src-1", "src-2"], "{story}");
    assert!(before.iter().all(|member| members.contains(member)), "{members:?}; {story}");
    let (written, refused) = writer.nothing_is_lost_by(&c2, 1);
    assert!(written > 10, "{written} writes; refused: {refused}; {story}");
}
