//! What a member says of itself: one annotation on its own pod, written when it changes and not otherwise.

use super::id::{ClusterId, MemberId};
use serde::{Deserialize, Serialize};

/// A member's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    /// UID of the Etcd whose member this is.
    pub etcd: String,
    /// When this agent began, RFC 3339 in UTC: a report from before the container's start is that of an earlier one.
    pub started: String,
    /// Name of the member.
    pub name: String,
    /// Release of the etcd binary in the image, such as `3.6.16`; absent until it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_version: Option<String>,
    /// What is in the volume.
    pub volume: Volume,
    /// The member's id, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<MemberId>,
    /// The cluster that it is, or is about to be, a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// What it is in the cluster; absent while etcd doesn't run, or can't be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The members of the cluster as a linearizable list last showed them; empty where none was had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Listed>,
    /// Token of the last word to form that was taken: it is never used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<String>,
    /// Whether a file of an authority holds something else than when etcd was started: it reads them once, and must be
    /// restarted to trust what is there now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ca_changed: bool,
    /// Whether its log holds requests of the v2 API, which etcd 3.5 wrote, 3.6 reads and 3.7 can't; absent where that isn't
    /// known, and of other minors than 3.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds_v2: Option<bool>,
    /// Whether it has left the cluster on the loop's word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// What it waits for; absent where it waits for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// How far a learner has caught up; absent of voters, and where the leader isn't seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
}

/// How far a learner has caught up with the leader, by what both say of themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Progress {
    /// Revision of the learner's key space.
    pub revision: u64,
    /// Revision of the leader's.
    pub leader_revision: u64,
    /// Size of the learner's database, in bytes.
    pub bytes: u64,
    /// Size of the leader's.
    pub leader_bytes: u64,
}

/// What is in a member's volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum Volume {
    /// Nothing, and no record of an earlier life; also while etcd is started for the first time and makes its data.
    Empty,
    /// A member's data.
    Data {
        /// Its member's id, from the log.
        member: MemberId,
        /// Its cluster's id, from the log.
        cluster: ClusterId,
        /// How often etcd was started on it.
        starts: u64,
    },
    /// Something, and it can't be told what: never the beginning of a new cluster.
    Unreadable(String),
}

/// What a member is in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// It receives the log and has no vote.
    Learner,
    /// It votes.
    Voter,
    /// It votes, and leads.
    Leader,
}

/// One member of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Listed {
    /// Its id.
    pub id: MemberId,
    /// Its name; empty where it hasn't started.
    pub name: String,
    /// Whether it has no vote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub learner: bool,
    /// Whether it isn't reached, or isn't well, as the reporting member sees it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwell: bool,
}

/// What a member waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Waiting {
    /// What kind of wait it is.
    pub why: Why,
    /// For a person: the address or the member that it waits for, what is wrong there, and the remedy.
    pub message: String,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
}

/// Kinds of waits: closed, so that conditions and metrics have a bounded set of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub enum Why {
    /// The loop has not given its word to form.
    NoWord,
    /// The API server doesn't answer, or not what is needed.
    ApiServer,
    /// Nobody answers at the endpoints of the cluster that it belongs to, or joins.
    Unreachable,
    /// A certificate is refused, here or there.
    Certificate,
    /// The source demands a user's password.
    Authentication,
    /// The spec and the source's live members differ.
    SourceDiffers,
    /// A voter of the cluster isn't well, or an alarm is raised.
    Unhealthy,
    /// Another member is a learner: one at a time.
    OtherLearner,
    /// This etcd's version doesn't fit the cluster's.
    Version,
    /// The volume or the quota is too small for the cluster's database.
    Space,
    /// The volume holds data of another cluster or another member: a person decides.
    ForeignData,
    /// The volume was rolled back, emptied or damaged.
    LostData,
    /// Its name or one of its URLs is another member's.
    Collision,
    /// The member was removed from the cluster by somebody.
    Removed,
    /// It has caught up too little to be promoted.
    CatchingUp,
    /// etcd ended, again and again.
    EtcdEnds,
    /// The image or the configuration can't be run.
    Configuration,
    /// The Etcd is being deleted: this member, which is none yet, joins no more.
    Ending,
}

impl Why {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::NoWord,
        Self::ApiServer,
        Self::Unreachable,
        Self::Certificate,
        Self::Authentication,
        Self::SourceDiffers,
        Self::Unhealthy,
        Self::OtherLearner,
        Self::Version,
        Self::Space,
        Self::ForeignData,
        Self::LostData,
        Self::Collision,
        Self::Removed,
        Self::CatchingUp,
        Self::EtcdEnds,
        Self::Configuration,
        Self::Ending,
    ];
}

/// A report that is longer than an annotation may be here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the report has {0} bytes; at most {max} are read", max = Report::BYTES_MAX)]
pub struct TooLong(usize);

impl Report {
    /// Longest report that is read, in bytes.
    pub const BYTES_MAX: usize = 4096;

    /// Of a member that has just begun: nothing is known of it, and its volume counts as empty.
    pub const fn new(etcd: String, started: String, name: String) -> Self {
        Self {
            etcd,
            started,
            name,
            etcd_version: None,
            volume: Volume::Empty,
            id: None,
            cluster: None,
            role: None,
            members: Vec::new(),
            took: None,
            ca_changed: false,
            holds_v2: None,
            left: false,
            waiting: None,
            progress: None,
        }
    }

