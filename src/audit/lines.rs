//! Appends whole lines to a medium, and mends what a failed write left behind.

use std::io;

/// What lines are appended to: a file, standard output, or a test's sick disk.
pub trait Medium: Send {
    /// Called before each batch of `bytes`: the place to rotate, or to open anew what was moved away.
    /// Says whether it rotated.
    fn prepare(&mut self, bytes: usize) -> io::Result<bool>;

    /// Appends some of `bytes`, in one call of the system, and says how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Takes the last `bytes` away again; `false` where that can't be done (a pipe).
    fn take_back(&mut self, bytes: usize) -> io::Result<bool>;
}

impl Medium for Box<dyn Medium> {
    fn prepare(&mut self, bytes: usize) -> io::Result<bool> {
        (**self).prepare(bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (**self).write(bytes)
    }

    fn take_back(&mut self, bytes: usize) -> io::Result<bool> {
        (**self).take_back(bytes)
    }
}

/// What one batch came to.
#[derive(Debug)]
pub(super) struct Appended {
    /// How many lines are in the medium, counted from the first.
    pub(super) whole: usize,
    /// Whether the medium was rotated before.
    pub(super) rotated: bool,
    /// The error that kept the rest out.
    pub(super) result: io::Result<()>,
}

/// A medium that holds whole lines only.
#[derive(Debug)]
pub(super) struct Lines<M> {
    medium: M,
    torn: Torn,
}

/// What a failed write left at the end of the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Torn {
    Nothing,
    /// So many bytes of an unfinished line, to be taken back.
    Bytes(usize),
    /// An unfinished line that can't be taken back: the next line begins with a newline.
    Line,
}

impl<M: Medium> Lines<M> {
    pub(super) fn new(medium: M) -> Self {
        Self { medium, torn: Torn::Nothing }
    }

    /// Appends `lines`, in one write where the medium takes them all at once.
    pub(super) fn append(&mut self, lines: &[&[u8]]) -> Appended {
        let batch = lines.concat();
        let rotated = match self.mend().and_then(|()| self.medium.prepare(batch.len())) {
            Ok(rotated) => rotated,
            Err(error) => return Appended { whole: 0, rotated: false, result: Err(error) },
        };
        let (written, result) = self.write_all(&batch);
        let (whole, rest) = whole_lines(lines, written);
        if rest > 0 {
            self.torn = Torn::Bytes(rest);
            // Mended again before the next batch if the medium refuses it now.
            let _ = self.mend();
        }
        Appended { whole, rotated, result }
    }

    fn write_all(&mut self, batch: &[u8]) -> (usize, io::Result<()>) {
        let mut written = 0;
        while let Some(rest) = batch.get(written..).filter(|rest| !rest.is_empty()) {
            match self.medium.write(rest) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(bytes) => written += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    fn mend(&mut self) -> io::Result<()> {
        match self.torn {
            Torn::Nothing => {}
            Torn::Bytes(bytes) if self.medium.take_back(bytes)? => self.torn = Torn::Nothing,
            Torn::Bytes(_) => self.torn = Torn::Line,
            Torn::Line => {
                self.write_all(b"\n").1?;
                self.torn = Torn::Nothing;
            }
        }
        Ok(())
    }
}

/// How many lines `written` bytes hold, and how many bytes of the next.
fn whole_lines(lines: &[&[u8]], mut written: usize) -> (usize, usize) {
    let mut whole = 0;
    for line in lines {
        if written < line.len() {
            break;
        }
        written -= line.len();
        whole += 1;
    }
    (whole, written)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A medium with room for `room` bytes, which writes at most `at_once`.
    struct Small {
        held: Vec<u8>,
        room: usize,
        at_once: usize,
        pipe: bool,
    }

    impl Medium for Small {
        fn prepare(&mut self, _: usize) -> io::Result<bool> {
            Ok(false)
        }

        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let fits = bytes.len().min(self.at_once).min(self.room - self.held.len());
            if fits == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.held.extend_from_slice(&bytes[..fits]);
            Ok(fits)
        }

        fn take_back(&mut self, bytes: usize) -> io::Result<bool> {
            if !self.pipe {
                self.held.truncate(self.held.len() - bytes);
            }
            Ok(!self.pipe)
        }
    }

    fn small(room: usize, at_once: usize, pipe: bool) -> Lines<Small> {
        Lines::new(Small { held: Vec::new(), room, at_once, pipe })
    }

    #[test]
    fn short_writes_are_continued() {
        let mut lines = small(100, 3, false);
        let Appended { whole, result, .. } = lines.append(&[b"first\n", b"second\n"]);
        assert!(result.is_ok());
        assert_eq!((whole, lines.medium.held.as_slice()), (2, b"first\nsecond\n".as_slice()));
    }

    #[test]
    fn a_full_disk_keeps_the_whole_lines_only() {
        let mut lines = small(9, 100, false);
        let Appended { whole, result, .. } = lines.append(&[b"first\n", b"second\n"]);
        assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!((whole, lines.medium.held.as_slice()), (1, b"first\n".as_slice()));
        lines.medium.room = 100;
        assert_eq!(lines.append(&[b"second\n"]).whole, 1);
        assert_eq!(lines.medium.held, b"first\nsecond\n");
    }

    #[test]
    fn a_torn_line_in_a_pipe_is_ended_before_the_next() {
        let mut lines = small(3, 100, true);
        assert_eq!(lines.append(&[b"first\n"]).whole, 0);
        lines.medium.room = 100;
        assert_eq!(lines.append(&[b"first\n"]).whole, 1);
        assert_eq!(lines.medium.held, b"fir\nfirst\n");
    }
}
