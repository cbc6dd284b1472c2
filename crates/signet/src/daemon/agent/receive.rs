//! `receive`: what waits, under a lease; whoever finds nothing waits for the next.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use signet_api::{ApiError, Leased, Receive, Received};
use signet_proto::headers::CapabilityName;
use signet_proto::node::{HandedOut, Outcome, Wanted};
use tokio::time::Instant;

use crate::control::{Caller, Notifier, Reply};
use crate::daemon::agent::WaitingConsumer;
use crate::daemon::heart::Heart;
use crate::daemon::listing::{BYTES, Weigh as _};
use crate::daemon::serve::{named, parse_wait, value_of};
use crate::effects::Deed;
use crate::reach::Reach;
use crate::render;

/// How long a lease lasts when nothing else is said.
const LEASE: Duration = Duration::from_secs(60);
/// How many messages one call takes at most.
const MOST: usize = 100;
/// How many calls may wait for what comes.
const WAITING: usize = 1_024;

impl Heart {
    /// Hands out what waits, or lets the consumer wait.
    pub(in crate::daemon) async fn receive(
        &mut self,
        asked: &Receive,
        caller: &Caller,
        reply: Reply,
        client: &Notifier,
    ) {
        let (mut wanted, wait) = match wanted(asked, &caller.reach) {
            Ok(parsed) => parsed,
            Err(error) => return reply.send(Err(error)),
        };
        wanted.connection = self.agents.watch(client).connection;
        let waiting = WaitingConsumer {
            wanted,
            limit: asked.limit.unwrap_or(1).clamp(1, MOST),
            until: Instant::now() + wait,
            reply,
        };
        if let Some(waiting) = self.hand_out(waiting).await {
            match self.agents.waiting.len() < WAITING && !wait.is_zero() {
                true => self.agents.waiting.push(waiting),
                false => waiting.reply.send(nothing()),
            }
        }
    }

    /// Asks again for those who wait, where something may have come, and ends the waits that are over.
    pub(in crate::daemon) async fn serve_consumers(&mut self) {
        if self.agents.waiting.is_empty() {
            return;
        }
        let supply = self.node.supply();
        let before = std::mem::replace(&mut self.agents.supply, supply);
        let (has_more, has_older) = (before != supply, supply.has_older_than(before));
        let now = Instant::now();
        for mut waiting in std::mem::take(&mut self.agents.waiting) {
            if has_older {
                waiting.wanted.looked = 0;
            }
            let over = waiting.until <= now;
            let left = match has_more {
                true => self.hand_out(waiting).await,
                false => Some(waiting),
            };
            match left {
                Some(waiting) if over => waiting.reply.send(nothing()),
                // Whoever has gone needs nothing.
                Some(waiting) if waiting.reply.is_closed() => {}
                Some(waiting) => self.agents.waiting.push(waiting),
                None => {}
            }
        }
    }

    /// A program has gone: what it held goes to the next, and what it offered ends if it does not come back.
    pub(in crate::daemon) async fn end_program(&mut self, connection: u64) {
        self.agents.watched.remove(&connection);
        let at = self.at();
        let held = self.node.handle_consumer_gone(at, connection);
        let offered = self.node.handle_offer_end(at, connection);
        self.write(at.now, vec![held, offered], Vec::new()).await;
    }

    /// Answers with what waits; gives the consumer back where nothing does.
    async fn hand_out(&mut self, mut waiting: WaitingConsumer) -> Option<WaitingConsumer> {
        // What is handed to nobody would be another try.
        if waiting.reply.is_closed() {
            return None;
        }
        let at = self.at();
        let (mut outcomes, mut handed, mut bytes) = (Vec::new(), Vec::new(), 0);
        // What is handed out is begun, so the answer that grows heavy ends behind a message, not before it.
        while handed.len() < waiting.limit && bytes < BYTES {
            let (next, outcome) = self.node.handle_receive(at, &mut waiting.wanted);
            outcomes.push(outcome);
            let Some(next) = next else { break };
            let next = shown(&next);
            bytes += next.message.weight();
            handed.push(next);
        }
        let is_empty = handed.is_empty();
        let has_lines = |outcome: &Outcome| !outcome.entries.is_empty();
        if is_empty && !outcomes.iter().any(has_lines) {
            return Some(waiting);
        }
        let mut answers = Vec::new();
        let left = match is_empty {
            true => Some(waiting),
            false => {
                waiting.reply.in_doubt(None);
                let received = value_of::<Receive>(&Received { messages: handed });
                answers.push(Deed::Answer(waiting.reply, received));
                None
            }
        };
        self.write(at.now, outcomes, answers).await;
        left
    }
}

fn nothing() -> Result<Value, ApiError> {
    value_of::<Receive>(&Received::default())
}

/// What is beyond the ceiling of its socket is handed to nobody there.
fn wanted(asked: &Receive, reach: &Reach) -> Result<(Wanted, Duration), ApiError> {
    let names = asked.capabilities.as_ref();
    let name = |text: &String| named::<CapabilityName>("capabilities", text);
    let names = names.map(|names| names.iter().map(name).collect::<Result<BTreeSet<_>, _>>());
    let lease = asked.lease.map(parse_wait).transpose()?;
    let wanted = Wanted {
        capabilities: names.transpose()?,
        tier: reach.tier,
        peers: reach.peers.clone(),
        lease: lease.unwrap_or(LEASE),
        connection: 0,
        looked: 0,
    };
    Ok((wanted, parse_wait(asked.wait)?))
}

fn shown(handed: &HandedOut) -> Leased {
    let headers = &handed.message.headers;
    Leased {
        lease: handed.lease.to_string(),
        lease_ends: handed.ends.to_string(),
        key: format!("{}/{}", headers.agent_id, headers.message_id),
        tries: handed.tries,
        message: render::item(&handed.message, handed.opened.as_ref()),
    }
}
