//! A value with the place of everything in it.

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A piece of a text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Where it begins.
    pub start: usize,
    /// Where it ends; itself not part of it.
    pub end: usize,
}

impl Span {
    /// From one place up to another.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Whether nothing is in it.
    pub const fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// The text of it; empty where the text is another one.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// A value, and where it stands. What an alias repeats is shared.
#[derive(Debug)]
pub(super) struct Node {
    /// The value without anchor, tag and the head of a block; of a block collection from its first to its last value.
    pub(super) span: Span,
    pub(super) content: Content,
    /// Whether it is a scalar, or a collection in brackets.
    pub(super) compact: bool,
    /// Levels of collections in it.
    pub(super) depth: usize,
    /// Values in it, with all that aliases repeat.
    pub(super) size: usize,
}

#[derive(Debug)]
pub(super) enum Content {
    Scalar(Value),
    List(Vec<Child>),
    Object(BTreeMap<String, Child>),
}

/// A value in a collection.
#[derive(Clone, Debug)]
pub(super) struct Child {
    /// The key, in an object.
    pub(super) key: Option<Span>,
    /// The alias by which it came here.
    pub(super) alias: Option<Span>,
    pub(super) node: Rc<Node>,
}

impl Node {
    pub(super) fn new(span: Span, content: Content, compact: bool) -> Self {
        let sum = |children: &mut dyn Iterator<Item = &Child>| {
            children.fold((0, 1_usize), |(depth, size), child| {
                (depth.max(child.node.depth), size.saturating_add(child.node.size))
            })
        };
        let (depth, size) = match &content {
            Content::Scalar(_) => (0, 1),
            Content::List(items) => sum(&mut items.iter()),
            Content::Object(fields) => sum(&mut fields.values()),
        };
        let own_level = usize::from(!matches!(content, Content::Scalar(_)));
        Self { span, content, compact, depth: depth + own_level, size }
    }

    /// The value alone.
    pub(super) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => items.iter().map(|item| item.node.value()).collect(),
            Content::Object(fields) => Value::Object(
                fields.iter().map(|(key, field)| (key.clone(), field.node.value())).collect::<Map<_, _>>(),
            ),
        }
    }

    pub(super) fn field(&self, name: &str) -> Option<&Child> {
        match &self.content {
            Content::Object(fields) => fields.get(name),
            Content::Scalar(_) | Content::List(_) => None,
        }
    }

    pub(super) fn item(&self, index: usize) -> Option<&Child> {
        match &self.content {
            Content::List(items) => items.get(index),
            Content::Scalar(_) | Content::Object(_) => None,
        }
    }
}
