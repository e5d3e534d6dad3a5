//! Quantities as Kubernetes writes them: `8Gi`, `500m`, `1e9`, `8589934592`.

use super::{Checked, invalid};
use crate::etcd::scalar::IntOrText;
use crate::etcd::slot::Slot;
use std::cmp::Ordering;

/// Decimal and binary suffixes and what they stand for, as (base, exponent).
const SUFFIXES: [(&str, u32, i32); 16] = [
    ("Ki", 2, 10),
    ("Mi", 2, 20),
    ("Gi", 2, 30),
    ("Ti", 2, 40),
    ("Pi", 2, 50),
    ("Ei", 2, 60),
    ("n", 10, -9),
    ("u", 10, -6),
    ("m", 10, -3),
    ("", 10, 0),
    ("k", 10, 3),
    ("M", 10, 6),
    ("G", 10, 9),
    ("T", 10, 12),
    ("P", 10, 15),
    ("E", 10, 18),
];

/// A quantity, counted in billionths of its unit. Numbers that don't fit count as the largest that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity {
    billionths: i128,
}

impl Quantity {
    /// A number of gibibytes.
    pub const fn gibibytes(count: i128) -> Self {
        Self { billionths: count * (1 << 30) * 1_000_000_000 }
    }

    /// Reads a quantity: sign, digits with an optional fraction, and a suffix or a decimal exponent.
    pub fn read(text: &str) -> Option<Self> {
        let (negative, unsigned) = sign(text);
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (base, exponent) = scale(suffix)?;
        let magnitude = magnitude(number, base, exponent)?;
        Some(Self { billionths: if negative { -magnitude } else { magnitude } })
    }

    /// The whole number that it is, if it is one.
    pub fn whole(self) -> Option<i128> {
        (self.billionths % 1_000_000_000 == 0).then_some(self.billionths / 1_000_000_000)
    }

    /// Whether it is above zero.
    pub fn is_positive(self) -> bool {
        self.billionths.cmp(&0) == Ordering::Greater
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn scale(suffix: &str) -> Option<(u32, i32)> {
    if let Some((_, base, exponent)) = SUFFIXES.iter().find(|(name, ..)| *name == suffix) {
        return Some((*base, *exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    let (negative, digits) = sign(exponent);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Beyond this the number is zero or endless either way.
    let exponent = digits.parse::<i32>().unwrap_or(i32::MAX).min(1_000);
    Some((10, if negative { -exponent } else { exponent }))
}

/// `number × base^exponent` in billionths, rounded up as Kubernetes rounds.
fn magnitude(number: &str, base: u32, exponent: i32) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let mut value = digits.parse::<i128>().unwrap_or(i128::MAX);
    let mut tens = 9 - i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    if base == 10 {
        tens = tens.saturating_add(exponent);
    } else {
        value = value.saturating_mul(1_i128.checked_shl(u32::try_from(exponent).ok()?)?);
    }
    Some(shift(value, tens))
}

fn shift(value: i128, tens: i32) -> i128 {
    let power = 10_i128.checked_pow(tens.unsigned_abs());
    match (power, tens >= 0) {
        (Some(power), true) => value.saturating_mul(power),
        (None, true) => i128::MAX,
        (Some(power), false) => value / power + i128::from(value % power != 0),
        (None, false) => 1,
    }
}

/// A quantity above zero.
pub fn quantities(quantity: &Slot<IntOrText<'_>>) -> Checked {
    let Some(quantity) = quantity.get() else { return Ok(()) };
    match Quantity::read(&quantity.as_text()) {
        None => Err(invalid(
            "quantities",
            "not a quantity: write a number with a unit, such as \"8Gi\" or \"512Mi\"",
        )),
        Some(read) if !read.is_positive() => {
            Err(invalid("quantities", "must be above 0; remove the field for the default"))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_quantity_are_equal() {
        let gibi = Quantity::gibibytes(8);
        for text in
            ["8Gi", "8589934592", "8388608Ki", "8192Mi", "8.0Gi", "+8Gi", "8589934592000m", "8589934.592k"]
        {
            assert_eq!(Quantity::read(text), Some(gibi), "{text}");
        }
        assert!(Quantity::read("8.1Gi") > Some(gibi) && Quantity::read("8G") < Some(gibi));
        assert_eq!(Quantity::read("1e3"), Quantity::read("1k"));
        assert_eq!(Quantity::read("1E+3"), Quantity::read("1k"));
        assert_eq!(Quantity::read(".5Gi"), Quantity::read("512Mi"));
        assert_eq!(Quantity::read("5."), Quantity::read("5"));
    }

    #[test]
    fn what_is_no_quantity() {
        for text in
            ["", "Gi", "8 Gi", "8gi", "8K", "8GiB", "--8", "8e", "8e1.5", "1.2.3", ".", "0x8", "8Gi ", "ten"]
        {
            assert_eq!(Quantity::read(text), None, "{text}");
        }
    }

    #[test]
    fn above_zero() {
        for (text, positive) in
            [("0", false), ("-8Gi", false), ("0.000Gi", false), ("1n", true), ("1e-500", true)]
        {
            assert_eq!(Quantity::read(text).unwrap().is_positive(), positive, "{text}");
        }
        assert!(Quantity::read(&"9".repeat(400)).unwrap().is_positive());
        assert!(Quantity::read("1e999999999999").unwrap().is_positive());
    }
}
