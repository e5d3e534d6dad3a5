//! The page.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::audit::query::{Newest, Summary};

use super::chart::chart;
use super::html::Html;
use super::records::record;
use super::tables::{Table, table};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What goes into a page.
pub struct Report<'r> {
    /// When it is made, as text.
    pub made: &'r str,
    /// The release that makes it.
    pub version: &'r str,
    /// Which records it is about, in words: the flags.
    pub selection: &'r str,
    /// What the records say together.
    pub summary: &'r Summary,
    /// The newest of them.
    pub newest: &'r Newest,
    /// Lines that were no records.
    pub skipped: u64,
    /// The command that lists all of them.
    pub command: &'r str,
    /// What a rule demands, where it is known.
    pub about_rule: &'r dyn Fn(&str) -> Option<&'static str>,
}

/// Writes the page.
pub fn page(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut html = Html::default();
    head(&mut html);
    opening(&mut html, report);
    overview(&mut html, report);
    if report.summary.records > 0 {
        filter(&mut html, report);
        out.write_all(html.take().as_bytes())?;
        for recorded in report.newest.kept().rev() {
            record(&mut html, recorded);
            out.write_all(html.take().as_bytes())?;
        }
        left_out(&mut html, report);
    }
    html.markup("</main><script>").markup(SCRIPT).markup("</script></body></html>\n");
    out.write_all(html.take().as_bytes())
}

fn head(html: &mut Html) {
    html.markup("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    html.markup(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; ",
    );
    html.markup("form-action 'none'; style-src 'sha256-").text(&digest(STYLE));
    html.markup("'; script-src 'sha256-").text(&digest(SCRIPT)).markup("'\">\n");
    html.markup("<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">\n");
    html.markup("<title>etcd-warden: audit report</title><style>")
        .markup(STYLE)
        .markup("</style></head><body><main>\n");
}

/// The words for one, or for several.
fn of(count: u64, one: &'static str, several: &'static str) -> &'static str {
    if count == 1 { one } else { several }
}

/// As a content security policy names a text.
fn digest(text: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    STANDARD.encode(digest.as_ref())
}

fn opening(html: &mut Html, Report { made, version, selection, summary, skipped, .. }: &Report<'_>) {
    html.markup("<header><h1>etcd-warden: audit report</h1><p>");
    match (&summary.first, &summary.last) {
        (Some(first), Some(last)) => {
            html.markup("<b>").count(summary.records).markup(of(summary.records, " record", " records"));
            html.markup("</b> from <time>")
                .text(&first.text)
                .markup("</time> to <time>")
                .text(&last.text)
                .markup("</time>");
        }
        _ => {
            html.markup("<b>No record fits</b>");
        }
    }
    if summary.dry_runs > 0 {
        html.markup(", ").count(summary.dry_runs).markup(" of them dry runs");
    }
    html.markup("</p><p class=\"note\">Selected: ").text(selection).markup(". Times are UTC. ");
    if *skipped > 0 {
        html.count(*skipped).markup(of(
            *skipped,
            " line of the log was no record and is not in here. ",
            " lines of the log were no records and are not in here. ",
        ));
    }
    html.markup("Made ").text(made).markup(" by etcd-warden ").text(version).markup(".</p></header>\n");
}

fn overview(html: &mut Html, Report { summary, about_rule, .. }: &Report<'_>) {
    chart(html, &summary.times);
    let nothing = |_: &str| None;
    html.markup("<div class=\"tables\">\n");
    for one in [
        Table { title: "By rule", tally: &summary.rules, filters: Some("rule"), about: about_rule },
        Table {
            title: "By namespace",
            tally: &summary.namespaces,
            filters: Some("namespace"),
            about: &nothing,
        },
        Table { title: "By user", tally: &summary.users, filters: None, about: &nothing },
        Table { title: "By object", tally: &summary.objects, filters: None, about: &nothing },
    ] {
        table(html, &one);
    }
    html.markup("</div>\n");
}

