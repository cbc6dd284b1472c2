//! Rules broken on purpose, each of which the simulation must notice.

use std::sync::Arc;

use signet_proto::draft::Signed;
use signet_proto::entry::{Did, Direction, Entry, Ruling};
use signet_proto::envelope::Method;
use signet_proto::node::{Effect, Outcome};

use crate::cast;
use crate::household::net::{message_of, resign};
use crate::world::World;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Everything is done before its line is durable.
    EffectsFirst,
    /// Receipts go out before what they speak of is durable.
    ReceiptsFirst,
    /// A start does not read what came in sessions.
    WindowForgotten,
    /// A start does not read what went out.
    NumbersForgotten,
    /// A start does not read what our agent took.
    InboxForgotten,
    /// What goes out again is signed anew.
    SignedAnew,
    /// A start does not read that the person paused.
    PauseForgotten,
    /// A start does not read how often a message was tried.
    TriesForgotten,
    /// The disk loses its last durable line in a crash.
    DiskLies,
}

impl Sabotage {
    /// Whether a start overlooks a line.
    pub fn hides(self, entry: &Entry) -> bool {
        match (self, entry) {
            (Self::WindowForgotten, Entry::Message(verdict)) => {
                let message = verdict.message();
                verdict.direction == Direction::In
                    && verdict.ruling == Ruling::Accepted
                    && message.is_some_and(|message| message.headers.sequence.is_some())
            }
            (Self::NumbersForgotten, Entry::Message(verdict)) => {
                let message = verdict.message();
                verdict.direction == Direction::Out
                    && message.is_some_and(|message| message.headers.sequence.is_some())
            }
            (Self::InboxForgotten, Entry::Outcome(_)) => true,
            (Self::PauseForgotten, Entry::Pause(_)) => true,
            (Self::TriesForgotten, Entry::Outcome(line)) => {
                matches!(line.what, Did::Started | Did::Failed)
            }
            _ => false,
        }
    }

    /// What is done at once of what has to wait.
    pub fn hastens(self, outcome: &mut Outcome) -> Vec<Effect> {
        let hasty = |effect: &Effect| match (self, effect) {
            (Self::EffectsFirst, _) => true,
            (Self::ReceiptsFirst, Effect::Publish(signed)) => {
                signed.message().form.method() == Some(Method::Receipt)
            }
            _ => false,
        };
        let all = std::mem::take(&mut outcome.effects);
        let (first, later) = all.into_iter().partition(hasty);
        outcome.effects = later;
        first
    }
}

impl World {
    /// The bytes that go out: the same each time, unless somebody signs them anew.
    pub fn bytes_of(&mut self, who: usize, signed: &Signed) -> Arc<[u8]> {
        let name = signed.message().headers.message_id;
        let again = !self.published.insert((who, name));
        if self.sabotage != Some(Sabotage::SignedAnew) || !again {
            return Arc::clone(signed.bytes());
        }
        let later = std::time::Duration::from_millis(1);
        resign(
            &cast::identity(who),
            &message_of(signed.bytes()),
            |_, stamp| {
                stamp.now = stamp.now.saturating_add(later);
            },
        )
    }
}
