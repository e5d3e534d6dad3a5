//! Parts of files that are generated, and held against what would be generated now.
#![allow(clippy::panic, reason = "a test; clippy knows only functions that are tests themselves")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

static ALONE: Mutex<()> = Mutex::new(());

/// A file of the project.
pub(crate) fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// Whether files are to be written anew.
pub(crate) fn blesses() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Whoever reads the file meanwhile sees the old one or the new one, whole.
fn write(file: &str, text: &str) -> io::Result<()> {
    let new = path(&format!("{file}.new"));
    fs::write(&new, text)?;
    fs::rename(new, path(file))
}

/// The part of a file between two marks, which is generated.
pub(crate) fn check_part(file: &str, name: &str, generated: &str) {
    // Two parts of one file may be written at once.
    let _alone = ALONE.lock();
    let (begin, end) = (format!("<!-- {name}: generated -->\n"), format!("<!-- {name}: end -->"));
    let text = fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{file} has no {begin}"));
    let (part, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{file} has no {end}"));
    if blesses() {
        write(file, &format!("{before}{begin}{generated}{end}{after}"))
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        return;
    }
    assert_eq!(
        part, generated,
        "{file}: run BLESS=1 cargo test --test documentation, and read the difference"
    );
}
