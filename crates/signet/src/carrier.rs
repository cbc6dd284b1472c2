//! The seam behind which carriers stand: what every one of them can do, and what it says.
//!
//! ```text
//! Source (what comes: News) ─▶ intake ─▶ event loop ─▶ journal ─▶ effects ─▶ Carriers ─▶ Carrier
//! ```
//!
//! Event loop, intake and effects know carriers by their [`CarrierId`] alone. A carrier is trusted with nothing:
//! what it brings is judged from its first byte, and what it says of messages is a hint. NATS is one
//! (`carrier/nats.rs`), the programs at `carrier.sock` are others (`carrier/foreign.rs`); CONTRIBUTING.md names the files that another one touches.

mod foreign;
mod nats;
pub(crate) mod nats_config;

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use signet_api::MailboxReaders;
use signet_proto::carrier::{CarrierId, Parcel};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Disposition, Polled};

pub use foreign::{AlreadyAttached, Foreign, NotTaken, foreign};
pub use nats::nats;

/// Why a carrier did not do what it was asked: in its own words, for the daemon's own log. What was to be
/// sent is sent again from the ledger, and what was to be settled comes again and is recognised.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct CarrierError(pub String);

/// One way to other daemons.
pub trait Carrier: Send + Sync {
    /// Hands bytes to it: it queues them or says no, and does not wait for the other side. Success promises
    /// nothing; the second future says whether the carrier holds them for the recipient, which only a receipt
    /// makes good.
    fn publish<'p>(
        &'p self,
        parcel: &'p Parcel,
    ) -> BoxFuture<'p, Result<BoxFuture<'static, bool>, CarrierError>>;

    /// Tells it what became of messages that it brought, in their order: their lines are durable, or there are none.
    fn settle(&self, settled: Vec<(Ticket, Settling)>) -> BoxFuture<'_, Result<(), CarrierError>>;

    /// A message of ours came to its end, or the peer has it: whatever keeps it need not.
    fn forget(&self, _peer: &AgentId, _message_id: MessageId) {}

    /// Whether the carrier is up, as far as this side knows.
    fn is_connected(&self) -> bool;

    /// Whether the carrier keeps mail for this agent while the agent is away.
    fn has_mailbox(&self) -> bool;

    /// Waits until it is up, and no longer than that.
    fn ready(&self, within: Duration) -> BoxFuture<'_, Result<(), CarrierError>>;

    /// Resolves when whatever moves its bytes has answered: it lives. A server that is away is no fault of it.
    fn probe(&self) -> BoxFuture<'_, Result<(), CarrierError>>;

    /// The first half of a clean stop: hands over what is under way, then [`News::Stopped`].
    fn stop_reading(&self) -> BoxFuture<'_, Result<(), CarrierError>>;

    /// The second half: what was published has left, then the connection ends.
    fn drain(&self) -> BoxFuture<'_, Result<(), CarrierError>>;
}

/// What became of a message that a carrier brought.
#[derive(Clone, Debug)]
pub struct Settling {
    /// What the node decided about the message.
    pub ruled: Disposition,
    /// Who polled by this message for what is kept for them, where it was a poll.
    pub polled: Option<Polled>,
}

/// The end of a carrier from which the daemon takes what peers sent.
pub trait CarrierSource: Send {
    /// Waits for one piece of news, then takes with it what is ready, up to `max` in all, into `out`. 0 says
    /// that the carrier is closed. Cancel safe.
    fn receive_many<'s>(&'s mut self, out: &'s mut Vec<News>, max: usize) -> BoxFuture<'s, usize>;
}

/// One thing that a carrier brought, or says of itself, in the order in which it came.
#[derive(Debug)]
pub enum News {
    /// A message.
    Message {
        /// Its bytes.
        bytes: Bytes,
        /// The address that it was sent to.
        address: Arc<str>,
        /// What the carrier waits for, by [`Carrier::settle`].
        ticket: Option<Ticket>,
    },
    /// A message over the largest size: nothing was done with it but this.
    Oversized {
        /// Its length in bytes.
        length: usize,
        /// Its first bytes.
        head: Bytes,
        /// What the carrier waits for, as for a whole message.
        ticket: Option<Ticket>,
    },
    /// Messages were dropped before they were read.
    Gap(u64),
    /// The carrier is up.
    Connected,
    /// The carrier keeps no mail for this agent; the text says why.
    NoMailbox(String),
    /// Another program reads the mailbox that the carrier keeps for this agent, or does no more.
    Readers(MailboxReaders),
    /// Everything that waited when it came up has been handed over.
    Drained,
    /// The carrier lost what it had stored for others.
    StoreLost,
    /// The carrier is down, and being brought up again.
    Disconnected,
    /// The carrier refused something, in its own words.
    Refused(String),
    /// The answer to [`Carrier::stop_reading`]: nothing more arrives.
    Stopped,
}

/// Names one delivery to the carrier that made it. Dropping it says nothing: the message comes again.
pub struct Ticket(Box<dyn Any + Send>);

impl Ticket {
    /// A ticket that means this to its carrier.
    pub fn of(meaning: impl Any + Send) -> Self {
        Self(Box::new(meaning))
    }

    /// The ticket as the type that its carrier put in; `None` where another carrier made it.
    pub fn meaning<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// As [`Ticket::meaning`], taken out of the ticket.
    pub fn into_meaning<T: Any>(self) -> Option<T> {
        self.0.downcast().ok().map(|meaning| *meaning)
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket(..)")
    }
}

