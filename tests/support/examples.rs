//! The examples on the pages below `docs/rules/`, put to the program.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test; clippy knows only functions that are tests themselves"
)]

use etcd_warden::admission::{Audited, Policy, review as ask};
use etcd_warden::audit::Stage;
use etcd_warden::diagnostics::{Finding, Level, Source};
use etcd_warden::lint::{Lint, Stored};
use etcd_warden::rules::{Entry, Kind, Page, Section, Settings};
use serde_json::{Value, json};

#[path = "reviews.rs"]
#[allow(dead_code, reason = "each test program uses its part of what is shared")]
mod reviews;

/// The Etcd that each example changes; `docs/rules.md` shows it.
pub(crate) fn base() -> Value {
    json!({
        "apiVersion": "druid.gardener.cloud/v1alpha1",
        "kind": "Etcd",
        "metadata": {"name": "c2", "namespace": "prod"},
        "spec": {"replicas": 3, "labels": {"app": "c2"}, "etcd": {}, "backup": {}},
    })
}

/// What the program answers.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// The rules of the violations, sorted, each once.
    pub(crate) rules: Vec<String>,
    /// `field: message` of each violation.
    pub(crate) violations: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// The ids at the ends of the warnings.
    pub(crate) fn warned(&self) -> Vec<&str> {
        let id = |warning: &'_ String| warning.rfind('[').map(|at| at + 1..warning.len() - 1);
        self.warnings.iter().filter_map(|warning| warning.get(id(warning)?)).collect()
    }

    /// What an example of this entry shows, in lines that fit a page.
    pub(crate) fn shown(&self, entry: &Entry) -> String {
        let lines = match entry.kind {
            Kind::Rule => &self.violations,
            Kind::Warning => &self.warnings,
        };
        let broken = textwrap::Options::new(84)
            .subsequent_indent("    ")
            .word_splitter(textwrap::WordSplitter::NoHyphenation)
            .break_words(false);
        let lines = lines.iter().map(|line| textwrap::fill(line, broken.clone()));
        format!("```text\n{}\n```\n", lines.collect::<Vec<_>>().join("\n"))
    }
}

/// What `lint` says of a file.
fn linted(text: &str) -> Answer {
    let linted = Lint::default().text(Source::new("etcd.yaml", text), &Stored::default());
    let report = &linted.report;
    let of = |level| report.findings.iter().filter(move |finding| finding.level == level);
    let line = |finding: &Finding| {
        let start = report.source.position(finding.place.expect("a place").span.start);
        let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("etcd.yaml:{}:{}: {}{help} [{}]", start.line, start.column, finding.message, finding.rule)
    };
    let mut rules: Vec<String> = of(Level::Error).map(|finding| finding.rule.clone()).collect();
    rules.sort();
    rules.dedup();
    Answer {
        allowed: rules.is_empty(),
        rules,
        violations: of(Level::Error).map(line).collect(),
        warnings: of(Level::Warning).map(line).collect(),
    }
}

/// The answer to the example of a section; where it stores nothing itself, what the page's example stores is there.
pub(crate) fn answer(page: &Page<'_>, section: &Section<'_>) -> Answer {
    if let Some((_, file)) = section.code("lint") {
        return linted(file);
    }
    let stored = section.code("stored").or_else(|| page.section("Example")?.code("stored"));
    let stored = merged(&base(), stored.map_or("", |(_, text)| text));
    for kind in ["create", "update", "status", "delete"] {
        if let Some((options, text)) = section.code(kind) {
            return put(&request(kind, &stored, text), options);
        }
    }
    panic!("{} has no example", section.title)
}

fn request(kind: &str, stored: &Value, text: &str) -> Value {
    match kind {
        "create" => reviews::create(&merged(&base(), text)),
        "delete" => reviews::delete(&merged(&base(), text)),
        kind => {
            let mut review = reviews::update(stored, &merged(stored, text));
            if kind == "status" {
                review["request"]["subResource"] = json!("status");
            }
            review
        }
    }
}

/// YAML merged into an object (RFC 7386): what is null goes, and a list is replaced.
fn merged(object: &Value, text: &str) -> Value {
    let mut object = object.clone();
    let changes: Value = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    if !changes.is_null() {
        json_patch::merge(&mut object, &changes);
    }
    object
}

fn put(review: &Value, options: &str) -> Answer {
    let (mut settings, mut stage) = (Settings::default(), Stage::Validate);
    for option in options.split_whitespace() {
        match option.split_once('=').unwrap_or((option, "")) {
            ("allowed-images", prefix) => settings.allowed_images.push(prefix.to_owned()),
            ("loop-user", user) => settings.loop_user = Some(user.to_owned()),
            ("stage", "mutate") => stage = Stage::Mutate,
            (option, _) => panic!("{option} is no option of an example"),
        }
    }
    let outcome = ask(stage, review.to_string().as_bytes(), &Policy::new(&settings, Audited::All));
    let answer: Value = serde_json::from_slice(&outcome.expect("a review").body).expect("JSON");
    read(&answer["response"])
}

fn read(response: &Value) -> Answer {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let causes = list(&response["status"]["details"]["causes"]);
    let rules = text(&response["auditAnnotations"]["rules"]);
    Answer {
        allowed: response["allowed"] == json!(true),
        rules: rules.split(',').filter(|rule| !rule.is_empty()).map(str::to_owned).collect(),
        violations: causes
            .iter()
            .map(|cause| format!("{}: {}", text(&cause["field"]), text(&cause["message"])))
            .collect(),
        warnings: list(&response["warnings"]).iter().map(text).collect(),
    }
}
