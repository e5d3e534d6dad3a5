//! Tasks with names: the early end of one is an event that nobody can miss.

use std::collections::HashMap;
use std::io;

use tokio::task::{Id, JoinError, JoinSet};

/// The tasks of a server. Dropping it ends them.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    running: JoinSet<io::Result<()>>,
    names: HashMap<Id, &'static str>,
}

/// A task that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) name: &'static str,
    /// Its own result, or that it panicked.
    pub(super) result: Result<(), String>,
}

impl Tasks {
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        task: impl Future<Output = io::Result<()>> + Send + 'static,
    ) {
        let handle = self.running.spawn(task);
        self.names.insert(handle.id(), name);
    }

    /// The next task that ends; nothing once all have.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        let ended = self.running.join_next_with_id().await?;
        let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let name = self.names.remove(&id).unwrap_or("unnamed");
        let result = match ended {
            Ok((_, result)) => result.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        Some(Ended { name, result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_comes_with_the_task_s_name() {
        let mut tasks = Tasks::default();
        tasks.spawn("endless", std::future::pending());
        tasks.spawn("failing", async { Err(io::Error::other("broken")) });
        let ended = tasks.next().await.unwrap();
        assert_eq!((ended.name, ended.result), ("failing", Err("broken".to_owned())));
        tasks.spawn("panicking", async { panic!("a defect") });
        let ended = tasks.next().await.unwrap();
        assert_eq!(ended.name, "panicking");
        assert!(ended.result.unwrap_err().contains("panic"));
    }
}
