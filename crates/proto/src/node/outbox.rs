//! The outbox: where our messages are until the peer's word settles them, and what the network says
//! of them meanwhile.

use std::sync::Arc;

use crate::draft::Signed;
use crate::entry::{Did, Entry, OutcomeLine};
use crate::headers::MessageType;
use crate::ids::{AgentId, MessageId, SessionId};
use crate::session::{Handed, Waiting};
use crate::time::Timestamp;

use super::link::Link;
use super::{At, Effect, Node, Outcome, State, WaitsFor};

/// A message of ours and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// For whom.
    pub peer: AgentId,
    /// Its name.
    pub message_id: MessageId,
    /// Where it is.
    pub state: State,
    /// Since when; for what is not settled, when it was written.
    pub since: Timestamp,
    /// When its life ends, while it is not settled.
    pub expires: Option<Timestamp>,
    /// What kind of message it is, while it is not settled.
    pub message_type: Option<MessageType>,
    /// Where it stands, once it is signed and while it is not settled.
    pub place: Option<(SessionId, u64)>,
    /// What a draft waits for.
    pub waits_for: Option<WaitsFor>,
    /// Whether the peer's mailbox has said that it holds it.
    pub stored: bool,
}

impl Node {
    /// The peer's mailbox has taken a message of ours (a PubAck). Until the peer has looked into it,
    /// no copy goes out.
    pub fn handle_stored(&mut self, at: At, peer: &AgentId, message_id: MessageId) {
        self.note_handed(peer, message_id, Handed::Stored(at.now));
    }

    /// A message of ours went out, and nothing says where to: it goes out again until a receipt comes.
    pub fn handle_unconfirmed(&mut self, peer: &AgentId, message_id: MessageId) {
        self.note_handed(peer, message_id, Handed::Unconfirmed);
    }

    /// The mailboxes lost what they held: all that no receipt covers goes out again.
    pub fn handle_mailbox_lost(&mut self, at: At) -> Outcome {
        for link in self.links.values_mut() {
            for session in &mut link.sessions {
                session.ledger.lose_stored();
            }
        }
        self.hasten(at);
        self.handle_timeout(at)
    }

    /// All that waited in our own mailbox when the connection came up has been judged: the receipts
    /// among it too, so what has expired without one is given up now.
    pub fn handle_drained(&mut self, at: At) -> Outcome {
        self.drained = true;
        for session in self.links.values_mut().flat_map(|link| &mut link.sessions) {
            session.ledger.wake(at.now);
        }
        self.handle_timeout(at)
    }

    /// Where a message of ours is. `None` for one that was never sent, or long ago.
    pub fn status(&self, message_id: MessageId) -> Option<Outgoing> {
        let mut links = self.links.iter();
        links.find_map(|(peer, link)| {
            let unsettled = || self.unsettled(peer, link);
            let mut unsettled = unsettled().filter(|out| out.message_id == message_id);
            unsettled.next().or_else(|| link.settled(peer, message_id))
        })
    }

    /// Everything that is not settled, by peer, oldest first.
    pub fn outbox(&self) -> impl Iterator<Item = Outgoing> {
        let links = self.links.iter();
        links.flat_map(|(peer, link)| self.unsettled(peer, link))
    }

    fn unsettled<'a>(
        &'a self,
        peer: &'a AgentId,
        link: &'a Link,
    ) -> impl Iterator<Item = Outgoing> + 'a {
        let sent = link.sessions.iter().flat_map(move |session| {
            let waiting = session.ledger.waiting();
            waiting.map(move |(number, waiting)| sent(peer, (session.id, number), waiting))
        });
        let drafts = self.drafts_for(peer, link);
        sent.chain(drafts.map(|waiter| Outgoing {
            peer: waiter.peer.clone(),
            message_id: waiter.draft.message_id,
            state: State::Queued,
            since: waiter.until.saturating_sub(waiter.draft.life),
            expires: Some(waiter.until),
            message_type: None,
            place: None,
            waits_for: Some(waiter.waits_for),
            stored: false,
        }))
    }

    fn note_handed(&mut self, peer: &AgentId, message_id: MessageId, handed: Handed) {
        let link = self.links.get_mut(peer);
        let sessions = link.into_iter().flat_map(|link| &mut link.sessions).rev();
        for session in sessions {
            if session.ledger.handed(message_id, handed) {
                return;
            }
        }
    }

    /// What was published into the void goes out again now, and not at its next resend.
    pub(super) fn hasten(&mut self, at: At) {
        for link in self.links.values_mut() {
            link.next_announce = None;
            link.silence = std::time::Duration::ZERO;
            link.handshake.hasten(at.now);
            for session in &mut link.sessions {
                session.ledger.hasten(at.now);
                if let Some(retry) = session.retry.as_mut() {
                    retry.hasten(at.now);
                }
            }
        }
    }

    pub(super) fn resend_messages(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        let (paused, drained) = (self.pausing.is_paused(), self.drained);
        let mut expired = Vec::new();
        for session in &mut self.link_mut(peer).sessions {
            let overdue = session.ledger.overdue(at.now, drained);
            if !overdue.expired.is_empty() {
                session.window.owe();
                expired.extend(overdue.expired);
            }
            if !paused {
                let again = overdue.resend.into_iter().map(Signed::again);
                outcome.effects.extend(again.map(Effect::Publish));
            }
        }
        for message_id in expired {
            let line = OutcomeLine {
                peer: peer.clone(),
                message_id,
                what: Did::Expired,
                tries: 1,
                reason: None,
            };
            self.write_entry(at, Entry::Outcome(line), None, outcome);
        }
    }
}

impl Link {
    fn settled(&self, peer: &AgentId, message_id: MessageId) -> Option<Outgoing> {
        let (since, state) = self.fates.of(message_id)?;
        Some(Outgoing {
            peer: peer.clone(),
            message_id,
            state: state.clone(),
            since: *since,
            expires: None,
            message_type: None,
            place: None,
            waits_for: None,
            stored: false,
        })
    }
}

fn sent(peer: &AgentId, place: (SessionId, u64), waiting: &Waiting) -> Outgoing {
    let message: &Arc<_> = waiting.message();
    let headers = &message.headers;
    Outgoing {
        peer: peer.clone(),
        message_id: headers.message_id,
        state: match waiting.handed() {
            Handed::No => State::Queued,
            Handed::Unconfirmed | Handed::Stored(_) => State::Published,
        },
        since: headers.timestamp,
        expires: Some(headers.expires_at),
        message_type: Some(headers.message_type),
        place: Some(place),
        waits_for: None,
        stored: matches!(waiting.handed(), Handed::Stored(_)),
    }
}
