//! The heart: what one agent knows, and what it makes of everything that happens.
//!
//! [`Node`] performs no IO and holds no lock. Whoever owns it feeds it inputs and times, writes the
//! entries of each [`Outcome`] to the log, and performs its effects when they are durable. All that
//! must survive a restart changes in one function, by entries alone, so that [`Node::recall`] over
//! the log gives the same state.

mod answers;
mod budget;
mod decrees;
mod drafts;
mod flights;
mod handoffs;
mod holding;
mod identity;
mod inbound;
mod inbox;
mod link;
mod memory;
mod outbound;
mod permission;
mod request;
mod sealing;
mod shed;
mod standing;
mod strangers;
mod tasks;
mod timers;
mod trail;

use std::collections::BTreeMap;
use std::sync::Arc;

use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};

use crate::certificate::Certificate;
use crate::draft::{Identity, Signed};
use crate::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use crate::envelope::{Message, Unparsed, Unverified};
use crate::ids::{AgentId, Digest, MessageId, SessionId};
use crate::policy::{Policy, may_travel_in_clear};
use crate::reject::Reason;
use crate::seal::{Opened, Sealed};
use crate::statement::{PauseStatement, Revocation};
use crate::time::Timestamp;
use crate::trust::{TrustStore, TrustView};
use crate::verify::{Unproven, Verified};

pub use budget::Allowance;
use budget::Budget;
pub use decrees::Pausing;
pub use drafts::{Waiter, WaitsFor, hash_of_draft};
pub use inbox::{Inbox, Item};
use link::Link;
pub use permission::Way;
pub use request::{Content, Continues, Handing, LocalError, Sending};
pub use strangers::Stranger;
use strangers::Strangers;
pub use tasks::{Task, Tasks};

/// When something happens, and what was durable then.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The time.
    pub now: Timestamp,
    /// SHA-256 of our last durable audit line.
    pub head: Option<Digest>,
}

/// One input from the network, parsed and verified as far as it goes.
#[derive(Clone, Debug)]
pub struct Judged {
    bytes: u64,
    head: Vec<u8>,
    result: Result<Verified, Refusal>,
}

#[derive(Clone, Debug)]
enum Refusal {
    Unparsed(Unparsed),
    Unproven(Unproven),
    /// Not looked at: the hash of the bytes.
    Shed(Digest),
}

impl Judged {
    /// The whole way of bytes through the stateless checks V01 to V07. Workers call it in parallel.
    pub fn of(bytes: &[u8], view: &TrustView) -> Self {
        Self::of_parsed(bytes, Unverified::parse(bytes), view)
    }

    fn of_parsed(bytes: &[u8], parsed: Result<Unverified, Unparsed>, view: &TrustView) -> Self {
        let result = match parsed {
            Ok(unverified) => unverified.verify(view).map_err(Refusal::Unproven),
            Err(unparsed) => Err(Refusal::Unparsed(unparsed)),
        };
        let kept = match &result {
            // What says of itself that it is sensitive leaves no words, whoever said it.
            Err(Refusal::Unproven(unproven)) if unproven.message.bares_secrets() => 0,
            Ok(_) => 0,
            Err(_) => bytes.len().min(crate::entry::RAW_KEPT),
        };
        let head = bytes.get(..kept).unwrap_or_default().to_vec();
        Self {
            bytes: bytes.len() as u64,
            head,
            result,
        }
    }

    /// An input that came by a subject that is not this agent's inbox (check V05).
    pub fn misplaced(bytes: &[u8]) -> Self {
        let unparsed = Unparsed {
            reason: Reason::WrongSubject,
            hash: Digest::of(&[bytes]),
            claimed: Default::default(),
        };
        let kept = bytes
            .get(..bytes.len().min(crate::entry::RAW_KEPT))
            .unwrap_or_default();
        Self {
            bytes: bytes.len() as u64,
            head: kept.to_vec(),
            result: Err(Refusal::Unparsed(unparsed)),
        }
    }

    /// An input that was cut off at the transport's size cap (check V01): its length, its first
    /// bytes, and the hash of what was seen.
    pub fn oversized(length: u64, head: &[u8]) -> Self {
        let unparsed = Unparsed {
            reason: Reason::TooLarge,
            hash: Digest::of(&[head]),
            claimed: Default::default(),
        };
        let kept = head
            .get(..head.len().min(crate::entry::RAW_KEPT))
            .unwrap_or_default();
        Self {
            bytes: length,
            head: kept.to_vec(),
            result: Err(Refusal::Unparsed(unparsed)),
        }
    }
}

/// A message that was verified, fresh in its session, and allowed: **the only thing that an effect
/// of an inbound message can carry**. Only [`Node`] makes it.
#[derive(Clone, Debug)]
pub struct Accepted {
    message: Arc<Message>,
    opened: Option<Arc<Opened>>,
}

impl Accepted {
    /// What it says.
    pub fn message(&self) -> &Arc<Message> {
        &self.message
    }

    /// What was sealed in it.
    pub fn opened(&self) -> Option<&Opened> {
        self.opened.as_deref()
    }
}

/// What to do once the entries are durable.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Send these bytes to the recipient's inbox.
    Publish(Signed),
    /// A message arrived in the agent's inbox.
    Deliver(Accepted),
    /// A request of ours is answered.
    Answer(Accepted),
    /// A message of ours came to an end that is not an answer, or was taken.
    Settle {
        /// For whom it was.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
        /// Where it is now.
        state: State,
    },
    /// A session with a peer stands.
    Established(AgentId),
    /// A peer sends more than it may: people are told, at most once a minute.
    OverBudget {
        /// Who.
        peer: AgentId,
        /// How many of its calls were refused for it since the start.
        refused: u64,
    },
    /// The trust store changed: verify by this snapshot from now on.
    Trust(TrustView),
    /// Our person has to hear of something.
    Notice(Box<Notice>),
}

