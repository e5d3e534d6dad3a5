//! Who tells events: a repeat is counted only where the text is the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::Client;
use kube::runtime::events::{Recorder, Reporter};

/// For how long a repeat is counted with what was told before; the library's recorder forgets after the same time.
const COUNTED: Duration = Duration::from_mins(6);

/// Recorders, one a text: the library's counts events that differ in nothing but their text as one, and keeps the text
/// of the first.
#[derive(Clone)]
pub(super) struct Teller {
    client: Client,
    reporter: Reporter,
    recorders: Arc<Mutex<HashMap<String, Used>>>,
}

struct Used {
    recorder: Recorder,
    last: Instant,
}

impl Teller {
    pub(super) fn new(client: Client, reporter: Reporter) -> Self {
        Self { client, reporter, recorders: Arc::default() }
    }

    /// The recorder of events with this text.
    pub(super) fn of(&self, text: &str) -> Recorder {
        let now = Instant::now();
        let mut recorders = self.recorders.lock().unwrap_or_else(PoisonError::into_inner);
        recorders.retain(|_, used| now.duration_since(used.last) < COUNTED);
        let new = || Used { recorder: Recorder::new(self.client.clone(), self.reporter.clone()), last: now };
        let used = recorders.entry(text.to_owned()).or_insert_with(new);
        used.last = now;
        used.recorder.clone()
    }
}
