//! The messages that wait, by the number of their arrival and by their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::envelope::Message;
use crate::ids::{AgentId, MessageId};

/// The messages that wait, in the order of their arrival.
#[derive(Debug, Default, Clone)]
pub(super) struct WaitingMail {
    by_number: BTreeMap<u64, Arc<Message>>,
    /// Ids with the numbers of the messages that have them: each sender chooses its own ids, so two may have chosen one.
    names: BTreeSet<(MessageId, u64)>,
}

impl WaitingMail {
    /// Those that arrived behind `number`, oldest first, with their numbers.
    pub(super) fn after(&self, number: u64) -> impl Iterator<Item = (u64, &Arc<Message>)> {
        let later = self.by_number.range(number + 1..);
        later.map(|(number, message)| (*number, message))
    }

    /// Those of that name, with their numbers: it costs the same however many others wait.
    pub(super) fn named(
        &self,
        message_id: MessageId,
    ) -> impl Iterator<Item = (u64, &Arc<Message>)> {
        let named = self.names.range((message_id, 0)..=(message_id, u64::MAX));
        named.filter_map(|(_, number)| Some((*number, self.by_number.get(number)?)))
    }

    /// The message that `peer` sent under `message_id`, with its number.
    pub(super) fn find(
        &self,
        peer: &AgentId,
        message_id: MessageId,
    ) -> Option<(u64, &Arc<Message>)> {
        self.named(message_id)
            .find(|(_, message)| message.headers.agent_id == *peer)
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.by_number.values()
    }

    pub(super) fn len(&self) -> usize {
        self.by_number.len()
    }

    /// Adds the message with that number, which rises with every arrival.
    pub(super) fn add(&mut self, number: u64, message: &Arc<Message>) {
        self.names.insert((message.headers.message_id, number));
        self.by_number.insert(number, Arc::clone(message));
    }

    /// Takes out the message that `peer` sent under `message_id`.
    pub(super) fn take(&mut self, peer: &AgentId, message_id: MessageId) -> Option<Arc<Message>> {
        let (number, _) = self.find(peer, message_id)?;
        self.names.remove(&(message_id, number));
        self.by_number.remove(&number)
    }
}
