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
mod ids;
mod inbound;
mod inbox;
mod judged;
mod local_error;
mod me;
mod memory;
mod offers;
mod open_input;
mod outcome;
mod peers;
mod people;
mod proof;
mod rows;
mod rule;
mod sent;
mod tasks;
mod turn;

use std::time::Duration;

use crate::carrier::{CarrierId, Routes};
use crate::draft::Identity;
use crate::entry::Entry;
use crate::envelope::Message;
use crate::ids::{AgentId, Digest, MessageId, SessionId};
use crate::policy::Policy;
use crate::seal::Opened;
use crate::time::Timestamp;
use crate::trust::{TrustStore, TrustView};

pub use alarms::Alarms;
pub use budget::LineAllowance;
pub use clock::Clock;
use ids::Ids;
use inbound::Arrival;
pub use inbox::{
    Gone, HandedOut, Inbox, Item, LeaseId, Quarantine, Shelved, Supply, TRIES, Wanted,
};
pub use judged::Judged;
pub use local_error::LocalError;
pub use me::Me;
use memory::Changed;
pub use offers::{OfferFault, OfferedTo, Offers, Program};
pub use open_input::OpenInput;
pub use outcome::{Disposition, Effect, Notice, Outcome, Polled};
use peers::Paid;
pub use peers::Peers;
pub use people::{Pausing, People, Stranger};
pub use rows::{ROWS_VERSION, Read, RestoreError, Row, Snapshot, TABLES, differences};
pub use rule::judge::Judge;
pub use rule::permission::Way;
pub use rule::ruled::Accepted;
use rule::ruled::Ruled;
use sent::Sent;
pub use sent::{
    CallerKey, Content, Continues, Declining, Handing, Lost, Outgoing, Progressed, Sending,
    SentEnd, SentMessage, SentView, State, Waiter, WaitsFor, hash_of_draft,
};
pub use tasks::{Task, Tasks};
pub use turn::{
    AlarmsDoor, CarriersDoor, CopiesDoor, DraftsDoor, FlightsDoor, InboxDoor, LeasesDoor, MeDoor,
    OffersDoor, PeersDoor, PeopleDoor, ReceiptsDoor, SentDoor, TasksDoor, Turn, WaysDoor,
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

    /// What we said and wait for.
    pub fn sent(&self) -> SentView<'_> {
        SentView::of(self)
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

    /// The next time at which [`Turn::handle_timeout`] has something to do, by the clock as it is now.
    pub fn poll_timeout(&self, now: At) -> Option<Timestamp> {
        next_time(self, now, peers::next_due)
    }

    /// A clean stop: what was counted is written.
    pub fn handle_stop(&mut self) -> Outcome {
        // Write log lines for counts that stand only in memory: otherwise a stop would lose them.
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
    /// `elapsed` is how long the node has run.
    pub fn handle_disconnected(&mut self, carrier: &CarrierId, elapsed: Duration) {
        self.peers.disconnected(carrier, elapsed);
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

/// [`Node::poll_timeout`] by asking every peer: for tests, and the same in any case.
pub fn poll_timeout_by_walk(node: &Node, now: At) -> Option<Timestamp> {
    next_time(node, now, peers::next_due_by_walk)
}

/// When something is next to be done, with a peer or else.
fn next_time(
    node: &Node,
    now: At,
    of_peers: fn(&Node, At) -> Option<Timestamp>,
) -> Option<Timestamp> {
    // If the clock was put back, deal with that before all else: it changes all other times.
    if let Some(at_once) = node.clock.due(now.now) {
        return Some(at_once);
    }
    let parts = [
        of_peers(node, now),
        node.people.due(),
        node.sent.drafts().due(),
        node.me.due(now.now),
    ];
    // The times in `parts` are of the wall clock, and the ones in `paced` of the monotonic clock: convert `paced` (`when`), so
    // that all times can be compared.
    let paced = [
        node.peers.due(),
        node.inbox.due(),
        node.offers.due(node.me.policy().offer_linger),
    ];
    let paced = paced.into_iter().flatten().map(|due| now.when(due));
    parts.into_iter().flatten().chain(paced).min()
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
