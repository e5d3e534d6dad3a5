//! The API server without kubectl in between: hundreds of requests, exactly as they are written.

use std::path::Path;

use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Where Etcds are.
pub const ETCDS: &str = "/apis/druid.gardener.cloud";

/// The API server of a bed, as its administrator or as somebody else.
pub struct Api {
    runtime: Runtime,
    client: Client,
}

/// What was answered: an object, or a status.
#[derive(Clone, Debug)]
pub struct Answer {
    pub code: u16,
    pub body: Value,
}

impl Answer {
    pub fn is_ok(&self) -> bool {
        self.code < 300
    }

    pub fn message(&self) -> &str {
        self.body["message"].as_str().unwrap_or_default()
    }

    /// The object of a request that must succeed.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.is_ok(), "{}: {}", self.code, self.body);
        self.body
    }
}

/// How a body is to be read.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    Object,
    MergePatch,
    Apply,
}

impl Content {
    fn media_type(self) -> &'static str {
        match self {
            Self::Object => "application/json",
            Self::MergePatch => "application/merge-patch+json",
            Self::Apply => "application/apply-patch+yaml",
        }
    }
}

impl Api {
    pub fn new(kubeconfig: &Path) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(client(kubeconfig, true));
        Self { runtime, client }
    }

    /// As the owner of a token.
    pub fn with_token(kubeconfig: &Path, token: &str) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let mut config = config(kubeconfig).await;
            config.auth_info.token = Some(token.to_owned().into());
            Client::try_from(config).unwrap()
        });
        Self { runtime, client }
    }

    /// One request; `user` is a review's `userInfo`, or null for the administrator.
    pub fn request(&self, method: &str, path: &str, body: Option<(&Value, Content)>, user: &Value) -> Answer {
        let (body, content) = match body {
            Some((body, content)) => (body.to_string(), content),
            None => (String::new(), Content::Object),
        };
        let mut request =
            http::Request::builder().method(method).uri(path).header("Content-Type", content.media_type());
        if let Some(name) = user["username"].as_str() {
            request = request.header("Impersonate-User", name);
            for group in user["groups"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                request = request.header("Impersonate-Group", group);
            }
        }
        let request = request.body(Body::from(body.into_bytes())).unwrap();
        self.runtime.block_on(async {
            let response = self.client.send(request).await.unwrap();
            let code = response.status().as_u16();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let body = serde_json::from_slice(&body)
                .unwrap_or_else(|_| json!({"message": String::from_utf8_lossy(&body)}));
            Answer { code, body }
        })
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, None, &Value::Null)
    }

    pub fn post(&self, path: &str, object: &Value) -> Answer {
        self.request("POST", path, Some((object, Content::Object)), &Value::Null)
    }

    pub fn put(&self, path: &str, object: &Value) -> Answer {
        self.request("PUT", path, Some((object, Content::Object)), &Value::Null)
    }

    pub fn merge(&self, path: &str, change: &Value) -> Answer {
        self.request("PATCH", path, Some((change, Content::MergePatch)), &Value::Null)
    }

    pub fn apply(&self, path: &str, object: &Value) -> Answer {
        let path = format!("{path}?fieldManager=scenarios&force=true");
        self.request("PATCH", &path, Some((object, Content::Apply)), &Value::Null)
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.request("DELETE", path, None, &Value::Null)
    }

    /// With `DeleteOptions`.
    pub fn delete_with(&self, path: &str, options: &Value) -> Answer {
        self.request("DELETE", path, Some((options, Content::Object)), &Value::Null)
    }
}

/// A client; `retries` what an API server says is to be tried again.
pub(super) async fn client(kubeconfig: &Path, retries: bool) -> Client {
    let mut config = config(kubeconfig).await;
    config.default_retry = retries;
    Client::try_from(config).unwrap()
}

async fn config(kubeconfig: &Path) -> Config {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap()
}
