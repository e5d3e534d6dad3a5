//! From a parser's events to values with their places.

use super::node::{Child, Content, Node, Span};
use super::scalar;
use super::{Comment, DEPTH_MAX, Document, Duplicate, SyntaxError};
use crate::text::quoted;
use granit_parser::{ErrorKind, Event, Options, Parser, ScalarStyle, StrInput, StructureStyle, Tag};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Most values that aliases may add to a document: where go-yaml begins to refuse.
const ALIASED_MAX: usize = 400_000;

/// What one document's text holds.
pub(super) struct Built {
    /// The document; nothing where there is none but comments.
    pub(super) document: Option<Document>,
    /// What stands behind the document's end, which kubectl passes over.
    pub(super) unread: Option<Span>,
    /// Comments without a document.
    pub(super) loose: Vec<Comment>,
}

impl Built {
    /// Whether the document is neither a list nor a mapping.
    pub(super) fn is_scalar(&self) -> bool {
        let content = self.document.as_ref().map(|document| &document.root.node.content);
        content.is_some_and(|content| matches!(content, Content::Scalar(_)))
    }
}

/// Reads the document in a piece of a text.
pub(super) fn build(text: &str, chunk: Span) -> Result<Built, SyntaxError> {
    let mut builder = Builder::new(text, chunk)?;
    let root = builder.document()?;
    let unread = match &root {
        Some(root) => builder.rest(root)?,
        None => None,
    };
    let Builder { comments, duplicates, .. } = builder;
    let Some(node) = root else { return Ok(Built { document: None, unread, loose: comments }) };
    let root = Child { key: None, alias: None, node };
    Ok(Built { document: Some(Document { root, comments, duplicates }), unread, loose: Vec::new() })
}

struct Builder<'t> {
    text: &'t str,
    chunk: Span,
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Rc<Node>>,
    comments: Vec<Comment>,
    duplicates: Vec<Duplicate>,
    /// How many values were written down so far.
    written: usize,
}

/// One event and its place in the whole text.
type Step<'t> = (Event<'t>, Span);

impl<'t> Builder<'t> {
    fn new(text: &'t str, chunk: Span) -> Result<Self, SyntaxError> {
        let part = chunk.of(text);
        if let Some((at, character)) = part.char_indices().find(|(_, character)| is_forbidden(*character)) {
            let message = format!("control character U+{:04X} can't stand in YAML", u32::from(character));
            return Err(SyntaxError::at(text, chunk.start + at, message));
        }
        Ok(Self {
            text,
            chunk,
            parser: Parser::new_from_str_with_options(part, options()),
            anchors: HashMap::new(),
            comments: Vec::new(),
            duplicates: Vec::new(),
            written: 0,
        })
    }

