//! What a server shows and supervises beside its own: whoever wires it knows what it is.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use prometheus_client::registry::Registry;

/// A further condition of readiness.
pub trait Condition: Send + Sync {
    /// Its name in `/readyz?verbose`.
    fn name(&self) -> &'static str;

    /// How it stands at `now`, by the wall clock.
    fn state(&self, now: SystemTime) -> State;
}

/// How a condition stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It holds.
    Good,
    /// Something to look after; reviews are answered all the same.
    Degraded(Cow<'static, str>),
    /// Reviews should go elsewhere.
    Failed(Cow<'static, str>),
}

/// Registers metrics.
pub type Measured = Arc<dyn Fn(&mut Registry) + Send + Sync>;

/// Further conditions and metrics of a server.
#[derive(Clone, Default)]
pub struct Attached {
    /// Shown in `/readyz`.
    pub conditions: Vec<Arc<dyn Condition>>,
    /// Each registers what it counts.
    pub metrics: Vec<Measured>,
}

impl fmt::Debug for Attached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.conditions.iter().map(|condition| condition.name()).collect();
        formatter
            .debug_struct("Attached")
            .field("conditions", &names)
            .field("metrics", &self.metrics.len())
            .finish()
    }
}

/// A further task. It ends soon after the server has been told to end; when it ends earlier, the server drains, and
/// says which task it was.
pub(super) struct AttachedTask {
    pub(super) name: &'static str,
    pub(super) task: Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
}
