//! One request to the API server: bounded in time, and an error that names verb, resource and object.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::time::Duration;

use kube::core::Status;
use tokio::time::timeout;

/// Longer than an API server takes that is well; it gives up itself after 60 s.
const CALL: Duration = Duration::from_secs(10);

/// What a request is about, in the words of an RBAC rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Such as `patch`.
    pub verb: &'static str,
    /// Plural and group, such as `leases.coordination.k8s.io`.
    pub resource: &'static str,
    /// Absent for what is in no namespace, or in all.
    pub namespace: Option<String>,
    /// Absent for all objects.
    pub name: Option<String>,
}

/// Why a request brought nothing.
#[derive(Debug)]
pub struct CallError {
    target: Target,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Late,
    Odd(&'static str),
    Client(Box<kube::Error>),
}

impl Target {
    /// One object in a namespace.
    pub fn in_namespace(verb: &'static str, resource: &'static str, namespace: &str, name: &str) -> Self {
        Self { verb, resource, namespace: Some(namespace.to_owned()), name: Some(name.to_owned()) }
    }

    /// One object that is in no namespace.
    pub fn of_cluster(verb: &'static str, resource: &'static str, name: &str) -> Self {
        Self { verb, resource, namespace: None, name: Some(name.to_owned()) }
    }

    /// Every object of a kind.
    pub fn all(verb: &'static str, resource: &'static str) -> Self {
        Self { verb, resource, namespace: None, name: None }
    }

    /// Waits for an answer to a request, but not for ever.
    pub async fn call<T>(self, request: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
        match timeout(CALL, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.failed(error)),
            Err(_) => Err(CallError { target: self, cause: Cause::Late }),
        }
    }

    /// The error of an answer that makes no sense.
    pub fn odd(self, fault: &'static str) -> CallError {
        CallError { target: self, cause: Cause::Odd(fault) }
    }

    /// The error of a request that failed elsewhere, such as in a watch.
    pub fn failed(self, error: kube::Error) -> CallError {
        CallError { target: self, cause: Cause::Client(Box::new(error)) }
    }
}

impl CallError {
    /// Whether there is no such object, or no such resource.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Whether a right is missing.
    pub fn is_forbidden(&self) -> bool {
        self.code() == Some(403)
    }

    /// The same for a person whose own rights it is about, where it is about rights.
    pub fn to_person(&self) -> String {
        match self.status() {
            Some(Status { code: 403, message, .. }) => {
                let target = &self.target;
                format!("can't {target}: no permission: ask for the verb {:?} on it ({message})", target.verb)
            }
            _ => self.to_string(),
        }
    }

    /// Whether somebody else was quicker: another version is stored, or the object is there already.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// What the API server answered, where it answered.
    fn status(&self) -> Option<&Status> {
        match &self.cause {
            Cause::Client(error) => match &**error {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            Cause::Late | Cause::Odd(_) => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, resource, namespace, name } = self;
        write!(formatter, "{verb} {resource}")?;
        if let Some(name) = name {
            write!(formatter, " {name:?}")?;
        }
        if let Some(namespace) = namespace {
            write!(formatter, " in namespace {namespace:?}")?;
        }
        Ok(())
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, cause } = self;
        write!(formatter, "can't {target}: ")?;
        match cause {
            Cause::Late => {
                write!(formatter, "the API server did not answer within {} s", CALL.as_secs())
            }
            Cause::Odd(fault) => formatter.write_str(fault),
            Cause::Client(error) => match &**error {
                kube::Error::Api(status) if status.code == 403 => write!(
                    formatter,
                    "no permission: grant the verb {:?} on it to the server's service account ({})",
                    target.verb, status.message
                ),
                kube::Error::Api(status) => {
                    write!(formatter, "the API server answers {} ({})", status.message, status.code)
                }
                error => write!(formatter, "{}", causes(error)),
            },
        }
    }
}

impl Error for CallError {}

/// An error with all its causes, each said once.
pub fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.ends_with(&said) {
            // Writing to a string can't fail.
            let _ = write!(text, ": {said}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_error(code: u16, message: &str) -> kube::Error {
        kube::Error::Api(Status { code, message: message.into(), ..Status::default() }.boxed())
    }

    #[test]
    fn a_missing_permission_names_verb_resource_and_object() {
        let target = Target::of_cluster("patch", "validatingwebhookconfigurations", "etcd-warden");
        let error = target.failed(api_error(403, "user \"x\" can't")).to_string();
        assert_eq!(
            error,
            "can't patch validatingwebhookconfigurations \"etcd-warden\": no permission: grant the verb \"patch\" on it \
             to the server's service account (user \"x\" can't)"
        );
    }

    #[test]
    fn what_is_not_there_and_what_was_changed_are_told_apart() {
        let of = |code| Target::in_namespace("get", "secrets", "ns", "ca").failed(api_error(code, "no"));
        assert!(of(404).is_not_found() && !of(404).is_conflict());
        assert!(of(409).is_conflict() && !of(409).is_not_found());
        assert!(of(500).to_string().contains("in namespace \"ns\": the API server answers no (500)"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_does_not_come_is_given_up() {
        let target = Target::all("list", "etcds.druid.gardener.cloud");
        let error = target.call(std::future::pending::<kube::Result<()>>()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "can't list etcds.druid.gardener.cloud: the API server did not answer within 10 s"
        );
    }
}
