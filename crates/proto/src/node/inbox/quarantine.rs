//! What our agent could not handle: five tries, then a person decides, and the next message goes on.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::{Did, Entry, OutcomeLine};
use crate::envelope::{Form, Message, Method};
use crate::ids::{AgentId, MessageId};
use crate::time::Timestamp;

use crate::node::LocalError;
use crate::node::answers::decline;
use crate::node::turn::InboxDoor;
use crate::node::{Notice, Outcome};

use super::Inbox;

/// So often a message is tried; what began counts, whether or not it came to an end.
pub const TRIES: u8 = 5;
/// Why a message is set aside whose last try never came to an end.
const UNFINISHED: &str = "unfinished";
/// What the peer hears whose request a person gave up.
const GIVEN_UP: &str = "the handling of this request failed";

/// The messages that could not be handled.
#[derive(Clone, Debug, Default)]
pub struct Quarantine(BTreeMap<(AgentId, MessageId), Shelved>);

/// A message that could not be handled.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shelved {
    /// The message.
    #[serde(with = "crate::stored")]
    pub message: Arc<Message>,
    /// Why the last try failed, in the handler's word.
    pub reason: Option<String>,
    /// Since when it is here.
    pub since: Timestamp,
}

/// How often a message was tried, and whether a try is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::node) struct Tries {
    begun: u8,
    running: bool,
    /// Whether it was handled, and stays for an answer of somebody else's: nobody receives it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    kept: bool,
}

impl Tries {
    pub(super) fn begun(number: u8) -> Self {
        Self {
            begun: number,
            running: true,
            kept: false,
        }
    }

    pub(super) fn ended(number: u8) -> Self {
        Self {
            begun: number,
            ..Self::default()
        }
    }

    /// Handled: its tries count anew.
    pub(super) fn kept() -> Self {
        Self {
            kept: true,
            ..Self::default()
        }
    }

    /// The number of the last try.
    pub(super) fn number(self) -> u8 {
        self.begun
    }

    pub(super) fn are_over(self) -> bool {
        self.kept
    }

    pub(super) fn are_spent(self) -> bool {
        self.begun >= TRIES
    }

    /// The number of the try that ends now: the one under way, or one that nobody announced.
    fn ending(self) -> u8 {
        match self.running {
            true => self.begun,
            false => self.begun.saturating_add(1),
        }
    }
}

impl Inbox {
    /// How often a message was tried that waits.
    fn tries_of(&self, peer: &AgentId, message_id: MessageId) -> Result<Tries, LocalError> {
        let waits = self.find(peer, message_id);
        waits.ok_or(LocalError::NotWaiting(message_id))?;
        Ok(self.tries(peer, message_id))
    }

    fn shelved(
        &self,
        peer: Option<&AgentId>,
        message_id: MessageId,
    ) -> Result<Arc<Message>, LocalError> {
        let named = self.quarantine.named(message_id);
        let mut named = named.filter(|shelved| {
            let sender = &shelved.message.headers.agent_id;
            peer.is_none_or(|peer| peer == sender)
        });
        match (named.next(), named.next()) {
            (Some(shelved), None) => Ok(Arc::clone(&shelved.message)),
            (None, _) => Err(LocalError::NotQuarantined(message_id)),
            (Some(_), Some(_)) => Err(LocalError::Ambiguous(message_id)),
        }
    }
}

impl Quarantine {
    /// All of them, by sender.
    pub fn iter(&self) -> impl Iterator<Item = &Shelved> {
        self.0.values()
    }

    /// The message of that name; of more than one sender there may be more.
    pub fn named(&self, message_id: MessageId) -> impl Iterator<Item = &Shelved> {
        let shelved = self.0.iter();
        let named = shelved.filter(move |((_, name), _)| *name == message_id);
        named.map(|(_, shelved)| shelved)
    }

    pub(super) fn put(&mut self, shelved: Shelved) {
        let headers = &shelved.message.headers;
        let name = (headers.agent_id.clone(), headers.message_id);
        self.0.insert(name, shelved);
    }

    pub(super) fn take(&mut self, peer: &AgentId, message_id: MessageId) -> Option<Shelved> {
        self.0.remove(&(peer.clone(), message_id))
    }
}

impl InboxDoor<'_, '_> {
    /// Our agent begins to handle a message of the inbox. Returns the number of the try, 1 to
    /// [`TRIES`]; `None` when the tries are used up: then it is in the quarantine.
    ///
    /// # Errors
    /// When no such message waits in the inbox.
    pub fn start(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
    ) -> Result<(Option<u8>, Outcome), LocalError> {
        let number = self.begin(peer, message_id)?;
        Ok((number, self.turn.take()))
    }

    /// Our agent could not handle a message of the inbox. `reason` stands in the log: it has no
    /// content of the message. Returns whether the message went to the quarantine.
    ///
    /// # Errors
    /// When no such message waits in the inbox.
    pub fn fail(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
        reason: &str,
    ) -> Result<(bool, Outcome), LocalError> {
        let is_spent = self.end_try(peer, message_id, reason)?;
        Ok((is_spent, self.turn.take()))
    }

