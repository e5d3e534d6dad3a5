//! Counts over time, in bounded memory.

use std::collections::BTreeMap;

use jiff::Timestamp;

/// Spans of time, each a multiple of the one before: an hour first, which is what is asked for; coarser ones for
/// longer times.
pub const UNITS: [i64; 10] =
    [HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 7 * DAY, 28 * DAY, 84 * DAY, 336 * DAY, 3360 * DAY];

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// All times that there are, of either side of 1970, are one such span.
const LONGEST: i64 = 2048 * 3360 * DAY;

/// Most spans that are told apart: hours of more than a year.
const SPANS_MAX: usize = 10_000;

/// How much was seen in each hour; in coarser spans where the hours are too many.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// By the seconds of their start.
    spans: BTreeMap<i64, u64>,
    /// Which of [`UNITS`] they are long.
    unit: usize,
}

/// A span of time and how much was seen in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its start.
    pub start: Timestamp,
    /// How much was seen.
    pub count: u64,
}

impl Timeline {
    /// Something was seen.
    pub fn add(&mut self, at: Timestamp) {
        *self.spans.entry(start(at.as_second(), self.seconds())).or_default() += 1;
        while self.spans.len() > SPANS_MAX && self.unit + 1 < UNITS.len() {
            self.unit += 1;
            self.spans = coarser(&self.spans, self.seconds());
        }
    }

    /// How long a span is.
    pub fn seconds(&self) -> i64 {
        UNITS.get(self.unit).copied().unwrap_or(i64::MAX)
    }

    /// The spans in which something was seen.
    pub fn spans(&self) -> Vec<Span> {
        self.spans.iter().filter_map(|(start, count)| span(*start, *count)).collect()
    }

    /// All spans from the first to the last, also empty ones, at most `most` of the finest that allow it, and their
    /// length in seconds. One more where a single one is asked for and 1970 begins in between.
    pub fn at_most(&self, most: usize) -> (i64, Vec<Span>) {
        let (Some((first, _)), Some((last, _))) = (self.spans.first_key_value(), self.spans.last_key_value())
        else {
            return (self.seconds(), Vec::new());
        };
        let fits = |unit: &i64| {
            let spans = (start(*last, *unit) - start(*first, *unit)) / *unit + 1;
            *unit >= self.seconds() && usize::try_from(spans).is_ok_and(|spans| spans <= most)
        };
        let unit = units().find(fits).unwrap_or(LONGEST);
        let spans = coarser(&self.spans, unit);
        let mut at = start(*first, unit);
        let mut all = Vec::new();
        while at <= *last {
            all.extend(span(at, spans.get(&at).copied().unwrap_or_default()));
            at += unit;
        }
        (unit, all)
    }
}

/// [`UNITS`], and on by doubling.
fn units() -> impl Iterator<Item = i64> {
    let longer = std::iter::successors(UNITS.last().copied(), |unit| Some(unit * 2));
    UNITS.into_iter().chain(longer.skip(1).take_while(|unit| *unit <= LONGEST))
}

fn start(second: i64, unit: i64) -> i64 {
    second.div_euclid(unit) * unit
}

fn coarser(spans: &BTreeMap<i64, u64>, unit: i64) -> BTreeMap<i64, u64> {
    spans.iter().fold(BTreeMap::new(), |mut all, (at, count)| {
        *all.entry(start(*at, unit)).or_default() += count;
        all
    })
}

fn span(start: i64, count: u64) -> Option<Span> {
    // The first span of all may begin before the first moment.
    let start = Timestamp::from_second(start.max(Timestamp::MIN.as_second())).ok()?;
    Some(Span { start, count })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::SignedDuration;

    fn timeline(times: impl IntoIterator<Item = Timestamp>) -> Timeline {
        times.into_iter().fold(Timeline::default(), |mut timeline, at| {
            timeline.add(at);
            timeline
        })
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn shown(spans: &[Span]) -> Vec<(String, u64)> {
        spans.iter().map(|span| (span.start.to_string(), span.count)).collect()
    }

    #[test]
    fn empty_hours_between_are_shown_where_there_is_room() {
        let timeline =
            timeline(["2026-11-29T16:59:59Z", "2026-11-29T16:00:00Z", "2026-11-29T18:00:00Z"].map(at));
        let hours = [("2026-11-29T16:00:00Z", 2), ("2026-11-29T17:00:00Z", 0), ("2026-11-29T18:00:00Z", 1)]
            .map(|(start, count)| (start.to_owned(), count));
        assert_eq!((timeline.at_most(3).0, shown(&timeline.at_most(3).1)), (3600, hours.to_vec()));
        let coarser = [("2026-11-29T15:00:00Z", 2), ("2026-11-29T18:00:00Z", 1)]
            .map(|(start, count)| (start.to_owned(), count));
        assert_eq!((timeline.at_most(2).0, shown(&timeline.at_most(2).1)), (3 * 3600, coarser.to_vec()));
        assert_eq!(shown(&timeline.spans()).len(), 2, "hours without a record are left out");
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_lost() {
        let first = at("2000-01-01T00:00:00Z");
        let times = (0..50_000).map(|hours| first + SignedDuration::from_hours(hours));
        let timeline = timeline(times.chain([Timestamp::MIN, Timestamp::MAX]));
        assert!(timeline.spans().len() <= SPANS_MAX);
        assert_eq!(timeline.seconds(), 6 * 3600);
        let total: u64 = timeline.spans().iter().map(|span| span.count).sum();
        assert_eq!(total, 50_002);
        for most in [2, 3, 24, 72] {
            let (seconds, spans) = timeline.at_most(most);
            assert!(spans.len() <= most && spans.len() * 2 >= most, "{most}: {} of {seconds}", spans.len());
            assert_eq!(spans.iter().map(|span| span.count).sum::<u64>(), 50_002);
        }
        assert_eq!(timeline.at_most(1).1.len(), 2, "before and after 1970");
    }

    #[test]
    fn nothing_is_nothing() {
        assert!(Timeline::default().at_most(10).1.is_empty());
    }
}
