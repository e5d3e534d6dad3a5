//! `serve`: its flags, and what becomes of them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use clap::builder::BoolishValueParser;

use crate::admission::{Audited, Enforcement};
use crate::audit::{Rotation, Target};
use crate::pki::{self, Done, Files};
use crate::server::{self, Clients, Config, Limits, Rules, Server, Source, Tls, TlsVersion};
use crate::telemetry::{self, Format};

use super::banner;
use super::cluster::{self, Beside, ClusterArgs};
use super::environment;
use super::rules::{NamesNothing, RULES, RulesArgs, given, names_nothing};
use super::signals::Signals;
use super::values::{address, at_least_one, bytes, duration};
use super::{Failure, NAME};

/// The flags of `serve`.
#[derive(Debug, clap::Args)]
#[command(
    next_line_help = true,
    after_help = "\
Examples:
  etcd-warden serve
  etcd-warden serve --listen '[::]:9443' --tls-cert tls.crt --tls-key tls.key
  etcd-warden serve --certificates self-managed --kubeconfig ~/.kube/config
  etcd-warden serve --enforcement warn --audit all --audit-log /var/log/etcd-warden.jsonl

Every flag has a variable: --listen is ETCD_WARDEN_LISTEN, and so on.
A flag comes before its variable; an empty variable counts as not set."
)]
pub(super) struct Args {
    /// Address for HTTPS (/validate, /mutate)
    #[arg(long, env = "ETCD_WARDEN_LISTEN", hide_env = true, value_name = "ADDRESS", help_heading = LISTENING, default_value = "127.0.0.1:9443", value_parser = address)]
    listen: SocketAddr,
    /// Address for plain HTTP (/livez, /readyz, /metrics)
    #[arg(long, env = "ETCD_WARDEN_PROBES_LISTEN", hide_env = true, value_name = "ADDRESS", help_heading = LISTENING, default_value = "127.0.0.1:8080", value_parser = address)]
    probes_listen: SocketAddr,
    /// Reviews handled at once; further ones get 503 at once, which the API server retries
    #[arg(long, env = "ETCD_WARDEN_MAX_CONCURRENT", hide_env = true, value_name = "NUMBER", help_heading = LISTENING, default_value = "256", value_parser = at_least_one)]
    max_concurrent: usize,
    /// Connections held at once; further ones wait in the kernel's backlog
    #[arg(long, env = "ETCD_WARDEN_MAX_CONNECTIONS", hide_env = true, value_name = "NUMBER", help_heading = LISTENING, default_value = "4096", value_parser = at_least_one)]
    max_connections: usize,
    /// How long answers close their connections before accepting stops: endpoints take seconds to spread
    #[arg(long, env = "ETCD_WARDEN_DRAIN_TIME", hide_env = true, value_name = "DURATION", help_heading = LISTENING, default_value = "10s", value_parser = duration)]
    drain_time: Duration,
    /// How long requests in flight may take after that; the longest deadline is 29s
    #[arg(long, env = "ETCD_WARDEN_SHUTDOWN_GRACE", hide_env = true, value_name = "DURATION", help_heading = LISTENING, default_value = "30s", value_parser = duration)]
    shutdown_grace: Duration,

