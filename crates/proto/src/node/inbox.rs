//! What waits for our agent: keyed (agent-id, message-id), delivered at least once.

mod leases;
mod mail;
mod quarantine;
mod rows;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::entry::{Did, Entry, OutcomeLine};
use crate::envelope::{Form, Message, Method};
use crate::ids::{AgentId, MessageId};
use crate::time::Timestamp;

use super::LocalError;
use super::Outcome;
use super::turn::InboxDoor;

use leases::Leases;
pub use leases::{HandedOut, LeaseId, Supply, Wanted};
use mail::WaitingMail;
use quarantine::Tries;
pub use quarantine::{Quarantine, Shelved, TRIES};

/// How many messages of one peer may wait.
const MOST: usize = 10_000;
/// How many bytes of one peer may wait, as they weigh in memory.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// How many messages of peers that are trusted no more are shown …
const ASIDE: usize = 1_000;
/// … and of how many more it is known that they were set aside: of as many as may wait.
const GONE: usize = MOST * PEERS;
/// How many times that all peers together may have waiting: no peer alone can keep the others out.
const PEERS: usize = 4;

/// A message that waits, with the number of its arrival.
#[derive(Clone, Debug)]
pub struct Item {
    /// Rises with every arrival; stable until the daemon restarts.
    pub number: u64,
    /// The message.
    pub message: Arc<Message>,
}

/// How much of the inbox somebody takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    messages: usize,
    bytes: usize,
}

impl Share {
    fn has_room(self, bytes: usize, times: usize) -> bool {
        self.messages < MOST * times && self.bytes + bytes <= MOST_BYTES * times
    }

    fn add(&mut self, bytes: usize) {
        self.messages += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.messages = self.messages.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// A message that was set aside, and is older than those that are shown: the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Gone {
    /// Who sent it.
    pub from: AgentId,
    /// Its name.
    pub message_id: MessageId,
    /// Which message it answers.
    pub in_reply_to: Option<MessageId>,
}

impl Gone {
    fn of(message: &Message) -> Self {
        let headers = &message.headers;
        Self {
            from: headers.agent_id.clone(),
            message_id: headers.message_id,
            in_reply_to: headers.in_reply_to,
        }
    }
}

/// The inbox.
#[derive(Debug, Default, Clone)]
pub struct Inbox {
    mail: WaitingMail,
    total: Share,
    shares: BTreeMap<AgentId, Share>,
    arrivals: u64,
    aside: VecDeque<Arc<Message>>,
    gone: VecDeque<Gone>,
    tries: BTreeMap<(AgentId, MessageId), Tries>,
    quarantine: Quarantine,
    leases: Leases,
}

impl Inbox {
    /// Everything that waits, oldest first, from the arrival after `number` on.
    pub fn after(&self, number: u64) -> impl Iterator<Item = Item> {
        self.mail.after(number).map(|(number, message)| Item {
            number,
            message: Arc::clone(message),
        })
    }

    /// The message that `peer` sent under `message_id`.
    pub fn find(&self, peer: &AgentId, message_id: MessageId) -> Option<&Arc<Message>> {
        let (_, message) = self.mail.find(peer, message_id)?;
        Some(message)
    }

    /// The messages of that name: ids are each sender's own, so there may be more than one.
    pub fn named(&self, message_id: MessageId) -> impl Iterator<Item = &Arc<Message>> {
        let named = self.mail.named(message_id);
        named.map(|(_, message)| message)
    }

    /// The request of that name that waits for an answer.
    ///
    /// # Errors
    /// When none waits, more than one peer sent it, or it wants no answer.
    pub(super) fn request(
        &self,
        from: Option<&AgentId>,
        request: MessageId,
    ) -> Result<Arc<Message>, LocalError> {
        let named = self.named(request);
        let mut waiting =
            named.filter(|message| from.is_none_or(|from| *from == message.headers.agent_id));
        // Two peers may have used the same message-id. Unless `from` says which of them is meant, refuse the call: otherwise
        // the answer could go to the wrong peer.
        let message = match (waiting.next(), waiting.next()) {
            (Some(message), None) => message,
            (Some(_), Some(_)) => return Err(LocalError::Ambiguous(request)),
            (None, _) => return Err(LocalError::NotWaiting(request)),
        };
        match message.form {
            Form::Call(Method::Request) => Ok(Arc::clone(message)),
            Form::Call(Method::Handoff) => Err(LocalError::IsHandoff(request)),
            _ => Err(LocalError::NoRequest(request)),
        }
    }

    /// What peers sent that are trusted no more, and our agent had not taken: for the person.
    pub fn aside(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.aside.iter()
    }

    /// What was set aside before that.
    pub fn gone(&self) -> impl Iterator<Item = &Gone> {
        self.gone.iter()
    }

    /// Everything that was set aside, by name: it is for the person alone, also when there is trust again.
    pub fn all_aside(&self) -> impl Iterator<Item = Gone> {
        let shown = self.aside.iter().map(|message| Gone::of(message));
        self.gone.iter().cloned().chain(shown)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.mail.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.mail.len() == 0
    }

    /// What could not be handled, and waits for a person. It keeps its sender's share of the room.
    pub fn quarantine(&self) -> &Quarantine {
        &self.quarantine
    }

    /// How often our agent began to handle a message, and could not say that it had.
    fn tries(&self, peer: &AgentId, message_id: MessageId) -> Tries {
        let tries = self.tries.get(&(peer.clone(), message_id));
        tries.copied().unwrap_or_default()
    }

