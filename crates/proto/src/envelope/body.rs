//! What a message carries in clear. Most of it is read by nobody before the agent itself: its tree is made when somebody asks.

use std::borrow::Cow;
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

    /// Its canonical text.
    pub(super) fn text<'a>(&self, canonical: &'a [u8]) -> Cow<'a, str> {
        match self {
            Self::Tree(tree) => {
                String::from_utf8(signet_json::canonical(tree)).map_or(NULL, Cow::Owned)
            }
            Self::Bytes { place, .. } => {
                let bytes = canonical.get(place.clone()).unwrap_or_default();
                std::str::from_utf8(bytes).map_or(NULL, Cow::Borrowed)
            }
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
    let bytes = canonical.get(place.clone()).unwrap_or_default();
    signet_json::parse(bytes, Limits::MESSAGE).unwrap_or_default()
}

/// Canonical text is UTF-8: nothing is lost by this default.
const NULL: Cow<'static, str> = Cow::Borrowed("null");
