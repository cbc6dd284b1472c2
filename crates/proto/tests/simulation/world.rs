//! Virtual time: one queue of events, the nodes' own timers, and what each event does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use signet_proto::carrier::CarrierId;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::keys::{KeyTables, TableBudget};
use signet_proto::node::{Effect, Judged, Outcome, State};
use signet_proto::trust::TrustView;

use crate::agent::Agent;
use crate::broker::Broker;
use crate::carriers;
use crate::cast;
use crate::faults::Fault;
use crate::household::net::Dice;
use crate::mood::Mood;
use crate::note;
use crate::polls::Polls;
use crate::sabotage::Sabotage;
use crate::trace::Trace;

/// Something that happens at its time.
pub enum Event {
    /// Bytes reach an agent, by core NATS.
    Arrive(usize, Arc<[u8]>),
    /// Bytes reach an agent, by the second carrier.
    ArriveBeside(usize, Arc<[u8]>),
    /// The second carrier says that it holds a message.
    HeldBeside(usize, u32, AgentId, MessageId),
    /// The second carrier is up.
    ConnectBeside(usize, u32),
    /// The second carrier counts as read.
    ReadBeside(usize, u32),
    /// Who can only dial out asks a keeper.
    Poll(usize, u32, usize),
    /// A poll reaches its keeper, from whoever sent it in that life, or from somebody who overheard it.
    Polled(usize, Arc<[u8]>, Option<u32>),
    /// What a keeper gave reaches whoever polled.
    Response(usize, u32, usize, Vec<Arc<[u8]>>),
    /// Bytes reach the broker.
    Store(usize, usize, MessageId, Arc<[u8]>),
    /// The broker's word that it stored them reaches their sender.
    Stored(usize, u32, AgentId, MessageId),
    /// The broker hands an agent what lies at that place; only the last planned time counts.
    Offer(usize, u64, u64),
    /// An agent's word that it has what lies at that place.
    Ack(usize, u32, Vec<u64>),
    /// A group of lines becomes durable.
    Durable(usize, u32),
    /// Somebody looks into an agent's inbox.
    Look(usize, u32),
    /// Somebody wants to send something.
    Act,
    Start(usize),
    Connect(usize, u32),
    Fault(Fault),
    Mend(Fault),
}

/// A message that an agent's own side asked for.
#[derive(Debug)]
pub struct Sent {
    pub from: usize,
    pub to: usize,
    /// What its sender's person was told, in order.
    pub told: Vec<State>,
    pub answered: bool,
    /// Nobody waits for the end of a sign of life.
    pub ping: bool,
}

/// From bytes to what is judged of them.
pub type Read = fn(&[u8], &TrustView) -> Judged;

pub struct World {
    pub seed: u64,
    pub now: i64,
    pub dice: Dice,
    pub mood: Mood,
    pub agents: Vec<Agent>,
    pub broker: Broker,
    pub sent: BTreeMap<MessageId, Sent>,
    pub trace: Trace,
    /// Pairs that cannot reach each other.
    pub cut: Vec<(usize, usize)>,
    pub calm: bool,
    /// The rule that is broken on purpose.
    pub sabotage: Option<Sabotage>,
    /// What went out at least once.
    pub published: BTreeSet<(usize, MessageId)>,
    /// All of it, and who sent it, where somebody wants to see it.
    pub wire: Vec<(usize, Arc<[u8]>)>,
    pub keeps_wire: bool,
    /// How agents read what comes to them.
    pub read: Read,
    /// Per agent and life: what was handed over.
    pub handed: BTreeMap<(usize, u32, AgentId, MessageId), u32>,
    /// How many lies were told.
    pub lies: u64,
    /// What is kept for whoever can only dial out.
    pub polls: Polls,
    /// Tables of keys that all verify by in place of their own; of three seeds one has its agents' own, one has every key's,
    /// and one none.
    pub tables: Option<Arc<KeyTables>>,
    queue: BTreeMap<(i64, u64), Event>,
    count: u64,
}

fn tables(seed: u64) -> Option<Arc<KeyTables>> {
    let budget = match seed % 3 {
        0 => return None,
        1 => TableBudget::OFF,
        _ => TableBudget::AT_ONCE,
    };
    Some(Arc::new(KeyTables::new(budget)))
}

