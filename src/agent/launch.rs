//! etcd is started: where its release fits the cluster, with a configuration file of its own.

use std::io;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::member::{MemberId, TlsFiles, Why};

use super::child::Child;
use super::decide::Hold;
use super::facts::Facts;
use super::gate::Gate;
use super::preflight;
use super::reach;
use super::record::Record;
use super::run::{Agent, Next};
use super::settings::{Begin, Settings};
use super::stall::Stall;
use super::v2::Watched;
use super::version::Release;
use super::watch::Run;

/// What etcd spends on a peer URL that doesn't answer, one after the other, before it knows the cluster that it joins.
const PRIVATE_URL: Duration = Duration::from_secs(10);

impl Agent {
    /// Runs etcd until it ends, or has to.
    pub(super) async fn etcd(
        &mut self,
        facts: &Facts,
        mut record: Record,
        begin: &Begin,
        stop: &CancellationToken,
    ) -> io::Result<Next> {
        let Ok(binary) = self.parts.binary.clone() else { return Ok(self.no_binary()) };
        if let Some(hold) = self.unfit(facts, &record, begin, binary.release).await {
            return Ok(hold.into());
        }
        record.starts += 1;
        record.release = Some(binary.release.to_string());
        let file = match self.write_settings(facts, begin) {
            Ok(file) => file,
            Err(hold) => return Ok(hold.into()),
        };
        self.parts.volume.record().write(&record)?;
        tracing::info!(release = %binary.release, starts = record.starts, ?begin, "starts etcd");
        let authorities = self.parts.mounted.authorities(&facts.config);
        let child = match Child::start(&binary, &file) {
            Ok(child) => child,
            Err(error) => {
                return Ok(Hold::new(Why::Configuration, format!("can't start etcd: {error}")).into());
            }
        };
        self.parts.local.runs(Some((&facts.config, facts.ordinal)));
        let joins = self.joins(facts, &record);
        let (gate, v2, started) = (Gate::default(), Watched::default(), Instant::now());
        let run = Run { child, gate, record, authorities, started, joins, v2 };
        let next = self.attend(facts, run, stop).await;
        self.parts.local.runs(None);
        next
    }

    /// Whether a binary may not be started: its release doesn't fit the cluster.
    async fn unfit(&self, facts: &Facts, record: &Record, begin: &Begin, own: Release) -> Option<Hold> {
        let joined = facts.live().filter(|_| matches!(begin, Begin::Existing { .. }));
        if let Some(hold) = joined.and_then(|live| preflight::versions(live, own)) {
            return Some(hold);
        }
        let before = record.release.as_ref().and_then(|text| text.parse().ok());
        let cluster = match record.life.cluster() {
            Some(cluster) => reach::version_of(&self.parts.mounted, facts, cluster).await,
            None => None,
        };
        preflight::refusal_of_start(own, before, cluster)
    }

    fn joins(&self, facts: &Facts, record: &Record) -> Option<(MemberId, Stall)> {
        let (id, live) = record.life.id().zip(facts.live())?;
        let urls: usize = live.members.iter().map(|member| member.peer_urls.len()).sum();
        let private = PRIVATE_URL.saturating_mul(u32::try_from(urls).unwrap_or(u32::MAX));
        let joins = live.members.iter().any(|member| member.id == id && member.learner);
        joins.then(|| (id, Stall::new(self.parts.patience + private)))
    }

    fn write_settings(&self, facts: &Facts, begin: &Begin) -> Result<std::path::PathBuf, Hold> {
        let unusable = |fault: String| Hold::new(Why::Configuration, fault);
        let release = self.parts.binary.as_ref().map_err(|fault| unusable(fault.clone()))?.release;
        let mounted = &self.parts.mounted;
        let paths = (mounted.paths(&TlsFiles::CLIENT), mounted.paths(&TlsFiles::PEER));
        let settings = Settings {
            config: &facts.config,
            ordinal: facts.ordinal,
            release,
            data: &self.parts.volume.data(),
            listen: &self.parts.listen,
            tls: (&paths.0, &paths.1),
            begin,
        };
        let content = settings.file().map_err(|error| unusable(error.to_string()))?;
        let path = self.parts.volume.root().join("etcd.conf.yaml");
        let written = std::fs::write(&path, format!("{content:#}\n"));
        written.map_err(|error| unusable(format!("can't write {}: {error}", path.display())))?;
        Ok(path)
    }
}
