//! The word to end.

use tokio_util::sync::CancellationToken;

/// Tells a server to end: it drains, then [`Server::run`](super::Server::run) returns. To end it at once, drop what runs.
#[derive(Clone, Debug, Default)]
pub struct Stopper(CancellationToken);

impl Stopper {
    /// From here on the server is not ready, and on its way out.
    pub fn drain(&self) {
        self.0.cancel();
    }

    /// Cancelled when the server has been told to end.
    pub fn draining(&self) -> CancellationToken {
        self.0.clone()
    }
}
