//! Creations at a steady pace, while something is done to the server.

use std::fmt;
use std::io::Write as _;
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::{Namespace, fixture};

/// 50 a second.
const PACE: Duration = Duration::from_millis(20);

/// One in so many breaks a rule, and has to be refused for it: who lets everything pass fails nobody's creation.
const BROKEN: usize = 10;

/// A scenario that doesn't end must not fill a bed.
const MOST: usize = 50 * 600;

/// Longer than the API server takes for a webhook that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Somebody who creates Etcds.
pub struct Load {
    end: CancellationToken,
    work: std::thread::JoinHandle<Report>,
}

/// What became of the creations.
#[derive(Debug, Default)]
pub struct Report {
    pub created: usize,
    /// Those that broke a rule.
    pub refused: usize,
    /// What was neither created nor refused for the rule that it broke: when it began, and what was said.
    pub failed: Vec<(Duration, String)>,
    pub slowest: Duration,
    pub took: Duration,
}

enum Outcome {
    Created,
    Refused,
    Failed(String),
}

struct Done {
    outcome: Outcome,
    began: Duration,
    took: Duration,
}

impl Load {
    /// Begins to create Etcds in a namespace, through the API server, each of a name of its own.
    pub fn on(namespace: &Namespace<'_>) -> Self {
        let (kubeconfig, namespace) = (namespace.bed.kubeconfig().to_owned(), namespace.name.clone());
        let end = CancellationToken::new();
        let stop = end.clone();
        let work = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                // Nothing is tried twice: whatever fails, a user sees.
                let client = super::api::client(&kubeconfig, false).await;
                run(client, &namespace, stop).await
            })
        });
        Self { end, work }
    }

    /// What came of it until now, when all has been answered.
    pub fn ended(self) -> Report {
        self.end.cancel();
        self.work.join().unwrap()
    }
}

impl Report {
    /// How many creations were tried.
    fn made(&self) -> u128 {
        (self.created + self.refused + self.failed.len()) as u128
    }

    /// Says it, also where the test passes.
    pub fn said(self, what: &str) -> Self {
        writeln!(std::io::stderr(), "under load, {what}: {self}").unwrap();
        self
    }

    /// As many were made as should be, as far as this machine lets them, and not one has failed.
    #[track_caller]
    pub fn nothing_failed(&self) {
        assert!(self.failed.is_empty(), "{self}");
        let (made, asked_for) = (self.made(), self.took.as_millis() / PACE.as_millis());
        assert!(made * 2 > asked_for, "the load was no load: {made} in {:?}", self.took);
        assert!(self.refused > 0, "nothing was refused: {self}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { created, refused, failed, slowest, took } = self;
        let pace = self.made() * 1000 / took.as_millis().max(1);
        write!(
            formatter,
            "{created} created and {refused} refused as they should be, in {took:.1?} ({pace}/s, slowest {slowest:.2?}); {} failed",
            failed.len()
        )?;
        for (began, said) in failed.iter().take(10) {
            write!(formatter, "\n  after {began:.1?}: {said}")?;
        }
        Ok(())
    }
}

async fn run(client: Client, namespace: &str, stop: CancellationToken) -> Report {
    let path = format!("/apis/druid.gardener.cloud/v1alpha1/namespaces/{namespace}/etcds");
    let (mut report, mut under_way) = (Report::default(), JoinSet::new());
    let (mut clock, start) = (interval(PACE), Instant::now());
    // A machine that was busy elsewhere makes up for it.
    clock.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 0..MOST {
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            _ = clock.tick() => {}
        }
        under_way.spawn(creation(client.clone(), path.clone(), number, start));
        while let Some(done) = under_way.try_join_next() {
            report.count(done.unwrap());
        }
    }
    report.took = start.elapsed();
    while let Some(done) = under_way.join_next().await {
        report.count(done.unwrap());
    }
    report
}

impl Report {
    fn count(&mut self, done: Done) {
        self.slowest = self.slowest.max(done.took);
        match done.outcome {
            Outcome::Created => self.created += 1,
            Outcome::Refused => self.refused += 1,
            Outcome::Failed(said) => self.failed.push((done.began, said)),
        }
    }
}

async fn creation(client: Client, path: String, number: usize, start: Instant) -> Done {
    let is_broken = number % BROKEN == BROKEN - 1;
    let (began, at) = (start.elapsed(), Instant::now());
    let answer = timeout(PATIENCE, create(client, &path, &etcd(number, is_broken))).await;
    let outcome = match answer {
        Err(_) => Outcome::Failed(format!("no answer within {PATIENCE:?}")),
        Ok(Err(error)) => Outcome::Failed(error.to_string()),
        Ok(Ok((201, _))) if !is_broken => Outcome::Created,
        Ok(Ok((422, said))) if is_broken && said.contains("[labels]") => Outcome::Refused,
        Ok(Ok((201, _))) => Outcome::Failed("created, although it breaks a rule".to_owned()),
        Ok(Ok((code, said))) => Outcome::Failed(format!("{code}: {said}")),
    };
    Done { outcome, began, took: at.elapsed() }
}

async fn create(client: Client, path: &str, object: &Value) -> Result<(u16, String), kube::Error> {
    let request = http::Request::post(path).header("Content-Type", "application/json");
    let response = client.send(request.body(Body::from(object.to_string().into_bytes())).unwrap()).await?;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await?.to_bytes();
    let said: Value = serde_json::from_slice(&body).unwrap_or_default();
    Ok((code, said["message"].as_str().unwrap_or_default().to_owned()))
}

fn etcd(number: usize, is_broken: bool) -> Value {
    let mut etcd = fixture("bootstrap-members/accepted-one-member.json");
    etcd["metadata"]["name"] = json!(format!("load-{number}"));
    if is_broken {
        etcd["spec"].as_object_mut().unwrap().remove("labels");
    }
    etcd
}
