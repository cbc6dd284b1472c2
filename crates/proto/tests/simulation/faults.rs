//! What goes wrong, and how it is mended.

use signet_proto::carrier::CarrierId;
use signet_proto::node::{Outgoing, State, WaitsFor};

use crate::cast::NAMES;
use crate::household::net::Dice;
use crate::liar::Lie;
use crate::mood::Mood;
use crate::note;
use crate::sabotage::Sabotage;
use crate::world::{Event, World};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// kill -9, and down for so many ms.
    Crash(usize, i64),
    /// No connection for so many ms.
    Offline(usize, i64),
    /// Nothing passes from one to the other for so many ms.
    Cut(usize, usize, i64),
    /// A clock is set by so many ms.
    Jump(usize, i64),
    /// The broker is down for so many ms, and comes back with or without its store.
    Broker(bool, i64),
    /// Somebody copies the log.
    Copy(usize),
    /// The log is put back to that copy, and the agent is down for so many ms.
    Restore(usize, i64),
    /// A disk that takes its time.
    Slow(usize, i64),
    /// A person pauses their agent for so many ms.
    Pause(usize, i64),
    /// A clock leaves the dates of its certificate, by so many ms, for so many ms.
    Stray(usize, i64, i64),
    /// A person renews what their agent has, with another signing key or without.
    Renew(usize, bool),
    /// An agent's second carrier is down for so many ms.
    Beside(usize, i64),
    /// The liar lies to somebody.
    Lie(usize, Lie),
}

impl Fault {
    pub fn of(dice: &mut Dice, mood: &Mood) -> Self {
        let who = dice.below(mood.agents as u64) as usize;
        let other = (who + 1 + dice.below(mood.agents as u64 - 1) as usize) % mood.agents;
        let span = [100, 3_000, 30_000, 200_000][dice.below(4) as usize];
        let span = 1 + dice.below(span) as i64;
        match dice.below(12) {
            0..=4 => Self::Crash(who, span),
            5 | 6 => Self::Offline(who, span),
            7 if mood.mailbox => Self::Broker(dice.percent(50), span),
            7 | 8 => Self::Cut(who, other, span),
            9 => Self::Slow(who, span),
            _ => {
                let far = if mood.skewed { 3_600_000 } else { 30_000 };
                Self::Jump(who, dice.below(2 * far) as i64 - far as i64)
            }
        }
    }
}

impl World {
    pub fn strike(&mut self, fault: Fault) {
        note!(self, "{fault:?}");
        let after = match fault {
            Fault::Crash(who, after) => {
                self.crash(who);
                self.plan(after, Event::Start(who));
                return;
            }
            Fault::Copy(who) => {
                let agent = &mut self.agents[who];
                agent.copy = Some(agent.disk.durable.clone());
                return;
            }
            Fault::Restore(who, after) => return self.restore(who, after),
            Fault::Offline(who, after) => {
                self.disconnect(who);
                after
            }
            Fault::Cut(from, to, after) => {
                self.cut.push((from, to));
                after
            }
            Fault::Jump(who, by) => {
                let most = if self.mood.skewed { 3_600_000 } else { 30_000 };
                let agent = &mut self.agents[who];
                agent.offset = (agent.offset + by).clamp(-most, most);
                return;
            }
            Fault::Broker(loses, after) => {
                self.broker.up = false;
                if loses {
                    self.broker.lose();
                }
                for who in 0..self.agents.len() {
                    self.disconnect(who);
                }
                after
            }
            Fault::Slow(who, after) => {
                self.agents[who].sluggish = 3_000;
                after
            }
            Fault::Pause(who, after) => {
                if !self.tell_pause(who, true) {
                    return;
                }
                after
            }
            Fault::Stray(who, by, after) => {
                self.agents[who].stray = by;
                after
            }
            Fault::Renew(who, rekeys) => return self.renew(who, rekeys),
            Fault::Beside(who, after) => {
                self.lose_beside(who);
                after
            }
            Fault::Lie(victim, lie) => return self.lie(victim, lie),
        };
        self.plan(after, Event::Mend(fault));
    }

    pub fn mend(&mut self, fault: Fault) {
        match fault {
            Fault::Offline(who, _) => self.reconnect(who),
            Fault::Cut(from, to, _) => self.cut.retain(|way| *way != (from, to)),
            Fault::Slow(who, _) => self.agents[who].sluggish = 5,
            Fault::Pause(who, _) => self.go_on(who),
            Fault::Stray(who, ..) => self.agents[who].stray = 0,
            Fault::Beside(who, _) => self.regain_beside(who),
            Fault::Broker(..) => {
                self.broker.up = true;
                for who in 0..self.agents.len() {
                    self.reconnect(who);
                }
            }
            Fault::Crash(..)
            | Fault::Jump(..)
            | Fault::Copy(_)
            | Fault::Restore(..)
            | Fault::Renew(..)
            | Fault::Lie(..) => {}
        }
    }

