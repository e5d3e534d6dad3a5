//! Every rule and warning has a page below `docs/rules/`, and what a page shows is what the program does.

use std::collections::BTreeSet;
use std::fs;

use etcd_warden::etcd::crd::Enforcement;
use etcd_warden::lint::entries;
use etcd_warden::rules::{Block, Entry, Group, Kind, Page};

use super::examples::{answer, base};
use super::generated::{blesses, check_part, path};

const SECTIONS: [&str; 6] = ["Why", "Without it", "Since", "Example", "Mended", "Related"];
/// What stands there that is no rule.
const OTHER_PAGES: [&str; 1] = ["crd"];
/// What a small manifest can't show.
const WITHOUT_EXAMPLE: [&str; 4] = ["not-judged", "more-warnings", "unreadable", "left-out"];
/// Warnings of what a deletion does: there is nothing to mend.
const WITHOUT_MEND: [&str; 2] = ["leaving", "deleted-mid-join"];

fn file(id: &str) -> String {
    format!("docs/rules/{id}.md")
}

/// A page as it stands there now, where the program may hold one that was there when it was built.
fn text(id: &str) -> String {
    fs::read_to_string(path(&file(id))).unwrap()
}

fn ids() -> impl Iterator<Item = &'static str> {
    entries().map(|entry| entry.id)
}

/// What the tables know of it.
fn facts(entry: &Entry) -> String {
    if entry.group == Group::Files {
        let level = match entry.kind {
            Kind::Rule => "an error",
            Kind::Warning => "a warning",
        };
        let (summary, group) = (entry.summary, entry.group.title());
        return format!("{summary}\n\n- Chapter: {group}\n- Told by `etcd-warden lint` alone, as {level}\n");
    }
    let on = match entry.kind {
        Kind::Rule => "Refuses on",
        Kind::Warning => "Warns on",
    };
    let (summary, group, runs) = (entry.summary, entry.group.title(), &entry.runs);
    format!("{summary}\n\n- Chapter: {group}\n- {on}: {runs}\n{}", by_definition(entry))
}

/// What the definition enforces of a rule by itself.
fn by_definition(entry: &Entry) -> String {
    let by = Enforcement::of(entry.id);
    let means: Vec<&str> = [(by.schema, "schema"), (by.cel, "CEL")]
        .iter()
        .filter(|(is, _)| *is)
        .map(|(_, name)| *name)
        .collect();
    if entry.kind == Kind::Warning {
        return String::new();
    }
    let structural = if by.structural { "; also in the structural one" } else { "" };
    let enforced = format!("{}{structural}", means.join(" and "));
    if let ([], Some(why)) = (means.as_slice(), entry.beyond_crd) {
        return format!("- In the [custom resource definition](crd.md): not enforced: {why}\n");
    }
    let unseen = entry.beyond_crd.map(|why| format!(", but {why}")).unwrap_or_default();
    format!("- In the [custom resource definition](crd.md): {enforced}{unseen}\n")
}

#[test]
fn every_id_has_a_page_and_every_page_an_id() {
    let files = fs::read_dir(path("docs/rules")).unwrap().map(|entry| entry.unwrap().file_name());
    let pages: BTreeSet<String> =
        files.filter_map(|name| Some(name.to_string_lossy().strip_suffix(".md")?.to_owned())).collect();
    let known: BTreeSet<String> = ids().chain(OTHER_PAGES).map(str::to_owned).collect();
    assert_eq!(pages, known);
}

#[test]
fn pages_say_what_the_tables_say() {
    for entry in entries() {
        check_part(&file(entry.id), "facts", &facts(&entry));
        // What is compiled in was there when the program was built.
        assert!(blesses() || entry.page() == Page::read(&text(entry.id)), "{}", entry.id);
    }
}

#[test]
fn pages_are_built_alike() {
    for entry in entries() {
        let text = text(entry.id);
        let page = Page::read(&text);
        let titles: Vec<&str> = page.sections.iter().map(|section| section.title).collect();
        let without: &[&str] = match entry.id {
            id if WITHOUT_EXAMPLE.contains(&id) => &["Example", "Mended"],
            id if WITHOUT_MEND.contains(&id) => &["Mended"],
            _ => &[],
        };
        let expected = SECTIONS.into_iter().filter(|title| !without.contains(title));
        assert_eq!(titles, [entry.id].into_iter().chain(expected).collect::<Vec<_>>(), "{}", entry.id);
        for section in &page.sections {
            assert!(!section.blocks.is_empty(), "{}: nothing below {}", entry.id, section.title);
            // YAML can't be broken where a terminal ends.
            let code = section.blocks.iter().filter_map(|block| match block {
                Block::Code { info, text } if info.starts_with("yaml") => Some(text),
                _ => None,
            });
            let long = code.flat_map(|text| text.lines()).find(|line| line.chars().count() > 76);
            assert!(long.is_none(), "{}: {long:?}", entry.id);
        }
    }
}

/// The section is a list of links, to pages of other ids.
#[test]
fn related_ids_are_others() {
    for entry in entries() {
        let text = text(entry.id);
        let related = Page::read(&text).section("Related").unwrap().named();
        assert!(!related.is_empty());
        for id in &related {
            assert!(id != entry.id && ids().any(|known| known == id), "{}: {id}", entry.id);
            assert!(text.contains(&format!("[`{id}`]({id}.md)")), "{}: {id} is no link", entry.id);
        }
    }
}

#[test]
fn every_example_breaks_its_rule_and_no_other() {
    let mut shown = 0;
    for entry in entries().filter(|entry| !WITHOUT_EXAMPLE.contains(&entry.id)) {
        let text = text(entry.id);
        let page = Page::read(&text);
        let answer = answer(&page, page.section("Example").unwrap());
        match entry.kind {
            Kind::Rule => {
                assert_eq!(answer.rules, [entry.id], "{answer:?}");
                let id = format!("[{}]", entry.id);
                assert!(!answer.allowed && answer.violations.iter().all(|line| line.ends_with(&id)));
            }
            Kind::Warning => assert!(answer.allowed && answer.warned() == [entry.id], "{answer:?}"),
        }
        check_part(&file(entry.id), "answer", &answer.shown(&entry));
        shown += 1;
    }
    assert!(shown > 60, "{shown}");
}

#[test]
fn every_mend_is_accepted() {
    for entry in entries() {
        let text = text(entry.id);
        let page = Page::read(&text);
        let Some(section) = page.section("Mended") else { continue };
        let answer = answer(&page, section);
        assert!(answer.allowed && answer.rules.is_empty(), "{}: {answer:?}", entry.id);
        assert!(!answer.warned().contains(&entry.id), "{}: {answer:?}", entry.id);
        // Who mends one thing isn't sent on to the next.
        assert!(entry.kind == Kind::Rule || answer.warnings.is_empty(), "{}: {answer:?}", entry.id);
    }
}

/// The Etcd that the examples change is the one that the documentation shows.
#[test]
fn the_documentation_shows_what_examples_begin_with() {
    let yaml = serde_saphyr::to_string(&base()).unwrap();
    check_part("docs/rules.md", "base", &format!("```yaml\n{yaml}```\n"));
}
