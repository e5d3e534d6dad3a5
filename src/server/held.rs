//! A certificate and key that are handed to the server in memory, again and again.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use zeroize::Zeroizing;

/// Where whoever makes certificates puts the one that is to be served. Clones are one place.
#[derive(Clone, Default)]
pub struct Held(Arc<Place>);

#[derive(Default)]
struct Place {
    pair: Mutex<Option<Pair>>,
    changed: Notify,
}

/// A chain and its key, in PEM.
#[derive(Clone)]
pub(super) struct Pair {
    pub(super) certificate: Vec<u8>,
    pub(super) key: Zeroizing<Vec<u8>>,
}

impl Held {
    /// From here on new connections get this certificate chain; both in PEM.
    pub fn serve(&self, certificate: Vec<u8>, key: Zeroizing<Vec<u8>>) {
        // No code that can panic runs while the lock is held.
        *self.0.pair.lock().unwrap_or_else(PoisonError::into_inner) = Some(Pair { certificate, key });
        self.0.changed.notify_one();
    }

    pub(super) fn pair(&self) -> Option<Pair> {
        self.0.pair.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Held")
    }
}
