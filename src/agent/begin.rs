//! First starts: etcd has no log yet. By the loop's word, or as a member that was added.

use std::io;

use tokio_util::sync::CancellationToken;

use crate::member::{Form, MemberId, Why};

use super::decide::Hold;
use super::facts::{Data, Facts};
use super::preflight;
use super::record::Life;
use super::run::{Agent, Look, Next};
use super::settings::{Begin, initial_cluster};

/// Starts of a joiner that left no log, before its entry is given up.
const FIRST_STARTS_MAX: u32 = 5;

/// A start that may be done once more as it was, while etcd has left no log: it has promised nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FirstStart {
    pub(super) kind: First,
    pub(super) tries: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum First {
    Form(Form),
    Join(MemberId),
}

impl Agent {
    /// Takes the word, and starts by it. Without the API server's yes it is not taken.
    pub(super) async fn form(
        &mut self,
        facts: &Facts,
        word: Form,
        ending: &CancellationToken,
    ) -> io::Result<Next> {
        // A word that is taken is used up: what can be known is known before.
        let Ok(binary) = &self.parts.binary else { return Ok(self.no_binary()) };
        if let Some(hold) = preflight::own_release(binary.release) {
            return Ok(hold.into());
        }
        if let Err(hold) = self.take(&word).await {
            return Ok(hold.into());
        }
        self.begin(facts, FirstStart { kind: First::Form(word), tries: 0 }, ending).await
    }

    async fn take(&mut self, word: &Form) -> Result<(), Hold> {
        let failed = |fault: super::api::ApiFault| Hold::new(Why::ApiServer, fault.to_string());
        let pod = self.parts.api.own_pod().await.map_err(failed)?;
        let used = pod.last_report().and_then(|report| report.took.as_ref()) == Some(&word.token);
        if pod.form() != Some(word) || used {
            return Err(Hold::new(Why::NoWord, "the loop's word changed before it was taken"));
        }
        let Some(reporter) = &mut self.reporter else {
            return Err(Hold::new(Why::ApiServer, "nothing was reported yet"));
        };
        reporter.take(&pod, &word.token).await.map_err(failed)
    }

    pub(super) async fn join(
        &mut self,
        facts: &Facts,
        id: MemberId,
        tries: u32,
        ending: &CancellationToken,
    ) -> io::Result<Next> {
        self.begin(facts, FirstStart { kind: First::Join(id), tries }, ending).await
    }

    /// A first start: etcd has no log yet.
    async fn begin(
        &mut self,
        facts: &Facts,
        first: FirstStart,
        ending: &CancellationToken,
    ) -> io::Result<Next> {
        let (life, begin) = match (&first.kind, facts.live()) {
            (First::Form(Form { token, initial_cluster }), _) => (
                Life::Forming { token: token.clone() },
                Begin::New { token: token.clone(), initial_cluster: initial_cluster.clone() },
            ),
            (First::Join(id), Some(live)) => {
                let initial_cluster = initial_cluster((*id, &facts.name()), &live.members);
                (Life::Running { id: *id, cluster: live.cluster }, Begin::Existing { initial_cluster })
            }
            (First::Join(_), None) => return Ok(Next::Now),
        };
        let record = facts.next_record(life);
        self.first_start = Some(FirstStart { tries: first.tries + 1, ..first });
        self.etcd(facts, record, &begin, ending).await
    }

    /// etcd ended before it had a log: the same start again, in the same life of this agent, is still the first one.
    pub(super) async fn start_once_more(
        &mut self,
        look: &Look,
        ending: &CancellationToken,
    ) -> io::Result<Option<Next>> {
        let Some(first) = self.first_start.take() else { return Ok(None) };
        let facts = &look.facts;
        let told_to_leave = facts.heard().is_some_and(|told| told.leave.is_some());
        if !matches!(facts.data, Data::Half | Data::None) || told_to_leave {
            return Ok(None);
        }
        let again = match (&first.kind, facts.live()) {
            // Nobody may have gone on without it.
            (First::Form(_), _) => facts.heard().is_some_and(|told| told.formed.is_none()),
            (First::Join(id), Some(live)) => {
                first.tries < FIRST_STARTS_MAX
                    && live.members.iter().any(|member| member.id == *id && member.learner)
            }
            (First::Join(_), None) => {
                self.first_start = Some(first);
                return Ok(facts
                    .cluster
                    .as_ref()
                    .err()
                    .map(|unseen| Hold::new(unseen.why, unseen.message.clone()).into()));
            }
        };
        if again { self.begin(facts, first, ending).await.map(Some) } else { Ok(None) }
    }
}
