//! `status`: how an Etcd is, as a person wants to see it.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod as KubernetesPod;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use kube::core::DynamicObject;

use super::Failure;
use super::output::{ColorArgs, print_as_is, reader_is_gone};
use super::values::duration;
use crate::controller::{Etcd, Pod, etcds, render};
use crate::etcd::KIND;
use crate::kubernetes::{CallError, Cluster, Target};
use crate::overview::{Ages, Line, Mark, Overview, lines};
use crate::text::escaped;

const WHICH: &str = "Which Etcd";
const WATCHING: &str = "Watching";
const OUTPUT: &str = "Output";

/// The flags of `status`.
#[derive(Debug, clap::Args)]
#[command(
    next_line_help = true,
    after_help = "Examples:\n  etcd-warden status main -n shop\n  etcd-warden status main -n shop --watch\n  etcd-warden status main -n shop --output json | jq .votes"
)]
pub(super) struct Args {
    /// Name of the Etcd
    name: String,
    /// Namespace of the Etcd [default: the kubeconfig's]
    #[arg(short, long, value_name = "NAME", help_heading = WHICH)]
    namespace: Option<String>,
    /// Go on, and show what changes; ends when the Etcd is gone
    #[arg(short, long, help_heading = WATCHING)]
    watch: bool,
    /// How long between two looks
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration, help_heading = WATCHING)]
    interval: Duration,
    /// As text, or as JSON: one document, with --watch one line a change
    #[arg(short, long, value_name = "FORMAT", default_value = "text", help_heading = OUTPUT)]
    output: Output,
    #[command(flatten, next_help_heading = OUTPUT)]
    color: ColorArgs,
    /// File that says which cluster, and as whom [default: those of KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE", help_heading = WHICH)]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig [default: its current one]
    #[arg(long, value_name = "NAME", help_heading = WHICH)]
    context: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For a person
    Text,
    /// For a program
    Json,
}

/// Shows it, once or until it is gone.
pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Failed(format!("can't start threads: {error}")))?;
    runtime.block_on(show(args))
}

async fn show(args: &Args) -> Result<(), Failure> {
    if args.interval < Duration::from_millis(100) {
        return Err(Failure::Usage(format!(
            "--interval {:?} would do nothing but ask: give 100ms or more, such as 2s",
            args.interval
        )));
    }
    let cluster = Cluster::of_person(args.kubeconfig.as_deref(), args.context.as_deref()).await;
    let cluster = cluster.map_err(|error| Failure::Failed(error.to_string()))?;
    let etcd = Named {
        namespace: args.namespace.clone().unwrap_or_else(|| cluster.namespace.clone()),
        name: args.name.clone(),
        cluster,
    };
    let first = etcd.look().await.map_err(|error| Failure::Failed(error.shown()))?;
    let first = first.ok_or_else(|| {
        let Named { namespace, name, .. } = &etcd;
        Failure::Failed(format!(
            "there is no Etcd {namespace}/{name}: kubectl get etcd -n {namespace} shows which are"
        ))
    })?;
    let mut screen = Screen::of(args);
    screen.show(&first)?;
    if args.watch { follow(args, &etcd, &first.uid, &mut screen).await } else { Ok(()) }
}

/// An API server that is away for a while is said, and waited for: whoever watches wants to go on.
async fn follow(args: &Args, etcd: &Named, uid: &str, screen: &mut Screen) -> Result<(), Failure> {
    loop {
        tokio::time::sleep(args.interval).await;
        if reader_is_gone() {
            return Ok(());
        }
        match etcd.look().await {
            Ok(Some(overview)) if overview.uid == uid => screen.show(&overview)?,
            Ok(_) => return screen.end(&format!("Etcd {}/{} is gone", etcd.namespace, etcd.name)),
            Err(error) => screen.trouble(&error.shown())?,
        }
    }
}

/// An Etcd in a cluster.
struct Named {
    cluster: Cluster,
    namespace: String,
    name: String,
}

impl Named {
    /// How it is now; nothing where there is none.
    async fn look(&self) -> Result<Option<Overview>, LookError> {
        let Self { cluster, namespace, name } = self;
        let api: Api<DynamicObject> = Api::namespaced_with(cluster.client.clone(), namespace, &etcds());
        let found = self.target("get", "etcds.druid.gardener.cloud").call(api.get_opt(name)).await?;
        let Some(found) = found else { return Ok(None) };
        let etcd = Etcd::read(&found).map_err(|error| LookError::Unreadable(error.to_string()))?;
        let set = self.stateful_set().await?;
        let pods = match &set {
            Some(set) => self.pods(&etcd, set).await?,
            None => Vec::new(),
        };
        let events = self.events(&told_of(&etcd, set.as_deref(), &pods)).await?;
        Ok(Some(Overview::of(&etcd, &pods, events.as_deref())))
    }

    /// The UID of the StatefulSet; nothing where there is none.
    async fn stateful_set(&self) -> Result<Option<String>, LookError> {
        let sets: Api<StatefulSet> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        let set = self.target("get", "statefulsets.apps").call(sets.get_opt(&self.name)).await?;
        Ok(set.and_then(|set| set.metadata.uid))
    }

    async fn pods(&self, etcd: &Etcd, set: &str) -> Result<Vec<Pod>, LookError> {
        let pods: Api<KubernetesPod> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        let labelled = ListParams::default().labels(&render::selector(&etcd.name));
        let pods = self.all("list", "pods").call(pods.list(&labelled)).await?;
        Ok(pods.items.iter().filter_map(|pod| Pod::read(pod, etcd, set)).collect())
    }

