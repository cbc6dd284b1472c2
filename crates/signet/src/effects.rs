//! What happens outside once the log remembers it: publish, answer, deliver, notify.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use serde::Serialize;
use serde_json::Value;
use signet_api::{ApiError, Attention, Moved};
use signet_proto::carrier::{CarrierId, Parcel};
use signet_proto::envelope::Message;
use signet_proto::headers::{CapabilityName, ConversationId};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Accepted, Effect, Notice, State};
use signet_proto::trust::TrustView;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{debug, info, warn};

use crate::attention::{Audience, note};
use crate::carrier::{Carriers, Settled, Ticket};
use crate::control::{Notifier, Reply};
use crate::reach::Reach;
use crate::render;

/// What tells a follower of a message.
const ARRIVED: &str = "inbox.message";
/// How many topics may be subscribed to at once; the oldest goes first.
const SUBSCRIPTIONS: usize = 4_096;
/// How often waiters whose caller has gone are swept out.
const SWEEP: Duration = Duration::from_secs(30);

/// One thing to do, in the order in which the log allows it. It does not print answers: what was
/// sealed stands open in them.
pub enum Deed {
    /// The node's.
    Effect(Effect),
    /// A call is answered: its entries are durable; or refused: what it tried is noted.
    Answer(Reply, Result<Value, ApiError>),
    /// A call waits for what becomes of a message of ours.
    Wait(MessageId, Waiter),
    /// A carrier hears what became of messages: their lines are durable, or they get none.
    Settle(CarrierId, Vec<(Ticket, Settled)>),
    /// A connection wants every message that arrives, from the next on.
    Follow(Follower),
    /// A connection wants to hear what moves of that.
    Subscribe(Follower, Topic),
    /// The person should see this; the notice that it comes of, where there is one, says more in the log.
    Tell(Box<Attention>, Option<Box<Notice>>),
    /// A connection of the person's wants everything that they should see, from the next on.
    Attend(Notifier),
}

/// What somebody wants to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topic {
    /// All that comes in a conversation.
    Conversation(ConversationId),
    /// What becomes of a message of ours.
    Message(MessageId),
}

impl Topic {
    fn is_of(&self, message: &Message) -> bool {
        let headers = &message.headers;
        match self {
            Self::Conversation(name) => headers.conversation_id.as_ref() == Some(name),
            Self::Message(id) => headers.in_reply_to == Some(*id),
        }
    }
}

impl fmt::Debug for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effect(effect) => f.debug_tuple("Effect").field(effect).finish(),
            Self::Answer(..) => f.write_str("Answer(..)"),
            Self::Wait(message_id, _) => f.debug_tuple("Wait").field(message_id).finish(),
            Self::Settle(carrier, settled) => {
                let mut out = f.debug_tuple("Settle");
                out.field(carrier).field(&settled.len()).finish()
            }
            Self::Follow(_) => f.write_str("Follow(..)"),
            Self::Subscribe(..) => f.write_str("Subscribe(..)"),
            Self::Tell(attention, _) => f.debug_tuple("Tell").field(&attention.kind).finish(),
            Self::Attend(_) => f.write_str("Attend(..)"),
        }
    }
}

/// A connection that is told of every message that arrives, as far as its socket reaches.
#[derive(Debug)]
pub struct Follower {
    /// Where to tell.
    pub notifier: Notifier,
    /// How far it reaches.
    pub reach: Arc<Reach>,
}

impl Follower {
    /// Whether it is told: it keeps up.
    fn tell(&self, what: &str, told: &impl Serialize) -> bool {
        let told = serde_json::to_value(told).unwrap_or_default();
        self.notifier.notify(what, &told).is_ok()
    }
}

/// Somebody who waits for what becomes of a message of ours.
#[derive(Debug)]
pub struct Waiter {
    /// Where to tell.
    pub fate: oneshot::Sender<Fate>,
    /// Whether a receipt is not yet the end: a request waits for its answer.
    pub for_answer: bool,
    /// Told when the peer's mailbox holds it; taken then.
    pub on_stored: Option<oneshot::Sender<()>>,
    /// Where it is so far.
    pub state: State,
}

impl Waiter {
    fn is_stored(&self) -> bool {
        self.on_stored.is_none()
    }

    /// The peer's mailbox holds it.
    fn store(&mut self) {
        // Whoever waited may have given up meanwhile.
        self.on_stored.take().map(|told| told.send(()));
    }
}

/// What became of a message of ours.
#[derive(Debug)]
pub enum Fate {
    /// It was answered.
    Answered(Accepted),
    /// It ended otherwise, or was received.
    Settled {
        /// Where it is.
        state: State,
        /// What the peer offers, where it ended because it named none of several.
        offers: Vec<CapabilityName>,
    },
    /// The daemon stops, and this is how far it came.
    Left {
        /// Where it is.
        state: State,
        /// Whether the peer's mailbox holds it.
        stored: bool,
    },
}

