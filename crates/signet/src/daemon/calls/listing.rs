//! How much one listing gives. What it shows is parsed JSON, which can weigh a hundred times its text,
//! and sealed messages are opened for it one by one: a listing stops before it grows heavy, and the
//! caller asks on from there.

use serde_json::Value;
use signet_api::{Draft, Message, Outgoing, Quarantined, Said, Waiting};

/// What an item of a listing takes in memory, in bytes, about.
pub(in crate::daemon) trait Weigh {
    fn weight(&self) -> usize;
}

/// The first of `items`, as many as one listing gives: at least one where there is one, at most `most`
/// and [`MESSAGES`], and no more than [`BYTES`] together. What is not given is not made.
pub(super) fn page<T: Weigh>(items: impl Iterator<Item = T>, most: usize) -> Vec<T> {
    let (mut page, mut bytes) = (Vec::new(), 0_usize);
    for item in items.take(most.min(MESSAGES)) {
        bytes = bytes.saturating_add(item.weight());
        // Give the first item whatever its size: a caller asks on from the last item that it got,
        // and would never get past a large one.
        if bytes > BYTES && !page.is_empty() {
            break;
        }
        page.push(item);
    }
    page
}

impl Weigh for Message {
    fn weight(&self) -> usize {
        let body = self.body.as_ref().map_or(0, weight);
        let summary = self.summary.as_ref().map_or(0, String::len);
        let error = self.error.as_ref().map_or(0, |error| error.message.len());
        HEADERS + body + summary + error
    }
}

/// A message with a few words beside it weighs as much as the message.
macro_rules! weigh_as_message {
    ($($item:ty),*) => {$(
        impl Weigh for $item {
            fn weight(&self) -> usize {
                self.message.weight()
            }
        }
    )*};
}

weigh_as_message!(Waiting, Said, Quarantined);

impl Weigh for Draft {
    fn weight(&self) -> usize {
        let summary = self.summary.as_ref().map_or(0, String::len);
        HEADERS + summary + weight(&self.body) + self.draft.as_ref().map_or(0, weight)
    }
}

impl Weigh for Outgoing {
    fn weight(&self) -> usize {
        HEADERS
    }
}

/// What a value takes in memory, in bytes, about.
fn weight(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            let inner = members.iter();
            let inner: usize = inner
                .map(|(name, member)| name.len() + weight(member))
                .sum();
            inner + members.len().div_ceil(NODE_MEMBERS) * NODE
        }
        Value::String(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    inner.saturating_add(VALUE)
}

/// How many messages one listing gives.
pub(super) const MESSAGES: usize = 1_000;
/// How many bytes of memory.
pub(in crate::daemon) const BYTES: usize = 4 * 1024 * 1024;
/// What stands around a message's own words, once as a type and once as JSON.
const HEADERS: usize = 2 * 1024;
/// One value, with the room that an array keeps for growing.
const VALUE: usize = 64;
/// A node of an object's tree, and how many members it holds at least when there are more of them.
const NODE: usize = 640;
const NODE_MEMBERS: usize = 5;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;

    impl Weigh for Value {
        fn weight(&self) -> usize {
            weight(self)
        }
    }

    #[test]
    fn a_listing_ends_by_its_weight_and_opens_nothing_beyond() {
        let opened = Cell::new(0);
        let heavy = (0..1_000).map(|_| {
            opened.set(opened.get() + 1);
            json!({"body": "x".repeat(1024 * 1024)})
        });
        assert_eq!(page(heavy, 1_000).len(), 3);
        assert_eq!(opened.get(), 4);
    }

    #[test]
    fn little_text_that_weighs_much_in_memory_is_counted_as_it_weighs() {
        let bomb: Value = (0..9_000).map(|_| json!({"": 0})).collect();
        let text = bomb.to_string().len();
        assert!(text < 80_000 && weight(&bomb) > 60 * text);
        assert_eq!(page(vec![bomb; 9].into_iter(), 9).len(), 1);
    }

    #[test]
    fn one_message_is_always_given_and_never_more_than_are_asked_for() {
        let large = Value::from("x".repeat(2 * BYTES));
        assert_eq!(page(vec![large; 2].into_iter(), 9).len(), 1);
        assert_eq!(
            page(vec![Value::Null; 2_000].into_iter(), 2_000).len(),
            MESSAGES
        );
        assert_eq!(page(vec![Value::Null; 9].into_iter(), 4).len(), 4);
        assert!(page(vec![Value::Null; 9].into_iter(), 0).is_empty());
    }
}
