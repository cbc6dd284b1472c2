//! Who has which message: handed out under a lease, to nobody else until it ends.
//!
//! ```text
//! waits ── receive: `started`, durable ──▶ leased ── respond | acknowledge ──▶ gone
//!   ▲                                        │
//!   └── fail | the lease ends: `failed` ◀────┘      the fifth time: the quarantine
//! ```
//!
//! Leases are memory of the running daemon, on the clock that nobody sets. That somebody began is a line
//! of the log, written before the message is handed out; so a start hands it out again, as another try
//! under the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::envelope::{Form, Message, Method};
use crate::headers::CapabilityName;
use crate::ids::{AgentId, Digest, IdError, MessageId};
use crate::progress::Progress;
use crate::seal::Opened;
use crate::time::Timestamp;

use crate::node::Outcome;
use crate::node::turn::LeasesDoor;
use crate::node::{Content, Declining, LocalError};

use super::Inbox;
use super::quarantine::TRIES;

/// Whoever asked hears by itself that somebody has the request, when it is not answered within this time.
const TELL_AFTER: Duration = Duration::from_secs(1);
/// The shortest lease: time to say that one has it.
const SHORTEST: Duration = Duration::from_millis(100);
/// The longest; whoever needs more extends it.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How long a message that failed is left alone, the first time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How many messages may be handed out at once.
const MOST: usize = 4_096;
/// Why a try ended whose lease ran out.
const LEASE_ENDED: &str = "lease-ended";
/// Why a try ended whose holder went away.
const HOLDER_GONE: &str = "holder-gone";

/// What names a lease: random, so that only its holder knows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseId(Digest);

impl FromStr for LeaseId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        text.parse().map(Self)
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whoever reads it could answer in the holder's place.
impl fmt::Debug for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseId(..)")
    }
}

/// What a consumer asks for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Only calls that ask for one of these; everything that waits when `None`.
    pub capabilities: Option<BTreeSet<CapabilityName>>,
    /// The highest data tier that it may be handed; 0 for none: whoever serves it may have narrowed it so.
    pub tier: u8,
    /// Only what these agents sent; everybody's when `None`.
    pub peers: Option<BTreeSet<AgentId>>,
    /// How long it may take; kept between 100 ms and a day.
    pub lease: Duration,
    /// Its connection: what it holds is free again when that ends.
    pub connection: u64,
    /// The arrivals up to this number hold nothing for it: 0 at first. [`LeasesDoor::receive`] raises it, so that
    /// a consumer who waits costs each arrival one look, however much waits that is not for it.
    pub looked: u64,
}

impl Wanted {
    fn takes(&self, message: &Message) -> bool {
        let headers = &message.headers;
        let asks = |names: &BTreeSet<CapabilityName>| {
            let named = headers.capability.as_ref();
            message.form.method().is_some() && named.is_some_and(|name| names.contains(name))
        };
        let peers = self.peers.as_ref();
        headers.data_tier.number() <= self.tier
            && peers.is_none_or(|peers| peers.contains(&headers.agent_id))
            && self.capabilities.as_ref().is_none_or(asks)
    }
}

/// A message that is handed out.
#[derive(Debug)]
pub struct HandedOut {
    /// What names the lease.
    pub lease: LeaseId,
    /// When it ends.
    pub ends: Timestamp,
    /// The number of the try, from 1. The message's sender and message-id are the same with every try.
    pub tries: u8,
    /// The message.
    pub message: Arc<Message>,
    /// What was sealed in it.
    pub opened: Option<Opened>,
}

/// What there is to hand out, as far as it can change: compared, not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    arrivals: u64,
    older: (u64, bool),
}

impl Supply {
    /// Whether something may be handed out that had come before `then`, so that a consumer looks from the
    /// beginning again.
    pub fn has_older_than(self, then: Self) -> bool {
        self.older != then.older
    }
}

/// The leases. No row of the state, and never many.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases {
    held: BTreeMap<LeaseId, Lease>,
    messages: BTreeMap<(AgentId, MessageId), LeaseId>,
    /// What failed, and when it may be tried again.
    later: BTreeMap<(AgentId, MessageId), Duration>,
    /// Rises when something that was held, or held back, may be handed out again.
    freed: u64,
}

