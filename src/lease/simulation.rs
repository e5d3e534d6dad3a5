//! Two candidates over a slow API server that loses answers, with clocks that run at different rates: never do both
//! act at once. And the loop itself over a stand-in.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use proptest::prelude::*;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::candidate::{Candidate, Step};
use super::{Elector, LeaseError, Metrics, Record, Store, StoreError, Stored, Timing};

/// One attempt of one candidate, in milliseconds of true time.
#[derive(Clone, Debug)]
struct Attempt {
    pause: u64,
    read: u64,
    write: u64,
    answer: u64,
    answer_lost: bool,
}

fn attempts() -> impl Strategy<Value = Vec<Attempt>> {
    let attempt = (200_u64..4000, 0_u64..3000, 0_u64..20_000, 0_u64..3000, any::<bool>()).prop_map(
        |(pause, read, write, answer, answer_lost)| Attempt { pause, read, write, answer, answer_lost },
    );
    // Mostly quick writes: slow ones all the time would let nobody lead.
    let quick = (200_u64..2500, 0_u64..200, 0_u64..200, 0_u64..200, Just(false)).prop_map(
        |(pause, read, write, answer, answer_lost)| Attempt { pause, read, write, answer, answer_lost },
    );
    proptest::collection::vec(prop_oneof![1 => attempt, 4 => quick], 40)
}

/// One candidate in the simulation.
struct Actor {
    candidate: Candidate,
    /// How fast its clock runs, in thousandths of true time.
    rate: u64,
    zero: Instant,
    script: std::vec::IntoIter<Attempt>,
    acted: Vec<(u64, u64)>,
}

impl Actor {
    fn local(&self, time: u64) -> Instant {
        self.zero + Duration::from_micros(time * self.rate)
    }

    /// When this candidate's clock shows an instant, in true time.
    fn true_time(&self, instant: Instant) -> u64 {
        let micros = u64::try_from((instant - self.zero).as_micros()).unwrap();
        micros.div_ceil(self.rate)
    }
}

/// Something that happens at a time.
enum Event {
    Begin,
    Read(Attempt),
    Arrive { attempt: Attempt, record: Record, version: u64, sent: u64 },
    Answered { sent: u64 },
}

#[derive(Default)]
struct Server {
    stored: Option<Record>,
    version: u64,
}

/// Lets both run to the end of their scripts; when each acted.
fn simulate(scripts: [Vec<Attempt>; 2], rates: [u64; 2]) -> [Vec<(u64, u64)>; 2] {
    let zero = Instant::now();
    let mut number = 0;
    let mut actors = scripts.map(|script| {
        let candidate = Candidate::new(format!("candidate-{number}"), Timing::default());
        number += 1;
        Actor { candidate, rate: rates[number - 1], zero, script: script.into_iter(), acted: Vec::new() }
    });
    let mut server = Server::default();
    let mut events: Vec<(u64, usize, Event)> = vec![(0, 0, Event::Begin), (0, 1, Event::Begin)];
    while let Some(next) = (0..events.len()).min_by_key(|index| events[*index].0) {
        let (now, who, event) = events.swap_remove(next);
        let actor = &mut actors[who];
        match event {
            Event::Begin => {
                let Some(attempt) = actor.script.next() else { continue };
                events.push((now + attempt.pause + attempt.read, who, Event::Read(attempt)));
            }
            Event::Read(attempt) => {
                let local = actor.local(now);
                if actor.candidate.acts_until().is_some_and(|until| until <= local) {
                    actor.candidate.stopped();
                }
                let wall = Timestamp::from_microsecond(i64::try_from(now).unwrap() * 1000).unwrap();
                match actor.candidate.step(server.stored.as_ref(), local, wall) {
                    Step::Write(record) => {
                        // Its next attempt does not wait for an answer that doesn't come.
                        events.push((now + 5000, who, Event::Begin));
                        let version = server.version;
                        let arrives = now + attempt.write;
                        events.push((arrives, who, Event::Arrive { attempt, record, version, sent: now }));
                    }
                    Step::Wait => {
                        actor.candidate.stopped();
                        events.push((now, who, Event::Begin));
                    }
                }
            }
            Event::Arrive { attempt, record, version, sent } if version == server.version => {
                server.stored = Some(record);
                server.version += 1;
                if !attempt.answer_lost {
                    events.push((now + attempt.answer, who, Event::Answered { sent }));
                }
            }
            Event::Arrive { .. } => {}
            Event::Answered { sent } => {
                actor.candidate.accepted(actor.local(sent));
                let until = actor.true_time(actor.candidate.acts_until().unwrap());
                if until > now {
                    actor.acted.push((now, until));
                }
            }
        }
    }
    actors.map(|actor| actor.acted)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn two_never_act_at_once(
        one in attempts(),
        other in attempts(),
        rates in [850_u64..1150, 850_u64..1150],
    ) {
        let [one, other] = simulate([one, other], rates);
        for (begin, end) in &one {
            for (begins, ends) in &other {
                prop_assert!(end <= begins || ends <= begin, "{begin}..{end} and {begins}..{ends}");
            }
        }
    }
}