    /// Where the certificate comes from [default: files with --tls-cert, else directory]
    #[arg(long, env = "ETCD_WARDEN_CERTIFICATES", hide_env = true, value_name = "SOURCE", help_heading = TLS)]
    certificates: Option<Certificates>,
    /// Certificate chain in PEM, own certificate first; read again when it changes
    #[arg(long, env = "ETCD_WARDEN_TLS_CERT", hide_env = true, value_name = "FILE", help_heading = TLS)]
    tls_cert: Option<PathBuf>,
    /// Its key in PEM, not encrypted
    #[arg(long, env = "ETCD_WARDEN_TLS_KEY", hide_env = true, value_name = "FILE", help_heading = TLS)]
    tls_key: Option<PathBuf>,
    /// Where a CA and a certificate are made, and used again, with --certificates directory
    #[arg(long, env = "ETCD_WARDEN_CERTS_DIR", hide_env = true, value_name = "DIRECTORY", help_heading = TLS, default_value = "certs")]
    certs_dir: PathBuf,
    /// Oldest TLS version spoken
    #[arg(long, env = "ETCD_WARDEN_TLS_MIN_VERSION", hide_env = true, value_name = "VERSION", help_heading = TLS, default_value = "1.2")]
    tls_min_version: MinimumVersion,
    /// CA certificates in PEM; clients need a certificate of one of them [default: any client]
    #[arg(long, env = "ETCD_WARDEN_CLIENT_CA", hide_env = true, value_name = "FILE", help_heading = TLS)]
    client_ca: Option<PathBuf>,
    /// Comma-separated names; a client's certificate bears one of them, as subject CN or SAN [default: any]
    #[arg(long, env = "ETCD_WARDEN_CLIENT_NAMES", hide_env = true, value_name = "NAMES", help_heading = TLS, value_delimiter = ',')]
    client_names: Vec<String>,

    #[command(flatten)]
    cluster: ClusterArgs,

    /// Which decisions are written down
    #[arg(long, env = "ETCD_WARDEN_AUDIT", hide_env = true, value_name = "WHICH", help_heading = AUDIT, default_value = "rejections")]
    audit: Which,
    /// File for them, one JSON object a line; - is standard output, for a container's log collector
    #[arg(long, env = "ETCD_WARDEN_AUDIT_LOG", hide_env = true, value_name = "FILE", help_heading = AUDIT, default_value = "-")]
    audit_log: PathBuf,
    /// Bytes (Ki, Mi, Gi) from which on the file is set aside for a new one
    #[arg(long, env = "ETCD_WARDEN_AUDIT_MAX_SIZE", hide_env = true, value_name = "SIZE", help_heading = AUDIT, default_value = "100Mi", value_parser = bytes)]
    audit_max_size: u64,
    /// Files set aside that are kept, as FILE.1 (the newest) and so on
    #[arg(long, env = "ETCD_WARDEN_AUDIT_MAX_FILES", hide_env = true, value_name = "NUMBER", help_heading = AUDIT, default_value = "5")]
    audit_max_files: u32,
    /// Not ready while records can't be written [default: only said in /readyz?verbose]
    #[arg(long, env = "ETCD_WARDEN_AUDIT_REQUIRED", hide_env = true, help_heading = AUDIT, value_parser = BoolishValueParser::new())]
    audit_required: bool,

    /// What becomes of a violation: the request is refused, or allowed with a warning (for a first roll-out)
    #[arg(long, env = "ETCD_WARDEN_ENFORCEMENT", hide_env = true, value_name = "HOW", help_heading = RULES, default_value = "deny")]
    enforcement: Enforced,
    #[command(flatten)]
    rules: RulesArgs,

    /// How log lines look, on standard error; coloured on a terminal unless `NO_COLOR` is set
    #[arg(long, env = "ETCD_WARDEN_LOG_FORMAT", hide_env = true, value_name = "FORMAT", help_heading = LOGS, default_value = "auto")]
    log_format: Format,
    /// What is logged: error, warn, info (rejections), debug (every review), or a filter by module
    #[arg(long, env = "ETCD_WARDEN_LOG_LEVEL", hide_env = true, value_name = "FILTER", help_heading = LOGS, default_value = "info")]
    log_level: String,
}