#[derive(Clone, Debug)]
struct Lease {
    name: (AgentId, MessageId),
    connection: u64,
    until: Duration,
    /// When whoever asked is told that somebody has it; `None` once it was, or where nobody asked.
    tell: Option<Duration>,
}

impl Inbox {
    /// Changes whenever something may be handed out that was not there before: a waiting consumer asks
    /// again then. `paused` is whether our person pauses their agents.
    pub fn supply(&self, paused: bool) -> Supply {
        Supply {
            arrivals: self.arrivals,
            older: (self.leases.freed, paused),
        }
    }

    /// The message that a lease names, for a node that has run `elapsed`.
    ///
    /// # Errors
    /// When the lease has ended, or the message is gone: its sender is trusted no more, or a person took it.
    pub fn leased(
        &self,
        elapsed: Duration,
        lease: LeaseId,
    ) -> Result<(AgentId, MessageId), LocalError> {
        let held = self.leases.held.get(&lease);
        let held = held.filter(|held| elapsed < held.until);
        let (peer, message_id) = held.map(|held| &held.name).ok_or(LocalError::LeaseEnded)?;
        match self.find(peer, *message_id) {
            Some(_) => Ok((peer.clone(), *message_id)),
            None => Err(LocalError::LeaseEnded),
        }
    }

    /// The message that is handed out under a lease.
    pub fn handed_out(&self, lease: LeaseId) -> Option<&Arc<Message>> {
        let held = self.leases.held.get(&lease)?;
        let (peer, message_id) = &held.name;
        self.find(peer, *message_id)
    }

    /// When [`LeasesDoor::overdue`] has something to do, by the clock that nobody sets.
    pub(in crate::node) fn due(&self) -> Option<Duration> {
        self.leases.due()
    }

    /// A draft of ours will not be sent: where it was an answer, its request may be handed out again, also to consumers
    /// that have looked past it.
    pub(in crate::node) fn draft_ended(&mut self) {
        self.leases.freed += 1;
    }

    /// The holder said itself how the request is doing.
    pub(in crate::node) fn note_told(&mut self, peer: &AgentId, request: MessageId) {
        let id = self.leases.messages.get(&(peer.clone(), request));
        if let Some(lease) = id.and_then(|id| self.leases.held.get_mut(id)) {
            lease.tell = None;
        }
    }
}

impl Leases {
    pub(super) fn holds(&self, peer: &AgentId, message_id: MessageId) -> bool {
        self.messages.contains_key(&(peer.clone(), message_id))
    }

    fn is_held_back(&self, peer: &AgentId, message_id: MessageId) -> bool {
        self.later.contains_key(&(peer.clone(), message_id))
    }

    fn put(&mut self, id: LeaseId, lease: Lease) {
        self.messages.insert(lease.name.clone(), id);
        self.held.insert(id, lease);
    }

    fn end(&mut self, id: LeaseId) -> Option<Lease> {
        if self.held.len() >= MOST {
            // All leases were in use, so a consumer may have been given no message: a change of `freed` makes that consumer ask
            // again.
            self.freed += 1;
        }
        let lease = self.held.remove(&id)?;
        self.messages.remove(&lease.name);
        Some(lease)
    }

    fn due(&self) -> Option<Duration> {
        let leases = self.held.values();
        let leases =
            leases.map(|lease| lease.tell.map_or(lease.until, |tell| tell.min(lease.until)));
        leases.chain(self.later.values().copied()).min()
    }
}

impl LeasesDoor<'_, '_> {
    /// Hands the oldest message that waits and is wanted to a consumer, under a lease. `None` when there
    /// is none, while our person pauses their agents, and when too many are handed out.
    pub fn receive(&mut self, wanted: &mut Wanted) -> (Option<HandedOut>, Outcome) {
        while let Some(message) = self.next_for(wanted) {
            let headers = &message.headers;
            let name = (headers.agent_id.clone(), headers.message_id);
            // `begin` gives no error here: `next_for` has found the message in the inbox, and under no lease.
            let Ok(tries) = self.turn.inbox().begin(&name.0, name.1) else {
                break;
            };
            // `None` means that the message's tries are used up, and that `begin` has moved it to the quarantine: look for the
            // next message.
            let Some(tries) = tries else { continue };
            let lease = wanted.lease.clamp(SHORTEST, LONGEST);
            let asked = message.form == Form::Call(Method::Request);
            let id = LeaseId(self.turn.node.ids.nonce());
            self.turn.node.inbox.leases.put(
                id,
                Lease {
                    name,
                    connection: wanted.connection,
                    until: self.turn.at.elapsed.saturating_add(lease),
                    tell: asked.then(|| self.turn.at.elapsed.saturating_add(TELL_AFTER)),
                },
            );
            let handed = HandedOut {
                lease: id,
                ends: self.turn.at.now.saturating_add(lease),
                tries,
                opened: self.turn.node.opened(&message),
                message,
            };
            return (Some(handed), self.turn.take());
        }
        (None, self.turn.take())
    }

