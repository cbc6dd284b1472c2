//! Programs of the agent that wait for what comes, and those whose end is awaited: they hold a lease, or offer something.

use std::collections::BTreeSet;

use signet_api::{Leased, Receive, Received};
use signet_proto::node::{HandedOut, Outcome, Program, Supply, Wanted};
use signet_proto::time::Timestamp;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::control::{CallAnswer, Notifier, ReplySender};
use crate::render::RenderedMessage;

use super::action::Action;
use super::batch::Batch;
use super::calls::listing::{BYTES, Weigh as _};
use super::calls::serve::{text_of, to_text};

/// How many calls may wait for what comes.
const WAITING: usize = 1_024;

/// Who of the agent's programs is there, and what they wait for.
pub(super) struct Consumers {
    waiting: Vec<Consumer>,
    /// What the node could hand out when it was last asked.
    supply: Supply,
    /// The connections whose end is awaited.
    watched: BTreeSet<u64>,
    gone: mpsc::UnboundedSender<u64>,
    ended: mpsc::UnboundedReceiver<u64>,
}

/// A call that waits for what comes.
pub(super) struct Consumer {
    pub(super) wanted: Wanted,
    /// How many messages it takes at most.
    pub(super) limit: usize,
    pub(super) until: Instant,
    pub(super) reply: ReplySender,
}

impl Consumers {
    pub(super) fn new() -> Self {
        // The channel needs no bound: each watched connection sends once, and the sockets limit connections.
        let (gone, ended) = mpsc::unbounded_channel();
        Self {
            waiting: Vec::new(),
            supply: Supply::default(),
            watched: BTreeSet::new(),
            gone,
            ended,
        }
    }

    /// A connection whose leases and offers are to end has gone.
    pub(super) async fn next_gone(&mut self) -> Option<u64> {
        self.ended.recv().await
    }

    /// The earliest time at which a waiting call gives up.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.waiting.iter().map(|consumer| consumer.until).min()
    }

    /// Hears when the client has gone.
    pub(super) fn watch(&mut self, client: &Notifier) -> Program {
        let program = client.program();
        if self.watched.insert(program.connection) {
            let (client, gone) = (client.clone(), self.gone.clone());
            // This task holds a sender of the client's queue. The socket counts such senders: one more than its own means that
            // the client is not idle, and must not be closed when another client needs its place.
            tokio::spawn(async move {
                client.closed().await;
                // Ignore a failed send: the daemon has stopped meanwhile, and then it does not matter that this program has
                // gone.
                let _ = gone.send(program.connection);
            });
        }
        program
    }

    /// Hands out what waits, or lets the consumer wait. `next` gives what it wants and what comes of that, at `now`.
    pub(super) fn receive(
        &mut self,
        consumer: Consumer,
        now: Timestamp,
        next: impl FnMut(&mut Wanted) -> (Option<HandedOut>, Outcome),
    ) -> Batch {
        let waits = consumer.until > Instant::now();
        let mut batch = Batch::all(now, Vec::new());
        if let Some(consumer) = hand_out(consumer, &mut batch, next) {
            match self.waiting.len() < WAITING && waits {
                true => self.waiting.push(consumer),
                // The wait is over, or too many callers wait already. In both cases the caller gets an empty answer, asks
                // again, and loses nothing.
                false => consumer.reply.send(nothing()),
            }
        }
        batch
    }

    /// Asks again for those who wait, where something may have come, and ends the waits that are over. `supply` is what
    /// the node could hand out, `next` as above.
    pub(super) fn serve(
        &mut self,
        supply: Supply,
        now: Timestamp,
        mut next: impl FnMut(&mut Wanted) -> (Option<HandedOut>, Outcome),
    ) -> Batch {
        let mut batch = Batch::all(now, Vec::new());
        if self.waiting.is_empty() {
            return batch;
        }
        let before = std::mem::replace(&mut self.supply, supply);
        let (has_more, has_older) = (before != supply, supply.has_older_than(before));
        let present = Instant::now();
        for mut consumer in std::mem::take(&mut self.waiting) {
            if has_older {
                // Let the consumer look through the inbox from the start again: a message whose lease has ended stands before
                // the number that `looked` has reached.
                consumer.wanted.looked = 0;
            }
            // Ask once more even for a consumer whose time is over: a message that has just come is better than none.
            let over = consumer.until <= present;
            let left = match has_more {
                true => hand_out(consumer, &mut batch, &mut next),
                false => Some(consumer),
            };
            match left {
                Some(consumer) if over => consumer.reply.send(nothing()),
                // Drop a consumer whose caller has gone: it would hold one of the places for callers that wait.
                Some(consumer) if consumer.reply.is_closed() => {}
                Some(consumer) => self.waiting.push(consumer),
                None => {}
            }
        }
        batch
    }

    /// A program has gone.
    pub(super) fn forget(&mut self, connection: u64) {
        self.watched.remove(&connection);
    }
}

/// Answers with what waits; gives the consumer back where nothing does.
fn hand_out(
    mut consumer: Consumer,
    batch: &mut Batch,
    mut next: impl FnMut(&mut Wanted) -> (Option<HandedOut>, Outcome),
) -> Option<Consumer> {
    // Hand out nothing to a caller who has gone: that would use up one of the five tries of a message.
    if consumer.reply.is_closed() {
        return None;
    }
    let (mut messages, mut bytes) = (Vec::new(), 0);
    // Look at the size only after each message: to put back the message that makes the answer too
    // large would waste one of its five tries.
    while messages.len() < consumer.limit && bytes < BYTES {
        let (handed, outcome) = next(&mut consumer.wanted);
        batch.outcomes.push(outcome);
        let Some(handed) = handed else { break };
        let handed = leased(handed);
        bytes += handed.weight();
        messages.push(handed);
    }
    if messages.is_empty() {
        return Some(consumer);
    }
    // The leases become lines of the log, so mark the reply: if the daemon ends before these lines are durable, the
    // caller hears that the outcome is unknown, and not that nothing was handed out.
    consumer.reply.in_doubt(None);
    let received = to_text(&Received { messages });
    batch.before.push(Action::Answer(consumer.reply, received));
    None
}

fn nothing() -> CallAnswer {
    text_of::<Receive>(&Received::default())
}

fn leased(handed: HandedOut) -> Leased<RenderedMessage> {
    let headers = &handed.message.headers;
    Leased {
        lease: handed.lease.to_string(),
        lease_ends: handed.ends.to_string(),
        key: format!("{}/{}", headers.agent_id, headers.message_id),
        tries: handed.tries,
        message: RenderedMessage {
            message: handed.message,
            opened: handed.opened,
        },
    }
}
