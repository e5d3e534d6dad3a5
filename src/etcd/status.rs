//! The status: what the rules about the join and about a cluster's end read of it.

use super::fields::resource;
use super::scalar::Text;
use super::slot::Slot;
use super::source_member::SourceMember;
use super::{BOOTSTRAPPED, SOURCES_LEFT};

resource! {
    impl 'a;
    /// `status`.
    pub struct Status<'a> = "an object" {
        /// Conditions, in no order; a type may stand there twice.
        "conditions" => conditions: Vec<Slot<Condition<'a>>>,
        /// Members that were seen.
        "members" => members: Vec<Slot<MemberStatus<'a>>>,
        /// What the join was completed with; written once.
        "bootstrapWithExistingCluster" => bootstrap_with_existing_cluster: Snapshot<'a>,
    }
}

resource! {
    impl 'a;
    /// One condition.
    pub struct Condition<'a> = "an object" {
        /// What it is about.
        "type" => kind_of: Text<'a>,
        /// `True`, `False`, `Unknown`, or anything else.
        "status" => value: Text<'a>,
    }
}

resource! {
    impl 'a;
    /// One member that was seen.
    pub struct MemberStatus<'a> = "an object" {
        /// Its name.
        "name" => name: Text<'a>,
    }
}

resource! {
    impl 'a;
    /// What the join was completed with.
    pub struct Snapshot<'a> = "an object" {
        /// When: RFC 3339.
        "joinedAt" => joined_at: Text<'a>,
        /// The source members of that moment.
        "members" => members: Vec<Slot<SourceMember<'a>>>,
    }
}

impl Status<'_> {
    /// The conditions of one type, with their indices.
    pub fn conditions_of(&self, kind: &str) -> impl Iterator<Item = (usize, &Condition<'_>)> {
        self.conditions
            .get()
            .into_iter()
            .flatten()
            .enumerate()
            .filter_map(|(index, condition)| Some((index, condition.get()?)))
            .filter(move |(_, condition)| condition.kind_of.text() == Some(kind))
    }

    /// Whether the one status of a condition is `True`. Two statuses of one type prove nothing.
    fn is_true(&self, kind: &str) -> bool {
        let mut conditions = self.conditions_of(kind).peekable();
        conditions.peek().is_some() && conditions.all(|(_, condition)| condition.value.text() == Some("True"))
    }

    /// Whether the join is complete.
    pub fn bootstrapped(&self) -> bool {
        self.is_true(BOOTSTRAPPED)
    }

    /// Whether the sources of a combined cluster have left it.
    pub fn sources_left(&self) -> bool {
        self.is_true(SOURCES_LEFT)
    }

    /// Number of members that were seen.
    pub fn member_count(&self) -> usize {
        self.members.get().map_or(0, Vec::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::Etcd;

    #[test]
    fn complete_is_one_status_and_it_is_true() {
        for (statuses, complete) in [
            (&[][..], false),
            (&["True"], true),
            (&["False"], false),
            (&["Unknown"], false),
            (&["true"], false),
            (&["True", "True"], true),
            (&["True", "False"], false),
            (&["False", "True"], false),
        ] {
            let conditions: Vec<String> = statuses
                .iter()
                .map(|status| format!(r#"{{"type":"{BOOTSTRAPPED}","status":"{status}"}}"#))
                .collect();
            let json = format!(
                r#"{{"status": {{"conditions": [{{"type":"Ready","status":"True"}}{}{}]}}}}"#,
                if conditions.is_empty() { "" } else { "," },
                conditions.join(",")
            );
            let object = Etcd::read(&json).unwrap();
            assert_eq!(object.get().unwrap().status.get().unwrap().bootstrapped(), complete, "{statuses:?}");
        }
    }
}
