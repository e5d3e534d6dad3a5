//! How often etcd was started on each volume, as far as the loop has seen: a volume that says less was rolled back.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::id::MemberId;

/// The highest number of starts that the loop has seen of each pod's member, by pod. It stands in `<name>-config`
/// beside the configuration, and is nothing that a pod is restarted for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Starts(BTreeMap<String, SeenStarts>);

/// Starts of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SeenStarts {
    /// The member: one that joined anew counts from the beginning.
    pub member: MemberId,
    /// Its starts.
    pub starts: u64,
}

impl Starts {
    /// Key in the ConfigMap.
    pub const KEY: &'static str = "starts.json";

    /// What was seen of a pod's member.
    pub fn of(&self, pod: &str) -> Option<SeenStarts> {
        self.0.get(pod).copied()
    }

    /// Takes note of what a pod reports. Of one member the number only rises.
    pub fn note(&mut self, pod: &str, seen: SeenStarts) {
        let before = self.of(pod).filter(|before| before.member == seen.member);
        let starts = before.map_or(seen.starts, |before| before.starts.max(seen.starts));
        self.0.insert(pod.to_owned(), SeenStarts { starts, ..seen });
    }

    /// Reads the ConfigMap's text.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("{}: {error}", Self::KEY))
    }

    /// The ConfigMap's text.
    pub fn text(&self) -> String {
        // Keys are strings: nothing can fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_members_number_only_rises_and_another_member_begins_anew() {
        let seen = |member, starts| SeenStarts { member: MemberId(member), starts };
        let mut noted = Starts::default();
        for (reported, kept) in [(seen(7, 3), 3), (seen(7, 2), 3), (seen(7, 4), 4), (seen(8, 1), 1)] {
            noted.note("main-0", reported);
            assert_eq!(noted.of("main-0"), Some(seen(reported.member.0, kept)));
        }
        assert_eq!(noted.of("main-1"), None);
        assert_eq!(noted.text(), r#"{"main-0":{"member":"8","starts":1}}"#);
        assert_eq!(Starts::read(&noted.text()), Ok(noted));
        assert!(Starts::read(r#"{"main-0":{"member":"8"}}"#).unwrap_err().contains("starts.json"));
    }
}