/// What is read of one carrier: its name, this agent's address on it, and what comes.
pub struct Reading {
    /// Its name.
    pub id: CarrierId,
    /// Where this agent is found on it; what was sent elsewhere is refused.
    pub address: String,
    /// Where what this carrier brings comes out.
    pub source: Box<dyn CarrierSource>,
}

/// All carriers of a daemon, by name.
#[derive(Clone, Default)]
pub struct CarrierSet(Arc<BTreeMap<CarrierId, Box<dyn Carrier>>>);

impl CarrierSet {
    /// A set of these carriers.
    pub fn of(all: impl IntoIterator<Item = (CarrierId, Box<dyn Carrier>)>) -> Self {
        Self(Arc::new(all.into_iter().collect()))
    }

    /// Their names.
    pub fn ids(&self) -> impl Iterator<Item = &CarrierId> {
        self.0.keys()
    }

    /// Hands a parcel to its carrier.
    ///
    /// # Errors
    /// When the carrier says no, keeps the others waiting, or is none of this daemon's.
    pub async fn publish(&self, parcel: &Parcel) -> Result<BoxFuture<'static, bool>, CarrierError> {
        let carrier = self.find(parcel.carrier())?;
        self.within_turn(carrier.publish(parcel)).await
    }

    /// Tells a carrier what became of messages that it brought.
    ///
    /// # Errors
    /// When the carrier could not be told of each, keeps the others waiting, or is none of this daemon's.
    pub async fn settle(
        &self,
        by: &CarrierId,
        settled: Vec<(Ticket, Settling)>,
    ) -> Result<(), CarrierError> {
        self.within_turn(self.find(by)?.settle(settled)).await
    }

    /// A message of ours came to its end, or the peer has it.
    pub fn forget(&self, peer: &AgentId, message_id: MessageId) {
        // Tell every carrier to forget the message: it may have gone out by several of them.
        for carrier in self.0.values() {
            carrier.forget(peer, message_id);
        }
    }

    /// Each carrier by its name, and whether it is up.
    pub fn states(&self) -> impl Iterator<Item = (&CarrierId, bool)> {
        let all = self.0.iter();
        all.map(|(id, carrier)| (id, carrier.is_connected()))
    }

    /// Whether any carrier is up.
    pub fn is_any_connected(&self) -> bool {
        self.0.values().any(|carrier| carrier.is_connected())
    }

    /// Whether any carrier keeps mail for this agent.
    pub fn has_mailbox(&self) -> bool {
        self.0.values().any(|carrier| carrier.has_mailbox())
    }

    /// Waits until one is up.
    ///
    /// # Errors
    /// The first one's reason when none is.
    pub async fn ready(&self, within: Duration) -> Result<(), CarrierError> {
        let all = self.0.values().map(|carrier| carrier.ready(within));
        // `select_ok` panics on an empty list; the list has an item, because the
        // configuration refuses an agent without a carrier.
        match futures_util::future::select_ok(all).await {
            Ok(((), _)) => Ok(()),
            Err(failed) => Err(failed),
        }
    }

    /// Resolves when every one has answered that it lives.
    ///
    /// # Errors
    /// The first that is no more.
    pub async fn probe(&self) -> Result<(), CarrierError> {
        let all = self.0.values().map(|carrier| carrier.probe());
        futures_util::future::try_join_all(all).await.map(drop)
    }

    /// Nothing more is read. Gives back what stood in the way, by carrier.
    pub async fn stop_reading(&self) -> Vec<(CarrierId, CarrierError)> {
        let mut failed = Vec::new();
        for (id, carrier) in self.0.iter() {
            let stopped = carrier.stop_reading().await;
            failed.extend(stopped.err().map(|why| (id.clone(), why)));
        }
        failed
    }

    /// What was published leaves, then the connections end. Gives back what stood in the way.
    pub async fn drain(&self) -> Vec<(CarrierId, CarrierError)> {
        let mut failed = Vec::new();
        for (id, carrier) in self.0.iter() {
            failed.extend(carrier.drain().await.err().map(|why| (id.clone(), why)));
        }
        failed
    }

    /// Waits for the carrier's work. Where there is only one, its users wait as long as it takes; of several carriers, each
    /// has [`TURN`], so that a slow one does not hold up messages for the others.
    async fn within_turn<T>(
        &self,
        work: impl Future<Output = Result<T, CarrierError>>,
    ) -> Result<T, CarrierError> {
        // Set no time limit where there is only one carrier: it holds up no other, and a limit would only make a slow hand-over
        // fail.
        if self.0.len() < 2 {
            return work.await;
        }
        let done = tokio::time::timeout(TURN, work).await;
        done.unwrap_or_else(|_| {
            Err(CarrierError(
                "it keeps the other carriers waiting".to_owned(),
            ))
        })
    }

    fn find(&self, id: &CarrierId) -> Result<&dyn Carrier, CarrierError> {
        let carrier = self.0.get(id).map(Box::as_ref);
        carrier.ok_or_else(|| CarrierError(format!("this daemon has no carrier {id}")))
    }
}

/// How long one of several carriers may take for a message, or for being told what became of those of one commit.
const TURN: Duration = Duration::from_millis(250);

impl fmt::Debug for CarrierSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.ids()).finish()
    }
}