    /// What a line says of a message that came.
    pub(super) fn apply(&mut self, now: Timestamp, line: &OutcomeLine) {
        let name = (line.peer.clone(), line.message_id);
        let waits = |inbox: &Self| inbox.find(&line.peer, line.message_id).is_some();
        match line.what {
            // Note tries only for a message in the inbox: `tries` loses an entry together with its message, so an entry for any
            // other message would stay for ever.
            Did::Started if waits(self) => {
                self.tries.insert(name, Tries::begun(line.tries));
            }
            Did::Failed if waits(self) => {
                let tries = Tries::ended(line.tries);
                self.tries.insert(name, tries);
                if tries.are_spent() {
                    self.shelve(now, line);
                }
            }
            Did::SetAside => self.shelve(now, line),
            Did::Kept if waits(self) => {
                self.tries.insert(name, Tries::kept());
            }
            Did::Retried => {
                if let Some(shelved) = self.quarantine.take(&line.peer, line.message_id) {
                    // A message in the quarantine still counts in its peer's share of the inbox. Take it out of that share,
                    // because `insert` counts it again.
                    self.release(&shelved.message);
                    self.insert(&shelved.message);
                }
            }
            Did::Acknowledged | Did::Dropped => self.remove(&line.peer, line.message_id),
            Did::AnswerFailed
            | Did::DraftExpired
            | Did::DraftRefused
            | Did::Expired
            | Did::Started
            | Did::Failed
            | Did::Kept => {}
        }
    }

    fn shelve(&mut self, now: Timestamp, line: &OutcomeLine) {
        self.tries.remove(&(line.peer.clone(), line.message_id));
        if let Some(message) = self.mail.take(&line.peer, line.message_id) {
            self.quarantine.put(Shelved {
                message,
                reason: line.reason.clone(),
                since: now,
            });
        }
    }

    pub(super) fn has_room(&self, message: &Message) -> bool {
        let bytes = weight(message);
        let share = self.shares.get(&message.headers.agent_id);
        let share = share.copied().unwrap_or_default();
        share.has_room(bytes, 1) && self.total.has_room(bytes, PEERS)
    }

    /// The number of the last arrival.
    pub(super) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Takes what `which` says of `peer` out of the way. The log has it all; here the newest are kept, and the names of more.
    pub(super) fn set_aside(&mut self, peer: &AgentId, which: impl Fn(&Message) -> bool) {
        let goes = |message: &Message| message.headers.agent_id == *peer && which(message);
        // Include the quarantine: a person must not be able to let a message be tried again whose sender is no longer trusted,
        // or whose key was revoked.
        let shelved = self.quarantine.iter().map(|shelved| &shelved.message);
        let theirs = self.mail.all().chain(shelved);
        let theirs = theirs.filter(|message| goes(message));
        let theirs: Vec<_> = theirs.map(Arc::clone).collect();
        for message in theirs {
            self.remove(peer, message.headers.message_id);
            self.aside.push_back(message);
        }
        let over = self.aside.len().saturating_sub(ASIDE);
        let over = self.aside.drain(..over);
        self.gone.extend(over.map(|message| Gone::of(&message)));
        let over = self.gone.len().saturating_sub(GONE);
        self.gone.drain(..over);
    }

    pub(super) fn insert(&mut self, message: &Arc<Message>) {
        self.arrivals += 1;
        let (headers, bytes) = (&message.headers, weight(message));
        self.total.add(bytes);
        let share = self.shares.entry(headers.agent_id.clone());
        share.or_default().add(bytes);
        self.mail.add(self.arrivals, message);
    }

    pub(super) fn remove(&mut self, peer: &AgentId, message_id: MessageId) {
        self.tries.remove(&(peer.clone(), message_id));
        let item = self.mail.take(peer, message_id);
        let shelved = || {
            self.quarantine
                .take(peer, message_id)
                .map(|shelved| shelved.message)
        };
        if let Some(message) = item.or_else(shelved) {
            self.release(&message);
        }
    }

    fn release(&mut self, message: &Message) {
        let bytes = weight(message);
        self.total.remove(bytes);
        let sender = &message.headers.agent_id;
        if let Some(share) = self.shares.get_mut(sender) {
            share.remove(bytes);
            // Keep no share of a peer without messages: the map would grow by one for each peer that ever wrote.
            if *share == Share::default() {
                self.shares.remove(sender);
            }
        }
    }
}

impl InboxDoor<'_, '_> {
    /// Takes messages out of the inbox: our agent has them.
    ///
    /// # Errors
    /// When one of them does not wait there; then none is taken.
    pub fn acknowledge(&mut self, taken: &[(AgentId, MessageId)]) -> Result<Outcome, LocalError> {
        let inbox = &self.turn.node.inbox;
        // Look up all messages before the first log line is written, so that an error means that none was taken.
        let missing = taken
            .iter()
            .find(|(peer, id)| inbox.find(peer, *id).is_none());
        if let Some((_, id)) = missing {
            return Err(LocalError::NotWaiting(*id));
        }
        self.turn.out.entries.reserve(taken.len());
        for (peer, message_id) in taken {
            let line = OutcomeLine::of(peer, *message_id, Did::Acknowledged);
            self.turn.write(Entry::Outcome(line));
        }
        Ok(self.turn.take())
    }
}

/// What a message takes in memory, about: its text, its box, and its parsed body, which can weigh a
/// hundred times its text.
fn weight(message: &Message) -> usize {
    let sealed = message
        .sealed
        .as_ref()
        .map_or(0, |sealed| sealed.bytes().len());
    message.canonical().len() + sealed + message.weight_of_body()
}
