//! What one agent knows, and what it decides about everything that happens.
//!
//! [`Node`] performs no IO and holds no lock. Whoever owns it feeds it inputs and times, writes the
//! entries of each [`Outcome`] to the log, and performs its effects when they are durable. All that
//! must survive a restart changes in one function, by entries alone, so that [`Node::recall`] over
//! the log gives the same state.

mod alarms;
mod answers;
mod budget;
mod budgets;
mod bytes;
mod carriers;
mod clock;
mod drafts;
mod flights;
mod ids;
mod inbound;
mod inbox;
mod judged;
mod last_receipt;
mod me;
mod memory;
mod names;
mod offers;
mod outbound;
mod outbox;
mod pace;
mod peers;
mod people;
mod polls;
mod progress;
mod proof;
mod release;
mod request;
mod rows;
mod rule;
mod sent;
mod state;
mod tasks;
mod timers;
mod trail;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use crate::carrier::{CarrierId, Parcel};
use crate::certificate::Certificate;
use crate::draft::Identity;
use crate::entry::{AlarmLine, Direction, Entry, Evidence, HoleLine, Ruling, Verdict};
use crate::envelope::Message;
use crate::headers::CapabilityName;
use crate::ids::{AgentId, Digest, MessageId, SessionId};
use crate::policy::{Policy, may_travel_in_clear};
use crate::reject::Reason;
use crate::seal::Sealed;
use crate::statement::{PauseStatement, Revocation};
use crate::time::Timestamp;
use crate::trust::{TrustStore, TrustView};

pub use alarms::{Alarms, AlarmsDoor};
pub use budget::Allowance;
use bytes::Paid;
use carriers::Carriers;
use clock::Clock;
pub use drafts::{Waiter, WaitsFor, hash_of_draft};
use ids::Ids;
pub use inbox::{
    Gone, HandedOut, Inbox, InboxDoor, Item, LeaseId, LeasesDoor, Quarantine, Shelved, Supply,
    TRIES, Wanted,
};
pub use judged::Judged;
use me::Me;
pub use me::MeDoor;
pub use offers::{OfferFault, OfferedTo, Offers, OffersDoor, Program};
pub use outbox::Outgoing;
pub use peers::Peers;
pub use people::{Pausing, People, PeopleDoor, Stranger};
pub use polls::Polled;
use polls::Polls;
pub use progress::Progressed;
pub use request::{Content, Continues, Declining, Handing, LocalError, Sending};
pub use rows::{ROWS_VERSION, Read, RestoreError, Row, Snapshot, TABLES, differences};
pub use rule::permission::Way;
pub use rule::ruled::Accepted;
pub use sent::{CallerKey, Once, Sent};
pub use state::{Lost, State};
pub use tasks::{Task, Tasks, TasksDoor};
pub use turn::Turn;

/// When something happens, and what was durable then.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The time by the clock, which may be set, forwards and back.
    pub now: Timestamp,
    /// How long the node has run, by a clock that nobody sets: whatever only paces runs on it.
    pub elapsed: Duration,
    /// SHA-256 of our last durable audit line.
    pub head: Option<Digest>,
}

impl At {
    /// When it is, by the clock as it stands now, that the node has run `elapsed`.
    fn when(&self, elapsed: Duration) -> Timestamp {
        self.now
            .saturating_add(elapsed.saturating_sub(self.elapsed))
    }

    /// When that was, by the clock as it stands now: `elapsed` is what the node had run then.
    fn time_of(&self, elapsed: Duration) -> Timestamp {
        self.now
            .saturating_sub(self.elapsed.saturating_sub(elapsed))
    }
}

/// What to do once the entries are durable.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Effect {
    /// Send these bytes to the recipient, by that carrier.
    Publish(Parcel),
    /// A message arrived in the agent's inbox.
    Deliver(Accepted),
    /// A request of ours is answered.
    Answer(Accepted),
    /// A ping of ours is answered: that is for whoever waits for it, and in no inbox.
    Pong(Accepted),
    /// A peer tells how a request of ours is doing.
    Progress(Accepted),
    /// A message of ours came to an end that is not an answer, or was taken.
    Settle {
        /// For whom it was.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
        /// Where it is now.
        state: State,
        /// What the peer offers, where the message ended because it named none of several.
        offers: Vec<CapabilityName>,
    },
    /// A session with a peer stands.
    Established(AgentId),
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
    /// A peer sends more than it may: told at most once a minute.
    OverBudget {
        /// Who.
        peer: AgentId,
        /// How many of its calls were refused for it since the start.
        refused: u64,
    },
    /// Something is wrong that only a person can judge.
    Alarm(AlarmLine),
    /// Agents of several people, or one of our own person's, show another copy of us: in words.
    Doubled(String),
    /// Messages of a peer's never came, and it did not give them up.
    Hole(HoleLine),
    /// A peer's clock and ours differ by more than a minute: what one of them signs, the other refuses.
    Clock {
        /// Whose.
        peer: AgentId,
        /// The peer's minus ours, in milliseconds.
        difference_ms: i64,
    },
    /// A message that came could not be handled five times, and went to the quarantine.
    Quarantined {
        /// Who sent it.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
    },
    /// A message of ours waits for the person's approval.
    ApprovalNeeded {
        /// For whom it is.
        peer: AgentId,
        /// Which.
        message_id: MessageId,
    },
}