    /// Reads an annotation. The error says what is wrong with it.
    pub fn read(annotation: &str) -> Result<Self, String> {
        if annotation.len() > Self::BYTES_MAX {
            return Err(TooLong(annotation.len()).to_string());
        }
        serde_json::from_str(annotation).map_err(|error| error.to_string())
    }

    /// The annotation. A list or a message that makes it too long is left out, or cut at its beginning: the end of
    /// what a program said is the part that tells.
    pub fn annotation(&self) -> Result<String, TooLong> {
        let mut report = self.clone();
        let mut written = report.written();
        while written.len() > Self::BYTES_MAX && report.cut_message(written.len() - Self::BYTES_MAX) {
            written = report.written();
        }
        if written.len() > Self::BYTES_MAX {
            report.members.clear();
            written = report.written();
        }
        if written.len() <= Self::BYTES_MAX { Ok(written) } else { Err(TooLong(written.len())) }
    }

    fn written(&self) -> String {
        // Nothing in a report can fail to be written: no map has a key that is no string.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes some of the beginning of the message, where `excess` bytes are too many; false where nothing is left.
    fn cut_message(&mut self, excess: usize) -> bool {
        const MARK: char = '…';
        // A byte is six in JSON at most.
        const ESCAPED: usize = 6;
        let Some(waiting) = &mut self.waiting else { return false };
        let kept = waiting.message.trim_start_matches(MARK);
        if kept.is_empty() {
            return false;
        }
        let mut from = excess.div_ceil(ESCAPED).min(kept.len());
        while !kept.is_char_boundary(from) {
            from += 1;
        }
        waiting.message = format!("{MARK}{}", kept.get(from..).unwrap_or_default());
        true
    }

    /// Whether two reports say the same; since when one waits is no news.
    pub fn says_the_same(&self, other: &Self) -> bool {
        let timeless = |report: &Self| {
            let mut report = report.clone();
            if let Some(waiting) = &mut report.waiting {
                waiting.since.clear();
            }
            report
        };
        timeless(self) == timeless(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report::new("5d1c".to_owned(), "2026-11-29T20:00:00Z".to_owned(), "main-0".to_owned())
    }

    fn waiting(message: &str, since: &str) -> Waiting {
        Waiting { why: Why::Unreachable, message: message.to_owned(), since: since.to_owned() }
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let full = Report {
            etcd_version: Some("3.6.16".to_owned()),
            volume: Volume::Data { member: MemberId(7), cluster: ClusterId(9), starts: 2 },
            id: Some(MemberId(7)),
            cluster: Some(ClusterId(9)),
            role: Some(Role::Leader),
            members: vec![Listed {
                id: MemberId(7),
                name: "main-0".to_owned(),
                learner: false,
                unwell: true,
            }],
            took: Some("5d1c/1".to_owned()),
            ca_changed: true,
            holds_v2: Some(true),
            waiting: Some(waiting("\"quoted\"\n", "2026-11-29T20:00:00Z")),
            progress: Some(Progress { revision: 1, leader_revision: 20, bytes: 300, leader_bytes: 4000 }),
            ..report()
        };
        for report in [report(), full] {
            assert_eq!(Report::read(&report.annotation().unwrap()), Ok(report));
        }
    }

    #[test]
    fn no_kind_of_wait_is_left_out() {
        for (at, why) in Why::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, at, "{why:?}");
        }
        // The last one: a further kind comes after it, and into the list.
        assert_eq!(Why::ALL.last(), Some(&Why::Ending));
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        let mut json: serde_json::Value = serde_json::from_str(&report().annotation().unwrap()).unwrap();
        json["more"] = 1.into();
        assert!(Report::read(&json.to_string()).unwrap_err().contains("more"));
        assert!(Report::read(&" ".repeat(4097)).unwrap_err().contains("4097"));
    }

    #[test]
    fn a_long_message_keeps_its_end() {
        let long = format!("{}ä and the cause", "é\"".repeat(5000));
        let report = Report { waiting: Some(waiting(&long, "")), ..report() };
        let annotation = report.annotation().unwrap();
        assert!(annotation.len() <= Report::BYTES_MAX);
        let message = Report::read(&annotation).unwrap().waiting.unwrap().message;
        assert!(message.starts_with('…') && message.ends_with("ä and the cause"), "{message}");
    }

    #[test]
    fn members_are_left_out_where_there_is_no_room() {
        let listed = |id| Listed { id: MemberId(id), name: "n".repeat(250), learner: false, unwell: false };
        let report = Report { members: (0..20).map(listed).collect(), ..report() };
        assert!(Report::read(&report.annotation().unwrap()).unwrap().members.is_empty());
    }

    #[test]
    fn waiting_on_is_no_news() {
        let (early, late) = (waiting("m", "1"), waiting("m", "2"));
        let at = |waiting| Report { waiting: Some(waiting), ..report() };
        assert!(at(early.clone()).says_the_same(&at(late)));
        assert!(!at(early).says_the_same(&at(waiting("n", "1"))));
    }
}
