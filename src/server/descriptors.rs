//! A connection is an open file, and shells start programs with 1,024 of them.

use super::limits::PROBE_CONNECTIONS;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files besides connections to the webhook port: connections to the plain port, and some dozens for the audit log,
/// certificates, standard streams and the runtime's own, with as many again to spare.
const OTHER_FILES: usize = PROBE_CONNECTIONS + 64;

/// Raises the limit of open files as far as the system lets this process, and says how many of
/// `max_connections` can be held then.
pub(super) fn connections_within(max_connections: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    let files = if raised.is_ok() { limit.maximum } else { limit.current };
    let files = files.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    let possible = files.saturating_sub(OTHER_FILES).max(1);
    if possible < max_connections {
        tracing::warn!(
            files,
            possible,
            wanted = max_connections,
            "fewer open files than connections: raise the limit (ulimit -n), or lower --max-connections"
        );
    }
    max_connections.min(possible)
}