impl World {
    pub fn new(seed: u64, mood: Mood, dice: Dice, loud: bool) -> Self {
        let mut agents: Vec<_> = (0..mood.agents).map(|who| Agent::new(who, seed)).collect();
        for (agent, offset) in agents.iter_mut().zip(&mood.offsets) {
            agent.offset = *offset;
        }
        for (agent, papers) in agents.iter_mut().zip(&mood.papers) {
            agent.papers = *papers;
        }
        Self {
            seed,
            now: 0,
            dice,
            broker: Broker::new(mood.agents),
            mood,
            agents,
            sent: BTreeMap::new(),
            trace: Trace::new(loud),
            cut: Vec::new(),
            calm: false,
            sabotage: None,
            published: BTreeSet::new(),
            wire: Vec::new(),
            keeps_wire: false,
            read: Judged::of,
            handed: BTreeMap::new(),
            lies: 0,
            polls: Polls::default(),
            tables: tables(seed),
            queue: BTreeMap::new(),
            count: 0,
        }
    }

    /// Everybody starts for the first time and is told of everybody else by their person.
    pub fn begin(&mut self) {
        let all = self.agents.iter();
        let all = all.map(|agent| agent.papers.identity(agent.who).certificate);
        let certificates: Vec<_> = all.collect();
        for who in 0..self.agents.len() {
            self.start(who);
            self.genesis(who);
            for other in (0..self.agents.len()).filter(|other| *other != who) {
                let at = self.agents[who].at(self.now);
                let node = self.agents[who].node.as_mut().unwrap();
                let bound = node.turn(at).people().bind(&certificates[other]).unwrap();
                self.keep(who, bound, Vec::new());
            }
        }
    }

    pub fn plan(&mut self, after: i64, event: Event) {
        self.count += 1;
        self.queue.insert((self.now + after, self.count), event);
    }

