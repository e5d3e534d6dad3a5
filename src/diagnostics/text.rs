//! Findings as a compiler shows them.

use super::{Finding, Level, Position, Source};
use crate::manifest::{Location, Span};
use crate::text::{escaped, replaced};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level as Shown, Origin, Renderer, Snippet};
use std::ops::{Range, RangeInclusive};

/// Widest line shown where it is no terminal that shows it, in columns.
const WIDTH: usize = 140;
/// Columns below which nothing can be shown of a line, and beyond which nobody reads on.
const WIDTHS: RangeInclusive<usize> = 40..=280;

/// Bytes of a line that the renderer gets on each side of what is underlined: as many columns as it may show, also where
/// a character of four bytes takes two of them. With the whole line, a thousand findings in one of a megabyte take a
/// minute.
const BESIDE: usize = 560;

/// Longest piece that is underlined, in bytes; of more the beginning is enough to know it by.
const UNDERLINED_MAX: usize = 1024;

/// Bytes from a value to the alias that brings it in, beyond which the alias is named and not shown.
const NEAR: usize = 8 * 1024;

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    coloured: bool,
    width: usize,
}

impl Style {
    /// Text only.
    pub const PLAIN: Self = Self { coloured: false, width: WIDTH };
    /// With colours, as ANSI escapes.
    pub const COLOURED: Self = Self { coloured: true, width: WIDTH };

    /// The same for a terminal of so many columns: longer lines are cut around what is underlined, so that the terminal
    /// doesn't break them and everything stands below what it is about.
    pub fn for_terminal(self, columns: usize) -> Self {
        Self { width: columns.clamp(*WIDTHS.start(), *WIDTHS.end()), ..self }
    }
}

/// One finding: what is wrong, its line with the value underlined, and what to do. Ends without a line break.
pub fn render(source: &Source, finding: &Finding, style: Style) -> String {
    let title = level(finding.level).primary_title(escaped(&finding.message)).id(escaped(&finding.rule));
    let mut group = match finding.place {
        Some(place) => title.element(snippet(source, place)),
        None => title.element(Origin::path(escaped(&source.name))),
    };
    let far = finding.place.and_then(|place| far_alias(source, place));
    for note in about(finding).into_iter().chain(far) {
        group = group.element(Shown::NOTE.message(note));
    }
    if let Some(help) = &finding.help {
        group = group.element(Shown::HELP.message(escaped(help)));
    }
    let shown = renderer(style).render(&[group]);
    match finding.place {
        Some(place) => at_its_column(shown, source.position(clipped(source, place.span).start)),
        None => shown,
    }
}

/// The renderer counts columns in the piece of the line that it got; those of the line stand below the title.
fn at_its_column(mut shown: String, Position { line, column }: Position) -> String {
    let below = shown.find('\n').map_or(0, |title| title + 1);
    let end = shown.get(below..).and_then(|rest| rest.find('\n')).map_or(shown.len(), |at| below + at);
    let mark = format!(":{line}:");
    if let Some(at) = shown.get(below..end).and_then(|place| place.rfind(&mark)) {
        let digits = below + at + mark.len();
        let count = shown.bytes().skip(digits).take_while(u8::is_ascii_digit).count();
        shown.replace_range(digits..digits + count, &column.to_string());
    }
    shown
}

/// The whole text with everything that was found underlined, each with its message beside it.
pub fn annotated(source: &Source, findings: &[Finding], style: Style) -> String {
    let excerpt = Excerpt::new(source, Span::new(0, source.text().len()));
    let marks = findings.iter().filter_map(|finding| {
        let span = clipped(source, finding.place?.span);
        let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let label = escaped(&format!("{}{help} [{}]", finding.message, finding.rule));
        Some(AnnotationKind::Primary.span(excerpt.range(span)).label(label))
    });
    let worst = findings.iter().map(|finding| finding.level).min().unwrap_or(Level::Warning);
    let snippet =
        Snippet::source(excerpt.text.as_str()).line_start(excerpt.line).fold(false).annotations(marks);
    renderer(style).render(&[Group::with_level(level(worst)).element(snippet)])
}

