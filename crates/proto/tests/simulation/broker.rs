//! The mailbox: a stream for each agent, which keeps what it was given until its owner has it, and
//! which can be killed and lose everything.

use std::collections::BTreeMap;
use std::sync::Arc;

use signet_proto::carrier::CarrierId;
use signet_proto::ids::{AgentId, MessageId};

use crate::cast::NAMES;
use crate::note;
use crate::world::{Event, World};

/// What was not acknowledged is offered again after this long.
const ACK_WAIT: i64 = 30_000;

pub struct Broker {
    pub up: bool,
    /// Counts its stores: acknowledgements of an earlier one are void.
    pub epoch: u32,
    streams: Vec<Stream>,
}

#[derive(Default)]
struct Stream {
    last: u64,
    held: BTreeMap<u64, Held>,
}

struct Held {
    bytes: Arc<[u8]>,
    attempt: u64,
}

impl Broker {
    pub fn new(agents: usize) -> Self {
        Self {
            up: true,
            epoch: 0,
            streams: (0..agents).map(|_| Stream::default()).collect(),
        }
    }

    /// Its disk is gone, and with it all mail.
    pub fn lose(&mut self) {
        self.epoch += 1;
        self.streams
            .iter_mut()
            .for_each(|stream| *stream = Stream::default());
    }

    pub fn is_empty(&self) -> bool {
        self.streams.iter().all(|stream| stream.held.is_empty())
    }
}

impl World {
    pub fn store(&mut self, from: usize, to: usize, name: MessageId, bytes: Arc<[u8]>) {
        if !self.broker.up {
            return;
        }
        let stream = &mut self.broker.streams[to];
        stream.last += 1;
        let place = stream.last;
        stream.held.insert(place, Held { bytes, attempt: 0 });
        self.plan_offer(to, place, 1);
        if !self.dice.percent(self.mood.loss) {
            let (life, peer) = (self.agents[from].life, self.agents[to].id().clone());
            let after = 1 + self.dice.below(self.mood.delay) as i64;
            self.plan(after, Event::Stored(from, life, peer, name));
        }
    }

    /// After a connect the broker begins at the front, in whatever order it likes.
    pub fn offer_all(&mut self, to: usize) {
        let places: Vec<u64> = self.broker.streams[to].held.keys().copied().collect();
        self.agents[to].drained_to = Some(self.broker.streams[to].last);
        for place in places {
            let after = 1 + self.dice.below(200) as i64;
            self.plan_offer(to, place, after);
        }
        self.note_drained(to);
    }

    fn plan_offer(&mut self, to: usize, place: u64, after: i64) {
        if let Some(held) = self.broker.streams[to].held.get_mut(&place) {
            held.attempt += 1;
            let attempt = held.attempt;
            self.plan(after, Event::Offer(to, place, attempt));
        }
    }

    pub fn offer(&mut self, to: usize, place: u64, attempt: u64) {
        let held = self.broker.streams[to].held.get(&place);
        let Some(held) = held.filter(|held| held.attempt == attempt) else {
            return;
        };
        if !self.agents[to].online || !self.broker.up {
            return;
        }
        let bytes = Arc::clone(&held.bytes);
        let again = ACK_WAIT + self.dice.below(2_000) as i64;
        self.plan_offer(to, place, again);
        if self.dice.percent(self.mood.loss) {
            return;
        }
        let copies = 1 + u64::from(self.dice.percent(self.mood.copies));
        for _ in 0..copies {
            self.hear(to, &bytes, (vec![place], CarrierId::NATS));
        }
    }

    /// The line is durable: the broker may forget.
    pub fn acknowledge(&mut self, who: usize, places: Vec<u64>) {
        if self.is_dialer(who) {
            return self.have_response(&places);
        }
        if self.agents[who].online && !self.dice.percent(self.mood.loss) {
            let epoch = self.broker.epoch;
            let after = 1 + self.dice.below(self.mood.delay) as i64;
            self.plan(after, Event::Ack(who, epoch, places));
        }
    }

    pub fn acknowledged(&mut self, who: usize, epoch: u32, places: &[u64]) {
        if epoch != self.broker.epoch || !self.broker.up {
            return;
        }
        for place in places {
            self.broker.streams[who].held.remove(place);
        }
        self.note_drained(who);
    }

    fn note_drained(&mut self, who: usize) {
        let Some(to) = self.agents[who].drained_to else {
            return;
        };
        let first = self.broker.streams[who].held.first_key_value();
        if first.is_none_or(|(place, _)| *place > to) && self.agents[who].online {
            self.agents[who].drained_to = None;
            note!(self, "{} has read its mailbox", NAMES[who]);
            self.drained(who);
        }
    }

    /// What waited in an agent's own mailbox when it connected has been judged.
    pub fn drained(&mut self, who: usize) {
        let agent = &mut self.agents[who];
        let at = agent.at(self.now);
        if let Some(node) = agent.node.as_mut() {
            let outcome = node.turn(at).carriers().drained(&CarrierId::NATS);
            self.keep(who, outcome, Vec::new());
        }
    }

    pub fn note_stored(&mut self, from: usize, life: u32, peer: AgentId, name: MessageId) {
        let agent = &mut self.agents[from];
        let at = agent.at(self.now);
        if agent.life == life
            && agent.online
            && self.broker.up
            && let Some(node) = agent.node.as_mut()
        {
            node.turn(at)
                .carriers()
                .stored(&CarrierId::NATS, &peer, name);
        }
    }
}
