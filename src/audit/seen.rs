//! Which objects `/mutate` has already put into the log.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::Record;

/// A controller that retries a refused manifest does so within minutes; after an hour it is news again.
const REMEMBERED_FOR: Duration = Duration::from_hours(1);

/// Objects that may be refused over and over at the same time; 1,024 keys are about 200 KiB.
const REMEMBERED_AT_MOST: usize = 1024;

/// Longest name in Kubernetes.
const NAME_MAX: usize = 253;

/// Remembers objects, so that the API server's repeated calls of `/mutate` for one manifest (retries,
/// reinvocation, a tool that applies every minute) leave one record in the log.
#[derive(Debug, Default)]
pub struct Seen {
    since: HashMap<Key, Instant>,
    order: VecDeque<(Instant, Key)>,
}

/// Which object a record is about. A dry run and the real thing are two requests: the second is not hidden behind
/// the first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    namespace: String,
    name: String,
    uid: Option<String>,
    generation: Option<i64>,
    hash: String,
    dry_run: bool,
}

impl Seen {
    /// Whether the object has not been seen within the hour before `now`; it has been, from here on.
    pub fn is_new(&mut self, key: &Key, now: Instant) -> bool {
        self.forget_older(now);
        if self.since.contains_key(key) {
            return false;
        }
        self.remember(key.clone(), now);
        true
    }

    /// The object's record was lost: the next one is news.
    pub fn forget(&mut self, key: &Key) {
        self.since.remove(key);
        self.order.retain(|(_, remembered)| remembered != key);
    }

    fn remember(&mut self, key: Key, now: Instant) {
        if self.order.len() >= REMEMBERED_AT_MOST {
            self.forget_first();
        }
        self.since.insert(key.clone(), now);
        self.order.push_back((now, key));
    }

    fn forget_older(&mut self, now: Instant) {
        while self.order.front().is_some_and(|(since, _)| now.duration_since(*since) >= REMEMBERED_FOR) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, key)) = self.order.pop_front() {
            self.since.remove(&key);
        }
    }
}

impl Key {
    /// The key of a record. Longer names than Kubernetes knows are cut: the hash tells their objects apart.
    pub fn of(record: &Record) -> Self {
        let object = &record.object;
        let cut = |name: &str| name.chars().take(NAME_MAX).collect::<String>();
        Self {
            namespace: cut(&object.namespace),
            name: cut(&object.name),
            uid: object.uid.as_deref().map(cut),
            generation: object.generation,
            hash: object.hash.clone(),
            dry_run: record.dry_run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::record::tests::record;

    fn named(name: &str) -> Record {
        let mut record = record();
        name.clone_into(&mut record.object.name);
        record
    }

    fn key(name: &str) -> Key {
        Key::of(&named(name))
    }

    #[test]
    fn what_was_lost_is_news_again() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        assert!(seen.is_new(&key("main"), now));
        seen.forget(&key("main"));
        assert!(seen.is_new(&key("main"), now));
        assert_eq!((seen.since.len(), seen.order.len()), (1, 1));
    }

    #[test]
    fn one_object_is_new_once_an_hour() {
        let (mut seen, start) = (Seen::default(), Instant::now());
        assert!(seen.is_new(&key("main"), start));
        assert!(!seen.is_new(&key("main"), start + Duration::from_mins(59)));
        assert!(seen.is_new(&key("main"), start + REMEMBERED_FOR));
    }

    #[test]
    fn every_part_of_the_key_makes_another_object() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        assert!(seen.is_new(&key("main"), now));
        let changes: [fn(&mut Record); 6] = [
            |r| r.object.namespace.push('x'),
            |r| r.object.name.push('x'),
            |r| r.object.uid = Some("other".into()),
            |r| r.object.generation = Some(77),
            |r| r.object.hash.push('0'),
            |r| r.dry_run = true,
        ];
        for change in changes {
            let mut other = named("main");
            change(&mut other);
            assert!(seen.is_new(&Key::of(&other), now), "{other:?}");
        }
    }

    #[test]
    fn memory_is_bounded_and_the_oldest_goes_first() {
        let (mut seen, now) = (Seen::default(), Instant::now());
        for number in 0..=REMEMBERED_AT_MOST {
            assert!(seen.is_new(&key(&format!("etcd-{number}")), now));
        }
        assert_eq!((seen.since.len(), seen.order.len()), (REMEMBERED_AT_MOST, REMEMBERED_AT_MOST));
        assert!(!seen.is_new(&key("etcd-1"), now));
        assert!(seen.is_new(&key("etcd-0"), now), "the first was forgotten");
    }
}
