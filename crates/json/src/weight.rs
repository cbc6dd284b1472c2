//! What the tree of a document takes in memory, about: it can weigh a hundred times its text.

use super::Value;

/// What a tree takes in memory beside its root, about, in bytes.
#[must_use]
pub fn weight(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(|item| WEIGHT_OF_ITEM + weight(item)).sum(),
        Value::Object(members) => {
            let inner = members.iter();
            let inner: usize = inner
                .map(|(name, member)| name.len() + weight(member))
                .sum();
            weight_of_members(members.len()) + inner
        }
        Value::String(text) => text.len(),
        // These values are stored in the array or object that contains them, and are counted there.
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// The nodes of an object's tree, without the texts in them.
pub(super) fn weight_of_members(count: usize) -> usize {
    count.div_ceil(MEMBERS_OF_NODE) * NODE
}

/// An item of an array, with the room that the array keeps for growing.
pub(super) const WEIGHT_OF_ITEM: usize = 64;
/// A node of an object's tree, and how many members it holds at least when there are more of them.
const NODE: usize = 640;
const MEMBERS_OF_NODE: usize = 5;
