//! Moments as a person writes them: absolute, or so long ago.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};

/// `2h`, `1h30m` or `7d` before `now`; `2026-11-29T16:00:00Z`, with any offset; `2026-11-29` or `2026-11-29T16:00`,
/// which are UTC, as the times in the log are.
pub fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    let absolute = || text.parse::<Timestamp>().ok();
    let utc = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    ago(text, now).or_else(absolute).or_else(utc)
}

fn ago(text: &str, now: Timestamp) -> Option<Timestamp> {
    let span: Span = text.parse().ok()?;
    // A day is 24 hours: there is no summer time in UTC.
    let duration = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    if duration < SignedDuration::ZERO {
        return None;
    }
    now.checked_sub(duration).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_absolute_or_so_long_ago() {
        let now: Timestamp = "2026-11-29T16:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2h", Some("2026-11-29T14:00:00Z")),
            ("1h30m", Some("2026-11-29T14:30:00Z")),
            ("90s", Some("2026-11-29T15:58:30Z")),
            ("7d", Some("2026-11-22T16:00:00Z")),
            ("2w", Some("2026-11-15T16:00:00Z")),
            ("0s", Some("2026-11-29T16:00:00Z")),
            ("2026-11-28T10:00:00Z", Some("2026-11-28T10:00:00Z")),
            ("2026-11-28T10:00:00+02:00", Some("2026-11-28T08:00:00Z")),
            ("2026-11-28T10:00:00.250Z", Some("2026-11-28T10:00:00.25Z")),
            ("2026-11-28", Some("2026-11-28T00:00:00Z")),
            ("2026-11-28T10:30", Some("2026-11-28T10:30:00Z")),
            ("2026-11-28 10:30", Some("2026-11-28T10:30:00Z")),
            ("", None),
            ("2", None),
            ("-2h", None),
            ("1mo", None),
            ("yesterday", None),
            ("2026-13-01", None),
            ("999999999h", None),
        ] {
            assert_eq!(moment(text, now).map(|at| at.to_string()).as_deref(), expected, "{text:?}");
        }
    }
}
