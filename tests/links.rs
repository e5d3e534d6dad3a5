//! Links in the documentation lead somewhere: to a file that is there, and to a heading that it has.
#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The README and everything below `docs/`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|extension| extension == "md") {
                pages.push(entry);
            }
        }
    }
    pages
}

/// Where the links of a page lead; code is no text.
fn links(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let is_text = |line: &&str| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence && !line.starts_with("    ")
    };
    let lines = text.lines().filter(is_text);
    lines.flat_map(|line| line.split("](").skip(1).filter_map(|rest| rest.split(')').next())).collect()
}

/// The anchors of a page's headings, as GitHub makes them: lower case, spaces to `-`, other signs dropped.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|heading| anchor(heading.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut followed = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target =
                if file.is_empty() { page.clone() } else { page.parent().expect("a folder").join(file) };
            assert!(target.exists(), "{}: {link}: no such file", page.display());
            if !heading.is_empty() {
                let known = anchors(&fs::read_to_string(&target).expect("a page"));
                assert!(known.contains(heading), "{}: {link} is none of {known:?}", page.display());
            }
            followed += 1;
        }
    }
    assert!(followed > 5, "{followed} links are found");
}
