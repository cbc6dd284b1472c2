//! What one agent knows, and what it decides about everything that happens.
//!
//! [`Node`] performs no IO and holds no lock. Whoever owns it feeds it inputs and times, writes the
//! entries of each [`Outcome`] to the log, and performs its effects when they are durable. All that
//! must survive a restart changes in one function, by entries alone, so that [`Node::recall`] over
//! the log gives the same state.

mod alarms;
mod answers;
mod budget;
mod clock;
mod drafts;
mod ids;
mod inbound;
mod inbox;
mod judged;
mod me;
mod memory;
mod offers;
mod outbound;
mod outbox;
mod peers;
mod people;
mod progress;
mod proof;
mod release;
mod request;
mod rows;
mod rule;
mod sent;
mod state;
mod tasks;
mod turn;

use std::sync::Arc;
use std::time::Duration;

use crate::carrier::{CarrierId, Parcel, Routes};
use crate::certificate::Certificate;
use crate::draft::Identity;
use crate::entry::{AlarmLine, CauseLine, Direction, Entry, Evidence, HoleLine, Ruling, Verdict};
use crate::envelope::Message;
use crate::headers::CapabilityName;
use crate::ids::{AgentId, Digest, MessageId, SessionId};
use crate::policy::{Policy, may_travel_in_clear};
use crate::reject::Reason;
use crate::seal::{Opened, Sealed};
use crate::statement::{PauseStatement, Revocation};
use crate::time::Timestamp;
use crate::trust::{TrustStore, TrustView};

pub use alarms::Alarms;
pub use budget::Allowance;
pub use clock::Clock;
pub use drafts::{Waiter, WaitsFor, hash_of_draft};
use ids::Ids;
pub use inbox::{
    Gone, HandedOut, Inbox, Item, LeaseId, Quarantine, Shelved, Supply, TRIES, Wanted,
};
pub use judged::Judged;
pub use me::Me;
use memory::Changed;
pub use offers::{OfferFault, OfferedTo, Offers, Program};
pub use outbox::Outgoing;
use peers::Paid;
pub use peers::{Peers, Polled};
pub use people::{Pausing, People, Stranger};
pub use progress::Progressed;
pub use request::{Content, Continues, Declining, Handing, LocalError, Sending};
pub use rows::{ROWS_VERSION, Read, RestoreError, Row, Snapshot, TABLES, differences};
pub use rule::judge::Judge;
pub use rule::permission::Way;
pub use rule::ruled::Accepted;
use rule::ruled::Ruled;
pub use sent::{CallerKey, Once, Sent};
pub use state::{Lost, State};
pub use tasks::{Task, Tasks};
pub use turn::{
    AlarmsDoor, CarriersDoor, CopiesDoor, FlightsDoor, InboxDoor, LeasesDoor, MeDoor, OffersDoor,
    PeersDoor, PeopleDoor, ReceiptsDoor, TasksDoor, Turn, WaysDoor,
};

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

/// What a part judges by beside its own state: who we are, since when by this key, and whom we trust.
#[derive(Clone, Copy, Debug)]
pub struct RuleContext<'a> {
    identity: &'a Identity,
    rekeyed: Option<Timestamp>,
    trust: &'a TrustView,
}