/// Shown by the script: without one, it would do nothing.
fn filter(html: &mut Html, Report { newest, summary, .. }: &Report<'_>) {
    html.markup("<h2 id=\"records\">Records, newest first</h2>\n");
    if newest.left_out() > 0 {
        let shown = summary.records - newest.left_out();
        html.markup("<p class=\"note\">The newest ").count(shown).markup(" of ").count(summary.records);
        html.markup(of(shown, " is", " are")).markup(" on this page; the rest is counted above.</p>\n");
    }
    html.markup("<form id=\"filter\" role=\"search\" hidden><label>Text <input type=\"search\" name=\"text\" autocomplete=\"off\"></label>");
    html.markup("<label>Rule <select name=\"rule\"><option value=\"\">all</option></select></label>");
    html.markup(
        "<label>Namespace <select name=\"namespace\"><option value=\"\">all</option></select></label>",
    );
    html.markup("<button type=\"reset\">Show all</button> <output aria-live=\"polite\"></output></form>\n");
}

fn left_out(html: &mut Html, Report { newest, command, .. }: &Report<'_>) {
    if newest.left_out() > 0 {
        html.markup("<p class=\"note\">").count(newest.left_out());
        html.markup(of(newest.left_out(), " older record is", " older records are"));
        html.markup(" not on this page: ");
        html.markup("make it with a higher <code>--limit</code>, or list them with <code>").text(command);
        html.markup("</code></p>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Decision;
    use crate::audit::query::item::tests::recorded;

    fn page_of(records: usize, most: usize) -> String {
        let mut summary = Summary::of(&[Decision::Rejected]);
        let mut newest = Newest::new(most, usize::MAX);
        for number in 0..records {
            let recorded = recorded(|record| record.uid = format!("uid-{number}."));
            summary.add(&recorded.entry);
            newest.add(recorded);
        }
        let report = Report {
            made: "2026-11-29T16:00:00Z",
            version: "0",
            selection: "rejected",
            summary: &summary,
            newest: &newest,
            skipped: 2,
            command: "etcd-warden audit list '<log>'",
            about_rule: &|_| None,
        };
        let mut out = Vec::new();
        page(&report, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn records_are_on_the_page_newest_first_and_the_rest_is_counted() {
        let page = page_of(5, 3);
        let place = |uid: &str| page.find(uid);
        assert!(place("uid-4.") < place("uid-3.") && place("uid-3.") < place("uid-2."));
        assert_eq!((place("uid-1."), page.matches("class=\"record\"").count()), (None, 3));
        assert!(page.contains("The newest 3 of 5 are on this page"), "{page}");
        assert!(
            page.contains("2 older records are not on this page")
                && page.contains("list &#39;&lt;log&gt;&#39;")
        );
        assert!(page.contains("2 lines of the log were no records"));
        assert!(!page_of(3, 3).contains("on this page"));
    }

    #[test]
    fn a_page_without_records_says_so() {
        let page = page_of(0, 3);
        assert!(
            page.contains("<b>No record fits</b>") && !page.contains("<form") && !page.contains("<svg"),
            "{page}"
        );
    }

    /// What a page could load, it could leak to.
    #[test]
    fn a_page_needs_nothing_from_elsewhere() {
        let page = page_of(3, 3);
        for forbidden in [
            "http:",
            "https:",
            "//cdn",
            " src=",
            "@import",
            "url(",
            "<link",
            "<img",
            "<iframe",
            "javascript:",
        ] {
            assert!(!page.contains(forbidden), "{forbidden} is in the page");
        }
        let inline =
            [" style=", " onclick", " onload"].iter().filter(|markup| page.contains(**markup)).count();
        assert_eq!(inline, 0);
    }

    #[test]
    fn the_policy_allows_the_own_script_and_style_only() {
        let page = page_of(0, 0);
        for (element, text) in [("style", STYLE), ("script", SCRIPT)] {
            assert!(page.contains(&format!("{element}-src 'sha256-{}'", digest(text))));
            assert!(page.contains(&format!("<{element}>{text}</{element}>")));
            assert!(!text.contains("</"), "{element}");
        }
        assert!(page.contains("default-src 'none'") && !page.contains("unsafe-"));
    }
}
