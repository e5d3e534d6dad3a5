//! Findings as a compiler shows them.

use super::{Finding, Level, Source};
use crate::manifest::{Location, Span};
use crate::text::{escaped, replaced};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level as Shown, Origin, Renderer, Snippet};

/// Widest line shown, in columns; longer lines are cut around what is underlined.
const WIDTH: usize = 140;

/// Whether colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text only.
    Plain,
    /// Colours, as ANSI escapes.
    Coloured,
}

/// One finding: what is wrong, its line with the value underlined, and what to do. Ends without a line break.
pub fn render(source: &Source, finding: &Finding, style: Style) -> String {
    let title = level(finding.level).primary_title(escaped(&finding.message)).id(escaped(&finding.rule));
    let mut group = match finding.place {
        Some(place) => title.element(snippet(source, place)),
        None => title.element(Origin::path(escaped(&source.name))),
    };
    if let Some(about) = about(finding) {
        group = group.element(Shown::NOTE.message(about));
    }
    if let Some(help) = &finding.help {
        group = group.element(Shown::HELP.message(escaped(help)));
    }
    renderer(style).render(&[group])
}

/// The whole text with everything that was found underlined, each with its message beside it.
pub fn annotated(source: &Source, findings: &[Finding], style: Style) -> String {
    let (text, start) = shown(source, Span::new(0, source.text().len()));
    let marks = findings.iter().filter_map(|finding| {
        let span = clipped(source, finding.place?.span);
        let help = finding.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        let label = escaped(&format!("{}{help} [{}]", finding.message, finding.rule));
        Some(AnnotationKind::Primary.span(text.map(span)).label(label))
    });
    let worst = findings.iter().map(|finding| finding.level).min().unwrap_or(Level::Warning);
    let snippet = Snippet::source(text.text.clone()).line_start(start).fold(false).annotations(marks);
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
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    renderer.term_width(WIDTH).decor_style(DecorStyle::Ascii)
}

/// The lines of a place, underlined; of an alias too, where the value came by one.
fn snippet(source: &Source, place: Location) -> Snippet<'static, Annotation<'static>> {
    let missing = place.missing.then_some("missing here");
    let mut marks = vec![(AnnotationKind::Primary, clipped(source, place.span), missing)];
    if let Some(alias) = place.alias {
        marks.push((AnnotationKind::Context, clipped(source, alias), Some("comes here by this alias")));
    }
    let first = marks.iter().map(|(_, span, _)| span.start).min().unwrap_or_default();
    let last = marks.iter().map(|(_, span, _)| span.end).max().unwrap_or_default();
    let (text, start) = shown(source, Span::new(first, last));
    let annotations = marks.into_iter().map(|(kind, span, label)| kind.span(text.map(span)).label(label));
    let annotations: Vec<Annotation<'static>> = annotations.collect();
    Snippet::source(text.text).path(escaped(&source.name)).line_start(start).annotations(annotations)
}

/// A span that lies in the text; one past the last line is moved to its end.
fn clipped(source: &Source, span: Span) -> Span {
    let end = source.text().trim_end().len();
    if span.start > end { Span::new(end, end) } else { span }
}

/// Whole lines of a text, with every character that a terminal would obey replaced by one that it shows.
struct Lines {
    text: String,
    from: Span,
    original: String,
}

impl Lines {
    /// A span of the text as a range of what is shown.
    fn map(&self, span: Span) -> std::ops::Range<usize> {
        let at = |at: usize| {
            let before = self.original.get(..at.saturating_sub(self.from.start)).unwrap_or(&self.original);
            replaced(before).len()
        };
        at(span.start)..at(span.end)
    }
}

/// The lines that a span touches, and the number of the first.
fn shown(source: &Source, span: Span) -> (Lines, usize) {
    let (first, last) = (source.line_of(span.start), source.line_of(span.end));
    let from = Span::new(source.line(first).start, source.line(last).end);
    let original = from.of(source.text()).to_owned();
    (Lines { text: replaced(&original), from, original }, first + 1)
}