/// What came of one input: lines for the log, in order, and what they allow. Outside of this crate none is
/// made but the empty one.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// To be made durable first. For an inbound message the first is its verdict, after the line of
    /// the task that it changes; unless it was over a budget of bytes or lines and is counted in the
    /// next `flood` line instead.
    pub entries: Vec<Entry>,
    /// To be performed then.
    pub effects: Vec<Effect>,
    /// What was decided about the message that came in; `None` for every other input.
    pub ruled: Option<Disposition>,
    /// What brought the message that came in, where it is not NATS: its line says so.
    pub carrier: Option<CarrierId>,
    /// Who asks for what is kept, where the message that came in was a poll and is taken.
    pub polled: Option<Polled>,
}

/// What was decided about a message that came in. Whatever it is, its carrier may forget the message once the
/// entries are durable: what is to come again, its sender sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is taken.
    Accepted,
    /// It is refused, or a copy, and a line of its own says so.
    Refused,
    /// It is one of those that a `flood` line counts.
    Counted,
}

/// What a part judges by beside its own state: who we are, and whom we trust.
#[derive(Clone, Copy)]
struct RuleContext<'a> {
    identity: &'a Identity,
    trust: &'a TrustView,
}

/// One agent's knowledge and judgement.
#[derive(Debug)]
pub struct Node {
    me: Me,
    trust: TrustStore,
    peers: Peers,
    inbox: Inbox,
    offers: Offers,
    sent: Sent,
    tasks: Tasks,
    polls: Polls,
    people: People,
    alarms: Alarms,
    carriers: Carriers,
    /// What brought the input that is being judged.
    arrived_by: CarrierId,
    clock: Clock,
    ids: Ids,
}

impl Node {
    /// A node that knows nobody yet. `seed` is 32 random bytes: ids and nonces come from it.
    pub fn new(identity: Identity, policy: Policy, seed: [u8; 32]) -> Self {
        let trust = TrustStore::new(&identity.certificate);
        Self {
            me: Me::new(identity, policy),
            trust,
            peers: Peers::default(),
            inbox: Inbox::default(),
            offers: Offers::default(),
            sent: Sent::default(),
            tasks: Tasks::default(),
            polls: Polls::default(),
            people: People::default(),
            alarms: Alarms::default(),
            carriers: Carriers::default(),
            arrived_by: CarrierId::NATS,
            clock: Clock::default(),
            ids: Ids::new(seed),
        }
    }

    /// Who we are.
    pub fn identity(&self) -> &Identity {
        self.me.identity()
    }

    /// Whom we know.
    pub fn trust(&self) -> &TrustView {
        self.trust.view()
    }

    /// The tasks that were given to us and that we gave.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    fn context(&self) -> RuleContext<'_> {
        RuleContext {
            identity: self.me.identity(),
            trust: self.trust.view(),
        }
    }

    /// Who waits for our person's decision, and whether we pause.
    pub fn people(&self) -> &People {
        &self.people
    }

    /// Our requests that wait for an answer.
    pub fn sent(&self) -> &Sent {
        &self.sent
    }

    /// What waits for our agent.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// One peer's sessions and what waits for it, for a person.
    pub fn standing(&self, peer: &AgentId, now: Timestamp) -> Standing {
        self.peers
            .get(peer)
            .map(|link| Standing {
                drafts: self.sent.drafts().of(peer).count(),
                ..link.standing(now)
            })
            .unwrap_or_default()
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
    fn verdict(
        bytes: u64,
        message: &Arc<Message>,
        ruling: Ruling,
        copy: Option<Sealed>,
        paid: Paid,
    ) -> Entry {
        let evidence = if ruling == Ruling::Rejected(Reason::Duplicate) {
            Evidence::Copy(crate::envelope::Claimed {
                agent: Some(message.headers.agent_id.clone()),
                message_type: Some(message.headers.message_type),
            })
        } else if paid == Paid::Withheld
            || !may_travel_in_clear(
                message.headers.data_tier,
                message.summary.is_some(),
                message.body.is_some(),
            )
        {
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