    /// The next event that is no comment.
    fn step(&mut self) -> Result<Step<'t>, SyntaxError> {
        loop {
            let next = self
                .parser
                .next_event()
                .unwrap_or_else(|| Ok((Event::StreamEnd, granit_parser::Span::default())));
            let (event, place) = next.map_err(|error| self.scan_error(&error))?;
            let bytes = place.byte_range().unwrap_or_default();
            let span = Span::new(self.chunk.start + bytes.start, self.chunk.start + bytes.end);
            match event {
                Event::Comment(text, _) => self.comments.push(Comment { span, text: text.into_owned() }),
                event => return Ok((event, span)),
            }
        }
    }

    fn scan_error(&self, error: &granit_parser::ScanError) -> SyntaxError {
        let at = self.chunk.start + error.marker().byte_offset().unwrap_or_default();
        let found = match error.kind() {
            ErrorKind::UnknownAnchor => unknown_anchor(self.text, at),
            ErrorKind::RecursionLimitExceeded => SyntaxError::too_deep(self.text, at),
            _ => SyntaxError::at(self.text, at, error.info()),
        };
        let is_tab = self.text.get(..at).is_some_and(|before| before.ends_with('\t'));
        let is_tab = is_tab || found.span.of(self.text) == "\t";
        let spaces = is_tab.then(|| "indent with spaces".to_owned());
        let help = self.template_help(at).or(spaces).or(found.help).or_else(|| self.directive_help());
        SyntaxError { help, ..found }
    }

    /// kubectl cuts the text at `---`, so that a directive is a document of its own for it, and none that it can read.
    fn directive_help(&self) -> Option<String> {
        let line = self.chunk.of(self.text).trim_start().lines().next()?;
        line.starts_with('%')
            .then(|| format!("remove {}: kubectl takes no such line", quoted(line.trim_end())))
    }

    /// The first document's value.
    fn document(&mut self) -> Result<Option<Rc<Node>>, SyntaxError> {
        loop {
            match self.step()? {
                (Event::StreamStart | Event::DocumentStart(..), _) => {}
                (Event::StreamEnd, _) => return Ok(None),
                (event, span) => {
                    self.no_tab_before(span)?;
                    return self.child(event, span, None).map(|child| Some(child.node));
                }
            }
        }
    }

    /// A block is indented by spaces; the parser says so of all but the first line.
    fn no_tab_before(&self, first: Span) -> Result<(), SyntaxError> {
        let before = Span::new(self.chunk.start, first.start).of(self.text);
        let indentation = before.rsplit('\n').next().unwrap_or_default();
        let is_json = Span::new(first.start, self.chunk.end).of(self.text).starts_with(['{', '[']);
        match indentation.find('\t') {
            Some(tab) if !is_json => {
                let at = first.start - indentation.len() + tab;
                Err(SyntaxError::at(self.text, at, "a tab can't indent a block".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// What follows the end of a document, if anything does.
    fn rest(&mut self, root: &Node) -> Result<Option<Span>, SyntaxError> {
        let start = loop {
            match self.step() {
                Ok((Event::DocumentEnd, _)) => {}
                Ok((Event::StreamEnd, _)) => return Ok(None),
                Ok((_, span)) => break span.start,
                // Mostly `name value` in the place of `name: value`, which no document that is an object begins with.
                Err(error) if !is_object(root) && !self.is_ended(root.span.end, error.span.start) => {
                    return Err(error);
                }
                Err(error) => break error.span.start,
            }
        };
        let rest = Span::new(start, self.chunk.end).of(self.text).trim_end();
        Ok((!rest.is_empty()).then(|| Span::new(start, start + rest.len())))
    }

    /// Whether a line between two places says that the document ends.
    fn is_ended(&self, from: usize, to: usize) -> bool {
        let between = self.text.get(from..to).unwrap_or_default();
        between.lines().skip(1).any(|line| line.starts_with("..."))
    }

    fn child(&mut self, event: Event<'t>, span: Span, key: Option<Span>) -> Result<Child, SyntaxError> {
        self.written += 1;
        if let Event::Alias(id) = event {
            let node = self.anchors.get(&id).cloned();
            let node = node.ok_or_else(|| SyntaxError::new(span, "the anchor's value contains itself"))?;
            return self.bounded(Child { key, alias: Some(span), node });
        }
        let anchor = event.anchor_id();
        let node = Rc::new(match event {
            Event::Scalar(text, style, _, tag) => self.scalar(&text, style, tag.as_deref(), span)?,
            Event::SequenceStart(style, ..) => self.list(style, span)?,
            Event::MappingStart(style, ..) => self.object(style, span)?,
            _ => return Err(SyntaxError::new(span, "no value stands here")),
        });
        if let Some(id) = anchor {
            self.anchors.insert(id, Rc::clone(&node));
        }
        self.bounded(Child { key, alias: None, node })
    }

    fn bounded(&self, child: Child) -> Result<Child, SyntaxError> {
        if child.node.depth > DEPTH_MAX {
            let place = child.alias.unwrap_or(child.node.span);
            return Err(SyntaxError::too_deep(self.text, place.start));
        }
        self.check_size(&child).map(|()| child)
    }

    fn check_size(&self, child: &Child) -> Result<(), SyntaxError> {
        if child.node.size.saturating_sub(self.written) <= ALIASED_MAX {
            return Ok(());
        }
        let place = child.alias.unwrap_or(child.node.span);
        let message = format!("aliases repeat more than {ALIASED_MAX} values");
        let help = "kubectl refuses that too: write fewer aliases of what holds aliases itself".to_owned();
        Err(SyntaxError { help: Some(help), ..SyntaxError::at(self.text, place.start, message) })
    }

    fn scalar(
        &self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        span: Span,
    ) -> Result<Node, SyntaxError> {
        // A value that isn't there comes as `~`.
        let text = if span.is_empty() && style == ScalarStyle::Plain { "" } else { text };
        let value =
            scalar::resolve(text, style, tag).map_err(|message| SyntaxError { span, message, help: None })?;
        let end = span.start + span.of(self.text).trim_end().len();
        Ok(Node::new(Span::new(span.start, end), Content::Scalar(value), true))
    }

    fn list(&mut self, style: StructureStyle, start: Span) -> Result<Node, SyntaxError> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.step()?;
            if matches!(event, Event::SequenceEnd) {
                let covered = covered(style, start, span, items.last(), self.text);
                return Ok(Node::new(covered, Content::List(items), style == StructureStyle::Flow));
            }
            items.push(self.child(event, span, None)?);
        }
    }

    fn object(&mut self, style: StructureStyle, start: Span) -> Result<Node, SyntaxError> {
        let mut mapping = Mapping::default();
        loop {
            let (event, key) = self.step()?;
            if matches!(event, Event::MappingEnd) {
                let covered = covered(style, start, key, mapping.last.as_ref(), self.text);
                self.duplicates.append(&mut mapping.duplicates);
                return Ok(Node::new(
                    covered,
                    Content::Object(mapping.fields),
                    style == StructureStyle::Flow,
                ));
            }
            let is_merge = matches!(&event, Event::Scalar(text, style, _, tag)
                if scalar::is_merge(text, *style, tag.as_deref()));
            let name = if is_merge { None } else { Some(self.key(event, key)?) };
            let (event, span) = self.step()?;
            let value = self.child(event, span, Some(key))?;
            mapping.last = Some(value.clone());
            match name {
                Some(name) => mapping.insert(name, value, key),
                None => mapping.merge_from(&value, key)?,
            }
        }
    }

    fn key(&mut self, event: Event<'t>, span: Span) -> Result<String, SyntaxError> {
        let child = self.child(event, span, None)?;
        let place = child.alias.unwrap_or(child.node.span);
        scalar::key(child.node.value()).map_err(|message| SyntaxError {
            span: place,
            message,
            help: self.template_help(place.start),
        })
    }

    /// Most of what is no YAML is what makes YAML.
    fn template_help(&self, at: usize) -> Option<String> {
        let before = self.text.get(..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |line_break| line_break + 1);
        let line = self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        line.contains("{{")
            .then(|| "this is a template: lint what is made from it (helm template …)".to_owned())
    }
}

fn is_object(node: &Node) -> bool {
    matches!(node.content, Content::Object(_))
}

/// An alias of nothing is often a text that was meant to begin with `*`.
fn unknown_anchor(text: &str, at: usize) -> SyntaxError {
    let rest = text.get(at + 1..).unwrap_or_default();
    let is_end = |character: char| character.is_whitespace() || ",[]{}".contains(character);
    let name = rest.split(is_end).next().unwrap_or_default();
    let span = Span::new(at, at + 1 + name.len());
    let name = quoted(name).trim_matches('"').to_owned();
    SyntaxError {
        span,
        message: format!("no anchor &{name} stands before this alias in its document"),
        help: Some(format!(
            "write &{name} before the value that is meant, or \"*{name}\" in quotes where a text is meant"
        )),
    }
}

/// A mapping in the making.
#[derive(Default)]
struct Mapping {
    fields: BTreeMap<String, Child>,
    /// Keys that stand in the mapping itself, and where.
    own: HashMap<String, Span>,
    duplicates: Vec<Duplicate>,
    last: Option<Child>,
}

impl Mapping {
    /// The last value of a key counts.
    fn insert(&mut self, name: String, value: Child, key: Span) {
        if let Some(first) = self.own.insert(name.clone(), key) {
            self.duplicates.push(Duplicate { name: name.clone(), first, second: key });
        }
        self.fields.insert(name, value);
    }

    /// Takes over what a merge brings, the later ones of a list first: so the earlier ones count. What the mapping
    /// itself said before the merge counts no longer, for kubectl.
    fn merge_from(&mut self, value: &Child, key: Span) -> Result<(), SyntaxError> {
        let place = value.alias.unwrap_or(value.node.span);
        let wrong = || SyntaxError::new(place, "\"<<\" takes a mapping, or a list of mappings");
        match &value.node.content {
            Content::Object(fields) => self.take_over(fields, value.alias, key),
            Content::List(items) if value.alias.is_none() => {
                for item in items.iter().rev() {
                    let Content::Object(fields) = &item.node.content else { return Err(wrong()) };
                    self.take_over(fields, item.alias, key);
                }
            }
            Content::List(_) | Content::Scalar(_) => return Err(wrong()),
        }
        Ok(())
    }

    fn take_over(&mut self, fields: &BTreeMap<String, Child>, alias: Option<Span>, key: Span) {
        for (name, field) in fields {
            if let Some(first) = self.own.get(name) {
                self.duplicates.push(Duplicate { name: name.clone(), first: *first, second: key });
            }
            let field = Child { alias: alias.or(field.alias), ..field.clone() };
            self.fields.insert(name.clone(), field);
        }
    }
}

/// What a collection covers: what is in brackets with them, a block up to the end of its last value.
fn covered(style: StructureStyle, start: Span, end: Span, last: Option<&Child>, text: &str) -> Span {
    if style == StructureStyle::Flow {
        return Span::new(start.start, end.end);
    }
    let end = last.map_or(end.end, |last| last.alias.unwrap_or(last.node.span).end);
    let covered = Span::new(start.start, end.max(start.start));
    Span::new(covered.start, covered.start + covered.of(text).trim_end().len())
}

/// Characters that go-yaml takes nowhere, not even in quotes.
fn is_forbidden(character: char) -> bool {
    matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{84}'
        | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
}

fn options() -> Options {
    granit_parser::options! {
        // Heads of files are longer than the default, and what is buffered is in memory already.
        max_buffered_comment_events: usize::MAX,
        flow_nesting_limit: DEPTH_MAX,
        block_nesting_limit: DEPTH_MAX,
    }
}
