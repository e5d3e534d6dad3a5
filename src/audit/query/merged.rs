//! Several logs as one: by time.

use std::path::Path;

use super::item::{Recorded, Skipped};
use super::log::{Log, LogError};

/// Records of several logs, such as those of two servers, in the order of their times. In each log they stay in the
/// order in which they were written.
#[derive(Debug)]
pub struct Merged {
    logs: Vec<(Log, Option<Recorded>)>,
}

impl Merged {
    /// These logs, none of them read yet.
    pub fn new(logs: Vec<Log>) -> Self {
        Self { logs: logs.into_iter().map(|log| (log, None)).collect() }
    }

    /// The next record; foreign lines before it go to `skip`.
    pub fn next_record(&mut self, skip: &mut dyn FnMut(Skipped)) -> Result<Option<Recorded>, LogError> {
        // A log alone needs no look ahead, and one that is followed can't have any.
        if let [(log, _)] = self.logs.as_mut_slice() {
            return next(log, skip);
        }
        for (log, ahead) in self.logs.iter_mut().filter(|(_, ahead)| ahead.is_none()) {
            *ahead = next(log, skip)?;
        }
        let first = self.logs.iter_mut().filter(|(_, ahead)| ahead.is_some());
        let first = first.min_by_key(|(_, ahead)| ahead.as_ref().map(|recorded| recorded.entry.time.at));
        Ok(first.and_then(|(_, ahead)| ahead.take()))
    }

    /// Whether a name leads to a file of one of them.
    pub fn reads(&self, path: &Path) -> bool {
        self.logs.iter().any(|(log, _)| log.reads(path))
    }

    /// Whether standard output leads to a file of one of them.
    pub fn reads_stdout(&self) -> bool {
        self.logs.iter().any(|(log, _)| log.reads_stdout())
    }

    /// Whether the server that writes one of them has use for a name.
    pub fn claims(&self, path: &Path) -> bool {
        self.logs.iter().any(|(log, _)| log.claims(path))
    }

    /// Whether no log can bring any more.
    pub fn is_over(&self) -> bool {
        self.logs.iter().all(|(log, ahead)| ahead.is_none() && log.is_over())
    }
}

fn next(log: &mut Log, skip: &mut dyn FnMut(Skipped)) -> Result<Option<Recorded>, LogError> {
    loop {
        match log.next_item()? {
            Some(Ok(recorded)) => return Ok(Some(recorded)),
            Some(Err(skipped)) => skip(skipped),
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::query::item::tests::recorded;
    use std::fs;

    #[test]
    fn records_come_by_time_and_foreign_lines_are_handed_on() {
        let directory = tempfile::tempdir().unwrap();
        let log = |name: &str, seconds: &[u32]| {
            let mut text = String::from("foreign\n");
            for second in seconds {
                let record = recorded(|record| record.time = format!("2026-11-29T16:00:{second:02}Z"));
                text += &(String::from_utf8(record.line().to_vec()).unwrap() + "\n");
            }
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            Log::open(&path).unwrap()
        };
        let mut merged = Merged::new(vec![log("a", &[1, 4, 5]), log("b", &[2, 3, 6]), log("c", &[])]);
        let (mut times, mut skipped) = (Vec::new(), 0);
        while let Some(recorded) = merged.next_record(&mut |_| skipped += 1).unwrap() {
            times.push(recorded.entry.time.text[17..19].to_owned());
        }
        assert_eq!((times, skipped), (["01", "02", "03", "04", "05", "06"].map(String::from).to_vec(), 3));
        assert!(merged.is_over());
    }
}