impl RuleContext<'_> {
    /// Whether our own certificate was taken back by our person: nobody listens to us any more.
    pub fn is_revoked(self) -> bool {
        self.trust.is_revoked(&self.identity.certificate)
    }
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
    people: People,
    alarms: Alarms,
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
            people: People::default(),
            alarms: Alarms::default(),
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

    /// What the parts judge by beside their own state.
    pub fn context(&self) -> RuleContext<'_> {
        RuleContext {
            identity: self.me.identity(),
            rekeyed: self.me.rekeyed(),
            trust: self.trust.view(),
        }
    }

    /// The alarms that no person has cleared.
    pub fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    /// What programs offer now.
    pub fn offers(&self) -> &Offers {
        &self.offers
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
        let known = self.peers.get(peer);
        let standing = known.map(|known| Standing {
            drafts: self.sent.drafts().of(peer).count(),
            ..known.standing(now)
        });
        standing.unwrap_or_default()
    }

    /// What is sealed in a message for us. `None` when nothing is, and when the secret that it was
    /// sealed to is destroyed.
    pub fn opened(&self, message: &Message) -> Option<Opened> {
        let opened = self.me.open(message).ok().flatten();
        opened.map(|(opened, _)| opened)
    }

    /// Ourselves.
    pub fn me(&self) -> &Me {
        &self.me
    }

    /// What lies between us and each peer.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Which time it is, by our clock and by our log.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What we decide.
    pub fn policy(&self) -> &Policy {
        self.me.policy()
    }

    /// What would be ruled at `now`.
    pub fn judge(&self, now: Timestamp) -> Judge<'_> {
        Judge { node: self, now }
    }

    /// Everything that is due at `at.now`.
    pub fn handle_timeout(&mut self, at: At) -> Outcome {
        let mut turn = self.turn(at);
        turn.read_clock();
        let strangers = turn.node.people.overdue(at.now);
        let counted = [strangers, turn.node.peers.overdue(at.elapsed)];
        for flood in counted.into_iter().flatten() {
            turn.write(Entry::Flood(flood));
        }
        turn.me().write_attempts();
        turn.leases().overdue();
        turn.people().tell_decrees();
        turn.alarms().look_for_holes();
        turn.offers().end_lapsed_offers();
        turn.peers().overdue();
        turn.out
    }

    /// The next time at which [`Node::handle_timeout`] has something to do, by the clock as it is at
    /// `at`.
    pub fn poll_timeout(&self, at: At) -> Option<Timestamp> {
        if let Some(at_once) = self.clock.due(at.now) {
            return Some(at_once);
        }
        let own = self.me.identity();
        let peers = self.peers.iter();
        let peers = peers.filter_map(|(name, peer)| {
            let mail_waits = self.sent.drafts().next(name).is_some();
            peer.due(at.now, at.elapsed, own, mail_waits)
        });
        let offers = self.peers.names();
        let offers = offers.filter_map(|peer| self.judge(at.now).offer_due(at.elapsed, peer));
        let elapsed = [
            self.peers.due(),
            self.inbox.due(),
            self.offers.due(self.me.policy().offer_linger),
        ];
        let now = [
            self.people.due(),
            self.sent.drafts().due(),
            self.people.orders_due(self, at.now),
            self.me.due(at.now),
        ];
        let elapsed = elapsed.into_iter().flatten().map(|due| at.when(due));
        let others = now.into_iter().flatten().chain(elapsed);
        peers.chain(offers).chain(others).min()
    }

    /// The log has been told again: handshakes of ours are forgotten, what was accepted and not
    /// answered is answered, and each session's peer hears how far we are.
    pub fn resume(&mut self, at: At) -> Outcome {
        let mut turn = self.turn(at);
        turn.node.alarms.start(at.elapsed);
        turn.node.clock.resume(at.elapsed);
        turn.read_clock();
        turn.node.peers.retire_sessions(turn.node.me.identity());
        turn.me().record_own();
        turn.offers().recall_offers();
        turn.peers().resume();
        turn.tasks().end_unsent();
        let pings: Vec<_> = turn.node.sent.pings().map(Arc::clone).collect();
        for ping in pings {
            turn.answer_ping(&ping);
        }
        turn.out
    }

    /// A carrier dropped messages before they were read: the log says so.
    pub fn handle_gap(&mut self, at: At, cause: String) -> Outcome {
        let mut turn = self.turn(at);
        turn.write(Entry::Gap(CauseLine { cause }));
        turn.out
    }

    /// A clean stop: what was counted is written.
    pub fn handle_stop(&mut self) -> Outcome {
        let counted = [self.people.flush(), self.peers.flush()];
        let flood = counted.into_iter().flatten().map(Entry::Flood);
        let attempts = self.me.overdue(None).into_iter().map(Entry::Attempt);
        Outcome {
            entries: flood.chain(attempts).collect(),
            ..Outcome::default()
        }
    }

    /// A carrier is not connected, or not yet: decrees wait until one is, nothing is given up before
    /// [`CarriersDoor::drained`], and what only this carrier holds may go by another.
    pub fn handle_disconnected(&mut self, carrier: &CarrierId) {
        let since = self.clock.elapsed().unwrap_or_default();
        self.peers.disconnected(carrier, since);
    }

    /// A message of ours went out by a carrier, and nothing says where to: it goes out again until a receipt
    /// comes, and a receipt of ours until a carrier has it.
    pub fn handle_unconfirmed(&mut self, carrier: &CarrierId, peer: &AgentId, message: MessageId) {
        self.peers.unconfirmed(carrier, peer, message);
    }

    /// Goes by these carriers from now on.
    pub fn set_routes(&mut self, routes: Routes) {
        self.peers.go_by(routes);
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