const LISTENING: &str = "Listening";
const TLS: &str = "Certificates";
const AUDIT: &str = "Audit log";
const LOGS: &str = "Logs";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Certificates {
    /// Made in --certs-dir
    Directory,
    /// --tls-cert and --tls-key
    Files,
    /// From a CA in a Secret, which the replicas make, rotate and put into their webhook configurations
    SelfManaged,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum MinimumVersion {
    #[value(name = "1.2")]
    V1_2,
    #[value(name = "1.3")]
    V1_3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Enforced {
    Deny,
    Warn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    Rejections,
    All,
    Off,
}

/// Flags that contradict each other. Every variant says what to do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Contradiction {
    #[error(
        "--tls-cert needs --tls-key, and the other way round: give both, or neither to have a certificate made in --certs-dir"
    )]
    HalfAPair,
    #[error("--certificates files needs --tls-cert and --tls-key: give both")]
    FilesWithoutFiles,
    #[error(
        "--tls-cert and --tls-key are for --certificates files: leave them out, or give --certificates files"
    )]
    FilesNotUsed,
    #[error(transparent)]
    Cluster(#[from] cluster::Contradiction),
    #[error("--client-names needs --client-ca: give the CA that signs the clients' certificates")]
    NamesWithoutCa,
    #[error(
        "--audit-required needs a file that is written: give one with --audit-log, and not --audit off; what becomes of standard output is not known here"
    )]
    RequiredWithoutFile,
    #[error("--audit-max-size 0 leaves no room for a record: give a size such as 100Mi")]
    NoRoom,
    #[error(
        "--listen and --probes-listen are both {0}: give two ports, HTTPS and plain HTTP don't share one"
    )]
    SamePort(SocketAddr),
    #[error(
        "--log-level {0:?} is no filter: write error, warn, info or debug, or such as info,etcd_warden::server=debug"
    )]
    LogLevel(String),
    #[error(transparent)]
    NamesNothing(#[from] NamesNothing),
}

/// What `serve` does, once the flags are known to make sense.
struct Plan {
    config: Config,
    certs: Option<(Files, Done)>,
    audit_on_stdout: bool,
}

/// Serves until told to end.
pub(super) fn run(args: Args) -> Result<(), Failure> {
    check(&args).map_err(|contradiction| Failure::Usage(contradiction.to_string()))?;
    let level = telemetry::init(args.log_format, &args.log_level);
    level.map_err(|_| Failure::Usage(Contradiction::LogLevel(args.log_level.clone()).to_string()))?;
    environment::warn_of_unknown(&<Args as clap::Args>::augment_args(clap::Command::new(NAME)));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Failed(format!("can't start threads: {error}")))?;
    let done = runtime.block_on(serve(args));
    // Work that hangs on a disk must not hold the process.
    runtime.shutdown_background();
    done
}

async fn serve(args: Args) -> Result<(), Failure> {
    let failed = |error: &dyn std::error::Error| Failure::Failed(error.to_string());
    let signals = Signals::listen().map_err(|error| failed(&error))?;
    let self_managed = args.source() == Certificates::SelfManaged;
    let beside = Beside::connect(&args.cluster, self_managed).await.map_err(|error| failed(&error))?;
    let plan = plan(args, &beside).map_err(|error| failed(&error))?;
    let mut server = Server::bind(plan.config).map_err(|error| failed(&error))?;
    beside.attach_to(&mut server);
    let addresses = server.addresses();
    tracing::info!(https = %addresses.https, probes = %addresses.probes, version = env!("CARGO_PKG_VERSION"), "listening");
    if let Some((files, done)) = &plan.certs {
        banner::print(&banner::banner(addresses, files, *done), plan.audit_on_stdout);
    }
    let stopper = server.stopper();
    tokio::select! {
        ended = server.run() => ended.map_err(|error| failed(&error)),
        number = signals.handle(stopper) => Err(Failure::Signal(number)),
    }
}

impl Args {
    fn source(&self) -> Certificates {
        let usual = if self.tls_cert.is_some() { Certificates::Files } else { Certificates::Directory };
        self.certificates.unwrap_or(usual)
    }
}

