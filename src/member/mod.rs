//! What the reconcile loop and the agents say to each other, and what both know of a member.
//!
//! | from | to | where | what |
//! |---|---|---|---|
//! | loop | agent | ConfigMap `<name>-config`, key [`Config::KEY`] | [`Config`]: how the member runs, and whom it joins |
//! | loop | agent | ConfigMap `<name>-config`, key [`Starts::KEY`] | [`Starts`]: how often etcd was started, as seen |
//! | loop | agent | ConfigMap `<name>-cluster`, immutable | [`Formed`]: the cluster was formed, and its id |
//! | loop | agent | annotation [`FORM`] on the member's pod | [`Form`]: the word to form a cluster |
//! | loop | agent | annotation [`LEAVE`] on the member's pod | [`Leave`]: the word to leave the cluster |
//! | agent | loop | annotation [`MEMBER`] on the member's pod | [`Report`]: what the member is and what it waits for |
//!
//! Everything is JSON, parsed strictly: a field that isn't known is an error, since one side would act on half a
//! message. The loop and the agent of one version are one binary; an agent that is older than the loop restarts with
//! its pod before it is told anything new.

mod config;
mod formed;
mod id;
mod report;
mod starts;
mod word;

pub use config::{Config, Endpoints, EtcdSettings, Owner, Scheme, Source, TlsFiles};
pub use formed::Formed;
pub use id::{ClusterId, MemberId};
pub use report::{Listed, Progress, Report, Role, TooLong, Volume, Waiting, Why};
pub use starts::{SeenStarts, Starts};
pub use word::{Form, Leave};

/// Votes that a decision needs.
pub const fn quorum(voters: usize) -> usize {
    voters / 2 + 1
}

/// Annotation with the word to form a cluster. Only the loop writes it.
pub const FORM: &str = "etcd-warden.dev/form";
/// Annotation with the word to leave. Only the loop writes it.
pub const LEAVE: &str = "etcd-warden.dev/leave";
/// Annotation with a member's report. Only the pod's own token writes it.
pub const MEMBER: &str = "etcd-warden.dev/member";