/// Which object and field a finding is about.
fn about(finding: &Finding) -> Option<String> {
    match (&finding.field, &finding.object) {
        (Some(field), Some(object)) => Some(escaped(&format!("{field} of {object}"))),
        (Some(one), None) | (None, Some(one)) => Some(escaped(one)),
        (None, None) => None,
    }
}

fn level(level: Level) -> Shown<'static> {
    match level {
        Level::Error => Shown::ERROR,
        Level::Warning => Shown::WARNING,
    }
}

fn renderer(style: Style) -> Renderer {
    let renderer = if style.coloured { Renderer::styled() } else { Renderer::plain() };
    renderer.term_width(style.width).decor_style(DecorStyle::Ascii)
}

/// The lines of a place, underlined; of an alias too, where the value came by one that stands near.
fn snippet(source: &Source, place: Location) -> Snippet<'static, Annotation<'static>> {
    let value = clipped(source, place.span);
    let mut marks = vec![(AnnotationKind::Primary, value, place.missing.then_some("missing here"))];
    if let Some(alias) = place.alias.filter(|alias| is_near(place.span, *alias)) {
        marks.push((AnnotationKind::Context, clipped(source, alias), Some("comes here by this alias")));
    }
    let first = marks.iter().map(|(_, span, _)| span.start).min().unwrap_or_default();
    let last = marks.iter().map(|(_, span, _)| span.end).max().unwrap_or_default();
    let excerpt = Excerpt::new(source, around(source, Span::new(first, last)));
    let annotations =
        marks.into_iter().map(|(kind, span, label)| kind.span(excerpt.range(span)).label(label));
    let annotations: Vec<Annotation<'static>> = annotations.collect();
    Snippet::source(excerpt.text)
        .path(escaped(&source.name))
        .line_start(excerpt.line)
        .annotations(annotations)
}

fn is_near(value: Span, alias: Span) -> bool {
    alias.start.abs_diff(value.start) <= NEAR
}

/// An alias that stands too far from its value to be shown with it, in words.
fn far_alias(source: &Source, place: Location) -> Option<String> {
    let alias = place.alias.filter(|alias| !is_near(place.span, *alias))?;
    let Position { line, column } = source.position(alias.start);
    Some(format!("the alias at line {line}, column {column} brings it in"))
}

/// A span that lies in the text, and is short enough; one past the last line is moved to its end.
fn clipped(source: &Source, span: Span) -> Span {
    let text = source.text();
    let end = text.trim_end().len();
    if span.start > end {
        return Span::new(end, end);
    }
    Span::new(span.start, span.end.min(text.floor_char_boundary(span.start + UNDERLINED_MAX)))
}

/// The lines that a span touches; of long ones only what stands beside it.
fn around(source: &Source, span: Span) -> Span {
    let text = source.text();
    let (first, last) = (source.line_of(span.start), source.line_of(span.end));
    let start = text.floor_char_boundary(span.start.saturating_sub(BESIDE));
    let end = text.ceil_char_boundary((span.end + BESIDE).min(text.len()));
    let start = start.max(source.line_start(first));
    Span::new(start, end.min(source.line(last).end).max(start))
}

/// A piece of a text, with every character that a terminal would obey replaced by one that it shows.
struct Excerpt<'s> {
    source: &'s Source,
    text: String,
    /// Number of its first line, from 1.
    line: usize,
    /// Where each line begins, in the source and here.
    starts: Vec<(usize, usize)>,
}

impl<'s> Excerpt<'s> {
    fn new(source: &'s Source, piece: Span) -> Self {
        let (mut text, mut starts, mut at) = (String::new(), Vec::new(), piece.start);
        for line in piece.of(source.text()).split_inclusive('\n') {
            starts.push((at, text.len()));
            text += &replaced(line);
            at += line.len();
        }
        Self { source, text, line: source.line_of(piece.start) + 1, starts }
    }

