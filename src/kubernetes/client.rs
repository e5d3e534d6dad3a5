//! From a mounted token or a kubeconfig to a client; nothing where there is neither.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::call::causes;

/// Where the kubelet mounts a service account's token.
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/// Longest silence on a connection that is waited on: a little more than a watch lasts.
const SILENCE: Duration = Duration::from_secs(305);

/// Stands where a proxy of the environment would be taken from, and is taken away again.
const NO_PROXY: &str = "http://unused.invalid";

/// The API server, as a client that hasn't asked it anything yet.
#[derive(Clone)]
pub struct Cluster {
    /// The client.
    pub client: Client,
    /// The pod's own namespace, or the one of the kubeconfig's context.
    pub namespace: String,
    /// The API server's address, for the log.
    pub address: String,
    /// The user that the pod's own token is for; nothing with a kubeconfig, where that can't be told.
    pub user: Option<String>,
}

/// Why there is no client. Every variant says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig can't be used.
    #[error("can't use the kubeconfig {path}: {cause}: correct it, or give another with --kubeconfig", path = .path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// None of the kubeconfigs of the environment is there.
    #[error(
        "can't use the kubeconfig {files}, which KUBECONFIG names: {cause}: correct KUBECONFIG, or give --kubeconfig"
    )]
    Named {
        /// The files.
        files: String,
        /// Why the first can't be read.
        cause: String,
    },
    /// The kubeconfig leads through a proxy.
    #[error("the kubeconfig {path} has a proxy-url, which is not supported: give one that leads to the API server itself", path = .path.display())]
    Proxy {
        /// The file.
        path: PathBuf,
    },
    /// A token is mounted, and the rest of what a pod has is not.
    #[error(
        "a service account token is mounted, but the API server can't be found: {0}: give --kubeconfig, or set automountServiceAccountToken: false to run without a cluster"
    )]
    InCluster(String),
    /// There is no kubeconfig where one is looked for.
    #[error("no cluster is named: give --kubeconfig, or set KUBECONFIG; there is no ~/.kube/config")]
    NoCluster,
    /// The client can't be made.
    #[error("can't make a client for the API server: {0}")]
    Client(String),
}

/// Whether a service account token is mounted.
pub fn is_in_cluster() -> bool {
    Path::new(TOKEN).exists()
}

impl Cluster {
    /// The cluster of `kubeconfig`, or the one that this is a pod of. Nothing is asked yet: an API server that is
    /// away is no error here. Needs a tokio runtime.
    pub async fn connect(kubeconfig: Option<&Path>) -> Result<Option<Self>, ConnectError> {
        let config = match kubeconfig {
            Some(path) => from_files(&[path.to_owned()], None).await?,
            None if is_in_cluster() => in_cluster()?,
            None => return Ok(None),
        };
        let user = kubeconfig.is_none().then(|| fs::read_to_string(TOKEN).ok()).flatten();
        let user = user.as_deref().and_then(subject);
        Self::with(config, user).map(Some)
    }