/// What a carrier says of a message of ours that went out.
#[derive(Debug)]
pub struct Handed {
    /// Which carrier.
    pub carrier: CarrierId,
    /// For whom it is.
    pub peer: AgentId,
    /// Its name.
    pub message_id: MessageId,
    /// Whether it holds it for the peer.
    pub stored: bool,
}

/// Performs deeds until the journal closes.
pub struct Effects {
    carriers: Carriers,
    /// What is awaited of what went out, and what was heard and not told yet.
    awaited: FuturesUnordered<BoxFuture<'static, Handed>>,
    heard: Vec<Handed>,
    handed: mpsc::Sender<Vec<Handed>>,
    view: watch::Sender<TrustView>,
    waiting: HashMap<MessageId, Waiter>,
    followers: Vec<Follower>,
    subscribers: Vec<(Follower, Topic)>,
    audience: Audience,
}

impl Effects {
    /// Publishes by `carriers`, and tells `handed` what became of it; workers verify by what `view` last
    /// saw. What the person should see goes to `audience`.
    pub(crate) fn new(
        carriers: Carriers,
        view: watch::Sender<TrustView>,
        handed: mpsc::Sender<Vec<Handed>>,
        audience: Audience,
    ) -> Self {
        Self {
            carriers,
            awaited: FuturesUnordered::new(),
            heard: Vec::new(),
            handed,
            view,
            waiting: HashMap::new(),
            followers: Vec::new(),
            subscribers: Vec::new(),
            audience,
        }
    }

    /// Performs what the journal allows, in its order.
    pub async fn run(mut self, mut deeds: mpsc::Receiver<Vec<Deed>>) {
        let mut sweep = tokio::time::interval(SWEEP);
        let told = self.handed.clone();
        loop {
            tokio::select! {
                group = deeds.recv() => match group {
                    Some(group) => for deed in group {
                        self.perform(deed).await;
                    },
                    None => break,
                },
                Some(handed) = self.awaited.next() => self.hear(handed),
                // The heart may wait for us: it is never waited for.
                Ok(permit) = told.reserve(), if !self.heard.is_empty() => {
                    permit.send(std::mem::take(&mut self.heard));
                }
                _ = sweep.tick() => {
                    self.waiting.retain(|_, waiter| !waiter.fate.is_closed());
                    self.followers.retain(|follower| follower.notifier.closed().now_or_never().is_none());
                    self.subscribers.retain(|(client, _)| client.notifier.closed().now_or_never().is_none());
                    self.audience.sweep();
                }
            }
        }
        self.dismiss();
    }

    /// The daemon stops: whoever waits hears where their message is.
    fn dismiss(self) {
        for (_, waiter) in self.waiting {
            let stored = waiter.is_stored();
            let left = Fate::Left {
                state: waiter.state,
                stored,
            };
            let _ = waiter.fate.send(left);
        }
    }

    /// `first`, and with it what is there already.
    fn hear(&mut self, first: Handed) {
        let mut next = Some(first);
        while let Some(handed) = next {
            let waiter = self.waiting.get_mut(&handed.message_id);
            if let Some(waiter) = waiter.filter(|_| handed.stored) {
                waiter.store();
            }
            self.heard.push(handed);
            next = self.awaited.next().now_or_never().flatten();
        }
    }

    async fn perform(&mut self, deed: Deed) {
        match deed {
            Deed::Effect(effect) => self.perform_effect(effect).await,
            // The caller may have gone; what it asked for is done all the same.
            Deed::Answer(reply, answer) => reply.send(answer),
            Deed::Wait(message_id, waiter) => {
                self.waiting.insert(message_id, waiter);
            }
            Deed::Follow(follower) => self.followers.push(follower),
            Deed::Settle(carrier, settled) => self.settle_mail(&carrier, settled).await,
            Deed::Subscribe(client, topic) => self.subscribe(client, topic),
            Deed::Tell(attention, notice) => self.audience.tell(*attention, notice.as_deref()),
            Deed::Attend(follower) => self.audience.join(follower),
        }
    }