fn check(args: &Args) -> Result<(), Contradiction> {
    let (source, files) = (args.source(), args.tls_cert.is_some());
    let to_stdout = args.audit_log.as_os_str() == "-";
    let contradictions = [
        (args.tls_cert.is_some() != args.tls_key.is_some(), Contradiction::HalfAPair),
        (source == Certificates::Files && !files, Contradiction::FilesWithoutFiles),
        (source != Certificates::Files && files, Contradiction::FilesNotUsed),
        (!args.client_names.is_empty() && args.client_ca.is_none(), Contradiction::NamesWithoutCa),
        (args.audit_required && (to_stdout || args.audit == Which::Off), Contradiction::RequiredWithoutFile),
        (args.audit_max_size == 0, Contradiction::NoRoom),
        (names_nothing(&args.client_names), NamesNothing("--client-names").into()),
        (share_a_port(args.listen, args.probes_listen), Contradiction::SamePort(args.listen)),
    ];
    if let Some((_, contradiction)) = contradictions.into_iter().find(|(found, _)| *found) {
        return Err(contradiction);
    }
    args.rules.check()?;
    Ok(args.cluster.check(source == Certificates::SelfManaged)?)
}

fn share_a_port(one: SocketAddr, other: SocketAddr) -> bool {
    let overlap = one.ip() == other.ip() || one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && one.port() == other.port() && overlap
}

/// The one place where flags become what the server runs with.
fn plan(args: Args, beside: &Beside) -> Result<Plan, pki::CertsError> {
    let source = args.source();
    let Args {
        listen,
        probes_listen,
        max_concurrent,
        max_connections,
        drain_time,
        shutdown_grace,
        tls_cert,
        tls_key,
        certificates: _,
        cluster: _,
        certs_dir,
        tls_min_version,
        client_ca,
        client_names,
        audit,
        audit_log,
        audit_max_size,
        audit_max_files,
        audit_required,
        enforcement,
        rules,
        log_format: _,
        log_level: _,
    } = args;
    let (source, certs) = match (source, tls_cert, tls_key) {
        (Certificates::SelfManaged, ..) => (Source::Held(beside.held.clone()), None),
        (_, Some(certificate), Some(key)) => (Source::Files { certificate, key }, None),
        _ => own_certificate(&certs_dir)?,
    };
    let minimum = match tls_min_version {
        MinimumVersion::V1_2 => TlsVersion::V1_2,
        MinimumVersion::V1_3 => TlsVersion::V1_3,
    };
    let clients = client_ca.map(|ca| Clients { ca, names: given(client_names) });
    let audited = if audit == Which::All { Audited::All } else { Audited::Rejections };
    let settings = rules.settings(beside.loop_user.clone());
    let enforcement = match enforcement {
        Enforced::Deny => Enforcement::Deny,
        Enforced::Warn => Enforcement::Warn,
    };
    let audit_on_stdout = audit != Which::Off && audit_log.as_os_str() == "-";
    let target = if audit_on_stdout {
        Target::Stdout
    } else {
        Target::File(audit_log, Rotation { max_bytes: audit_max_size, max_files: audit_max_files })
    };
    let config = Config {
        listen,
        probes_listen,
        tls: Tls { source, clients, minimum, poll: Tls::POLL },
        audit: (audit != Which::Off).then_some(server::Audit { target, required: audit_required }),
        limits: Limits { max_concurrent, max_connections, ..Limits::default() },
        drain_time,
        shutdown_grace,
        judge: Arc::new(Rules {
            enforcement,
            stored: beside.stored.clone(),
            ..Rules::new(settings, audited)
        }),
        attached: beside.attached.clone(),
    };
    Ok(Plan { config, certs, audit_on_stdout })
}

type OwnCertificate = (Source, Option<(Files, Done)>);

fn own_certificate(directory: &std::path::Path) -> Result<OwnCertificate, pki::CertsError> {
    let (files, done) = pki::ensure(directory, SystemTime::now())?;
    match done {
        Done::Reused | Done::Made => {}
        Done::RenewedCertificate => {
            tracing::warn!(certificate = %files.certificate.display(), "serving certificate had expired: made anew from the same CA");
        }
        Done::RenewedCa => {
            tracing::warn!(ca = %files.ca_certificate.display(), "CA had expired: made anew, clients must trust the new one");
        }
    }
    let source = Source::Files { certificate: files.certificate.clone(), key: files.key.clone() };
    Ok((source, Some((files, done))))
}
