//! Lines of a log, one after the other, in bounded memory.

use std::io::{self, BufRead};
use std::mem;

use crate::audit::sink::RECORD_BYTES;

/// Longest line that is read: the longest that the server writes, and its newline.
pub const LINE_MAX: usize = RECORD_BYTES + 1;

/// What stands between two newlines.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line, without its newline.
    Whole(Vec<u8>),
    /// A line of so many bytes, which are more than are read.
    TooLong(u64),
}

/// Takes lines off a stream. What has no newline yet is kept: a file that is still written may bring the rest.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    begun: Vec<u8>,
    /// Length of the line that was begun, also of what isn't kept of it.
    length: u64,
    number: u64,
    /// Bytes of all whole lines so far.
    taken: u64,
}

impl<R: BufRead> Lines<R> {
    /// The lines of `input`.
    pub fn new(input: R) -> Self {
        Self { input, begun: Vec::new(), length: 0, number: 0, taken: 0 }
    }

    /// The next line that has its newline; nothing at the end of what is there now.
    pub fn next_whole(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                result => result?,
            };
            if available.is_empty() {
                return Ok(None);
            }
            let newline = memchr::memchr(b'\n', available);
            let piece = available.get(..newline.unwrap_or(available.len())).unwrap_or_default();
            keep(&mut self.begun, self.length, piece);
            self.length += piece.len() as u64;
            let used = piece.len() + usize::from(newline.is_some());
            self.input.consume(used);
            if newline.is_some() {
                self.taken += self.length + 1;
                return Ok(Some(self.take()));
            }
        }
    }

    /// What comes next, as far as it is there already; it stays to be taken.
    pub fn ahead(&mut self) -> io::Result<&[u8]> {
        while let Err(error) = self.input.fill_buf() {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.input.fill_buf()
    }

    /// What was begun, where nothing more will come.
    pub fn rest(&mut self) -> Option<Line> {
        (self.length > 0).then(|| self.take())
    }

    /// Forgets what was begun: the stream goes on from this byte, which is the end of a whole line or the start.
    pub fn go_on_from(&mut self, byte: u64) {
        self.begun.clear();
        self.length = 0;
        self.taken = byte;
        if byte == 0 {
            self.number = 0;
        }
    }

    /// The number of the line that was taken last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes up to the end of the last whole line, and up to the end of what was read.
    pub fn read(&self) -> (u64, u64) {
        (self.taken, self.taken + self.length)
    }

    fn take(&mut self) -> Line {
        self.number += 1;
        let (line, length) = (mem::take(&mut self.begun), mem::take(&mut self.length));
        if line.len() as u64 == length { Line::Whole(line) } else { Line::TooLong(length) }
    }
}

/// A line that gets too long is dropped at once; its length alone says so.
fn keep(begun: &mut Vec<u8>, length: u64, piece: &[u8]) {
    if begun.len() as u64 == length && begun.len() + piece.len() <= LINE_MAX {
        begun.extend_from_slice(piece);
    } else {
        *begun = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, Read};

    fn all(input: impl Read, buffer: usize) -> Vec<Line> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, input));
        let mut found = Vec::new();
        while let Some(line) = lines.next_whole().unwrap() {
            found.push(line);
        }
        found.extend(lines.rest());
        found
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.into())
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        for buffer in [1, 2, 3, 100] {
            assert_eq!(all("ab\n\ncd".as_bytes(), buffer), [whole("ab"), whole(""), whole("cd")]);
            assert_eq!(all("ab\n".as_bytes(), buffer), [whole("ab")]);
            assert!(all("".as_bytes(), buffer).is_empty());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_measured_and_not_kept() {
        let length = 3 * LINE_MAX as u64;
        let input = io::repeat(b'x').take(length).chain("\nshort\n".as_bytes());
        let mut lines = Lines::new(BufReader::new(input));
        assert_eq!(lines.next_whole().unwrap(), Some(Line::TooLong(length)));
        assert!(lines.begun.capacity() <= 2 * LINE_MAX);
        assert_eq!(lines.next_whole().unwrap(), Some(whole("short")));
        assert_eq!((lines.number(), lines.read()), (2, (length + 7, length + 7)));
    }

    #[test]
    fn the_longest_line_is_read() {
        let line = "x".repeat(LINE_MAX - 1);
        assert_eq!(all(format!("{line}\n").as_bytes(), 1 << 16), [whole(&line)]);
    }
}
