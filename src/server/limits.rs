//! The bounds of the server, each with its reason.

use std::time::Duration;

/// Two objects of 3 MB, the API server's bound, and an envelope.
pub(super) const BODY_BYTES: usize = 7 * 1024 * 1024;

/// Bodies longer than this are decided on a thread for blocking work: at some 100 MB/s a longer one would
/// keep a worker thread from its other connections for milliseconds.
pub(super) const INLINE_BYTES: usize = 256 * 1024;

/// Request line and headers together; hyper notices at the latest at twice that. The API server sends less
/// than 1 KiB; a proxy may add tokens.
pub(super) const HEADER_BYTES: usize = 64 * 1024;

/// What of a body that turns out too long, or is of another type or too many, is still taken in, so that the answer isn't lost in
/// a reset of the connection, and the connection can be used again.
pub(super) const DISCARDED_BYTES: usize = BODY_BYTES;

/// How long such a rest may take: a client that means it has sent it by then, and 503 is to come at once.
pub(super) const DISCARD_TIME: Duration = Duration::from_millis(500);

/// The deadline of a request that names none: what the API server takes for `timeoutSeconds` by default.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest `timeoutSeconds` that the API server allows.
pub(super) const LONGEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What stays for the answer's way back, of the time that the API server waits.
pub(super) const TIMEOUT_MARGIN: Duration = Duration::from_secs(1);

/// How long tasks beside the server may take to end after it: one request to the API server.
pub(super) const ATTACHED_END: Duration = Duration::from_secs(5);

/// A record that the disk does not take within this is not worth the API server's time.
pub(super) const AUDIT_WAIT: Duration = Duration::from_secs(1);

/// Audit records that wait for the disk: some 10,000 ordinary ones, or a dozen of the largest.
pub(super) const AUDIT_QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// Connections to the plain port: the kubelet, a scraper or two, and a person; the rest is so that somebody
/// who holds connections does not keep the kubelet out.
pub(super) const PROBE_CONNECTIONS: usize = 256;

/// Connections that the kernel holds before they are accepted: the standard library's 128 are few for a
/// control plane that reconnects as one.
pub(super) const BACKLOG: u32 = 1024;

/// Times and numbers that tests shorten; [`Limits::default`] is what the server runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Reviews handled at once; further ones are answered with 503 at once.
    pub max_concurrent: usize,
    /// Connections held at once; further ones wait in the kernel's backlog.
    pub max_connections: usize,
    /// Time for the TLS handshake.
    pub handshake: Duration,
    /// Time from the handshake to the end of the first request's head.
    pub first_request: Duration,
    /// Time to the end of each later request's head. hyper counts the idle time before it, and the API
    /// server keeps idle connections for 90 s: less than that would cost it handshakes or lost requests.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_concurrent: 256,
            max_connections: 4096,
            handshake: Duration::from_secs(10),
            first_request: Duration::from_secs(10),
            idle: Duration::from_mins(2),
        }
    }
}
