//! `receive`: what waits, under a lease; whoever finds nothing waits for the next.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use signet_api::Receive;
use signet_proto::headers::CapabilityName;
use signet_proto::node::{HandedOut, Outcome, Wanted};
use signet_proto::policy::HIGHEST_TIER;
use tokio::time::Instant;

use crate::control::{ApiError, Notifier, Reply};
use crate::daemon::heart::Heart;
use crate::daemon::params::{named, parse_wait};
use crate::effects::Deed;
use crate::render;

/// How long a lease lasts when nothing else is said.
const LEASE: Duration = Duration::from_secs(60);
/// How many messages one call takes at most.
const MOST: usize = 100;
/// How many calls may wait for what comes.
const WAITING: usize = 1_024;

/// A consumer that waits for what comes.
pub(in crate::daemon) struct WaitingConsumer {
    pub(super) wanted: Wanted,
    pub(super) limit: usize,
    pub(super) until: Instant,
    pub(super) reply: Reply,
}

impl Heart {
    /// Hands out what waits, or lets the consumer wait.
    pub(in crate::daemon) async fn receive(
        &mut self,
        asked: Result<Receive, ApiError>,
        reply: Reply,
        client: &Notifier,
    ) {
        let parsed = asked.and_then(|asked| Ok((wanted(&asked)?, asked.limit)));
        let ((mut wanted, wait), limit) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => return reply.send(Err(error)),
        };
        wanted.connection = self.agents.watch(client).connection;
        let waiting = WaitingConsumer {
            wanted,
            limit: limit.unwrap_or(1).clamp(1, MOST),
            until: Instant::now() + wait,
            reply,
        };
        if let Some(waiting) = self.hand_out(waiting).await {
            match self.agents.waiting.len() < WAITING && !wait.is_zero() {
                true => self.agents.waiting.push(waiting),
                false => waiting.reply.send(Ok(nothing())),
            }
        }
    }

    /// Asks again for those who wait, where something may have come, and ends the waits that are over.
    pub(in crate::daemon) async fn serve_consumers(&mut self) {
        if self.agents.waiting.is_empty() {
            return;
        }
        let supply = self.node.supply();
        let has_more = std::mem::replace(&mut self.agents.supply, supply) != supply;
        let now = Instant::now();
        for waiting in std::mem::take(&mut self.agents.waiting) {
            let over = waiting.until <= now;
            let left = match has_more {
                true => self.hand_out(waiting).await,
                false => Some(waiting),
            };
            match left {
                Some(waiting) if over => waiting.reply.send(Ok(nothing())),
                // Whoever has gone needs nothing.
                Some(waiting) if waiting.reply.is_closed() => {}
                Some(waiting) => self.agents.waiting.push(waiting),
                None => {}
            }
        }
    }

    /// Answers with what waits; gives the consumer back where nothing does.
    async fn hand_out(&mut self, mut waiting: WaitingConsumer) -> Option<WaitingConsumer> {
        // What is handed to nobody would be another try.
        if waiting.reply.is_closed() {
            return None;
        }
        let at = self.at();
        let (mut outcomes, mut handed) = (Vec::new(), Vec::new());
        while handed.len() < waiting.limit {
            let (next, outcome) = self.node.handle_receive(at, &waiting.wanted);
            outcomes.push(outcome);
            match next {
                Some(next) => handed.push(shown(&next)),
                None => break,
            }
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
                let messages = Value::from(handed);
                answers.push(Deed::Answer(waiting.reply, json!({ "messages": messages })));
                None
            }
        };
        self.write(at.now, outcomes, answers).await;
        left
    }
}

fn nothing() -> Value {
    json!({"messages": []})
}

fn wanted(asked: &Receive) -> Result<(Wanted, Duration), ApiError> {
    let names = asked.capabilities.as_ref();
    let name = |text: &String| named::<CapabilityName>("capabilities", text);
    let names = names.map(|names| names.iter().map(name).collect::<Result<BTreeSet<_>, _>>());
    let lease = asked.lease.map(parse_wait).transpose()?;
    let wanted = Wanted {
        capabilities: names.transpose()?,
        tier: HIGHEST_TIER,
        lease: lease.unwrap_or(LEASE),
        connection: 0,
    };
    Ok((wanted, parse_wait(asked.wait)?))
}

fn shown(handed: &HandedOut) -> Value {
    let headers = &handed.message.headers;
    let mut item = render::item(&handed.message, handed.opened.as_ref());
    if let Some(members) = item.as_object_mut() {
        members.insert("lease".into(), handed.lease.to_string().into());
        members.insert("lease-ends".into(), handed.ends.to_string().into());
        members.insert("tries".into(), handed.tries.into());
        let key = format!("{}/{}", headers.agent_id, headers.message_id);
        members.insert("key".into(), key.into());
    }
    item
}
