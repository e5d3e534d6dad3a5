//! Values of flags that need more than their own `FromStr`.

use std::net::SocketAddr;
use std::time::Duration;

use crate::server::go_duration;

/// `127.0.0.1:9443`, `[::]:9443`.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "write an IP address and a port, such as 127.0.0.1:9443, or [::]:9443 for every address of this machine; \
         names aren't looked up"
            .to_owned()
    })
}

/// `10s`, `500ms`, `1m30s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    go_duration(text).ok_or_else(|| "write a duration with its unit, such as 500ms, 10s or 1m30s".to_owned())
}

/// Bytes: `1048576`, `512Ki`, `100Mi`, `2Gi`.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let units = [("Ki", 1024), ("Mi", 1024 * 1024), ("Gi", 1024 * 1024 * 1024)];
    let with_unit = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)));
    let (number, unit) = with_unit.unwrap_or((text, 1));
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    bytes.ok_or_else(|| "write a number of bytes, such as 1048576, 512Ki or 100Mi".to_owned())
}

/// A number of things held at once: at least one, and no more than a mistyped unit would give.
pub(super) fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0 && *number <= 1_000_000);
    number.ok_or_else(|| "write a number from 1 to 1000000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1048576", Some(1024 * 1024)),
            ("512Ki", Some(512 * 1024)),
            ("100Mi", Some(100 * 1024 * 1024)),
            ("2Gi", Some(2 * 1024 * 1024 * 1024)),
            ("", None),
            ("Mi", None),
            ("10MB", None),
            ("-1", None),
            ("99999999999Gi", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text:?}");
        }
    }
}
