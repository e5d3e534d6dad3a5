//! Each record, to be folded open.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::audit::Before;
use crate::audit::query::{Entry, Evidence, Recorded};
use crate::manifest;
use crate::text::shortened;

use super::html::Html;

/// Longest manifest that is shown, in bytes: a thousand of them still are a page that opens at once.
const MANIFEST_MAX: usize = 16 * 1024;

/// Longest value of a former state that is shown, in characters.
const BEFORE_MAX: usize = 400;

/// Writes one record.
pub(super) fn record(html: &mut Html, recorded: &Recorded) {
    let (entry, evidence) = (&recorded.entry, recorded.evidence());
    html.markup("<details class=\"record\" data-namespace=\"").text(&entry.object.namespace);
    html.markup("\" data-rules=\"").text(&entry.rules().join(" ")).markup("\"><summary>");
    head(html, entry);
    html.markup("</summary>");
    facts(html, entry);
    violations(html, entry);
    before(html, evidence.before.as_deref().unwrap_or_default());
    manifest(html, entry, evidence);
    html.markup("</details>\n");
}

fn head(html: &mut Html, entry: &Entry) {
    html.markup("<time>").text(&entry.time.to_the_second()).markup("</time> <span class=\"decision ");
    html.markup(entry.decision.word()).markup("\">").markup(entry.decision.word()).markup("</span> <span>");
    html.text(&entry.operation())
        .markup("</span> <b>")
        .text(&entry.object())
        .markup("</b> <span class=\"user\">");
    html.text(&entry.user.name).markup("</span> ");
    for rule in entry.rules() {
        html.markup("<code>").text(rule).markup("</code> ");
    }
}

fn facts(html: &mut Html, entry: &Entry) {
    let groups = entry.user.groups.join(", ");
    let code = entry.code.map(|code| code.to_string()).unwrap_or_default();
    let dry_run = if entry.dry_run { "yes: nothing would have been stored" } else { "" };
    html.markup("<dl>");
    for (name, value) in [
        ("Time", entry.time.text.as_str()),
        ("Review", &entry.uid),
        ("Object's uid", entry.object.uid.as_deref().unwrap_or_default()),
        ("User", &entry.user.name),
        ("Groups", &groups),
        ("Dry run", dry_run),
        ("Code", &code),
        ("Answer", entry.message.as_deref().unwrap_or_default()),
    ] {
        if !value.is_empty() {
            html.markup("<dt>").markup(name).markup("</dt><dd>").text(value).markup("</dd>");
        }
    }
    html.markup("</dl>");
}

fn violations(html: &mut Html, entry: &Entry) {
    if !entry.violations.is_empty() {
        html.markup("<ul class=\"violations\">");
        for violation in &entry.violations {
            html.markup("<li><code class=\"field\">").text(&violation.field).markup("</code> ");
            html.text(&violation.message).markup("</li>");
        }
        if entry.violations_left_out > 0 {
            html.markup("<li>and ")
                .count(entry.violations_left_out as u64)
                .markup(" more, which the record leaves out</li>");
        }
        html.markup("</ul>");
    }
    if !entry.warnings.is_empty() {
        html.markup("<ul class=\"warnings\">");
        for warning in &entry.warnings {
            html.markup("<li>").text(warning).markup("</li>");
        }
        html.markup("</ul>");
    }
}

/// What an update found: only what it would have changed.
fn before(html: &mut Html, before: &[Before]) {
    if before.is_empty() {
        return;
    }
    html.markup("<h3>Stored before</h3><ul class=\"before\">");
    for Before { path, value } in before {
        html.markup("<li><code class=\"field\">").text(path.as_str()).markup("</code> ");
        match value {
            Some(value) => {
                html.markup("<code>").text(&shortened(&value.to_string(), BEFORE_MAX)).markup("</code>");
            }
            None => {
                html.markup("nothing");
            }
        }
        html.markup("</li>");
    }
    html.markup("</ul>");
}

fn manifest(html: &mut Html, entry: &Entry, evidence: Evidence) {
    let Some(manifest) = evidence.manifest else { return };
    let text = yaml(&manifest);
    let shown = beginning(&text, MANIFEST_MAX);
    let wrong = wrong_lines(&text, entry);
    html.markup("<h3>Manifest</h3><pre>");
    for (number, line) in shown.lines().enumerate() {
        if wrong.contains(&number) {
            html.markup("<mark>").text(line).markup("</mark>\n");
        } else {
            html.text(line).markup("\n");
        }
    }
    html.markup("</pre>");
    if shown.len() < text.len() {
        html.markup("<p class=\"note\">").count((text.len() - shown.len()) as u64);
        html.markup(if text.len() - shown.len() == 1 { " byte" } else { " bytes" });
        html.markup(" more: <code>etcd-warden audit show ").text(&entry.uid).markup("</code></p>");
    }
}

