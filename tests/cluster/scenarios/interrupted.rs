//! Joins in whose midst processes are killed: they complete, and nothing that was written is lost.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::harness::{
    Dice, Etcd, IMAGE_3_6, Installed, Namespace, Output, Source, Writer, eventually, joining,
};

/// A source that has lost two of its members for a moment changes its membership some 5 s later at the earliest.
const IN_THE_END: Duration = Duration::from_mins(4);

/// Longest time between two kills, in milliseconds: a member is added, copied and promoted within seconds.
const PAUSE_MAX: usize = 1500;

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
    /// In an order of chance, but for the target's members, which join one after the other. Each source member once, or
    /// the kubelet would let it wait longer than the join takes.
    fn all(dice: &mut Dice) -> Vec<Self> {
        let mut order = Vec::new();
        for ordinal in 0..2 {
            let mut ways = [Self::Agent(ordinal), Self::Pod(ordinal)];
            dice.shuffle(&mut ways);
            order.extend(ways);
        }
        for ordinal in 0..3 {
            order.insert(dice.below(order.len() + 1), Self::Source(ordinal));
        }
        order
    }

    /// Waits until there is something to be lost: a member that is in the list.
    fn until_at_stake(self, c2: &Etcd<'_>) {
        let (Self::Agent(ordinal) | Self::Pod(ordinal)) = self else { return };
        let name = format!("c2-{ordinal}");
        eventually(IN_THE_END, &format!("{name} is added"), || {
            let members = c2.object()["status"]["members"].clone();
            let is_in = members.as_array().into_iter().flatten().any(|member| member["name"] == *name);
            if is_in { Ok(()) } else { Err(members.to_string()) }
        });
    }

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

/// Kills one after the other; says what was hit, and what came too late.
fn kill_at_random(c2: &Etcd<'_>, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut hits = Vec::new();
    for victim in Victim::all(&mut dice) {
        victim.until_at_stake(c2);
        let pause = u64::try_from(dice.below(PAUSE_MAX)).unwrap();
        // The moment is what is tried, not something that is waited for.
        std::thread::sleep(Duration::from_millis(pause));
        // One that isn't there at the moment can't be hit.
        let how = if victim.kill(c2.shop).status.success() { "killed" } else { "missed" };
        let when = if c2.has_joined() { ", after the join" } else { "" };
        hits.push(format!("{how} {victim} {pause} ms later{when}"));
    }
    hits.join("; ")
}

#[test]
fn source_members_and_agents_that_are_killed_at_random_moments_hold_a_join_up_and_lose_nothing() {
    let Some(installed) = Installed::looping() else { return };
    let shop = installed.namespace();
    let source = Source::serving(&shop, "src", 3, IMAGE_3_6);
    let (cluster, before) = source.members();
    let writer = Writer::start(&shop, "http://src:2379", None);
    let c2 = Etcd::create(&shop, "c2", &joining(2, IMAGE_3_6, &source.bootstrap()));
    let seed = seed();
    println!("again with ETCD_WARDEN_SEED={seed}");
    let story = format!("{}; again with ETCD_WARDEN_SEED={seed}", kill_at_random(&c2, seed));
    println!("{story}");

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
