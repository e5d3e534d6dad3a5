//! Records by rule, namespace, user and object.

use crate::audit::query::{Row, Tally};

use super::html::Html;

/// Rows of a table before the rest is one row.
const ROWS_MAX: usize = 10;

/// One table.
pub(super) struct Table<'t> {
    /// Its heading.
    pub(super) title: &'static str,
    /// What it counts.
    pub(super) tally: &'t Tally,
    /// The filter that a click on a row sets, if any.
    pub(super) filters: Option<&'static str>,
    /// What more there is to say of a name.
    pub(super) about: &'t dyn Fn(&str) -> Option<&'static str>,
}

/// Writes a table; nothing where nothing was counted.
pub(super) fn table(html: &mut Html, Table { title, tally, filters, about }: &Table<'_>) {
    let rows = tally.rows();
    let Some(most) = rows.first().map(|row| row.count) else { return };
    html.markup("<section class=\"table\"><h2>").markup(title).markup("</h2><table><tbody>\n");
    // One more name takes no more room than the word that there is one.
    let shown = if tally.folded() == 0 && rows.len() == ROWS_MAX + 1 { ROWS_MAX + 1 } else { ROWS_MAX };
    for row in rows.iter().take(shown) {
        html.markup("<tr><th scope=\"row\">");
        name(html, row, *filters);
        if let Some(about) = about(&row.name) {
            html.markup("<small>");
            sentence(html, about);
            html.markup("</small>");
        }
        html.markup("</th>");
        amount(html, row.count, most);
    }
    let more = rows.get(shown..).unwrap_or_default();
    let others = more.iter().map(|row| row.count).sum::<u64>() + tally.folded();
    if others > 0 {
        html.markup("<tr class=\"others\"><th scope=\"row\">");
        let at_least = if tally.folded() > 0 { "more than " } else { "" };
        let names = if more.len() == 1 { " other</th>" } else { " others</th>" };
        html.markup(at_least).count(more.len() as u64).markup(names);
        amount(html, others, most.max(others));
    }
    html.markup("</tbody></table></section>\n");
}

/// A sentence in which code stands between backticks.
fn sentence(html: &mut Html, text: &str) {
    for (index, piece) in text.split('`').enumerate() {
        if index % 2 == 0 {
            html.text(piece);
        } else {
            html.markup("<code>").text(piece).markup("</code>");
        }
    }
}

/// The name is a button where a script can make use of one.
fn name(html: &mut Html, row: &Row, filters: Option<&'static str>) {
    let shown = if row.name.is_empty() { "(none)" } else { &row.name };
    match filters {
        Some(filter) => {
            html.markup("<span data-filter=\"").markup(filter).markup("\" data-value=\"").text(&row.name);
            html.markup("\">").text(shown).markup("</span>");
        }
        None => {
            html.markup("<span>").text(shown).markup("</span>");
        }
    }
}

fn amount(html: &mut Html, count: u64, most: u64) {
    #[allow(clippy::cast_precision_loss, reason = "for pixels")]
    let width = (count as f64 * 1000.0 / most.max(1) as f64).round() / 10.0;
    html.markup("<td class=\"count\">")
        .count(count)
        .markup("</td><td class=\"bar\"><svg viewBox=\"0 0 100 10\" ");
    html.markup("preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"").number(width.max(0.5));
    html.markup("\" height=\"10\"/></svg></td></tr>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table_of(tally: &Tally) -> String {
        let about = |name: &str| (name == "ports").then_some("`ports` differ.");
        let mut html = Html::default();
        table(&mut html, &Table { title: "By rule", tally, filters: Some("rule"), about: &about });
        html.take()
    }

    #[test]
    fn names_are_text_and_the_longest_bar_is_the_whole_width() {
        let mut tally = Tally::default();
        for name in ["ports", "ports", "<b>", ""] {
            tally.add(name);
        }
        let table = table_of(&tally);
        assert!(
            table.contains("data-value=\"ports\">ports</span><small><code>ports</code> differ.</small>"),
            "{table}"
        );
        assert!(table.contains("width=\"100\"") && table.contains("width=\"50\""), "{table}");
        assert!(
            table.contains("&lt;b&gt;") && table.contains("(none)") && !table.contains("others"),
            "{table}"
        );
        assert_eq!(table_of(&Tally::default()), "");
    }

    #[test]
    fn what_is_too_much_is_one_row() {
        let mut tally = Tally::default();
        for number in 0..50 {
            tally.add(&number.to_string());
        }
        let table = table_of(&tally);
        assert!(table.contains("40 others</th><td class=\"count\">40</td>"), "{table}");
    }
}
