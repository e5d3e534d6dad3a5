//! Explanations for programs. The shape is documented in `docs/rules.md`.

use serde::Serialize;

use super::text::unwrapped;
use crate::etcd::crd::Enforcement;
use crate::rules::{Entry, Kind, Page, Section};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    id: &'a str,
    kind: &'static str,
    group: &'static str,
    runs: Vec<&'a str>,
    summary: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Explained<'a> {
    #[serde(flatten)]
    listed: Listed<'a>,
    crd: Crd<'a>,
    why: String,
    without: String,
    since: String,
    example: Option<Example<'a>>,
    mended: Option<Example<'a>>,
    related: Vec<String>,
}

/// What a CRD enforces by itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Crd<'a> {
    schema: bool,
    cel: bool,
    structural: bool,
    not_seen: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Example<'a> {
    text: String,
    stored: Option<&'a str>,
    operation: &'static str,
    object: &'a str,
    answer: Option<String>,
}

/// Kinds of code in an example, and the operations that they stand for.
const OPERATIONS: [(&str, &str); 5] = [
    ("create", "CREATE"),
    ("update", "UPDATE"),
    ("status", "UPDATE status"),
    ("delete", "DELETE"),
    ("lint", "lint"),
];

/// All of them, as an array.
pub(super) fn list(entries: &[Entry]) -> Result<String, serde_json::Error> {
    written(&entries.iter().map(Listed::from).collect::<Vec<_>>())
}

/// One, as an object.
pub(super) fn one(entry: &Entry) -> Result<String, serde_json::Error> {
    let page = entry.page();
    let text = |title: &str| page.section(title).map(Section::markdown).unwrap_or_default();
    let by = Enforcement::of(entry.id);
    written(&Explained {
        listed: entry.into(),
        crd: Crd { schema: by.schema, cel: by.cel, structural: by.structural, not_seen: entry.beyond_crd },
        why: text("Why"),
        without: text("Without it"),
        since: text("Since"),
        example: example(&page, "Example"),
        mended: example(&page, "Mended"),
        related: page.section("Related").map(Section::named).unwrap_or_default(),
    })
}

fn written(value: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

impl<'a> From<&'a Entry> for Listed<'a> {
    fn from(entry: &'a Entry) -> Self {
        let kind = match entry.kind {
            Kind::Rule => "rule",
            Kind::Warning => "warning",
        };
        let runs = entry.runs.split(", ").collect();
        Self { id: entry.id, kind, group: entry.group.title(), runs, summary: entry.summary }
    }
}

fn example<'a>(page: &'a Page<'_>, title: &str) -> Option<Example<'a>> {
    let section = page.section(title)?;
    let code = |kind: &str| section.code(kind).map(|(_, text)| text);
    let (operation, object) =
        OPERATIONS.iter().find_map(|(kind, operation)| Some((*operation, code(kind)?)))?;
    // What is stored once is not stored again for the mend.
    let stored = || page.section("Example")?.code("stored").map(|(_, text)| text);
    Some(Example {
        text: section.prose(),
        stored: code("stored").or_else(|| stored().filter(|_| operation.starts_with("UPDATE"))),
        operation,
        object,
        answer: code("text").map(|text| unwrapped(text).trim_end().to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint::entries;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn keys(value: &Value) -> BTreeSet<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn the_list_holds_every_id_in_order() {
        let all: Vec<Entry> = entries().collect();
        let value: Vec<Value> = serde_json::from_str(&list(&all).unwrap()).unwrap();
        let listed: Vec<&str> = value.iter().map(|entry| entry["id"].as_str().unwrap()).collect();
        assert_eq!(listed, all.iter().map(|entry| entry.id).collect::<Vec<_>>());
    }

    /// The shape that the documentation promises, of each.
    #[test]
    fn every_explanation_has_the_documented_fields() {
        let documentation = include_str!("../../../docs/rules.md");
        let table = documentation.split_once("| field | type |").unwrap().1;
        let named: BTreeSet<&str> = table
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
            .flat_map(|names| names.split(", ").map(|name| name.trim_matches('`')))
            .collect();
        for entry in entries() {
            let value: Value = serde_json::from_str(&one(&entry).unwrap()).unwrap();
            assert_eq!(keys(&value), named);
            for field in ["why", "without", "since"] {
                assert!(!value[field].as_str().unwrap().is_empty(), "{}: {field}", entry.id);
            }
            if let Some(answer) = value["example"]["answer"].as_str() {
                assert!(answer.lines().all(|line| line.ends_with(']')), "{answer}");
            }
        }
    }

    #[test]
    fn an_update_shows_what_is_stored_and_what_is_written_over_it() {
        let entry = entries().find(|entry| entry.id == "image-minor-jump").unwrap();
        let value: Value = serde_json::from_str(&one(&entry).unwrap()).unwrap();
        for (part, image) in [("example", "3.7.3"), ("mended", "3.6.16")] {
            assert_eq!(value[part]["operation"], "UPDATE");
            assert!(value[part]["stored"].as_str().unwrap().contains("etcd:3.5.30"), "{part}");
            assert!(value[part]["object"].as_str().unwrap().contains(image), "{part}");
        }
        assert!(value["without"].as_str().unwrap().contains("```text\npanic: not implemented\n```"));
    }
}