/// The lines of a manifest, from 0, at which something is wrong, or should stand.
fn wrong_lines(yaml: &str, entry: &Entry) -> BTreeSet<usize> {
    let file = manifest::read(yaml);
    let Some(root) = file.documents.first().map(|document| document.root(yaml)) else {
        return BTreeSet::new();
    };
    let starts = entry.violations.iter().map(|violation| root.at_field(&violation.field).span.start);
    starts.map(|start| yaml.get(..start).unwrap_or_default().matches('\n').count()).collect()
}

fn yaml(manifest: &Value) -> String {
    serde_saphyr::to_string(manifest).unwrap_or_else(|_| manifest.to_string())
}

/// The first whole lines of a text, so many bytes at most; of one long line, its beginning.
fn beginning(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let cut = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    cut.rfind('\n').and_then(|at| text.get(..=at)).unwrap_or(cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Finding;
    use crate::audit::query::item::tests::recorded;
    use serde_json::json;

    const HOSTILE: &str = "<script>alert(\"1\")</script>'\u{202e}\u{2028}";

    fn written(change: impl FnOnce(&mut crate::audit::Record)) -> String {
        let mut html = Html::default();
        record(&mut html, &recorded(change));
        html.take()
    }

    #[test]
    fn whatever_is_in_a_record_stays_text() {
        let html = written(|record| {
            for text in [
                &mut record.uid,
                &mut record.operation,
                &mut record.object.namespace,
                &mut record.object.name,
                &mut record.user.name,
            ] {
                HOSTILE.clone_into(text);
            }
            record.object.uid = Some(HOSTILE.into());
            record.subresource = Some(HOSTILE.into());
            record.user.groups = vec![HOSTILE.into()];
            record.message = Some(HOSTILE.into());
            record.warnings = vec![HOSTILE.into()];
            let text = || HOSTILE.to_owned();
            record.violations = vec![Finding { rule: "<i>\"", field: text(), cause: "<i>", message: text() }];
            record.manifest = Some(json!({HOSTILE: HOSTILE, "long": "<b>".repeat(MANIFEST_MAX)}));
            let path = jsonptr::PointerBuf::from_tokens([HOSTILE]);
            record.before = Some(vec![Before { path, value: Some(json!(HOSTILE)) }]);
        });
        for forbidden in ["<script", "<i>", "<b><b>", "\u{202e}", "\u{2028}", "alert(\"1\")"] {
            assert!(!html.contains(forbidden), "{forbidden:?} is in {html:.3000}");
        }
        assert!(html.matches("&lt;script&gt;").count() > 12, "{html:.3000}");
    }

    #[test]
    fn an_update_shows_what_was_stored() {
        let path = |text: &str| jsonptr::PointerBuf::parse(text).unwrap();
        let html = written(|record| {
            record.before = Some(vec![
                Before { path: path("/spec/replicas"), value: Some(json!(3)) },
                Before { path: path("/spec/extra"), value: None },
            ]);
        });
        assert!(html.contains("/spec/replicas</code> <code>3</code>"), "{html}");
        assert!(html.contains("/spec/extra</code> nothing"), "{html}");
    }

    #[test]
    fn the_line_of_a_violation_is_marked() {
        let html = written(|record| {
            record.violations = vec![Finding {
                rule: "replicas-range",
                field: "spec.replicas".into(),
                cause: "FieldValueInvalid",
                message: "no".into(),
            }];
            record.manifest = Some(json!({"kind": "Etcd", "spec": {"replicas": -1, "z": "<"}}));
        });
        let expected = "<pre>kind: Etcd\nspec:\n<mark>  replicas: -1</mark>\n  z: &lt;\n</pre>";
        assert!(html.contains(expected), "{html}");
    }

    #[test]
    fn a_long_manifest_is_cut_at_a_line_and_says_so() {
        let short = written(|record| record.manifest = Some(json!({"a": 1})));
        assert!(short.contains("<pre>a: 1\n</pre>") && !short.contains("bytes more"), "{short}");
        let lines: Vec<u32> = (0..10_000).collect();
        let long = written(|record| record.manifest = Some(json!({"a": lines})));
        assert!(long.contains(" bytes more: <code>etcd-warden audit show 705ab4f5"), "{}", long.len());
        assert!(long.len() < 2 * MANIFEST_MAX);
        assert_eq!(
            (beginning("ab\ncd\nef", 6), beginning("ööö", 3), beginning("ab", 2)),
            ("ab\ncd\n", "ö", "ab")
        );
    }
}