    /// The cluster that a person means, found as kubectl finds it: the file that is named, else those of `KUBECONFIG`,
    /// else `~/.kube/config`; in a pod, where none of them is there, the pod's own. Needs a tokio runtime.
    pub async fn of_person(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Self, ConnectError> {
        let files = match kubeconfig {
            Some(path) => vec![path.to_owned()],
            None => usual_files(),
        };
        let config = match files.as_slice() {
            [] if is_in_cluster() => in_cluster()?,
            [] => return Err(missing(&named_files())),
            files => from_files(files, context).await?,
        };
        Self::with(config, None)
    }

    fn with(mut config: Config, user: Option<String>) -> Result<Self, ConnectError> {
        (config.read_timeout, config.reset_reader_on_write) = (Some(SILENCE), true);
        let (namespace, address) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let client = Client::try_from(config).map_err(|error| ConnectError::Client(causes(&error)))?;
        Ok(Self { client, namespace, address, user })
    }
}

fn in_cluster() -> Result<Config, ConnectError> {
    Config::incluster().map_err(|error| ConnectError::InCluster(causes(&error)))
}

/// Those that are there, or can't be looked at.
fn usual_files() -> Vec<PathBuf> {
    let mut files = named_files();
    if files.is_empty() {
        files.extend(std::env::home_dir().map(|home| home.join(".kube").join("config")));
    }
    files.into_iter().filter(|file| file.try_exists().unwrap_or(true)).collect()
}

/// Those of `KUBECONFIG`, whether they are there or not.
fn named_files() -> Vec<PathBuf> {
    let named = std::env::var_os("KUBECONFIG").unwrap_or_default();
    std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect()
}

fn missing(files: &[PathBuf]) -> ConnectError {
    let Some(first) = files.first() else { return ConnectError::NoCluster };
    let cause = fs::metadata(first).map_or_else(|error| error.to_string(), |_| "it was just made".to_owned());
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    ConnectError::Named { files: files.join(" or "), cause }
}

/// Whom a service account's token is for: its claim `sub`. It isn't checked here: the API server does.
fn subject(token: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Claims {
        sub: String,
    }
    let claims = URL_SAFE_NO_PAD.decode(token.trim().split('.').nth(1)?).ok()?;
    serde_json::from_slice::<Claims>(&claims).ok().map(|claims| claims.sub)
}

/// The files count as one, in which what comes first stands.
async fn from_files(paths: &[PathBuf], context: Option<&str>) -> Result<Config, ConnectError> {
    let mut merged = Kubeconfig::default();
    for path in paths {
        let read = read(path)?;
        merged = merged.merge(read).map_err(|error| unusable(path, &error))?;
    }
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    let named = paths.first().cloned().unwrap_or_default();
    let config = Config::from_custom_kubeconfig(merged, &options).await;
    let mut config = config.map_err(|error| unusable(&named, &error))?;
    config.proxy_url = None;
    Ok(config)
}

fn unusable(path: &Path, error: &dyn std::error::Error) -> ConnectError {
    ConnectError::Kubeconfig { path: path.to_owned(), cause: causes(error) }
}

fn read(path: &Path) -> Result<Kubeconfig, ConnectError> {
    let mut file = Kubeconfig::read_from(path).map_err(|error| unusable(path, &error))?;
    for cluster in file.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        if cluster.proxy_url.as_deref().is_some_and(|proxy| !proxy.is_empty()) {
            return Err(ConnectError::Proxy { path: path.to_owned() });
        }
        // The library falls back to HTTPS_PROXY where the file names no proxy.
        cluster.proxy_url = Some(NO_PROXY.to_owned());
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_whom_it_is_for() {
        let claims = URL_SAFE_NO_PAD.encode(r#"{"aud":["x"],"sub":"system:serviceaccount:warden:warden"}"#);
        assert_eq!(
            subject(&format!("e30.{claims}.x\n")).as_deref(),
            Some("system:serviceaccount:warden:warden")
        );
        for token in ["", "opaque", "a.b.c", "e30.e30.x"] {
            assert_eq!(subject(token), None, "{token}");
        }
    }

    fn kubeconfig(proxy: &str) -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:1'{proxy}}}}}]\n\
             users: [{{name: u, user: {{token: t}}}}]\n\
             contexts: [{{name: x, context: {{cluster: c, user: u, namespace: shop}}}}]\ncurrent-context: x\n"
        );
        fs::write(&path, text).unwrap();
        (directory, path)
    }

    #[tokio::test]
    async fn a_kubeconfig_names_address_and_namespace() {
        let (_directory, path) = kubeconfig("");
        let config = from_files(std::slice::from_ref(&path), None).await.unwrap();
        assert_eq!((config.default_namespace.as_str(), config.proxy_url), ("shop", None));
        assert_eq!(config.cluster_url.host(), Some("127.0.0.1"));
    }

    #[tokio::test]
    async fn a_proxy_in_the_kubeconfig_is_refused() {
        let (_directory, path) = kubeconfig(", proxy-url: 'http://proxy:3128'");
        let error = from_files(std::slice::from_ref(&path), None).await.unwrap_err().to_string();
        assert!(error.contains("proxy-url") && error.contains("kubeconfig"), "{error}");
    }

    #[tokio::test]
    async fn a_file_that_is_missing_or_no_kubeconfig_is_named() {
        let directory = tempfile::tempdir().unwrap();
        for content in [None, Some("clusters: 3"), Some("")] {
            let path = directory.path().join("broken");
            if let Some(content) = content {
                fs::write(&path, content).unwrap();
            }
            let error = from_files(std::slice::from_ref(&path), None).await.unwrap_err().to_string();
            assert!(error.contains("broken") && error.contains("--kubeconfig"), "{error}");
        }
    }
}
