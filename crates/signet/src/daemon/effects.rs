//! What happens outside once the log remembers it: publish, answer, deliver, notify.

use std::sync::Arc;

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use signet_api::Moved;
use signet_proto::carrier::{CarrierId, Parcel};
use signet_proto::headers::CapabilityName;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Accepted, Effect, State};
use signet_proto::trust::TrustView;
use tokio::sync::{mpsc, watch};
use tracing::{debug, info, warn};

use crate::attention::{Audience, note};
use crate::carrier::{CarrierSet, Settling, Ticket};
use crate::control::text_of_note;
use crate::reach::Sees as _;
use crate::render::{self, RenderedMessage};

use super::action::{Action, CarrierReport, Follower, SendResult, SendWaiter, Topic};

/// The notification by which a follower hears of a message.
const ARRIVED: &str = "inbox.message";
/// How many topics may be subscribed to at once; the oldest goes first.
const SUBSCRIPTIONS: usize = 4_096;
/// How often waiters whose caller has gone are swept out.
const SWEEP: Duration = Duration::from_secs(30);

/// Performs actions until the journal closes.
pub(super) struct Effects {
    carriers: CarrierSet,
    /// The reports of carriers that are awaited; below, those that came and were not handed to the event loop yet.
    awaited: FuturesUnordered<BoxFuture<'static, CarrierReport>>,
    heard: Vec<CarrierReport>,
    reports: mpsc::Sender<Vec<CarrierReport>>,
    view: watch::Sender<TrustView>,
    waiting: HashMap<MessageId, SendWaiter>,
    followers: Vec<Follower>,
    subscribers: Vec<(Follower, Topic)>,
    audience: Audience,
}

impl Effects {
    /// Publishes by `carriers`, and tells `reports` what became of it; workers verify by what `view` last
    /// saw. What the person should see goes to `audience`.
    pub(super) fn new(
        carriers: CarrierSet,
        view: watch::Sender<TrustView>,
        reports: mpsc::Sender<Vec<CarrierReport>>,
        audience: Audience,
    ) -> Self {
        Self {
            carriers,
            awaited: FuturesUnordered::new(),
            heard: Vec::new(),
            reports,
            view,
            waiting: HashMap::new(),
            followers: Vec::new(),
            subscribers: Vec::new(),
            audience,
        }
    }

