//! From a place in a value to the place in the text.

use super::node::{Child, Content, Node, Span};
use crate::text::escaped;
use jsonptr::{Pointer, PointerBuf};
use std::borrow::Cow;

/// Where a value stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// What to underline: a scalar, a collection in brackets on one line, else the key; where nothing stands there,
    /// the key of what should hold it.
    pub span: Span,
    /// The alias by which the value came there, where it stands elsewhere.
    pub alias: Option<Span>,
    /// The key of the value, where it has one.
    pub key: Option<Span>,
    /// Whether nothing stands at the place that was asked for.
    pub missing: bool,
}

impl Location {
    /// The place of the key, where the value has one.
    pub fn at_key(self) -> Self {
        Self { span: self.key.unwrap_or(self.span), ..self }
    }
}

/// A value in a document: the document itself, or something in it.
#[derive(Clone, Copy, Debug)]
pub struct Part<'d> {
    pub(super) child: &'d Child,
    pub(super) text: &'d str,
}

impl<'d> Part<'d> {
    /// The value.
    pub fn value(&self) -> serde_json::Value {
        self.child.node.value()
    }

    /// Everything that it covers in the text.
    pub fn span(&self) -> Span {
        self.child.node.span
    }

    /// What stands at a place of its file.
    pub fn written(&self, span: Span) -> &'d str {
        span.of(self.text)
    }

    /// Its own text, as it is written.
    pub fn source(&self) -> &'d str {
        self.span().of(self.text)
    }

    /// Whether it is `null`, or nothing at all.
    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(serde_json::Value::is_null)
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.child.node.content, Content::List(_))
    }

    /// The value, where it is neither a list nor an object.
    pub fn scalar(&self) -> Option<&'d serde_json::Value> {
        match &self.child.node.content {
            Content::Scalar(value) => Some(value),
            Content::List(_) | Content::Object(_) => None,
        }
    }

    /// A field of it.
    pub fn field(&self, name: &str) -> Option<Self> {
        self.child.node.field(name).map(|child| self.with(child))
    }

    /// The names of its fields, with the places of their keys.
    pub fn fields(&self) -> impl Iterator<Item = (&'d str, Self)> + use<'d> {
        let part = *self;
        let fields = match &self.child.node.content {
            Content::Object(fields) => Some(fields),
            Content::Scalar(_) | Content::List(_) => None,
        };
        fields.into_iter().flatten().map(move |(name, child)| (name.as_str(), part.with(child)))
    }

    /// Its items, where it is a list.
    pub fn items(&self) -> impl Iterator<Item = Self> + use<'d> {
        let part = *self;
        let items = match &self.child.node.content {
            Content::List(items) => Some(items),
            Content::Scalar(_) | Content::Object(_) => None,
        };
        items.into_iter().flatten().map(move |child| part.with(child))
    }

    /// Its text, where it is one.
    pub fn text(&self) -> Option<&'d str> {
        self.scalar().and_then(serde_json::Value::as_str)
    }

    /// Where it stands.
    pub fn location(&self) -> Location {
        locate(self.text, self.child, self.child.alias, self.child.key, false)
    }

    /// Where the value of a JSON pointer stands.
    pub fn at_pointer(&self, pointer: &Pointer) -> Location {
        let steps: Vec<Cow<'_, str>> =
            pointer.tokens().map(|token| token.decoded().into_owned().into()).collect();
        self.at(steps.iter().map(AsRef::as_ref))
    }

    /// Where the value of a Kubernetes field path stands, such as `spec.etcd.peerUrls[0]` or `spec.labels[a.b/c]`.
    pub fn at_field(&self, path: &str) -> Location {
        let steps = self.steps(path);
        self.at(steps.iter().map(AsRef::as_ref))
    }

    /// A Kubernetes field path as a JSON pointer.
    pub fn pointer(&self, path: &str) -> PointerBuf {
        PointerBuf::from_tokens(self.steps(path).iter().map(AsRef::<str>::as_ref))
    }

    fn with(self, child: &'d Child) -> Self {
        Self { child, text: self.text }
    }

    fn at<'s>(&self, steps: impl Iterator<Item = &'s str>) -> Location {
        let (mut child, mut alias, mut key) = (self.child, self.child.alias, self.child.key);
        for step in steps {
            let Some(next) = step_into(&child.node, step) else {
                return locate(self.text, child, alias, key, true);
            };
            child = next;
            alias = next.alias.or(alias);
            key = next.key;
        }
        locate(self.text, child, alias, key, false)
    }

    /// The steps of a field path. In brackets stands an index, or all the rest is the key of a map: which of the two
    /// the value tells.
    fn steps<'p>(&self, path: &'p str) -> Vec<Cow<'p, str>> {
        let mut steps = Vec::new();
        let (mut node, mut rest): (Option<&Node>, &str) = (Some(&self.child.node), path);
        while !rest.is_empty() {
            let (step, behind) = match rest.strip_prefix('[') {
                Some(inner) => in_brackets(node, inner),
                None => name(rest),
            };
            node = node.and_then(|node| step_into(node, &step)).map(|child| &*child.node);
            steps.push(step);
            rest = behind;
        }
        steps
    }
}

fn name(rest: &str) -> (Cow<'_, str>, &str) {
    let name = rest.strip_prefix('.').unwrap_or(rest);
    let (name, behind) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
    (Cow::Borrowed(name), behind)
}

fn in_brackets<'p>(node: Option<&Node>, inner: &'p str) -> (Cow<'p, str>, &'p str) {
    if let Some(Content::Object(fields)) = node.map(|node| &node.content) {
        let shown = inner.strip_suffix(']').unwrap_or(inner);
        // Messages show keys escaped.
        let key = || fields.keys().find(|key| escaped(key) == shown);
        let key = if fields.contains_key(shown) { None } else { key() };
        return (key.map_or(Cow::Borrowed(shown), |key| Cow::Owned(key.clone())), "");
    }
    let (index, behind) = inner.split_once(']').unwrap_or((inner, ""));
    (Cow::Borrowed(index), behind)
}

fn step_into<'n>(node: &'n Node, step: &str) -> Option<&'n Child> {
    node.field(step).or_else(|| node.item(step.parse().ok()?))
}

fn locate(text: &str, child: &Child, alias: Option<Span>, key: Option<Span>, missing: bool) -> Location {
    let value = child.node.span;
    let is_on_one_line = child.node.compact && !value.of(text).contains('\n');
    let is_scalar = matches!(child.node.content, Content::Scalar(_));
    let span = match key {
        _ if !missing && !value.is_empty() && (is_on_one_line || is_scalar) => value,
        Some(key) => key,
        None => first_line(text, value),
    };
    Location { span, alias, key, missing }
}

fn first_line(text: &str, span: Span) -> Span {
    let line = span.of(text).lines().next().unwrap_or_default();
    Span::new(span.start, span.start + line.len())
}
