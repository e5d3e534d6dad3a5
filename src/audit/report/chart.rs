//! Records over time, as a chart of columns.

use crate::audit::query::{Span, Timeline};

use super::html::Html;

/// Most columns: each is wide enough to be pointed at.
const COLUMNS_MAX: usize = 72;

/// Most times along the axis; each takes a sixth of the width.
const TIMES_MAX: usize = 6;

/// The drawing, in its own units: it is scaled to the page.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 12.0;
const HEIGHT: f64 = 180.0;
const BELOW: f64 = 44.0;
/// A date.
const TIME_WIDTH: f64 = 80.0;

/// Writes the chart.
pub(super) fn chart(html: &mut Html, times: &Timeline) {
    let (seconds, spans) = times.at_most(COLUMNS_MAX);
    if spans.is_empty() {
        return;
    }
    let top = round_up(spans.iter().map(|span| span.count).max().unwrap_or(1));
    html.markup("<figure><svg viewBox=\"0 0 ").number(WIDTH).markup(" ").number(TOP + HEIGHT + BELOW);
    html.markup("\" role=\"img\" aria-labelledby=\"chart-title\"><title id=\"chart-title\">Records in each ");
    html.text(&unit(seconds)).markup("</title>");
    scale(html, top);
    for (index, span) in spans.iter().enumerate() {
        column(html, &spans, index, *span, top);
    }
    time_axis(html, &spans, seconds);
    html.markup("</svg><figcaption>Records in each ")
        .text(&unit(seconds))
        .markup(", times in UTC</figcaption></figure>\n");
}

/// Lines at none, half and all of the highest number.
fn scale(html: &mut Html, top: u64) {
    let halves: &[u64] = if top == 1 { &[0, 2] } else { &[0, 1, 2] };
    for half in halves {
        let y = TOP + HEIGHT - HEIGHT * as_float(*half) / 2.0;
        html.markup("<path class=\"line\" d=\"M")
            .number(LEFT)
            .markup(" ")
            .number(y)
            .markup("H")
            .number(WIDTH);
        html.markup("\"/><text class=\"amount\" x=\"").number(LEFT - 8.0).markup("\" y=\"").number(y + 4.0);
        html.markup("\">").count(top * half / 2).markup("</text>");
    }
}

fn column(html: &mut Html, spans: &[Span], index: usize, span: Span, top: u64) {
    let step = (WIDTH - LEFT) / as_float(spans.len() as u64);
    let height = HEIGHT * as_float(span.count) / as_float(top);
    // One record among thousands is still seen.
    let height = if span.count > 0 { height.max(1.5) } else { 0.0 };
    html.markup("<rect class=\"column\" x=\"")
        .number(tenths(LEFT + step * as_float(index as u64) + step * 0.1));
    html.markup("\" y=\"")
        .number(tenths(TOP + HEIGHT - height))
        .markup("\" width=\"")
        .number(tenths((step * 0.8).min(80.0)));
    html.markup("\" height=\"").number(tenths(height)).markup("\"><title>").text(&span.start.to_string());
    html.markup(": ").count(span.count).markup("</title></rect>");
}

fn time_axis(html: &mut Html, spans: &[Span], seconds: i64) {
    let step = (WIDTH - LEFT) / as_float(spans.len() as u64);
    let every = spans.len().div_ceil(TIMES_MAX);
    for (index, span) in spans.iter().enumerate().step_by(every) {
        let x = tenths(LEFT + step * as_float(index as u64) + step * 0.1);
        let text = span.start.to_string();
        let (day, time) = text.split_once('T').unwrap_or((&text, ""));
        time_text(html, x, TOP + HEIGHT + 18.0, day);
        if seconds < 24 * 3600 {
            time_text(html, x, TOP + HEIGHT + 36.0, time.get(..5).unwrap_or(time));
        }
    }
}

/// At the right edge, a text ends at its place instead of beginning there.
fn time_text(html: &mut Html, x: f64, y: f64, text: &str) {
    let (class, x) = if x + TIME_WIDTH > WIDTH { ("time end", WIDTH) } else { ("time", x) };
    html.markup("<text class=\"").markup(class).markup("\" x=\"").number(x).markup("\" y=\"").number(y);
    html.markup("\">").text(text).markup("</text>");
}

/// The next number of the kind 1, 2, 4, 6, 8 or 10 times a power of ten: half of it is a round number, too.
fn round_up(number: u64) -> u64 {
    let mut power = 1u64;
    loop {
        let round = [1, 2, 4, 6, 8, 10].map(|digit| power.saturating_mul(digit));
        if let Some(round) = round.into_iter().find(|round| *round >= number) {
            return round;
        }
        power = power.saturating_mul(10);
    }
}

/// `hour`, `3 hours`, `day`, `7 days`.
fn unit(seconds: i64) -> String {
    let (length, name) =
        if seconds % 86400 == 0 { (seconds / 86400, "day") } else { (seconds / 3600, "hour") };
    if length == 1 { name.to_owned() } else { format!("{length} {name}s") }
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[allow(clippy::cast_precision_loss, reason = "for pixels")]
fn as_float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart_of(times: &[&str]) -> String {
        let timeline = times.iter().fold(Timeline::default(), |mut timeline, time| {
            timeline.add(time.parse().unwrap());
            timeline
        });
        let mut html = Html::default();
        chart(&mut html, &timeline);
        html.take()
    }

    #[test]
    fn there_is_a_column_a_span_and_each_says_what_it_is() {
        let chart = chart_of(&["2026-11-29T16:10:00Z", "2026-11-29T16:20:00Z", "2026-11-29T18:00:00Z"]);
        assert_eq!(chart.matches("class=\"column\"").count(), 3);
        assert!(chart.contains("<title>2026-11-29T16:00:00Z: 2</title>"), "{chart}");
        assert!(chart.contains("height=\"180\"") && chart.contains("height=\"90\""), "{chart}");
        assert!(chart.contains(">2026-11-29</text>") && chart.contains(">16:00</text>"), "{chart}");
        assert!(chart.contains("Records in each hour, times in UTC"), "{chart}");
        assert_eq!(chart_of(&[]), "");
    }

    #[test]
    fn the_scale_ends_at_a_round_number() {
        for (most, top) in
            [(1, 1), (2, 2), (3, 4), (7, 8), (9, 10), (11, 20), (4100, 6000), (u64::MAX, u64::MAX)]
        {
            assert_eq!(round_up(most), top, "{most}");
        }
    }

    #[test]
    fn spans_have_names() {
        for (hours, name) in [(1, "hour"), (6, "6 hours"), (24, "day"), (168, "7 days")] {
            assert_eq!(unit(hours * 3600), name);
        }
    }
}
