//! Schedules: five-field cron as the CRD's pattern takes it.

use super::{Checked, invalid};
use crate::etcd::names::ordinal;
use crate::etcd::scalar::Text;
use crate::etcd::slot::Slot;

/// What one field of a schedule may hold. Source: etcd-druid's CRD, whose pattern compares numbers digit by
/// digit: a range may run backwards within one group of numbers, never into an earlier group.
struct Field {
    name: &'static str,
    /// Smallest and largest number.
    numbers: (u64, u64),
    /// Largest number that a range may begin with.
    range_begin: u64,
    /// Where the groups after the first begin.
    groups: &'static [u64],
    /// Smallest and largest `a` of `a/step`.
    stepped: (u64, u64),
    /// Largest step; the smallest is 1.
    step: u64,
}

const FIELDS: [Field; 5] = [
    Field { name: "minute", numbers: (0, 59), range_begin: 59, groups: &[], stepped: (1, 59), step: 60 },
    Field { name: "hour", numbers: (0, 23), range_begin: 23, groups: &[10, 20], stepped: (1, 23), step: 24 },
    Field {
        name: "day of month",
        numbers: (1, 31),
        range_begin: 31,
        groups: &[10, 30],
        stepped: (1, 30),
        step: 31,
    },
    Field { name: "month", numbers: (1, 12), range_begin: 12, groups: &[10], stepped: (1, 12), step: 12 },
    Field { name: "day of week", numbers: (1, 7), range_begin: 6, groups: &[], stepped: (1, 6), step: 7 },
];

impl Field {
    fn takes(&self, text: &str) -> bool {
        if let Some((from, step)) = text.split_once('/') {
            let from = from == "*" || within(from, self.stepped).is_some();
            return from && within(step, (1, self.step)).is_some();
        }
        match text.split_once('-') {
            Some((low, high)) => self.takes_range(low, high),
            None => text == "*" || within(text, self.numbers).is_some(),
        }
    }

    fn takes_range(&self, low: &str, high: &str) -> bool {
        match (within(low, (self.numbers.0, self.range_begin)), within(high, self.numbers)) {
            (Some(low), Some(high)) => self.group(low) <= self.group(high),
            _ => false,
        }
    }

    fn group(&self, number: u64) -> usize {
        self.groups.iter().filter(|begin| number >= **begin).count()
    }
}

impl Field {
    /// The same as a regular expression.
    fn pattern(&self) -> String {
        let from = one_of(self.stepped.0, self.stepped.1);
        let step = one_of(1, self.step);
        let ranges: Vec<String> =
            self.group_bounds().map(|(low, high)| self.range_pattern(low, high)).collect();
        format!(r"(\*|{}|{}|({from}|\*)/{step})", one_of(self.numbers.0, self.numbers.1), ranges.join("|"))
    }

    /// First and last number of every group.
    fn group_bounds(&self) -> impl Iterator<Item = (u64, u64)> {
        let begins = std::iter::once(self.numbers.0).chain(self.groups.iter().copied());
        let ends = self.groups.iter().map(|begin| begin - 1).chain([self.numbers.1]);
        begins.zip(ends)
    }

    /// A range that begins in one group ends there or in a later one.
    fn range_pattern(&self, low: u64, high: u64) -> String {
        format!("{}-{}", one_of(low, high.min(self.range_begin)), one_of(low, self.numbers.1))
    }
}

/// One of these numbers below 100, without leading zeros, as a regular expression: `([0-9]|[1-5][0-9])`.
fn one_of(low: u64, high: u64) -> String {
    let class = |from: u64, to: u64| if from == to { from.to_string() } else { format!("[{from}-{to}]") };
    let decades =
        (low / 10..=high / 10).map(|tens| (tens, low.max(tens * 10) % 10, high.min(tens * 10 + 9) % 10));
    let parts: Vec<String> = decades
        .map(
            |(tens, from, to)| if tens == 0 { class(from, to) } else { format!("{tens}{}", class(from, to)) },
        )
        .collect();
    format!("({})", parts.join("|"))
}

/// What a schedule is, as a regular expression: for the CRD.
pub(in crate::etcd) fn schedule_pattern() -> String {
    let fields: Vec<String> = FIELDS.iter().map(Field::pattern).collect();
    format!("^{}$", fields.join(r"[ \t\n\f\r]+"))
}

fn within(text: &str, (low, high): (u64, u64)) -> Option<u64> {
    ordinal(text).filter(|number| (low..=high).contains(number))
}

/// A schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Whether it names day 7 of the week, which the cron library of etcd-backup-restore doesn't know.
    pub weekday_7: bool,
}

impl Schedule {
    /// Reads a schedule; the error says which field can't be read.
    fn parse(text: &str) -> Result<Self, String> {
        const BLANKS: [char; 5] = [' ', '\t', '\n', '\u{c}', '\r'];
        if text.starts_with(BLANKS) || text.ends_with(BLANKS) {
            return Err("a schedule has no blanks around it".to_owned());
        }
        let parts: Vec<&str> = text.split(BLANKS).filter(|part| !part.is_empty()).collect();
        let [.., weekday] = parts.as_slice() else { return Err("a schedule has five fields".to_owned()) };
        if parts.len() != FIELDS.len() {
            return Err(format!("a schedule has five fields, this one has {}", parts.len()));
        }
        match FIELDS.iter().zip(&parts).find(|(field, part)| !field.takes(part)) {
            Some((field, part)) => Err(format!("\"{part}\" can't be the {}", field.name)),
            None => Ok(Self { weekday_7: *weekday == "7" || weekday.ends_with("-7") }),
        }
    }

    /// Reads a schedule.
    pub fn read(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }
}

/// Five-field cron.
pub fn schedules(text: &Slot<Text<'_>>) -> Checked {
    let Some(text) = text.text() else { return Ok(()) };
    Schedule::parse(text).map(drop).map_err(|fault| {
        invalid(
            "schedules",
            format!(
                "{fault}: write minute, hour, day of month, month and day of week (1-7), each as *, a number, a-b, \
                 a/step or */step, such as \"0 */24 * * *\""
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_pattern_takes() {
        for text in [
            "* * * * *",
            "0 */24 * * *",
            "*/57 23 30/31 6-12 2/7",
            "0 21-22 30/31 11-12 2/7",
            "59-1 5-3 25-12 3-1 3-1",
            "*/60 * * * 7",
            "0  1 * * 1",
            "1/60 1/24 1/31 1/12 1/7",
        ] {
            assert!(Schedule::read(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_the_pattern_refuses() {
        for text in [
            "",
            "61 23 * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * 32 * *",
            "* * * 13 *",
            "* * * * 0",
            "* * * * 8",
            "3 */24 12 *",
            "* * * * * *",
            "@daily",
            "0,30 * * * *",
            "* * * JAN *",
            "* * * * MON",
            "*/0 * * * *",
            "0/5 * * * *",
            " * * * * *",
            "* * * * * ",
            "05 * * * *",
            "* 20-19 * * *",
            "* * 30-29 * *",
            "* * * 10-9 *",
            "* * * * 7-1",
            "* * 31/2 * *",
            "? * * * *",
        ] {
            assert!(Schedule::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn day_seven() {
        for (text, seven) in
            [("0 0 * * 7", true), ("0 0 * * 1-7", true), ("0 0 * * 1/7", false), ("7 7 7 7 *", false)]
        {
            assert_eq!(Schedule::read(text).unwrap().weekday_7, seven, "{text}");
        }
    }
}
