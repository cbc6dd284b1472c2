//! How much one listing gives. Parsed JSON can weigh a hundred times its text, here or at the program that reads the
//! listing, and sealed messages are opened for it one by one: a listing stops before it grows heavy, and the caller asks
//! on from there.

use std::cell::Cell;

use serde::{Serialize, Serializer};
use signet_api::{Draft, Leased, Message, Outgoing, Quarantined, Said, Waiting};
use signet_json::weight;

use crate::render::RenderedMessage;

/// What an item of a listing takes in memory, in bytes, about.
pub(in crate::daemon) trait Weigh {
    fn weight(&self) -> usize;
}

/// The first of `items`, as many as one listing gives: at least one where there is one, at most `most`
/// and [`MESSAGES`], and no more than [`BYTES`] together. What is not given is not made.
pub(super) fn page<T: Weigh>(
    items: impl Iterator<Item = T>,
    most: usize,
) -> impl Iterator<Item = T> {
    let mut bytes = 0_usize;
    let items = items.take(most.min(MESSAGES)).enumerate();
    items.map_while(move |(place, item)| {
        bytes = bytes.saturating_add(item.weight());
        // Give the first item whatever its size: a caller asks on from the last item that it got,
        // and would never get past a large one.
        (place == 0 || bytes <= BYTES).then_some(item)
    })
}

/// Items that are made one by one while they are written, once. A listing of a thousand messages then never holds more than
/// one of them in memory as it renders them.
pub(super) struct Written<I>(Cell<Option<I>>);

impl<I> Written<I> {
    pub(super) fn of(items: I) -> Self {
        Self(Cell::new(Some(items)))
    }
}

impl<I: Iterator<Item: Serialize>> Serialize for Written<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.take().into_iter().flatten())
    }
}

impl Weigh for Message {
    fn weight(&self) -> usize {
        let body = self.body.as_ref().map_or(0, weight);
        let summary = self.summary.as_ref().map_or(0, String::len);
        let error = self.error.as_ref().map_or(0, |error| error.message.len());
        HEADERS + body + summary + error
    }
}

impl Weigh for RenderedMessage {
    fn weight(&self) -> usize {
        HEADERS + self.weight()
    }
}

/// A message with a few words beside it weighs as much as the message.
macro_rules! weigh_as_message {
    ($($item:ident $(<$message:ident>)?),*) => {$(
        impl$(<$message: Weigh>)? Weigh for $item$(<$message>)? {
            fn weight(&self) -> usize {
                self.message.weight()
            }
        }
    )*};
}

weigh_as_message!(Waiting<M>, Leased<M>, Said, Quarantined);

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

/// How many messages one listing gives.
pub(super) const MESSAGES: usize = 1_000;
/// How many bytes of memory.
pub(in crate::daemon) const BYTES: usize = 4 * 1024 * 1024;
/// The memory for what stands around a message's own words, in bytes, about.
const HEADERS: usize = 2 * 1024;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::{Value, json};

    use super::*;

    impl Weigh for Value {
        fn weight(&self) -> usize {
            HEADERS + weight(self)
        }
    }

    #[test]
    fn a_listing_ends_by_its_weight_and_opens_nothing_beyond() {
        let opened = Cell::new(0);
        let heavy = (0..1_000).map(|_| {
            opened.set(opened.get() + 1);
            json!({"body": "x".repeat(1024 * 1024)})
        });
        assert_eq!(page(heavy, 1_000).count(), 3);
        assert_eq!(opened.get(), 4);
    }

    #[test]
    fn what_is_written_as_it_is_made_is_never_there_twice() {
        struct Live<'c>(&'c Cell<usize>);
        impl Serialize for Live<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u64(self.0.get() as u64)
            }
        }
        impl Drop for Live<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() - 1);
            }
        }
        impl Weigh for Live<'_> {
            fn weight(&self) -> usize {
                1
            }
        }
        let live = Cell::new(0);
        let made = (0..5).map(|_| {
            live.set(live.get() + 1);
            Live(&live)
        });
        let written = Written::of(page(made, 3));
        assert_eq!(serde_json::to_string(&written).unwrap(), "[1,1,1]");
        assert_eq!(live.get(), 0);
    }

    #[test]
    fn little_text_that_weighs_much_in_memory_is_counted_as_it_weighs() {
        let bomb: Value = (0..9_000).map(|_| json!({"": 0})).collect();
        let text = bomb.to_string().len();
        assert!(text < 80_000 && weight(&bomb) > 60 * text);
        assert_eq!(page(vec![bomb; 9].into_iter(), 9).count(), 1);
    }

    #[test]
    fn one_message_is_always_given_and_never_more_than_are_asked_for() {
        let large = Value::from("x".repeat(2 * BYTES));
        assert_eq!(page(vec![large; 2].into_iter(), 9).count(), 1);
        assert_eq!(
            page(vec![Value::Null; 2_000].into_iter(), 2_000).count(),
            MESSAGES
        );
        assert_eq!(page(vec![Value::Null; 9].into_iter(), 4).count(), 4);
        assert_eq!(page(vec![Value::Null; 9].into_iter(), 0).count(), 0);
    }
}
