//! Where our messages are, for whoever asks.

use crate::headers::{CapabilityName, MessageType, Tier};
use crate::ids::{AgentId, MessageId, SessionId};
use crate::node::peers::Peer;
use crate::node::rule::ruled::Accepted;
use crate::reject::Reason;
use crate::session::{AwaitingReceipt, Handed};
use crate::time::Timestamp;

use super::requests::OpenRequest;
use super::state::{State, WaitsFor};
use super::view::SentView;

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
    /// The thing that a draft waits for, or a signed message that is held back.
    pub waits_for: Option<WaitsFor>,
    /// Whether a carrier has said that it holds it for the peer.
    pub stored: bool,
    /// Its data tier, while it is not settled, or is a request whose answer may still come.
    pub tier: Option<Tier>,
    /// Why an answer to it was refused here, while another may come.
    pub answer_refused: Option<Reason>,
}

/// What a message of ours came to, when nothing follows any more that its caller waits for.
#[derive(Clone, Debug)]
pub enum SentEnd {
    /// It is answered, and the answer waits in the inbox.
    Answered(Accepted),
    /// Its agent has taken the answer out of the inbox: the log alone has it.
    AnswerTaken,
    /// That is where it stays.
    Settled {
        /// Where it is.
        state: State,
        /// What the peer offers, where it named none of several capabilities.
        offers: Option<Vec<CapabilityName>>,
    },
}

impl<'n> SentView<'n> {
    /// Where a message of ours is. `None` for one that was never sent, or long ago.
    pub fn status(self, message_id: MessageId) -> Option<Outgoing> {
        let open = self.node.sent.requests.get(message_id);
        let mut unsettled = self.unsettled().filter(|out| out.message_id == message_id);
        let settled = || {
            let (peer, (since, state)) = self.node.sent.results.of(message_id)?;
            Some(Outgoing {
                expires: open.map(OpenRequest::closes),
                tier: open.map(OpenRequest::tier),
                ..Outgoing::at(peer, message_id, *since, state.clone())
            })
        };
        Some(Outgoing {
            answer_refused: open.and_then(OpenRequest::refused_answer),
            ..unsettled.next().or_else(settled)?
        })
    }

    /// What a message of ours came to: nothing as long as something may still follow that its caller waits for.
    /// `for_answer` says whether that is an answer.
    pub fn end_of(self, message_id: MessageId, for_answer: bool) -> Option<SentEnd> {
        let out = self.status(message_id)?;
        // During a pause no program gets an answer that has come: the caller hears only that its request is answered, and not
        // what the answer says.
        if out.state == State::Answered && !self.node.people.pausing().is_paused() {
            return Some(self.answer_to(message_id, out));
        }
        let goes_on = !out.state.is_settled() || (for_answer && out.state == State::Received);
        (!goes_on).then(|| self.settled(out))
    }

    fn settled(self, out: Outgoing) -> SentEnd {
        let offers = self.offers_beside(&out);
        let state = out.state;
        SentEnd::Settled { state, offers }
    }

    fn answer_to(self, message_id: MessageId, out: Outgoing) -> SentEnd {
        let inbox = self.node.inbox();
        let answers = |request: Option<MessageId>| request == Some(message_id);
        let mut items = inbox.after(0);
        if let Some(item) = items.find(|item| answers(item.message.headers.in_reply_to)) {
            let opened = self.node.opened(&item.message);
            return SentEnd::Answered(Accepted::kept(item.message, opened));
        }
        match inbox.all_aside().any(|gone| answers(gone.in_reply_to)) {
            true => self.settled(out),
            false => SentEnd::AnswerTaken,
        }
    }

    /// What the peer offered when a message ended that named none of several.
    pub fn offers_beside(self, out: &Outgoing) -> Option<Vec<CapabilityName>> {
        let session = self.node.peers.session(&out.peer, out.since);
        let session = session.filter(|_| out.state.needs_capability())?;
        Some(session.offers_for(Tier::Public))
    }

    /// Everything that is not settled, by peer, oldest first.
    pub fn outbox(self) -> impl Iterator<Item = Outgoing> {
        let peers = self.node.peers.known().iter();
        peers.flat_map(move |(name, peer)| self.unsettled_of(name, peer))
    }

    /// The same in any order, which takes less where there are many peers.
    pub fn unsettled(self) -> impl Iterator<Item = Outgoing> {
        let peers = self.node.peers.known().in_any_order();
        peers.flat_map(move |(name, peer)| self.unsettled_of(name, peer))
    }

    fn unsettled_of(self, name: &'n AgentId, peer: &'n Peer) -> impl Iterator<Item = Outgoing> {
        let sent = peer.sessions().iter().flat_map(move |session| {
            let waiting = session.ledger.waiting();
            waiting.map(move |(number, waiting)| Outgoing {
                waits_for: session.ledger.holds(waiting).then_some(WaitsFor::Peer),
                ..sent(name, session.id, number, waiting)
            })
        });
        let drafts = self.drafts_for(name);
        sent.chain(drafts.map(|waiter| {
            let (draft, until) = (waiter.draft, waiter.until);
            let since = until.saturating_sub(draft.life);
            Outgoing {
                expires: Some(until),
                waits_for: Some(waiter.waits_for),
                tier: Some(draft.data_tier),
                ..Outgoing::at(waiter.peer, draft.message_id, since, State::Queued)
            }
        }))
    }
}

fn sent(peer: &AgentId, session: SessionId, number: u64, waiting: &AwaitingReceipt) -> Outgoing {
    let headers = &waiting.message().headers;
    let state = match waiting.handed() {
        Handed::No => State::Queued,
        Handed::Unconfirmed | Handed::Stored(_) => State::Published,
    };
    Outgoing {
        expires: Some(headers.expires_at),
        message_type: Some(headers.message_type),
        place: Some((session, number)),
        stored: matches!(waiting.handed(), Handed::Stored(_)),
        tier: Some(headers.data_tier),
        ..Outgoing::at(peer, headers.message_id, headers.timestamp, state)
    }
}

impl Outgoing {
    /// A message of which nothing else is known.
    fn at(peer: &AgentId, message_id: MessageId, since: Timestamp, state: State) -> Self {
        Self {
            peer: peer.clone(),
            message_id,
            state,
            since,
            expires: None,
            message_type: None,
            place: None,
            waits_for: None,
            stored: false,
            tier: None,
            answer_refused: None,
        }
    }
}