    async fn perform_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Publish(parcel) => self.publish(&parcel).await,
            Effect::Deliver(accepted) => self.deliver(&accepted),
            Effect::Answer(accepted) => self.answer(accepted),
            Effect::Pong(accepted) => self.pong(accepted),
            Effect::Progress(accepted) => self.tell_of(&accepted, "message.progress"),
            Effect::Settle {
                peer,
                message_id,
                state,
                offers,
            } => self.settle(&peer, message_id, state, offers),
            Effect::Established(peer) => info!(%peer, "session established"),
            Effect::Trust(view) => {
                self.view.send_replace(view);
            }
            Effect::Notice(notice) => note(&notice),
            other => debug!(?other, "an effect that nothing performs"),
        }
    }

    /// What is not published now is in the ledger or the handshake, and goes out again from there.
    async fn publish(&mut self, parcel: &Parcel) {
        let (carrier, peer) = (parcel.carrier().clone(), parcel.recipient().clone());
        let held = match self.carriers.publish(parcel).await {
            Ok(held) => held,
            Err(error) => {
                return debug!(recipient = %peer, %carrier, %error, "not published; it is sent again later");
            }
        };
        let message_id = parcel.message().headers.message_id;
        if let Some(waiter) = self.waiting.get_mut(&message_id)
            && waiter.state == State::Queued
        {
            waiter.state = State::Published;
        }
        let handed = held.map(move |stored| Handed {
            carrier,
            peer,
            message_id,
            stored,
        });
        self.awaited.push(handed.boxed());
    }

    /// What a carrier does not hear comes again, and is recognised.
    async fn settle_mail(&mut self, carrier: &CarrierId, settled: Vec<(Ticket, Settled)>) {
        for (ticket, settled) in settled {
            if let Err(error) = self.carriers.settle(carrier, ticket, settled).await {
                return debug!(%carrier, %error, "it was not told; the messages come again");
            }
        }
    }

    fn subscribe(&mut self, client: Follower, topic: Topic) {
        if self.subscribers.len() >= SUBSCRIPTIONS {
            self.subscribers.remove(0);
        }
        self.subscribers.push((client, topic));
    }

    /// Whoever wants to hear of it, and may, is told; one that does not keep up is cut off.
    fn tell_of(&mut self, accepted: &Accepted, what: &str) {
        let message = accepted.message();
        let hears = |client: &Follower, topic: &Topic| {
            topic.is_of(message) && client.reach.sees_message(message)
        };
        let mut subscribers = self.subscribers.iter();
        if subscribers.any(|(client, topic)| hears(client, topic)) {
            let item = render::item(message, accepted.opened());
            self.subscribers
                .retain(|(client, topic)| !hears(client, topic) || client.tell(what, &item));
        }
    }

    /// Where a message of ours is now.
    fn tell_moved(&mut self, peer: &AgentId, message_id: MessageId, state: &State) {
        let topic = Topic::Message(message_id);
        let moved = Moved {
            message_id: message_id.to_string(),
            peer: peer.to_string(),
            state: render::state(state),
            reason: state.why().map(str::to_owned),
        };
        self.subscribers.retain(|(client, wanted)| {
            let hears = *wanted == topic && client.reach.knows(peer);
            !hears || client.tell("message.moved", &moved)
        });
    }

    fn deliver(&mut self, accepted: &Accepted) {
        self.tell_of(accepted, "conversation.message");
        if self.followers.is_empty() {
            return;
        }
        let message = accepted.message();
        let item = render::item(message, accepted.opened());
        // A follower that does not keep up is cut off; its messages wait in the inbox.
        self.followers.retain(|follower| {
            !follower.reach.sees_message(message) || follower.tell(ARRIVED, &item)
        });
    }

    fn answer(&mut self, accepted: Accepted) {
        let request = accepted.message().headers.in_reply_to;
        let waiter = request.and_then(|request| self.waiting.remove(&request));
        match waiter {
            Some(waiter) => {
                self.tell_of(&accepted, "conversation.message");
                if let Err(Fate::Answered(accepted)) = waiter.fate.send(Fate::Answered(accepted)) {
                    self.deliver(&accepted);
                }
            }
            None => self.deliver(&accepted),
        }
    }

    /// Whoever waited may have given up, and then nobody asks any more.
    fn pong(&mut self, accepted: Accepted) {
        let request = accepted.message().headers.in_reply_to;
        if let Some(waiter) = request.and_then(|request| self.waiting.remove(&request)) {
            let _ = waiter.fate.send(Fate::Answered(accepted));
        }
    }

    fn settle(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
        state: State,
        offers: Vec<CapabilityName>,
    ) {
        self.carriers.forget(peer, message_id);
        self.tell_moved(peer, message_id, &state);
        if let Some(why) = state.why() {
            warn!(%peer, %message_id, why, "a message of ours is {}", state.as_str());
        }
        match self.waiting.get_mut(&message_id) {
            Some(waiter) if waiter.for_answer && state == State::Received => {
                waiter.state = state;
                return;
            }
            _ => {}
        }
        if let Some(waiter) = self.waiting.remove(&message_id) {
            // Whoever waited may have given up meanwhile.
            let _ = waiter.fate.send(Fate::Settled { state, offers });
        }
    }
}
