//! Why etcd didn't do what it was asked: by its messages, since its codes changed between releases.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use tonic::{Code, Status};

use crate::kubernetes::causes;
use crate::member::Why;

use super::quote::quote;

/// Why a call brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: Kind,
    /// The endpoint, and what was said there.
    message: String,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nobody answers.
    Unreachable,
    /// A certificate is refused, here or there.
    Certificate,
    /// A user is demanded.
    Authentication,
    /// A learner was asked for what only voters do.
    Learner,
    /// There is a learner already.
    OtherLearner,
    /// A learner has caught up too little to be promoted.
    CatchingUp,
    /// A voter is promoted already.
    Promoted,
    /// There is no such member.
    NotFound,
    /// A member with this URL or id is there.
    Exists,
    /// Too few voters are well for a change of the membership.
    Unhealthy,
    /// The asked member doesn't lead.
    NotLeader,
    /// It may have happened, or not: only a fresh look tells.
    Unknown,
}

/// Words in etcd's messages, and in those of TLS, and what they mean. The first that is found counts.
const WORDS: &[(&str, Kind)] = &[
    ("too many learner members", Kind::OtherLearner),
    ("in sync with leader", Kind::CatchingUp),
    ("can only promote a learner member", Kind::Promoted),
    ("member not found", Kind::NotFound),
    ("Peer URLs already exists", Kind::Exists),
    ("member ID already exist", Kind::Exists),
    ("not enough started members", Kind::Unhealthy),
    ("unhealthy cluster", Kind::Unhealthy),
    ("not supported for learner", Kind::Learner),
    ("not leader", Kind::NotLeader),
    ("user name is empty", Kind::Authentication),
    ("invalid auth token", Kind::Authentication),
    ("permission denied", Kind::Authentication),
    ("certificate", Kind::Certificate),
    ("CertificateRequired", Kind::Certificate),
    // Somebody without TLS answers.
    ("InvalidContentType", Kind::Certificate),
    ("request timed out", Kind::Unknown),
    ("no leader", Kind::Unknown),
];

/// What is left of a connection whose server refused the client's certificate: with TLS 1.3 the handshake is over for
/// the client by then, and how much of the alert it still gets is chance.
const REFUSED: [&str; 4] =
    ["received fatal alert", "connection closed", "broken pipe", "connection reset by peer"];

impl Fault {
    /// What etcd, or the way to it, says.
    pub fn of_status(url: &str, status: &Status) -> Self {
        let said = status.source().map_or_else(|| status.message().to_owned(), innermost);
        let unanswered = status.source().is_some() || status.code() == Code::Unavailable;
        let otherwise = if unanswered { Kind::Unreachable } else { Kind::Unknown };
        Self::said(url, &said, otherwise, "client certificate")
    }

    /// What was met at a peer URL.
    pub fn of_peer(url: &str, error: &(dyn Error + 'static)) -> Self {
        Self::said(url, &innermost(error), Kind::Unreachable, "peer certificate")
    }

    fn said(url: &str, said: &str, otherwise: Kind, shown: &str) -> Self {
        if url.starts_with("https:") && REFUSED.iter().any(|word| said.contains(word)) {
            // One text for all of them, or a report would change each time.
            let said =
                format!("closes the connection in the handshake: it refuses this member's {shown}, mostly");
            return Self {
                kind: Kind::Certificate,
                message: format!("{url}: {said}{}", remedy(Kind::Certificate)),
            };
        }
        let by_word = WORDS.iter().find(|(word, _)| said.contains(word)).map(|(_, kind)| *kind);
        let kind = by_word.unwrap_or(otherwise);
        Self { kind, message: format!("{url}: {}{}", quote(said), remedy(kind)) }
    }

    /// An endpoint that can't even be dialled.
    pub fn of_setup(url: &str, error: &dyn Error) -> Self {
        let said = causes(error);
        let certificate = said.contains("ertificate") || said.contains("key");
        let kind = if certificate { Kind::Certificate } else { Kind::Unreachable };
        Self { kind, message: format!("{url}: {}", quote(&said)) }
    }

    /// No answer in time: what was asked for may have happened.
    pub fn late(url: &str, time: Duration) -> Self {
        Self { kind: Kind::Unknown, message: format!("{url}: no answer within {} s", time.as_secs()) }
    }

    /// An answer that makes no sense.
    pub fn odd(url: &str, what: &str) -> Self {
        Self { kind: Kind::Unknown, message: format!("{url} answers what makes no sense: {what}") }
    }

    /// What a member waits for, that meets this fault.
    pub const fn why(&self) -> Why {
        match self.kind {
            Kind::Certificate => Why::Certificate,
            Kind::Authentication => Why::Authentication,
            Kind::OtherLearner => Why::OtherLearner,
            Kind::CatchingUp => Why::CatchingUp,
            Kind::Exists => Why::Collision,
            Kind::Unhealthy => Why::Unhealthy,
            Kind::Unreachable
            | Kind::Learner
            | Kind::Promoted
            | Kind::NotFound
            | Kind::NotLeader
            | Kind::Unknown => Why::Unreachable,
        }
    }
}

/// The cause of all causes: what is around it says "transport error" in several ways.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

const fn remedy(kind: Kind) -> &'static str {
    match kind {
        Kind::Certificate => " (compare the CA and the names in the certificates of both sides)",
        Kind::Authentication => {
            " (the cluster demands a user, which is not supported: let the certificate's common name be one, or disable \
             authentication)"
        }
        _ => "",
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_count_and_codes_do_not() {
        for (code, message, kind) in [
            (Code::FailedPrecondition, "etcdserver: too many learner members in cluster", Kind::OtherLearner),
            (
                Code::FailedPrecondition,
                "etcdserver: can only promote a learner member which is in sync with leader",
                Kind::CatchingUp,
            ),
            (Code::FailedPrecondition, "etcdserver: can only promote a learner member", Kind::Promoted),
            (Code::Unavailable, "etcdserver: rpc not supported for learner", Kind::Learner),
            (Code::FailedPrecondition, "etcdserver: rpc not supported for learner", Kind::Learner),
            (Code::Unavailable, "etcdserver: unhealthy cluster", Kind::Unhealthy),
            (Code::Unavailable, "etcdserver: request timed out", Kind::Unknown),
            (Code::Unavailable, "tcp connect error", Kind::Unreachable),
            (Code::Unknown, "raft: stopped", Kind::Unknown),
            (Code::InvalidArgument, "etcdserver: user name is empty", Kind::Authentication),
            (Code::DeadlineExceeded, "context deadline exceeded", Kind::Unknown),
            (Code::Unavailable, "invalid peer certificate: UnknownIssuer", Kind::Certificate),
        ] {
            let fault = Fault::of_status("http://source:2379", &Status::new(code, message));
            assert_eq!(fault.kind, kind, "{message}");
            assert!(fault.to_string().starts_with("http://source:2379: "), "{fault}");
        }
    }

    #[test]
    fn a_refused_client_certificate_has_one_text() {
        let fault = |url, message| Fault::of_status(url, &Status::new(Code::Unavailable, message));
        let refused = fault("https://source:2379", "transport error: received fatal alert: UnknownCA");
        assert_eq!(refused.kind, Kind::Certificate);
        assert_eq!(fault("https://source:2379", "stream closed because of a broken pipe"), refused);
        assert_eq!(fault("http://source:2379", "connection closed").kind, Kind::Unreachable);
    }
}
