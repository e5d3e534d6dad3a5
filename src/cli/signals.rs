//! The first signal drains, the second ends.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use tokio_util::sync::CancellationToken;

use crate::server::Stopper;

/// SIGTERM and SIGINT, from when it is made: one that comes before the server runs counts too.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Drains at the first signal; returns the number of the second.
    pub(super) async fn handle(mut self, stopper: Stopper) -> u8 {
        self.next().await;
        stopper.drain();
        self.next().await
    }

    /// Tells to stop at the first signal; returns the number of the second.
    pub(super) async fn end(mut self, stop: CancellationToken) -> u8 {
        self.next().await;
        stop.cancel();
        self.next().await
    }

    async fn next(&mut self) -> u8 {
        let kind = tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.interrupt.recv() => SignalKind::interrupt(),
        };
        u8::try_from(kind.as_raw_value()).unwrap_or(u8::MAX)
    }
}
