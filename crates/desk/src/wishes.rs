//! Messages that a link of the reading room asked to be opened: a hint on the first page, and nothing more.
//!
//! The room does not know the way in, so its link can carry no page of the desk. Anybody of this user may leave a hint; it shows a
//! name of a message and leads to a page that says what that message is.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use signet_proto::ids::MessageId;

/// A message that somebody wants to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The home in whose log it is.
    pub(crate) home: String,
    /// Its name.
    pub(crate) message_id: String,
}

/// The newest few.
#[derive(Default)]
pub(crate) struct Wishes(Mutex<VecDeque<Wish>>);

impl Wishes {
    /// Remembers one, if it names a message.
    pub(crate) fn note(&self, home: &str, message_id: &str) {
        let Ok(name) = message_id.parse::<MessageId>() else {
            return;
        };
        let wish = Wish {
            home: home.to_owned(),
            message_id: name.to_string(),
        };
        let mut wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wishes.retain(|known| *known != wish);
        wishes.push_front(wish);
        wishes.truncate(MOST);
    }

    /// Those about that home, the newest first.
    pub(crate) fn of(&self, home: &str) -> Vec<Wish> {
        let wishes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wishes
            .iter()
            .filter(|wish| wish.home == home)
            .cloned()
            .collect()
    }
}

const MOST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_a_name_of_a_message_and_there_are_few() {
        let wishes = Wishes::default();
        wishes.note("alice", "<script>");
        assert!(wishes.of("alice").is_empty());
        for number in 0..100 {
            wishes.note(
                "alice",
                &format!("01a1fe0d-660c-76a6-899d-ca65a487{number:04}"),
            );
        }
        let kept = wishes.of("alice");
        assert_eq!(kept.len(), MOST);
        assert!(kept[0].message_id.ends_with("0099"));
        assert!(wishes.of("bob").is_empty());
    }
}