#[test]
fn the_simulation_has_both_lead() {
    let quick = Attempt { pause: 2000, read: 10, write: 10, answer: 10, answer_lost: false };
    // The first ends after a while, and the second takes over.
    let [one, other] = simulate([vec![quick.clone(); 5], vec![quick; 40]], [1000, 1000]);
    assert!(!one.is_empty() && !other.is_empty(), "{one:?} {other:?}");
}

/// A store in memory that can be cut off.
#[derive(Clone, Default)]
struct Memory {
    server: Arc<Mutex<Server>>,
    away: Arc<AtomicBool>,
}

impl Memory {
    fn check(&self) -> Result<(), StoreError> {
        let away = self.away.load(Ordering::SeqCst);
        if away { Err(StoreError::Failed("cut off".to_owned())) } else { Ok(()) }
    }

    fn holder(&self) -> String {
        self.server.lock().unwrap().stored.clone().unwrap_or_default().holder
    }
}

impl Store for Memory {
    async fn read(&self) -> Result<Option<Stored>, StoreError> {
        self.check()?;
        let server = self.server.lock().unwrap();
        Ok(server.stored.clone().map(|record| Stored { record, version: server.version.to_string() }))
    }

    async fn write(&self, record: Record, version: Option<String>) -> Result<Stored, StoreError> {
        self.check()?;
        let mut server = self.server.lock().unwrap();
        let stored = server.stored.as_ref().map(|_| server.version.to_string());
        if stored != version {
            return Err(StoreError::Conflict);
        }
        server.version += 1;
        server.stored = Some(record.clone());
        Ok(Stored { record, version: server.version.to_string() })
    }
}

/// A replica whose work counts those who work, and never expects company.
fn replica(
    store: &Memory,
    name: &str,
    stop: &CancellationToken,
    at_work: &Arc<AtomicUsize>,
) -> tokio::task::JoinHandle<Result<(), LeaseError>> {
    let elector = Elector::new(store.clone(), name.to_owned(), Timing::default(), Metrics::default());
    let at_work = Arc::clone(at_work);
    tokio::spawn(elector.run(stop.clone(), move |over| {
        let at_work = Arc::clone(&at_work);
        async move {
            assert_eq!(at_work.fetch_add(1, Ordering::SeqCst), 0, "two work at once");
            over.cancelled().await;
            at_work.fetch_sub(1, Ordering::SeqCst);
        }
    }))
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_mins(5);
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_leads_and_the_other_takes_over_when_it_ends() {
    let (store, at_work) = (Memory::default(), Arc::new(AtomicUsize::new(0)));
    let (stop_a, stop_b) = (CancellationToken::new(), CancellationToken::new());
    let a = replica(&store, "a", &stop_a, &at_work);
    until("a leads", || store.holder() == "a").await;
    let b = replica(&store, "b", &stop_b, &at_work);
    sleep(Duration::from_mins(1)).await;
    assert_eq!((store.holder().as_str(), at_work.load(Ordering::SeqCst)), ("a", 1));
    let ended = Instant::now();
    stop_a.cancel();
    assert_eq!(a.await.unwrap(), Ok(()));
    until("b leads", || store.holder() == "b").await;
    assert!(
        ended.elapsed() < Duration::from_secs(6),
        "a released lease is waited for: {:?}",
        ended.elapsed()
    );
    stop_b.cancel();
    assert_eq!(b.await.unwrap(), Ok(()));
    assert_eq!((store.holder().as_str(), at_work.load(Ordering::SeqCst)), ("", 0));
}

#[tokio::test(start_paused = true)]
async fn who_can_t_renew_stops_its_work_and_stands_again() {
    let (store, at_work, stop) = (Memory::default(), Arc::new(AtomicUsize::new(0)), CancellationToken::new());
    let running = replica(&store, "a", &stop, &at_work);
    until("a works", || at_work.load(Ordering::SeqCst) == 1).await;
    store.away.store(true, Ordering::SeqCst);
    let cut = Instant::now();
    until("the work stops", || at_work.load(Ordering::SeqCst) == 0).await;
    assert!(cut.elapsed() <= Duration::from_millis(10_200), "{:?}", cut.elapsed());
    store.away.store(false, Ordering::SeqCst);
    until("a works again", || at_work.load(Ordering::SeqCst) == 1).await;
    stop.cancel();
    assert_eq!(running.await.unwrap(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_stop_is_an_error() {
    let (store, stop) = (Memory::default(), CancellationToken::new());
    let elector = Elector::new(store.clone(), "a".to_owned(), Timing::default(), Metrics::default());
    let running = tokio::spawn(elector.run(stop, |_| std::future::pending()));
    until("a leads", || store.holder() == "a").await;
    store.away.store(true, Ordering::SeqCst);
    assert_eq!(running.await.unwrap(), Err(LeaseError::WorkGoesOn(Duration::from_secs(10))));
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_or_panics_is_an_error_and_the_lease_is_given_back() {
    for panics in [false, true] {
        let (store, stop) = (Memory::default(), CancellationToken::new());
        let elector = Elector::new(store.clone(), "a".to_owned(), Timing::default(), Metrics::default());
        let running = elector.run(stop, move |_| async move { assert!(!panics, "a defect") });
        let error = running.await.unwrap_err().to_string();
        assert!(error.contains(if panics { "panic" } else { "without an error" }), "{error}");
        assert_eq!(store.holder(), "");
    }
}