    /// Nothing where they may not be listed: the rest is worth seeing.
    async fn events(&self, selectors: &[String]) -> Result<Option<Vec<Event>>, LookError> {
        let events: Api<Event> = Api::namespaced(self.cluster.client.clone(), &self.namespace);
        let mut all = Vec::new();
        for selector in selectors {
            let of = ListParams::default().fields(selector);
            match self.all("list", "events.events.k8s.io").call(events.list(&of)).await {
                Ok(told) => all.extend(told.items),
                Err(error) if error.is_forbidden() => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Some(all))
    }

    fn target(&self, verb: &'static str, resource: &'static str) -> Target {
        Target::in_namespace(verb, resource, &self.namespace, &self.name)
    }

    fn all(&self, verb: &'static str, resource: &'static str) -> Target {
        Target { verb, resource, namespace: Some(self.namespace.clone()), name: None }
    }
}

/// Field selectors of the events that are worth seeing: the Etcd's own; and the warnings of what doesn't get as far as an
/// agent that would say what is wrong, which are told to nobody else: a pod that may not be created, a Secret that isn't
/// there.
fn told_of(etcd: &Etcd, set: Option<&str>, pods: &[Pod]) -> Vec<String> {
    let of = |kind: &str, uid: &str| format!("regarding.kind={kind},regarding.uid={uid}");
    let warnings = |kind, uid| of(kind, uid) + ",type=Warning";
    let lacks_pods = usize::try_from(etcd.spec.replicas).is_ok_and(|wanted| pods.len() < wanted);
    let set = set.filter(|_| lacks_pods).map(|uid| warnings("StatefulSet", uid));
    let pods = pods.iter().filter(|pod| !pod.is_running).map(|pod| warnings("Pod", &pod.uid));
    std::iter::once(of(KIND, &etcd.uid)).chain(set).chain(pods).collect()
}

/// Why an Etcd can't be shown.
#[derive(Debug, thiserror::Error)]
enum LookError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("{0}")]
    Unreadable(String),
}

impl LookError {
    /// For whoever asked, with what an API server says escaped.
    fn shown(&self) -> String {
        escaped(&match self {
            Self::Call(error) => error.to_person(),
            Self::Unreadable(why) => why.clone(),
        })
    }
}

/// Where it is shown: once, anew on a terminal, or as lines that are new.
struct Screen {
    output: Output,
    watch: bool,
    is_terminal: bool,
    color: bool,
    shown: Vec<Line>,
    json: String,
}

impl Screen {
    fn of(args: &Args) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let color = args.color.on_stdout();
        Self {
            output: args.output,
            watch: args.watch,
            is_terminal,
            color,
            shown: Vec::new(),
            json: String::new(),
        }
    }

    fn show(&mut self, overview: &Overview) -> Result<(), Failure> {
        let text = match self.output {
            Output::Json => self.as_json(overview)?,
            Output::Text if self.watch && self.is_terminal => {
                redrawn(&lines(overview, Ages::At(Timestamp::now())), self.color)
            }
            Output::Text if self.watch => self.what_is_new(lines(overview, Ages::Without)),
            Output::Text => joined(&lines(overview, Ages::At(Timestamp::now())), self.color),
        };
        print_as_is(text.as_bytes())
    }

    fn as_json(&mut self, overview: &Overview) -> Result<String, Failure> {
        let json =
            if self.watch { serde_json::to_string(overview) } else { serde_json::to_string_pretty(overview) };
        let json = json.map_err(|error| Failure::Failed(error.to_string()))? + "\n";
        let is_news = json != self.json;
        self.json.clone_from(&json);
        Ok(if is_news { json } else { String::new() })
    }

    /// Lines that weren't there at the last look, with the time; all of them at the first.
    fn what_is_new(&mut self, now: Vec<Line>) -> String {
        let is_first = self.shown.is_empty();
        let new: Vec<Line> =
            now.iter().filter(|line| is_first || !self.shown.contains(line)).cloned().collect();
        self.shown = now;
        if is_first || new.is_empty() {
            return joined(&new, self.color);
        }
        format!("\n{}\n{}", time(), joined(&new, self.color))
    }

    fn trouble(&self, error: &str) -> Result<(), Failure> {
        match self.output {
            Output::Json => Ok(()),
            Output::Text => print_as_is(format!("\n{} {error}; asked again\n", time()).as_bytes()),
        }
    }

    fn end(&self, last: &str) -> Result<(), Failure> {
        match self.output {
            Output::Json => Ok(()),
            Output::Text => print_as_is(format!("\n{} {last}\n", time()).as_bytes()),
        }
    }
}

fn time() -> String {
    Timestamp::now().strftime("%H:%M:%SZ").to_string()
}

/// From the terminal's first line on, each line's rest and what is below it cleared: nothing flickers.
fn redrawn(lines: &[Line], with_colours: bool) -> String {
    let mut text = String::from("\u{1b}[H");
    for line in lines {
        let _ = write!(text, "{}\u{1b}[K\r\n", shown(line, with_colours));
    }
    text + "\u{1b}[J"
}

fn joined(lines: &[Line], with_colours: bool) -> String {
    lines.iter().map(|line| shown(line, with_colours) + "\n").collect()
}

fn shown(line: &Line, with_colours: bool) -> String {
    let style = match line.mark {
        Mark::Title => Style::new().bold(),
        Mark::Good => AnsiColor::Green.on_default(),
        Mark::Bad => AnsiColor::Red.on_default(),
        Mark::Waiting => AnsiColor::Yellow.on_default(),
        Mark::Plain => Style::new(),
    };
    if with_colours { format!("{style}{}{style:#}", line.text) } else { line.text.clone() }
}