/// What our person has to hear of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// A stranger waits for a decision.
    StrangerWaits(Certificate),
    /// A pinned principal appeared with a root key that the old one had not named: perhaps an attack.
    RootChanged(Certificate),
    /// The successor that a pinned root had named took its place.
    RootSucceeded(Certificate),
    /// Certificates were taken back by their root.
    Revoked(Revocation),
    /// The person paused their agents, or let them go on.
    Pause(PauseStatement),
    /// A message of ours waits for the person's approval.
    ApprovalNeeded {
        /// For whom it is.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
    },
}

/// Where a message of ours is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for a session.
    Queued,
    /// It was published; no receipt has come.
    Published,
    /// The peer has it, durably.
    Received,
    /// The peer refused it, by a reason's name.
    Refused(String),
    /// Its life ended without a receipt.
    Expired,
    /// Its session was lost before a receipt came.
    Unknown,
}

impl State {
    /// The one word for it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Published => "published",
            Self::Received => "received",
            Self::Refused(_) => "refused",
            Self::Expired => "expired",
            Self::Unknown => "unknown",
        }
    }
}

/// What came of one input: lines for the log, in order, and what they allow.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// To be made durable first. For an inbound message the first is its verdict, after the line of
    /// the task that it changes; unless a stranger exceeded the budget and is counted in the next
    /// `flood` line instead.
    pub entries: Vec<Entry>,
    /// To be performed then.
    pub effects: Vec<Effect>,
}

/// One agent's knowledge and judgement.
#[derive(Debug)]
pub struct Node {
    identity: Identity,
    /// The last certificate of ours that the log holds.
    recorded: Option<Certificate>,
    /// The time of the last line.
    written: Timestamp,
    policy: Policy,
    trust: TrustStore,
    links: BTreeMap<AgentId, Link>,
    inbox: Inbox,
    open: BTreeMap<MessageId, OpenRequest>,
    swept: Option<Timestamp>,
    pings: BTreeMap<(AgentId, MessageId), Arc<Message>>,
    tasks: Tasks,
    strangers: Budget,
    waiting_room: Strangers,
    pausing: Pausing,
    disconnected: bool,
    rng: ChaCha20Rng,
}

#[derive(Clone, Debug)]
struct OpenRequest {
    peer: AgentId,
    tier: u8,
    closes: Timestamp,
}

impl Node {
    /// A node that knows nobody yet. `seed` is 32 random bytes: ids and nonces come from it.
    pub fn new(identity: Identity, policy: Policy, seed: [u8; 32]) -> Self {
        let trust = TrustStore::new(&identity.certificate);
        Self {
            identity,
            recorded: None,
            written: Timestamp::from_millis(0),
            policy,
            trust,
            links: BTreeMap::new(),
            inbox: Inbox::default(),
            open: BTreeMap::new(),
            swept: None,
            pings: BTreeMap::new(),
            tasks: Tasks::default(),
            strangers: Budget::default(),
            waiting_room: Strangers::default(),
            pausing: Pausing::default(),
            disconnected: false,
            rng: ChaCha20Rng::from_seed(seed),
        }
    }

    /// Who we are.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whom we know.
    pub fn trust(&self) -> &TrustView {
        self.trust.view()
    }

    /// What waits for our agent.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// One peer's sessions and what waits for it, for a person.
    pub fn standing(&self, peer: &AgentId, now: Timestamp) -> Standing {
        self.links
            .get(peer)
            .map(|link| link.standing(now))
            .unwrap_or_default()
    }

    fn fresh_id(&mut self, now: Timestamp) -> MessageId {
        let mut random = [0; 10];
        self.rng.fill_bytes(&mut random);
        MessageId::from_parts(u64::try_from(now.as_millis()).unwrap_or_default(), random)
    }

    fn nonce(&mut self) -> Digest {
        let mut random = [0; 32];
        self.rng.fill_bytes(&mut random);
        Digest(random)
    }

    fn link(&self, peer: &AgentId) -> Option<&Link> {
        self.links.get(peer)
    }

    fn link_mut(&mut self, peer: &AgentId) -> &mut Link {
        self.links.entry(peer.clone()).or_default()
    }
}

/// How things stand with one peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// The session that the next message would use.
    pub session: Option<SessionId>,
    /// When that session ends.
    pub ends: Option<Timestamp>,
    /// Whether a handshake is under way.
    pub handshake: bool,
    /// Messages that wait for a session.
    pub drafts: usize,
    /// Messages sent and not yet receipted.
    pub unconfirmed: usize,
    /// Calls of the peer's over its budget, refused since the start.
    pub over_budget: u64,
    /// Calls of ours over the budget that the peer granted, not sent since the start.
    pub withheld: u64,
}

impl Outcome {
    /// Adds what happened to a message that came, and says what was decided.
    fn verdict(bytes: u64, message: &Arc<Message>, ruling: Ruling, copy: Option<Sealed>) -> Entry {
        let evidence = if ruling == Ruling::Rejected(Reason::Duplicate) {
            Evidence::Copy(crate::envelope::Claimed {
                agent: Some(message.headers.agent_id.clone()),
                message_type: Some(message.headers.message_type),
            })
        } else if !may_travel_in_clear(
            message.headers.data_tier,
            message.summary.is_some(),
            message.body.is_some(),
        ) {
            Evidence::Headers(Arc::clone(message))
        } else {
            Evidence::Whole(Arc::clone(message))
        };
        Entry::Message(Verdict {
            direction: Direction::In,
            ruling,
            bytes,
            hash: message.hash(),
            evidence,
            copy,
        })
    }
}
