//! Durations as the CRD's pattern takes them: `1h2m3s`, `1.5h`, `300ms`.

use super::{Checked, invalid};
use crate::etcd::scalar::Text;
use crate::etcd::slot::Slot;

/// Units, longest spelling first, with their length in nanoseconds. Go writes both `µs` spellings; the CRD's
/// pattern takes U+00B5.
const UNITS: [(&str, u128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration {
    /// Its length in nanoseconds; one that 128 bits don't hold counts as the largest that they do.
    pub nanoseconds: u128,
}

impl Duration {
    /// Reads one or more of digits, an optional fraction, and a unit. No sign, no blanks, no bare `0`.
    pub fn read(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut nanoseconds = 0_u128;
        while !rest.is_empty() {
            let (part, tail) = part(rest)?;
            nanoseconds = nanoseconds.saturating_add(part);
            rest = tail;
        }
        (!text.is_empty()).then_some(Self { nanoseconds })
    }

    /// Whether it is no time at all.
    pub fn is_zero(self) -> bool {
        self.nanoseconds == 0
    }
}

/// The first `<number><unit>` in nanoseconds, and what follows it.
fn part(text: &str) -> Option<(u128, &str)> {
    let (whole, rest) = digits(text)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => digits(rest)?,
        None => ("", rest),
    };
    let (unit, nanoseconds) = UNITS.iter().find(|(unit, _)| rest.starts_with(unit))?;
    let whole = whole.parse::<u128>().unwrap_or(u128::MAX).saturating_mul(*nanoseconds);
    Some((whole.saturating_add(share(fraction, *nanoseconds)), rest.get(unit.len()..)?))
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A decimal fraction of a unit, cut at the nanosecond; anything above zero counts as one at least.
fn share(fraction: &str, nanoseconds: u128) -> u128 {
    const PLACES: usize = 18;
    let kept = fraction.get(..PLACES.min(fraction.len())).unwrap_or_default();
    let scale = 10_u128.pow(u32::try_from(kept.len()).unwrap_or(0));
    let share = kept.parse::<u128>().unwrap_or(0) * nanoseconds / scale;
    share.max(u128::from(fraction.bytes().any(|digit| digit != b'0')))
}

/// A duration above zero.
pub fn durations(text: &Slot<Text<'_>>) -> Checked {
    check(text, false)
}

/// A duration; zero turns the thing off.
pub fn durations_or_off(text: &Slot<Text<'_>>) -> Checked {
    check(text, true)
}

const ABOVE_0: &str = "must be above 0; remove the field for the default";

fn check(text: &Slot<Text<'_>>, zero: bool) -> Checked {
    let Some(text) = text.text() else { return Ok(()) };
    let is_negative = || text.strip_prefix('-').is_some_and(|rest| Duration::read(rest).is_some());
    match Duration::read(text) {
        None if is_negative() && zero => {
            Err(invalid("durations", "must not be negative; \"0s\" turns it off"))
        }
        None if is_negative() => Err(invalid("durations", ABOVE_0)),
        None => Err(invalid(
            "durations",
            "not a duration: write numbers with the units ns, us, ms, s, m or h, such as \"30s\" or \"1h30m\" \
             (a day is \"24h\")",
        )),
        Some(duration) if duration.is_zero() && !zero => Err(invalid("durations", ABOVE_0)),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_pattern_takes() {
        let hours = 3_600_000_000_000;
        for (text, nanoseconds) in [
            ("1h2m3s", hours + 123_000_000_000),
            ("3m735s", 915_000_000_000),
            ("10h5m6m", 10 * hours + 660_000_000_000),
            ("1.5h", hours * 3 / 2),
            ("0s", 0),
            ("0.0h0m", 0),
            ("1µs", 1_000),
            ("1us", 1_000),
            ("0.5ns", 1),
            ("99999999999h", 99_999_999_999 * hours),
        ] {
            assert_eq!(Duration::read(text), Some(Duration { nanoseconds }), "{text}");
        }
    }

    #[test]
    fn what_the_pattern_refuses() {
        for text in [
            "", "0", "5", "1d", ".5s", "1.s", "-1h", "+1h", "1h 2m", " 1h", "1h ", "hms", "1e3s", "1H", "1μs",
        ] {
            assert_eq!(Duration::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_negative_one_is_told_apart_from_what_is_none() {
        let refusal = |text: &'static str, zero| match check(&Slot::Set(Text(text.into())), zero) {
            Ok(()) => String::new(),
            Err(refused) => format!("{refused:?}"),
        };
        for (text, zero, says) in [
            ("-5s", false, "must be above 0"),
            ("-5s", true, "must not be negative"),
            ("0s", false, "must be above 0"),
            ("0s", true, ""),
            ("-5", false, "not a duration"),
            ("--5s", true, "not a duration"),
        ] {
            let said = refusal(text, zero);
            assert!(said.contains(says) && said.is_empty() == says.is_empty(), "{text}: {said}");
        }
    }

    #[test]
    fn a_huge_number_is_long_and_no_panic() {
        let huge = format!("{}h", "9".repeat(500));
        assert_eq!(Duration::read(&huge), Some(Duration { nanoseconds: u128::MAX }));
        let long = format!("0.{}1s", "0".repeat(500));
        assert_eq!(Duration::read(&long), Some(Duration { nanoseconds: 1 }));
    }
}