    /// Answers the request that a lease names, as [`crate::node::turn::SentDoor::reply`] does.
    ///
    /// # Errors
    /// When the lease has ended, what it names is no request, or the answer is at fault: then it is kept.
    pub fn reply(
        &mut self,
        lease: LeaseId,
        answer: Result<Content, Declining>,
    ) -> Result<(MessageId, Outcome), LocalError> {
        let (peer, request) = self.leased(lease)?;
        let replied = self.turn.sent().reply(Some(&peer), request, answer)?;
        self.turn.node.inbox.leases.end(lease);
        Ok(replied)
    }

    /// The holder of a lease could not handle the message: the next one gets it after `pause`, or after one that doubles
    /// with each try. Says how long that is; `None` where the message went to the quarantine.
    ///
    /// # Errors
    /// When the lease has ended.
    pub fn fail(
        &mut self,
        lease: LeaseId,
        reason: &str,
        pause: Option<Duration>,
    ) -> Result<(Option<Duration>, Outcome), LocalError> {
        let (peer, message_id) = self.leased(lease)?;
        let tries = self.turn.node.inbox.tries(&peer, message_id).number();
        self.turn.node.inbox.leases.end(lease);
        let (is_spent, outcome) = self.turn.inbox().fail(&peer, message_id, reason)?;
        if is_spent {
            return Ok((None, outcome));
        }
        // The pause doubles with each try. Cap the number of tries, which comes from the log: a shift by a large number would
        // overflow.
        let usual = FIRST_PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(TRIES));
        let pause = pause.unwrap_or(usual).min(LONGEST);
        let later = self.turn.at.elapsed.saturating_add(pause);
        let leases = &mut self.turn.node.inbox.leases;
        leases.later.insert((peer, message_id), later);
        Ok((Some(pause), outcome))
    }

    /// The holder of a lease could not begin with the message: that is no try, and the next one gets it after a pause.
    ///
    /// # Errors
    /// When the lease has ended.
    pub fn unbegun(&mut self, lease: LeaseId, reason: &str) -> Result<Outcome, LocalError> {
        let (peer, message_id) = self.leased(lease)?;
        self.turn.node.inbox.leases.end(lease);
        let outcome = self.turn.inbox().unbegun(&peer, message_id, reason)?;
        let later = self.turn.at.elapsed.saturating_add(FIRST_PAUSE);
        let leases = &mut self.turn.node.inbox.leases;
        leases.later.insert((peer, message_id), later);
        Ok(outcome)
    }

    /// The holder of a lease has handled the message: it leaves the inbox.
    ///
    /// # Errors
    /// When the lease has ended.
    pub fn acknowledge(&mut self, lease: LeaseId) -> Result<Outcome, LocalError> {
        let name = self.leased(lease)?;
        let taken = self.turn.inbox().acknowledge(&[name])?;
        self.turn.node.inbox.leases.end(lease);
        Ok(taken)
    }

    /// The holder of a lease has handled the message, which stays in the inbox for an answer of somebody
    /// else's: nobody receives it again.
    ///
    /// # Errors
    /// When the lease has ended.
    pub fn keep(&mut self, lease: LeaseId) -> Result<Outcome, LocalError> {
        let (peer, message_id) = self.leased(lease)?;
        let kept = self.turn.inbox().keep(&peer, message_id)?;
        self.turn.node.inbox.leases.end(lease);
        Ok(kept)
    }

    /// The holder of a lease needs longer. Says when it ends now.
    ///
    /// # Errors
    /// When it has ended.
    pub fn extend(&mut self, lease: LeaseId, by: Duration) -> Result<Timestamp, LocalError> {
        self.leased(lease)?;
        let by = by.clamp(SHORTEST, LONGEST);
        let until = self.turn.at.elapsed.saturating_add(by);
        if let Some(held) = self.turn.node.inbox.leases.held.get_mut(&lease) {
            held.until = until;
        }
        Ok(self.turn.at.now.saturating_add(by))
    }

    /// A consumer has gone: what it held goes to the next.
    pub fn consumer_gone(&mut self, connection: u64) -> Outcome {
        let held = self.turn.node.inbox.leases.held.iter();
        let theirs = held.filter(|(_, lease)| lease.connection == connection);
        let theirs: Vec<_> = theirs.map(|(id, _)| *id).collect();
        for id in theirs {
            self.end_lease(id, HOLDER_GONE);
        }
        self.turn.take()
    }

    /// The message that a lease names, while it holds.
    fn leased(&self, lease: LeaseId) -> Result<(AgentId, MessageId), LocalError> {
        self.turn.node.inbox.leased(self.turn.at.elapsed, lease)
    }

    fn next_for(&self, wanted: &mut Wanted) -> Option<Arc<Message>> {
        let inbox = &self.turn.node.inbox;
        if self.turn.node.people.pausing().is_paused() || inbox.leases.held.len() >= MOST {
            return None;
        }
        let waiting = inbox.after(wanted.looked);
        let mut free = waiting.filter(|item| {
            let headers = &item.message.headers;
            let (peer, name) = (&headers.agent_id, headers.message_id);
            wanted.takes(&item.message)
                && !inbox.tries(peer, name).are_over()
                && !inbox.leases.holds(peer, name)
                && !inbox.leases.is_held_back(peer, name)
                && !self.is_answered_by_draft(peer, name)
        });
        let next = free.next();
        // Begin the next look after this message. Earlier messages that are leased, or wait after a failed try, were
        // passed over: when the lease or the wait ends, `Supply` changes, and the consumer looks from the first message
        // again.
        wanted.looked = match &next {
            Some(item) => item.number,
            None => inbox.arrivals(),
        };
        next.map(|item| item.message)
    }

    /// Whether our answer waits for our person: who refuses it leaves the request to be answered anew.
    fn is_answered_by_draft(&self, peer: &AgentId, request: MessageId) -> bool {
        let drafts = self.turn.node.sent.drafts().of(peer);
        let mut drafts = drafts.map(|waiting| &waiting.draft);
        drafts.any(|draft| draft.form.method().is_none() && draft.in_reply_to == Some(request))
    }

    /// What of leases is due: who asked hears that somebody has it, and what ran out goes to the next.
    pub(in crate::node) fn overdue(&mut self) {
        let held = self.turn.node.inbox.leases.held.iter();
        let over = held.filter(|(_, lease)| lease.until <= self.turn.at.elapsed);
        let over: Vec<_> = over.map(|(id, _)| *id).collect();
        for id in over {
            self.end_lease(id, LEASE_ENDED);
        }
        let now = self.turn.at.elapsed;
        let leases = &mut self.turn.node.inbox.leases;
        let waiting = leases.later.len();
        leases.later.retain(|_, later| *later > now);
        leases.freed += (waiting - leases.later.len()) as u64;
        let due = leases
            .held
            .values_mut()
            .filter(|lease| lease.tell.is_some_and(|tell| tell <= now));
        let due: Vec<_> = due
            .map(|lease| {
                // Tell the peer only once that somebody works on its request: do not try again if the word cannot
                // leave, since the answer itself will come.
                lease.tell = None;
                lease.name.clone()
            })
            .collect();
        for (peer, request) in due {
            self.tell_working(&peer, request);
        }
    }

    fn end_lease(&mut self, id: LeaseId, why: &str) {
        let Some(lease) = self.turn.node.inbox.leases.end(id) else {
            return;
        };
        self.turn.node.inbox.leases.freed += 1;
        let (peer, message_id) = lease.name;
        // Ignore the error of `end_try`: a message that has left the inbox has no try to end.
        let _ = self.turn.inbox().end_try(&peer, message_id, why);
    }

    /// What cannot be told is no fault: the answer will come all the same.
    fn tell_working(&mut self, peer: &AgentId, id: MessageId) {
        let working = Progress::working();
        let _ = self.turn.sent().tell_progress(Some(peer), id, &working);
    }
}