    /// Performs what the journal allows, in its order.
    pub(super) async fn run(mut self, mut actions: mpsc::Receiver<Vec<Action>>) {
        let mut sweep = tokio::time::interval(SWEEP);
        let told = self.reports.clone();
        loop {
            tokio::select! {
                group = actions.recv() => match group {
                    Some(group) => for action in group {
                        self.perform(action).await;
                    },
                    None => break,
                },
                Some(report) = self.awaited.next() => self.hear(report),
                // Report what the carriers confirmed only when the channel to the event loop has room: the event loop may be
                // waiting for this task, and then both would wait for ever.
                Ok(permit) = told.reserve(), if !self.heard.is_empty() => {
                    permit.send(std::mem::take(&mut self.heard));
                }
                _ = sweep.tick() => {
                    self.waiting.retain(|_, waiter| !waiter.result.is_closed());
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
            let left = SendResult::Left {
                state: waiter.state,
                stored,
            };
            let _ = waiter.result.send(left);
        }
    }

    /// Takes in `first` and every further report that is there already.
    fn hear(&mut self, first: CarrierReport) {
        let mut next = Some(first);
        while let Some(report) = next {
            let waiter = self.waiting.get_mut(&report.message_id);
            if let Some(waiter) = waiter.filter(|_| report.stored) {
                waiter.store();
            }
            self.heard.push(report);
            next = self.awaited.next().now_or_never().flatten();
        }
    }

    async fn perform(&mut self, action: Action) {
        match action {
            Action::Effect(effect) => self.perform_effect(effect).await,
            Action::Answer(reply, answer) => reply.send(answer),
            Action::Wait(message_id, waiter) => {
                self.waiting.insert(message_id, waiter);
            }
            Action::Follow(follower) => self.followers.push(follower),
            Action::Settle(carrier, settled) => self.settle_mail(&carrier, settled).await,
            Action::Subscribe(client, topic) => self.subscribe(client, topic),
            Action::Tell(attention, notice) => self.audience.tell(*attention, notice.as_deref()),
            Action::Attend(follower) => self.audience.join(follower),
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
        }
    }

    /// Hands a parcel to its carrier. Where that fails, the ledger or the handshake sends the message again later.
    async fn publish(&mut self, parcel: &Parcel) {
        let (carrier, peer) = (parcel.carrier().clone(), parcel.recipient().clone());
        let held = match self.carriers.publish(parcel).await {
            Ok(held) => held,
            // Nothing is wrong with a message whose publication failed, so do not end it: the ledger or the
            // handshake sends it again later, by another carrier where there is one. A lost receipt does no harm:
            // the next one says the same and more.
            Err(error) => {
                return debug!(recipient = %peer, %carrier, %error, "not published; it is sent again later");
            }
        };
        let message_id = parcel.message().headers.message_id;
        if let Some(waiter) = self.waiting.get_mut(&message_id)
            // A message may go out a second time, when its state is already past `Published`: the second publication must not
            // set the state back.
            && waiter.state == State::Queued
        {
            waiter.state = State::Published;
        }
        let report = held.map(move |stored| CarrierReport {
            carrier,
            peer,
            message_id,
            stored,
        });
        // Await the carrier's confirmation beside the other actions: a slow server would otherwise hold up every answer.
        self.awaited.push(report.boxed());
    }

    /// Tells a carrier what became of its messages. Where that fails, it brings them again, and the node recognises
    /// them.
    async fn settle_mail(&mut self, carrier: &CarrierId, settled: Vec<(Ticket, Settling)>) {
        if let Err(error) = self.carriers.settle(carrier, settled).await {
            debug!(%carrier, %error, "it was not told of each; the messages come again");
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
        // Render the message once for all subscribers, and not at all if nobody subscribes: this code runs for every message.
        if subscribers.any(|(client, topic)| hears(client, topic)) {
            let shown = text_of_note(&RenderedMessage {
                message: Arc::clone(message),
                opened: accepted.opened().cloned(),
            });
            self.subscribers
                .retain(|(client, topic)| !hears(client, topic) || client.tell(what, &shown));
        }
    }

    /// Tells those who listen where a message of ours is now.
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
        self.tell_followers(accepted);
    }

    /// Tells those who follow the inbox that the message waits there.
    fn tell_followers(&mut self, accepted: &Accepted) {
        if self.followers.is_empty() {
            return;
        }
        let message = accepted.message();
        let shown = text_of_note(&RenderedMessage {
            message: Arc::clone(message),
            opened: accepted.opened().cloned(),
        });
        // Drop a follower that has gone, or whose queue is full because it does not read fast enough: the messages that it
        // misses wait in the inbox.
        self.followers.retain(|follower| {
            !follower.reach.sees_message(message) || follower.tell(ARRIVED, &shown)
        });
    }

    fn answer(&mut self, accepted: Accepted) {
        let request = accepted.message().headers.in_reply_to;
        let waiter = request.and_then(|request| self.waiting.remove(&request));
        match waiter {
            Some(waiter) => {
                self.tell_of(&accepted, "conversation.message");
                if let Err(SendResult::Answered(accepted)) =
                    waiter.result.send(SendResult::Answered(accepted))
                {
                    // The caller has gone meanwhile: the answer waits in the inbox, and followers hear of it as of any other
                    // message. Subscribers have heard of it above.
                    self.tell_followers(&accepted);
                }
            }
            None => self.deliver(&accepted),
        }
    }

    /// Gives the answer to a ping to its caller, if that one still waits.
    fn pong(&mut self, accepted: Accepted) {
        let request = accepted.message().headers.in_reply_to;
        if let Some(waiter) = request.and_then(|request| self.waiting.remove(&request)) {
            let _ = waiter.result.send(SendResult::Answered(accepted));
        }
    }

    fn settle(
        &mut self,
        peer: &AgentId,
        message_id: MessageId,
        state: State,
        offers: Vec<CapabilityName>,
    ) {
        // Tell the carriers first: a peer that polls must not be given a message after somebody has
        // heard that it has ended.
        self.carriers.forget(peer, message_id);
        self.tell_moved(peer, message_id, &state);
        if let Some(why) = state.why() {
            warn!(%peer, %message_id, why, "a message of ours is {}", state.as_str());
        }
        match self.waiting.get_mut(&message_id) {
            // A receipt says only that the peer's log has the request: a caller that waits for the answer goes on waiting.
            Some(waiter) if waiter.for_answer && state == State::Received => {
                waiter.state = state;
                return;
            }
            _ => {}
        }
        if let Some(waiter) = self.waiting.remove(&message_id) {
            // Ignore a failed send: the caller may have given up, and then nobody waits to hear what became of the message.
            let _ = waiter.result.send(SendResult::Settled { state, offers });
        }
    }
}
