//! What the peer refused because our clock was ahead, until it can be signed anew.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Ledger;
use crate::envelope::{Form, Message};
use crate::ids::MessageId;
use crate::policy::is_report;
use crate::time::{CLOCK_TOLERANCE, Timestamp};

/// How many messages are kept …
const MOST: usize = 256;
/// … and how many bytes of them: they stand in the row of their session.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Anew {
    /// By number.
    refused: BTreeMap<u64, RefusedCopy>,
    /// What was signed anew and waits for its receipt: it is refused for good, if it is refused again.
    second: BTreeSet<MessageId>,
    /// The numbers of what waits for its receipt and was signed by a clock that was put back since.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    early: BTreeSet<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct RefusedCopy {
    #[serde(with = "crate::stored")]
    message: Arc<Message>,
    /// Whether the clock that signed it was put back since.
    ripe: bool,
}

impl Anew {
    /// The peer refused the message of that number as `timestamp-in-future`.
    pub(super) fn keep(&mut self, number: u64, message: &Arc<Message>) {
        let kept = self.refused.values();
        let bytes: usize = kept.map(|kept| kept.message.canonical().len()).sum();
        let room = self.refused.len() < MOST && bytes + message.canonical().len() <= MOST_BYTES;
        let second = self.second.contains(&message.headers.message_id);
        if room && !second && can_be_said_once(message) {
            let (message, ripe) = (Arc::clone(message), self.early.contains(&number));
            self.refused.insert(number, RefusedCopy { message, ripe });
        }
    }

    /// Our clock was put back: what it signed after `latest`, it signed too early. The peer's word about some of that may
    /// come hours later.
    pub(super) fn ripen<'a>(
        &mut self,
        latest: Timestamp,
        waiting: impl Iterator<Item = (u64, &'a Message)>,
    ) {
        for kept in self.refused.values_mut() {
            kept.ripe |= kept.message.headers.timestamp > latest;
        }
        let early = waiting
            .filter(|(_, message)| message.headers.timestamp > latest && can_be_said_once(message));
        self.early.extend(early.map(|(number, _)| number));
    }

    /// A message is settled.
    pub(super) fn forget(&mut self, number: u64, name: MessageId) {
        self.second.remove(&name);
        self.early.remove(&number);
    }

    /// Whether a message of that name went out before, in another form.
    pub(super) fn is_second(&self, name: MessageId) -> bool {
        self.second.contains(&name)
    }

    /// Nothing waits any more.
    pub(super) fn abandon(&mut self) {
        self.early.clear();
    }

    /// What has expired is not signed anew.
    fn drop_expired(&mut self, now: Timestamp) {
        self.refused
            .retain(|_, kept| now < kept.message.headers.expires_at);
    }
}

impl Ledger {
    /// What was refused because our clock was ahead, and can be signed anew: the clock was put back since.
    pub(crate) fn to_sign_anew(&self, now: Timestamp) -> impl Iterator<Item = &Arc<Message>> {
        let ahead = now.saturating_add(CLOCK_TOLERANCE);
        let kept = self.anew.refused.values();
        let lives = kept.filter(move |kept| now < kept.message.headers.expires_at);
        // `ripe` marks messages that our clock signed before it was put back. A message whose timestamp is too far in the
        // future even now was signed by that clock as well.
        let ripe = lives.filter(move |kept| kept.ripe || kept.message.headers.timestamp > ahead);
        ripe.map(|kept| &kept.message)
    }

    /// Whether something is kept that lives, whether or not it can be signed anew now.
    pub(crate) fn keeps_refused(&self, now: Timestamp) -> bool {
        let mut kept = self.anew.refused.values();
        kept.any(|kept| now < kept.message.headers.expires_at)
    }

    /// A message of that name goes out. Says whether it was refused here before.
    pub(crate) fn takes_anew(&mut self, name: MessageId) -> bool {
        let before = self.anew.refused.len();
        let named = |kept: &RefusedCopy| kept.message.headers.message_id == name;
        self.anew.refused.retain(|_, kept| !named(kept));
        self.anew.refused.len() < before
    }

    /// By the log it is so late: what has expired makes room.
    pub(crate) fn pass_time(&mut self, now: Timestamp) {
        self.anew.drop_expired(now);
    }

    /// A message of that name goes out a second time.
    pub(crate) fn note_second(&mut self, name: MessageId) {
        self.anew.second.insert(name);
    }
}

/// Whether our agent cannot say it again: an answer, or a report on a task. A request ends with its refusal,
/// which its peer has told us by a failure as well.
fn can_be_said_once(message: &Message) -> bool {
    matches!(message.form, Form::Success | Form::Failure { .. }) || is_report(message)
}