    /// Handling of a message of the inbox never began, though it was announced: its tries are as many as before. `reason` as
    /// in [`InboxDoor::fail`].
    ///
    /// # Errors
    /// When no such message waits in the inbox.
    pub fn unbegun(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
        reason: &str,
    ) -> Result<Outcome, LocalError> {
        let tries = self.turn.node.inbox.tries_of(peer, message_id)?;
        // Handling did not begin, so this failure must not count as a try: write it under the number of the try before. Then it
        // does not count after a restart either, when the log is read again.
        let before = tries.ending().saturating_sub(1);
        let reason = reason.chars().take(LONGEST_REASON).collect();
        self.write_try(peer, message_id, Did::Failed, before, Some(reason));
        Ok(self.turn.take())
    }

    /// Our agent has handled a message of the inbox, and keeps it there to answer it later.
    ///
    /// # Errors
    /// When no such message waits in the inbox.
    pub fn keep(&mut self, peer: &AgentId, message_id: MessageId) -> Result<Outcome, LocalError> {
        let tries = self.turn.node.inbox.tries_of(peer, message_id)?;
        // If the agent handled the message without starting a try, `begun` is 0. In the log only a `failed` line may have the
        // number 0 (protocol.md, section 12): so write at least 1 here.
        self.write_try(peer, message_id, Did::Kept, tries.begun.max(1), None);
        Ok(self.turn.take())
    }

    /// A person lets a message of the quarantine be tried again, from the first time. While we pause it
    /// waits for the resume.
    ///
    /// # Errors
    /// When no such message is there.
    pub fn retry(
        &mut self,
        peer: Option<&AgentId>,
        message_id: MessageId,
    ) -> Result<Outcome, LocalError> {
        let message = self.turn.node.inbox.shelved(peer, message_id)?;
        let sender = &message.headers.agent_id;
        self.write_try(sender, message_id, Did::Retried, 1, None);
        if !self.turn.node.people.pausing().is_paused() {
            self.turn.hand_over_waiting(sender, message_id);
        }
        Ok(self.turn.take())
    }

    /// A person gives a message of the quarantine up. Whoever asked hears that it was declined.
    ///
    /// # Errors
    /// When no such message is there, or the answer finds no room.
    pub fn drop_shelved(
        &mut self,
        peer: Option<&AgentId>,
        message_id: MessageId,
    ) -> Result<Outcome, LocalError> {
        let message = self.turn.node.inbox.shelved(peer, message_id)?;
        if matches!(message.form, Form::Call(Method::Request)) {
            let id = self.turn.node.ids.fresh(self.turn.at.now);
            let draft = decline(&message, id, GIVEN_UP.to_owned());
            // Send the answer first: if there is no room for it, the message stays in
            // the quarantine, so that no request goes unanswered.
            self.turn.sent().dispatch(draft, None)?;
        }
        let sender = &message.headers.agent_id;
        self.write_try(sender, message_id, Did::Dropped, 1, None);
        Ok(self.turn.take())
    }

    /// As [`InboxDoor::start`].
    pub(super) fn begin(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
    ) -> Result<Option<u8>, LocalError> {
        let tries = self.turn.node.inbox.tries_of(peer, message_id)?;
        if self.turn.node.inbox.leases.holds(peer, message_id) {
            return Err(LocalError::Leased(message_id));
        }
        // The tries can be spent here if the last one began and never ended, as after a crash: a try counts from its beginning,
        // so that a message that kills its handler is not tried for ever.
        if tries.are_spent() {
            let why = Some(UNFINISHED.to_owned());
            let message = self.turn.node.inbox.find(peer, message_id).cloned();
            self.write_try(peer, message_id, Did::SetAside, tries.begun, why);
            if let Some(message) = message {
                self.turn.sent().tell_that_a_person_decides(&message);
            }
            return Ok(None);
        }
        let number = tries.begun + 1;
        self.write_try(peer, message_id, Did::Started, number, None);
        Ok(Some(number))
    }

    /// As [`InboxDoor::fail`].
    pub(super) fn end_try(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
        reason: &str,
    ) -> Result<bool, LocalError> {
        let number = self.turn.node.inbox.tries_of(peer, message_id)?.ending();
        let reason = reason.chars().take(LONGEST_REASON).collect();
        // Look up the message before the log line is written, which may move the message into the quarantine.
        let message = self.turn.node.inbox.find(peer, message_id).cloned();
        self.write_try(peer, message_id, Did::Failed, number, Some(reason));
        let is_spent = number >= TRIES;
        if let Some(message) = message.filter(|_| is_spent) {
            self.turn.sent().tell_that_a_person_decides(&message);
        }
        Ok(is_spent)
    }

    fn write_try(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
        what: Did,
        tries: u8,
        reason: Option<String>,
    ) {
        let line = OutcomeLine {
            tries,
            reason,
            ..OutcomeLine::of(peer, message_id, what)
        };
        let spent = what == Did::SetAside || (what == Did::Failed && tries >= TRIES);
        if spent {
            let peer = peer.clone();
            self.turn.notify(Notice::Quarantined { peer, message_id });
        }
        self.turn.write(Entry::Outcome(line));
    }
}

/// How much a handler may say of its failure, in characters.
const LONGEST_REASON: usize = 200;
