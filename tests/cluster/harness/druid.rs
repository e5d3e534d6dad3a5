//! etcd-druid's definition and examples: data that a project of its own has.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// etcd-druid's own files, where they are laid beside the project.
pub fn data() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/druid");
    if !folder.is_dir() {
        writeln!(std::io::stderr(), "skipped: etcd-druid's definition and examples are not at hand").unwrap();
        return None;
    }
    Some(folder)
}
