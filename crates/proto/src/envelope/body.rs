//! What a message carries in clear. Most of it is read by nobody before the agent itself: its tree is made when somebody asks.

use std::ops::Range;
use std::sync::OnceLock;

use signet_json::{Extent, Limits, Value};

/// What a message carries in clear.
#[derive(Clone)]
pub(super) enum Body {
    /// Its tree, which had to be made.
    Tree(Value),
    /// Its place in the canonical bytes of the message, which the reader of canonical form went over.
    Bytes {
        place: Range<usize>,
        weight: usize,
        // The tree is made at its first use: most bodies are never read here. Threads share the message, so the thread that
        // asks first makes the tree for all of them.
        tree: OnceLock<Value>,
    },
}

/// The body of a message in clear, in the form in which the message holds it.
#[derive(Clone, Copy)]
pub enum HeldBody<'a> {
    /// Canonical text.
    Text(&'a str),
    /// A tree: the message was spelt otherwise, or was read from the log or from the state.
    Tree(&'a Value),
}

impl Body {
    /// What stands there, once a `CanonicalReader` under the limits of a message has gone over it.
    pub(super) fn at(extent: Extent) -> Self {
        Self::Bytes {
            place: extent.bytes,
            weight: extent.weight,
            tree: OnceLock::new(),
        }
    }

    /// The tree; `canonical` is the message that it is of.
    pub(super) fn tree(&self, canonical: &[u8]) -> &Value {
        match self {
            Self::Tree(tree) => tree,
            Self::Bytes { place, tree, .. } => tree.get_or_init(|| read(place, canonical)),
        }
    }

    /// A tree of its own for whoever takes it away: the message then keeps its bytes alone.
    pub(super) fn copy(&self, canonical: &[u8]) -> Value {
        match self {
            Self::Tree(tree) => tree.clone(),
            Self::Bytes { place, tree, .. } => {
                let made = tree.get().cloned();
                made.unwrap_or_else(|| read(place, canonical))
            }
        }
    }

    /// The form in which it is held.
    pub(super) fn held<'a>(&'a self, canonical: &'a [u8]) -> HeldBody<'a> {
        match self {
            Self::Tree(tree) => HeldBody::Tree(tree),
            Self::Bytes { place, .. } => HeldBody::Text(text(place, canonical)),
        }
    }

    pub(super) fn into_tree(self, canonical: &[u8]) -> Value {
        match self {
            Self::Tree(tree) => tree,
            Self::Bytes { place, tree, .. } => {
                let made = tree.into_inner();
                made.unwrap_or_else(|| read(&place, canonical))
            }
        }
    }

    /// What its tree takes in memory, about, in bytes, made or not: each message in the inbox is counted with what it may
    /// come to weigh.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Tree(tree) => signet_json::weight(tree),
            Self::Bytes { weight, .. } => *weight,
        }
    }
}

/// What the reader of canonical form took is taken by the parser: nothing is lost by the default.
fn read(place: &Range<usize>, canonical: &[u8]) -> Value {
    signet_json::parse(text(place, canonical).as_bytes(), Limits::MESSAGE).unwrap_or_default()
}

/// The reader of canonical form has gone over this place, so the default is never used.
fn text<'a>(place: &Range<usize>, canonical: &'a [u8]) -> &'a str {
    let bytes = canonical.get(place.clone());
    let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.unwrap_or("null")
}