    /// All is well from here on.
    pub fn mend_all(&mut self) {
        self.calm = true;
        (self.mood.loss, self.mood.copies) = (0, 0);
        self.mood.clumsy = 0;
        self.mood.delay = self.mood.delay.min(50);
        self.cut.clear();
        self.broker.up = true;
        for who in 0..self.agents.len() {
            self.agents[who].sluggish = 5;
            self.agents[who].stray = 0;
            if !self.mood.skewed {
                self.agents[who].offset = self.agents[who].offset.clamp(-30_000, 30_000);
            }
            self.start(who);
            self.go_on(who);
            self.renew(who, false);
            self.disconnect(who);
            self.reconnect(who);
            self.lose_beside(who);
            self.regain_beside(who);
        }
    }

    /// What the log says must be what the node knew, whatever was durable of it.
    pub fn crash(&mut self, who: usize) {
        if self.agents[who].node.is_none() {
            return;
        }
        self.compare(who);
        let agent = &mut self.agents[who];
        let done = agent.crash(&mut self.dice);
        if self.sabotage == Some(Sabotage::DiskLies) {
            agent.disk.durable.pop();
        }
        self.watch_index(who);
        self.agents[who].online = true;
        self.perform(who, done);
        self.forget_polls(who);
        self.agents[who].online = false;
    }

    pub fn compare(&self, who: usize) {
        let agent = &self.agents[who];
        let Some(node) = &agent.node else { return };
        let again = agent.retold(None);
        crate::tale::same_rows(node, &again, agent.at(self.now));
        let ours = self.sent.iter().filter(|(_, sent)| sent.from == who);
        for name in ours.map(|(name, _)| *name) {
            let [live, told] = [node, &again].map(|node| node.sent().status(name).map(lasting));
            assert_eq!(live, told, "{} remembers another fate", NAMES[who]);
        }
    }

    pub fn start(&mut self, who: usize) {
        if self.agents[who].node.is_some() {
            return;
        }
        note!(self, "{} starts", NAMES[who]);
        let routes = self.routes();
        let outcome = self.agents[who].start(self.now, self.sabotage, routes);
        self.keep(who, outcome, Vec::new());
        self.reconnect(who);
        self.regain_beside(who);
        let life = self.agents[who].life;
        self.plan(500, Event::Look(who, life));
    }

    fn disconnect(&mut self, who: usize) {
        let elapsed = self.agents[who].at(self.now).elapsed;
        let agent = &mut self.agents[who];
        agent.online = false;
        agent.drained_to = None;
        if let Some(node) = agent.node.as_mut() {
            node.handle_disconnected(&CarrierId::NATS, elapsed);
        }
    }

    fn reconnect(&mut self, who: usize) {
        let after = 1 + self.dice.below(500) as i64;
        let life = self.agents[who].life;
        self.plan(after, Event::Connect(who, life));
    }

    pub fn connect(&mut self, who: usize) {
        let agent = &mut self.agents[who];
        if agent.online || !self.broker.up || self.mood.dialer == Some(who) {
            return;
        }
        let at = agent.at(self.now);
        let Some(node) = agent.node.as_mut() else {
            return;
        };
        agent.online = true;
        let mut outcomes = vec![node.turn(at).carriers().connected(&CarrierId::NATS)];
        // Another epoch means that the store was lost: the node hears of it when its consumer is made anew.
        let known = agent.epoch.replace(self.broker.epoch);
        if known.is_some_and(|known| known != self.broker.epoch) {
            outcomes.push(node.turn(at).carriers().mailbox_lost(&CarrierId::NATS));
        }
        note!(self, "{} connects", NAMES[who]);
        for outcome in outcomes {
            self.keep(who, outcome, Vec::new());
        }
        match self.mood.mailbox {
            true => self.offer_all(who),
            false => self.drained(who),
        }
    }
}

/// The log holds neither the network's word on a message, nor the clock's on our certificate, nor which peers are silent.
fn lasting(out: Outgoing) -> Outgoing {
    let state = match out.state {
        State::Published => State::Queued,
        state => state,
    };
    let waits_for = out.waits_for.and_then(|waits_for| match waits_for {
        WaitsFor::Clock => Some(WaitsFor::Session),
        WaitsFor::Peer => None,
        known => Some(known),
    });
    Outgoing {
        state,
        waits_for,
        stored: false,
        ..out
    }
}
