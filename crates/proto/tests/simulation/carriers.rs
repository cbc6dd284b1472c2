//! A second carrier besides NATS: one that loses much, one that is down for hours, one that says it holds
//! everything and delivers nothing. By both together nothing is lost, and nothing acts twice.

use std::sync::Arc;

use signet_proto::carrier::{CarrierId, Route, Routes, inbox_subject};
use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Disposition, Outcome};

use crate::cast::{self, NAMES};
use crate::faults::Fault;
use crate::household::net::Dice;
use crate::mood::Mood;
use crate::note;
use crate::world::{Event, World};

const HOUR: i64 = 3_600_000;

/// What the second carrier is like.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// In percent.
    pub loss: u64,
    /// It says that it holds what it was given, and delivers none of it.
    pub swallows: bool,
    /// Whether it comes before NATS.
    pub first: bool,
    /// Whether it says when it was read to its end.
    pub says_drained: bool,
}

/// Its name.
pub fn beside() -> CarrierId {
    CarrierId::HTTP
}

impl Mood {
    /// The run of a seed with two carriers, of which each is down for hours, and sometimes both.
    pub fn of_two_carriers(dice: &mut Dice) -> Self {
        let mut mood = Self::of(dice);
        mood.skewed = false;
        mood.offsets.iter_mut().for_each(|offset| *offset %= 30_000);
        mood.beside = Some(Beside {
            loss: [0, 10, 40, 70][dice.below(4) as usize],
            swallows: dice.percent(25),
            first: dice.percent(50),
            says_drained: dice.percent(80),
        });
        mood.acts += 10;
        mood.chaos = mood.chaos.max(2 * HOUR);
        for _ in 0..1 + dice.below(4) {
            let who = dice.below(mood.agents as u64) as usize;
            let when = dice.below(mood.chaos as u64) as i64;
            let span = 60_000 + dice.below(4 * HOUR as u64) as i64;
            let down = match dice.percent(50) {
                true => Fault::Beside(who, span),
                false => Fault::Offline(who, span),
            };
            mood.faults.push((when, down));
        }
        mood
    }
}

impl World {
    /// By which carriers everybody is reached, where there are two.
    pub fn routes(&self) -> Option<Routes> {
        let first = self.mood.beside?.first;
        let mut routes = Routes::default();
        for agent in &self.agents {
            let (id, carrier) = (agent.id(), beside());
            let nats = Route {
                carrier: CarrierId::NATS,
                address: inbox_subject(id),
            };
            let other = Route {
                carrier,
                address: format!("beside:{id}"),
            };
            let order = if first { [other, nats] } else { [nats, other] };
            let order = self.way_to_dialer(agent.who).unwrap_or(order.into());
            routes.set(id.clone(), order);
        }
        Some(routes)
    }

    pub fn publish_beside(&mut self, from: usize, to: usize, name: MessageId, bytes: Arc<[u8]>) {
        let Some(kind) = self.mood.beside.filter(|_| self.agents[from].beside) else {
            return;
        };
        if self.is_dialer(to) {
            return self.keep_for_polls(from, to, name, bytes);
        }
        let peer = cast::certificate(to).agent.clone();
        let after = 1 + self.dice.below(self.mood.delay) as i64;
        if kind.swallows && !self.calm {
            let life = self.agents[from].life;
            return self.plan(after, Event::HeldBeside(from, life, peer, name));
        }
        if let Some(node) = self.agents[from].node.as_mut() {
            node.handle_unconfirmed(&beside(), &peer, name);
        }
        let loss = if self.calm { 0 } else { kind.loss };
        if self.dice.percent(loss) || self.is_cut(from, to) {
            return;
        }
        self.plan(after, Event::ArriveBeside(to, bytes));
        // The message arrives in any case; the word that it did may be lost on its way to the sender.
        if self.is_dialer(from) && !self.dice.percent(loss) {
            let life = self.agents[from].life;
            self.plan(2 * after, Event::HeldBeside(from, life, peer, name));
        }
    }

    pub fn arrive_beside(&mut self, to: usize, bytes: &Arc<[u8]>) {
        if self.agents[to].beside {
            self.hear(to, bytes, (Vec::new(), beside()));
        }
    }

    pub fn held_beside(&mut self, who: usize, life: u32, peer: &AgentId, name: MessageId) {
        let agent = &mut self.agents[who];
        let at = agent.at(self.now);
        if let Some(node) = agent.node.as_mut().filter(|_| agent.life == life) {
            node.turn(at).carriers().stored(&beside(), peer, name);
        }
    }

    pub fn lose_beside(&mut self, who: usize) {
        let elapsed = self.agents[who].at(self.now).elapsed;
        let agent = &mut self.agents[who];
        agent.beside = false;
        if let Some(node) = agent.node.as_mut().filter(|_| self.mood.beside.is_some()) {
            node.handle_disconnected(&beside(), elapsed);
        }
    }

    pub fn regain_beside(&mut self, who: usize) {
        if self.mood.beside.is_some() {
            let after = 1 + self.dice.below(500) as i64;
            let life = self.agents[who].life;
            self.plan(after, Event::ConnectBeside(who, life));
        }
    }

    pub fn connect_beside(&mut self, who: usize, life: u32) {
        let says_drained = self.mood.beside.is_some_and(|kind| kind.says_drained);
        let agent = &mut self.agents[who];
        let at = agent.at(self.now);
        let Some(node) = agent.node.as_mut().filter(|_| agent.life == life) else {
            return;
        };
        if std::mem::replace(&mut agent.beside, true) {
            return;
        }
        let connected = node.turn(at).carriers().connected(&beside());
        let drained = says_drained.then(|| node.turn(at).carriers().drained(&beside()));
        note!(self, "{} connects beside", NAMES[who]);
        for outcome in [Some(connected), drained].into_iter().flatten() {
            self.keep(who, outcome, Vec::new());
        }
        self.begin_polls(who);
        self.bring_overheard(who);
    }

    /// What a carrier is told of a message agrees with its line.
    pub fn watch_ruled(&self, outcome: &Outcome) {
        let verdicts = outcome.entries.iter().filter_map(|entry| match entry {
            Entry::Message(verdict) if verdict.direction == Direction::In => Some(verdict.ruling),
            _ => None,
        });
        let verdicts: Vec<_> = verdicts.collect();
        let expected = match verdicts[..] {
            [] => Disposition::Counted,
            [Ruling::Accepted] => Disposition::Accepted,
            [_] => Disposition::Refused,
            _ => panic!("one input has {} lines", verdicts.len()),
        };
        assert_eq!(outcome.ruled, Some(expected));
    }
}
