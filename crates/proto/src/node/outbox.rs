//! The outbox: where our messages are until the peer's word settles them, and when they go out again.

use std::sync::Arc;

use crate::draft::{Signed, Stamp};
use crate::entry::{Did, Entry, OutcomeLine};
use crate::envelope::Message;
use crate::headers::MessageType;
use crate::ids::{AgentId, MessageId, SessionId};
use crate::reject::Reason;
use crate::session::{Handed, Session, Waiting};
use crate::time::Timestamp;

use super::peers::Peer;
use super::sent::OpenRequest;
use super::turn::Turn;
use super::{Effect, Node, State, WaitsFor};

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
    /// When its life ends, while it is not settled; of a request that the peer has, when no answer is taken any more.
    pub expires: Option<Timestamp>,
    /// What kind of message it is, while it is not settled.
    pub message_type: Option<MessageType>,
    /// Where it stands, once it is signed and while it is not settled.
    pub place: Option<(SessionId, u64)>,
    /// What a draft waits for.
    pub waits_for: Option<WaitsFor>,
    /// Whether a carrier has said that it holds it for the peer.
    pub stored: bool,
    /// Its data tier, while it is not settled, or is a request whose answer may still come.
    pub tier: Option<u8>,
    /// Why an answer to it was refused here, while another may come.
    pub answer_refused: Option<Reason>,
}

impl Node {
    /// Where a message of ours is. `None` for one that was never sent, or long ago.
    pub fn status(&self, message_id: MessageId) -> Option<Outgoing> {
        let open = self.sent.request(message_id);
        let mut unsettled = self.outbox().filter(|out| out.message_id == message_id);
        let settled = || {
            let (peer, (since, state)) = self.sent.results().of(message_id)?;
            Some(Outgoing {
                peer: peer.clone(),
                message_id,
                state: state.clone(),
                since: *since,
                expires: open.map(OpenRequest::closes),
                message_type: None,
                place: None,
                waits_for: None,
                stored: false,
                tier: open.map(OpenRequest::tier),
                answer_refused: None,
            })
        };
        Some(Outgoing {
            answer_refused: open.and_then(OpenRequest::refused_answer),
            ..unsettled.next().or_else(settled)?
        })
    }

    /// Everything that is not settled, by peer, oldest first.
    pub fn outbox(&self) -> impl Iterator<Item = Outgoing> {
        let links = self.peers.iter();
        links.flat_map(|(peer, link)| self.unsettled(peer, link))
    }

    fn unsettled<'a>(
        &'a self,
        peer: &'a AgentId,
        link: &'a Peer,
    ) -> impl Iterator<Item = Outgoing> + 'a {
        let sent = link.sessions().iter().flat_map(move |session| {
            let waiting = session.ledger.waiting();
            waiting.map(move |(number, waiting)| sent(peer, session.id, number, waiting))
        });
        let drafts = self.drafts_for(peer);
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
            tier: Some(waiter.draft.data_tier),
            answer_refused: None,
        }))
    }
}

impl Turn<'_> {
    pub(super) fn resend_messages(&mut self, peer: &AgentId) {
        let due = |session: &Session| session.ledger.due().is_some_and(|due| due <= self.at.now);
        if !self
            .node
            .peers
            .get(peer)
            .is_some_and(|link| link.sessions().iter().any(due))
        {
            return;
        }
        let paused = self.node.people.pausing().is_paused();
        let drained = self.node.peers.carriers().are_drained(self.at.elapsed);
        let ways = self.node.peers.carriers().ways_to(peer);
        let (mut expired, mut again) = (Vec::new(), Vec::new());
        for session in self.node.peers.entry(peer).sessions_mut() {
            let overdue = session.ledger.overdue(self.at.now, drained, &ways);
            if !overdue.expired.is_empty() {
                session.window.owe();
                expired.extend(overdue.expired);
            }
            if !paused {
                again.extend(overdue.resend);
            }
        }
        for (message, way) in again {
            self.ways().push_by(Signed::again(message), &way);
        }
        for message_id in expired {
            let line = OutcomeLine {
                peer: peer.clone(),
                message_id,
                what: Did::Expired,
                tries: 1,
                reason: None,
            };
            self.write(Entry::Outcome(line));
        }
    }
}

impl Turn<'_> {
    /// Signs anew, once each, what the peer refused because our clock was ahead, when it was put back. The peer
    /// has said that it used up the number of the former form: that one it takes never more.
    pub(super) fn sign_anew(&mut self, peer: &AgentId) {
        let sessions = self.node.peers.get(peer).map(|link| link.sessions().iter());
        let sessions = sessions.into_iter().flatten();
        let refused = sessions.flat_map(|session| session.ledger.to_sign_anew(self.at.now));
        let refused: Vec<_> = refused.map(Arc::clone).collect();
        for message in refused {
            let Some(stamp) = self.slot_anew(peer, &message) else {
                continue;
            };
            if let Ok(signed) = Signed::anew(&message, self.node.me.identity(), stamp) {
                // Nobody has to hear of an end that is none.
                let name = message.headers.message_id;
                self.out.effects.retain(|effect| {
                    !matches!(effect, Effect::Settle { message_id, .. } if *message_id == name)
                });
                self.write_sent(signed);
            }
        }
    }

    /// Where a message goes that is signed anew: into its session, for which its box was made, and what is not
    /// sealed into the newest as well.
    fn slot_anew(&self, peer: &AgentId, message: &Message) -> Option<Stamp> {
        let (mut stamp, _) = self.node.slot(self.at, peer)?;
        let link = self.node.peers.get(peer)?;
        let own = message.headers.session.and_then(|id| link.session(id));
        let own = own.filter(|session| session.is_open_for_sending(self.at.now));
        if let Some(session) = own {
            let sequence = session.ledger.next()?;
            (stamp.session, stamp.sequence) = (Some(session.id), Some(sequence));
            stamp.version = session.version;
            return Some(stamp);
        }
        message.sealed.is_none().then_some(stamp)
    }
}

fn sent(peer: &AgentId, session: SessionId, number: u64, waiting: &Waiting) -> Outgoing {
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
        place: Some((session, number)),
        waits_for: None,
        stored: matches!(waiting.handed(), Handed::Stored(_)),
        tier: Some(headers.data_tier),
        answer_refused: None,
    }
}
