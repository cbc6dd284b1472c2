//! What one peer and we may say to each other: calls a minute, and bytes of lines in our log.

use std::collections::VecDeque;

use crate::headers::ConversationId;
use crate::policy::Bucket;
use crate::time::Timestamp;

use super::bytes::Bytes;

/// How many conversations of one peer have a budget of their own; beyond that the one that was silent
/// longest loses it, and the peer's budget holds them all.
const CONVERSATIONS: usize = 64;

/// How many calls went between us and one peer lately. Not lasting: a restart fills the buckets.
#[derive(Debug, Default, Clone)]
pub(super) struct Budgets {
    pub(super) heard: Bucket,
    conversations: VecDeque<(ConversationId, Bucket)>,
    pub(super) said: Bucket,
    pub(super) told: Option<Timestamp>,
    /// Calls of the peer's that were refused, and what of it was counted alone.
    pub(super) refused: u64,
    /// Calls of ours that were not sent.
    pub(super) withheld: u64,
    /// What it may write into our log.
    pub(super) bytes: Bytes,
}

impl Budgets {
    pub(super) fn of(&self, conversation: &ConversationId) -> Bucket {
        let mut known = self.conversations.iter();
        let known = known.find(|(id, _)| id == conversation);
        known.map_or_else(Bucket::default, |(_, bucket)| *bucket)
    }

    pub(super) fn keep(&mut self, conversation: ConversationId, bucket: Bucket) {
        self.conversations.retain(|(id, _)| *id != conversation);
        if self.conversations.len() >= CONVERSATIONS {
            self.conversations.pop_front();
        }
        self.conversations.push_back((conversation, bucket));
    }
}