    /// A span of the source as a range of what is shown.
    fn range(&self, span: Span) -> Range<usize> {
        let at = |at: usize| {
            let line = self.starts.partition_point(|(start, _)| *start <= at).saturating_sub(1);
            let (start, shown) = self.starts.get(line).copied().unwrap_or_default();
            let before = Span::new(start, at).of(self.source.text());
            (shown + replaced(before).len()).min(self.text.len())
        };
        at(span.start)..at(span.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: usize = 1 << 20;

    fn finding(source: &Source, span: Span, alias: Option<Span>) -> Finding {
        let place = Location { span, alias, key: None, missing: false };
        assert!(span.end <= source.text().len());
        Finding::of_field(Level::Error, "r", "spec.x", "Invalid value: no; write yes", place)
    }

    /// Whatever a line is made of, and wherever in it a value stands.
    #[test]
    fn of_a_long_line_only_what_stands_beside_the_value_is_looked_at() {
        for filler in ["x ", "ä日😀 "] {
            let half = filler.repeat(MEGABYTE / 2 / filler.len());
            let source = Source::new("a.json", format!("first\n{half}VALUE{half}\nlast\n"));
            let start = "first\n".len() + half.len();
            let span = Span::new(start, start + "VALUE".len());
            let excerpt = Excerpt::new(&source, around(&source, span));
            assert!(excerpt.text.len() <= 2 * BESIDE + 16, "{} bytes", excerpt.text.len());
            assert_eq!(excerpt.text.get(excerpt.range(span)), Some("VALUE"));
            let column = half.chars().count() + 1;
            for style in [Style::PLAIN, Style::COLOURED] {
                let shown = render(&source, &finding(&source, span, None), style);
                assert!(shown.contains(&format!("a.json:2:{column}")), "{shown}");
                assert!(shown.contains("...") && shown.len() < 2000, "{shown}");
            }
        }
    }

    /// What a terminal would break stands no longer below what it is about.
    #[test]
    fn lines_fit_the_terminal() {
        let line = format!("{}VALUE{}", "x ".repeat(200), " y".repeat(200));
        let source = Source::new("a.yaml", line);
        let finding = finding(&source, Span::new(400, 405), None);
        for (columns, widest) in [(10, 40), (60, 60), (100, 100), (140, 140), (200, 200), (5000, 280)] {
            let shown = render(&source, &finding, Style::PLAIN.for_terminal(columns));
            let line = shown.lines().find(|line| line.starts_with("1 | ")).unwrap();
            let length = line.chars().count();
            assert!(
                line.contains("VALUE") && (widest - 10..=widest).contains(&length),
                "{columns}: {length}\n{shown}"
            );
        }
    }

    #[test]
    fn of_a_long_value_only_the_beginning_is_looked_at() {
        let source = Source::new("a.json", format!("a: {}\nb: 1\n", "v".repeat(MEGABYTE)));
        let span = Span::new(3, 3 + MEGABYTE);
        let shown = clipped(&source, span);
        assert_eq!(shown, Span::new(3, 3 + UNDERLINED_MAX));
        assert_eq!(around(&source, shown), Span::new(0, 3 + UNDERLINED_MAX + BESIDE));
        let shown = render(&source, &finding(&source, span, None), Style::PLAIN);
        assert!(shown.contains("a.json:1:4\n") && shown.contains("\n  |    ^^^^^^^^^^"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= WIDTH), "{shown}");
    }

    #[test]
    fn an_alias_far_away_is_named() {
        let source = Source::new("a.yaml", format!("a: &x VALUE\n{}b: *x\n", "# comment\n".repeat(NEAR)));
        let alias = source.text().len() - 3;
        let finding = finding(&source, Span::new(6, 11), Some(Span::new(alias, alias + 2)));
        let shown = render(&source, &finding, Style::PLAIN);
        let note = format!("  = note: the alias at line {}, column 4 brings it in\n", NEAR + 2);
        assert!(shown.contains("a.yaml:1:7\n") && shown.contains(&note), "{shown}");
        assert!(shown.lines().count() < 10, "{shown}");
    }
}
