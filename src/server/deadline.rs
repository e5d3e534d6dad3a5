//! How long a request may take: what the API server says in `?timeout=`, less a margin.

use std::time::Duration;

use super::limits::{DEFAULT_TIMEOUT, LONGEST_TIMEOUT, TIMEOUT_MARGIN};

/// Units of Go's `time.ParseDuration`, in nanoseconds; longer names first where one begins another.
const UNITS: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("μs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 6e10), ("h", 3.6e12)];

/// The time for one request, from its query string (`timeout=10s`): a second less than the API server waits,
/// and at least half of that. Without a readable time-out it is that of 10 s.
pub(super) fn time_for(query: Option<&str>) -> Duration {
    let timeouts = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
    let timeout = timeouts.filter(|(key, _)| key == "timeout").find_map(|(_, value)| go_duration(&value));
    let timeout = timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(DEFAULT_TIMEOUT);
    let timeout = timeout.min(LONGEST_TIMEOUT);
    timeout.saturating_sub(TIMEOUT_MARGIN).max(timeout / 2)
}

/// A duration as Go writes it: `10s`, `500ms`, `1m30s`, `1.5s`. Negative ones, and more than a hundred
/// years, are none.
pub fn go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let (number, after) = number(rest)?;
        let (unit, after) = unit(after)?;
        nanoseconds += number * unit;
        rest = after;
    }
    let seconds = nanoseconds / 1e9;
    if seconds > 3.2e9 { None } else { Duration::try_from_secs_f64(seconds).ok() }
}

fn number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, rest))
}

fn unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end)?;
    let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name)?;
    Some((*unit, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        let table = [
            ("10s", Some(10_000)),
            ("500ms", Some(500)),
            ("1m30s", Some(90_000)),
            ("1.5s", Some(1_500)),
            ("+2s", Some(2_000)),
            ("0", Some(0)),
            ("1h", Some(3_600_000)),
            ("3000us", Some(3)),
            ("3000µs", Some(3)),
            ("", None),
            ("+", None),
            ("10", None),
            ("s", None),
            ("-5s", None),
            ("10 s", None),
            ("1e3s", None),
            ("1.2.3s", None),
            ("10sekunden", None),
            ("99999999999999999999h", None),
        ];
        for (text, milliseconds) in table {
            assert_eq!(go_duration(text), milliseconds.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn a_second_stays_for_the_way_back_and_half_for_the_work() {
        let table = [
            (Some("timeout=10s"), 9_000),
            (Some("timeout=30s"), 29_000),
            (Some("timeout=1s"), 500),
            (Some("timeout=1500ms"), 750),
            (Some("dryRun=All&timeout=5s"), 4_000),
            (Some("timeout=1h"), 29_000),
            (Some("timeout=0s"), 9_000),
            (Some("timeout=soon"), 9_000),
            (Some("timeout=-3s"), 9_000),
            (Some(""), 9_000),
            (None, 9_000),
        ];
        for (query, milliseconds) in table {
            assert_eq!(time_for(query), Duration::from_millis(milliseconds), "{query:?}");
        }
    }
}
