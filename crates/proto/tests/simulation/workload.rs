//! What the agents want from each other, and what they do with what comes.

use std::time::Duration;

use serde_json::json;
use signet_proto::envelope::{Form, Method};
use signet_proto::handoff::TaskState;
use signet_proto::headers::Tier;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Content, Handing, LocalError, Outcome, Sending};

use crate::cast::NAMES;
use crate::note;
use crate::world::{Event, Sent, World};

/// How many messages somebody reads at once.
const AT_ONCE: usize = 40;

impl World {
    pub fn act(&mut self) {
        let count = self.agents.len() as u64;
        let from = self.dice.below(count) as usize;
        let to = (from + 1 + self.dice.below(count - 1) as usize) % count as usize;
        if self.agents[from].node.is_none() {
            return;
        }
        let sending = self.sending();
        self.send(from, to, sending);
    }

    fn sending(&mut self) -> Sending {
        let life = match self.dice.below(6) {
            0 => Some(Duration::from_secs(1 + self.dice.below(60))),
            1 => Some(Duration::from_secs(60 + self.dice.below(600))),
            _ => None,
        };
        let named = |name: &str| name.parse().ok();
        let content = Content {
            body: json!({"n": self.dice.below(1_000)}),
            life,
            data_tier: [
                None,
                None,
                None,
                Some(Tier::Household),
                Some(Tier::Sensitive),
            ][self.dice.below(5) as usize],
            capability: match self.dice.below(10) {
                0 => named("mail.send"),
                1 | 2 => named("door.open"),
                _ => None,
            },
            ..Content::default()
        };
        match self.dice.below(10) {
            0..=3 => Sending::Request(content),
            4..=7 => Sending::Notification(content),
            8 => Sending::Ping,
            _ => Sending::Handoff(Box::new(Handing {
                goal: "Find an evening".to_owned(),
                ..Handing::default()
            })),
        }
    }

    /// Hands a message to a node; a refusal of its own side is the end of it.
    pub fn send(&mut self, from: usize, to: usize, sending: Sending) -> Option<MessageId> {
        let (at, peer) = (self.agents[from].at(self.now), self.agents[to].id().clone());
        let node = self.agents[from].node.as_mut().unwrap();
        let ping = matches!(sending, Sending::Ping);
        match node.turn(at).sent().send(&peer, sending) {
            Ok(sent) => {
                self.remember(from, to, sent.id, ping);
                self.keep(from, sent.outcome, Vec::new());
                Some(sent.id)
            }
            Err(error) => {
                note!(self, "{} may not: {}", NAMES[from], error.name());
                None
            }
        }
    }

    fn remember(&mut self, from: usize, to: usize, name: MessageId, ping: bool) {
        let sent = Sent {
            from,
            to,
            ping,
            told: Vec::new(),
            answered: false,
        };
        self.sent.insert(name, sent);
    }

    /// Somebody reads some of what waits in the inbox, and does something with it. They see what is
    /// durable.
    pub fn look(&mut self, who: usize) {
        if self.agents[who].node.is_none() {
            return;
        }
        if self.agents[who].paused {
            self.agents[who].shut_out = true;
            self.sort_out(who);
            return;
        }
        if self.dice.percent(10) {
            self.agents[who].project(self.now);
        }
        let node = self.agents[who].node.as_ref().unwrap();
        let waiting = node.inbox().after(0).map(|item| item.message);
        let waiting: Vec<_> = waiting.take(AT_ONCE).collect();
        let mut left = waiting.len() == AT_ONCE;
        left |= self.sort_out(who);
        for message in waiting {
            if !self.agents[who].index.accepted.contains(&message.hash()) || self.dice.percent(20) {
                left = true;
                continue;
            }
            let (peer, name) = (message.headers.agent_id.clone(), message.headers.message_id);
            let done = self.agents[who].index.done.contains(&(peer.clone(), name));
            assert!(!done, "{} sees {name} again", NAMES[who]);
            if self.mood.clumsy > 0 && self.dice.percent(self.mood.clumsy) {
                left = true;
                self.fumble(who, &peer, name);
                continue;
            }
            self.deal_with(who, &message.form, &peer, name);
        }
        if left {
            let life = self.agents[who].life;
            let after = 1_000 + self.dice.below(10_000) as i64;
            self.plan(after, Event::Look(who, life));
        }
    }

    fn deal_with(&mut self, who: usize, form: &Form, peer: &AgentId, name: MessageId) {
        let answer = match form {
            Form::Call(Method::Request) if self.dice.percent(80) => self.reply(who, peer, name),
            Form::Call(Method::Handoff) => self.decide(who, name),
            _ => None,
        };
        let outcome = match answer {
            Some(Ok((answer, outcome))) => {
                if let Some(to) = self.agents.iter().position(|agent| agent.id() == peer) {
                    self.remember(who, to, answer, false);
                }
                outcome
            }
            Some(Err(_)) | None => {
                let at = self.agents[who].at(self.now);
                let node = self.agents[who].node.as_mut().unwrap();
                match node.turn(at).inbox().acknowledge(&[(peer.clone(), name)]) {
                    Ok(outcome) => outcome,
                    Err(_) => return,
                }
            }
        };
        self.keep(who, outcome, Vec::new());
    }

    fn reply(&mut self, who: usize, peer: &AgentId, name: MessageId) -> Option<Answer> {
        let answer = match self.dice.percent(20) {
            true => Err("not today".into()),
            false => Ok(Content {
                body: json!("yes"),
                ..Content::default()
            }),
        };
        let at = self.agents[who].at(self.now);
        let node = self.agents[who].node.as_mut().unwrap();
        Some(node.turn(at).sent().reply(Some(peer), name, answer))
    }

    fn decide(&mut self, who: usize, name: MessageId) -> Option<Answer> {
        let at = self.agents[who].at(self.now);
        let accept = self.dice.percent(50);
        let node = self.agents[who].node.as_mut().unwrap();
        let offered = |task: &&signet_proto::node::Task| {
            task.offer == name && task.state(at.now) == TaskState::Offered
        };
        let task = node.tasks().iter().find(offered)?.id();
        Some(match accept {
            true => node.turn(at).tasks().accept(task),
            false => node.turn(at).tasks().decline(task, "no".to_owned()),
        })
    }
}

type Answer = Result<(MessageId, Outcome), LocalError>;
