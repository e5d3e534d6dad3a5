//! Releases of etcd, and which of them go together.

use std::fmt;
use std::str::FromStr;

/// A release: of a binary, or of a running member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Always 3 so far.
    pub major: u64,
    /// What compatibility goes by.
    pub minor: u64,
    /// Mends only.
    pub patch: u64,
}

/// What is no release.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no release such as 3.6.16")]
pub struct NoRelease(String);

/// Releases from which on a promotion is stored where 3.6 looks for it (etcd issue 19557).
const STORES_PROMOTIONS: Release = Release::new(3, 5, 20);

impl Release {
    /// A release.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch }
    }

    /// The release in what `etcd --version` prints.
    pub fn of_binary(output: &str) -> Option<Self> {
        output.lines().find_map(|line| line.strip_prefix("etcd Version:")?.trim().parse().ok())
    }

    /// Whether a member of this release may be in a cluster of that version: its minor, or the next. A lower one ends
    /// at once; one that is two higher writes what the others can't read, and none of them ever starts again.
    pub fn fits(self, cluster: Self) -> bool {
        self.major == cluster.major && (cluster.minor..=cluster.minor + 1).contains(&self.minor)
    }

    /// Whether promotions that this release applies are lost for 3.6.
    pub fn loses_promotions(self) -> bool {
        (self.major, self.minor) == (3, 5) && self < STORES_PROMOTIONS
    }

    /// Whether an add needs a quorum of connected voters only; older releases want all of them.
    pub fn adds_with_quorum(self) -> bool {
        match (self.major, self.minor) {
            (3, 5) => self.patch >= 30,
            (3, 6) => self.patch >= 11,
            version => version >= (3, 7),
        }
    }

    /// Whether the release has a minor of at least this.
    pub fn is_since(self, minor: u64) -> bool {
        (self.major, self.minor) >= (3, minor)
    }
}

impl FromStr for Release {
    type Err = NoRelease;

    fn from_str(text: &str) -> Result<Self, NoRelease> {
        // A suffix tells builds apart, not compatibility: `3.6.0-rc.1`, `3.5.9+distro`.
        let numbers = text.split(['-', '+']).next().unwrap_or_default();
        let parsed: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
        match parsed.as_deref() {
            Ok([major, minor, patch]) => Ok(Self::new(*major, *minor, *patch)),
            _ => Err(NoRelease(text.to_owned())),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(text: &str) -> Release {
        text.parse().unwrap()
    }

    #[test]
    fn a_binary_says_its_release() {
        let output = "etcd Version: 3.6.16\nGit SHA: Not provided (use ./build)\nGo Version: go1.25\n";
        assert_eq!(Release::of_binary(output), Some(release("3.6.16")));
        assert_eq!(Release::of_binary("etcdctl version: 3.6.16"), None);
        assert_eq!(release("3.6.0-rc.1"), Release::new(3, 6, 0));
        for text in ["", "3.6", "v3.6.1", "3.6.x", "3.6.1.2"] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_joiner_is_of_the_clusters_minor_or_the_next() {
        for (own, cluster, fits) in [
            ("3.5.33", "3.5.0", true),
            ("3.6.16", "3.5.0", true),
            ("3.6.16", "3.4.0", false),
            ("3.5.33", "3.6.0", false),
        ] {
            assert_eq!(release(own).fits(release(cluster)), fits, "{own} in {cluster}");
        }
    }

    #[test]
    fn releases_with_known_faults_are_known() {
        for (text, loses, quorum) in [
            ("3.4.45", false, false),
            ("3.5.19", true, false),
            ("3.5.20", false, false),
            ("3.5.30", false, true),
            ("3.6.10", false, false),
            ("3.6.11", false, true),
            ("3.7.0", false, true),
        ] {
            let release = release(text);
            assert_eq!((release.loses_promotions(), release.adds_with_quorum()), (loses, quorum), "{text}");
        }
    }
}