    /// Lets time pass until `end`.
    pub fn run_until(&mut self, end: i64) {
        loop {
            let due = (0..self.agents.len())
                .filter_map(|who| Some((self.agents[who].due(self.now)?, who)))
                .min()
                .filter(|(ms, _)| *ms <= end);
            let next = self.queue.first_key_value().map(|((ms, _), _)| *ms);
            let next = next.filter(|ms| *ms <= end && due.is_none_or(|(due, _)| *ms <= due));
            match (next, due) {
                (Some(ms), _) => {
                    self.now = self.now.max(ms);
                    if let Some((_, event)) = self.queue.pop_first() {
                        self.happen(event);
                    }
                }
                (None, Some((ms, who))) => {
                    self.now = ms;
                    self.tick(who);
                }
                (None, None) => break,
            }
        }
        self.now = end;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Arrive(to, bytes) => {
                if self.agents[to].online {
                    self.hear(to, &bytes, (Vec::new(), CarrierId::NATS));
                }
            }
            Event::ArriveBeside(to, bytes) => self.arrive_beside(to, &bytes),
            Event::HeldBeside(who, life, peer, name) => self.held_beside(who, life, &peer, name),
            Event::ConnectBeside(who, life) => self.connect_beside(who, life),
            Event::ReadBeside(who, life) => self.read_beside(who, life),
            Event::Poll(who, life, keeper) => self.poll(who, life, keeper),
            Event::Polled(keeper, bytes, from) => self.polled(keeper, &bytes, from),
            Event::Response(who, life, keeper, given) => {
                self.response((who, life), keeper, &given);
            }
            Event::Store(from, to, name, bytes) => self.store(from, to, name, bytes),
            Event::Stored(from, life, peer, name) => self.note_stored(from, life, peer, name),
            Event::Offer(to, place, attempt) => self.offer(to, place, attempt),
            Event::Ack(who, epoch, places) => self.acknowledged(who, epoch, &places),
            Event::Durable(who, life) if self.agents[who].life == life => self.sync(who),
            Event::Look(who, life) if self.agents[who].life == life => self.look(who),
            Event::Connect(who, life) if self.agents[who].life == life => self.connect(who),
            Event::Durable(..) | Event::Look(..) | Event::Connect(..) => {}
            Event::Act => self.act(),
            Event::Start(who) => self.start(who),
            Event::Fault(fault) => self.strike(fault),
            Event::Mend(fault) => self.mend(fault),
        }
    }

    /// As a worker judges it.
    pub fn judge(&self, to: usize, bytes: &[u8]) -> Judged {
        let trust = self.agents[to].node.as_ref().unwrap().trust();
        match &self.tables {
            Some(tables) => (self.read)(bytes, &trust.with_tables(Arc::clone(tables))),
            None => (self.read)(bytes, trust),
        }
    }

    pub fn hear(&mut self, to: usize, bytes: &Arc<[u8]>, (taken, by): (Vec<u64>, CarrierId)) {
        let at = self.agents[to].at(self.now);
        let judged = self.judge(to, bytes).by(by);
        let node = self.agents[to].node.as_mut().unwrap();
        let outcome = node.turn(at).handle_inbound(judged);
        self.watch_ruled(&outcome);
        self.watch_inbound(to, bytes, &outcome);
        self.keep(to, outcome, taken);
    }

    fn tick(&mut self, who: usize) {
        let agent = &mut self.agents[who];
        let (at, node) = (agent.at(self.now), agent.node.as_mut().unwrap());
        let outcome = node.turn(at).handle_timeout();
        agent.spins = (
            self.now,
            if agent.spins.0 == self.now {
                agent.spins.1 + 1
            } else {
                0
            },
        );
        assert!(
            agent.spins.1 < 50,
            "{} has no rest at one moment",
            cast::NAMES[who]
        );
        self.keep(who, outcome, Vec::new());
    }

    /// Everything that a node decides goes to its log first.
    pub fn keep(&mut self, who: usize, mut outcome: Outcome, taken: Vec<u64>) {
        if outcome.entries.is_empty() && outcome.effects.is_empty() && taken.is_empty() {
            return;
        }
        for entry in &outcome.entries {
            note!(self, "{} {}", cast::NAMES[who], crate::tale::line(entry));
        }
        self.watch_pause(who, &outcome);
        self.watch_dates(who, &outcome);
        if let Some(sabotage) = self.sabotage {
            let hasty = sabotage.hastens(&mut outcome);
            self.perform(who, hasty);
        }
        let agent = &mut self.agents[who];
        let due = agent.write(self.now, outcome, taken, &mut self.dice);
        let life = agent.life;
        self.plan(due - self.now, Event::Durable(who, life));
    }

    fn sync(&mut self, who: usize) {
        while let Some(group) = self.agents[who].disk.sync(self.now) {
            for line in &group.lines {
                self.agents[who].index.take(line);
            }
            self.watch_index(who);
            self.perform(who, group.effects);
            if !group.taken.is_empty() {
                self.acknowledge(who, group.taken);
            }
        }
    }

    pub fn perform(&mut self, who: usize, effects: Vec<Effect>) {
        for effect in effects {
            self.watch_effect(who, &effect);
            match effect {
                Effect::Publish(signed) => {
                    let message = signed.message();
                    let name = message.headers.message_id;
                    let to = self
                        .agents
                        .iter()
                        .position(|agent| agent.id() == signed.recipient());
                    let bytes = self.bytes_of(who, &signed);
                    if self.keeps_wire {
                        self.wire.push((who, Arc::clone(&bytes)));
                    }
                    match to {
                        Some(to) if *signed.carrier() == carriers::beside() => {
                            self.publish_beside(who, to, name, bytes);
                        }
                        Some(to) => self.publish(who, to, name, bytes),
                        None => {}
                    }
                }
                Effect::Deliver(_) | Effect::Answer(_) => {
                    let after = self.dice.below(3_000) as i64;
                    let life = self.agents[who].life;
                    self.plan(after, Event::Look(who, life));
                }
                Effect::Settle { message_id, .. } => self.forget_kept(who, message_id),
                _ => {}
            }
        }
    }

    fn publish(&mut self, from: usize, to: usize, name: MessageId, bytes: Arc<[u8]>) {
        if !self.agents[from].online {
            return;
        }
        if let Some(node) = self.agents[from].node.as_mut() {
            node.handle_unconfirmed(&CarrierId::NATS, &cast::certificate(to).agent, name);
        }
        let delay = |dice: &mut Dice, most: u64| 1 + dice.below(most) as i64;
        if self.mood.mailbox {
            if !self.dice.percent(self.mood.loss) {
                let after = delay(&mut self.dice, self.mood.delay);
                self.plan(after, Event::Store(from, to, name, bytes));
            }
            return;
        }
        if self.is_cut(from, to) {
            return;
        }
        let copies = 1 + u64::from(self.dice.percent(self.mood.copies));
        for _ in 0..copies {
            if !self.dice.percent(self.mood.loss) {
                let after = delay(&mut self.dice, self.mood.delay);
                self.plan(after, Event::Arrive(to, Arc::clone(&bytes)));
            }
        }
    }

    pub fn is_cut(&self, from: usize, to: usize) -> bool {
        self.cut.contains(&(from, to))
    }
}
