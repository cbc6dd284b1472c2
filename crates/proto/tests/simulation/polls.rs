//! A household of which one agent can only dial out: it posts to the others by HTTP, and gets what they keep for it by
//! polls. Requests and responses are lost, polls are copied and brought again, everybody restarts, and clocks are set.
//!
//! ```text
//! dialer ── POST ──────────────────▶ keeper     (the 202 may be lost)
//! dialer ── POST agent.poll ───────▶ keeper     (whoever overheard it brings it again)
//!        ◀── what is kept, oldest ── keeper     (or the response is lost: then the next poll gives it again)
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use signet_proto::carrier::{CarrierId, KEPT_FOR_POLLS, Route};
use signet_proto::ids::{Digest, MessageId};
use signet_proto::node::Disposition;

use crate::carriers::Beside;
use crate::cast::{self, NAMES};
use crate::faults::Fault;
use crate::household::keeper::Keeper;
use crate::household::net::{Dice, message_of};
use crate::mood::Mood;
use crate::note;
use crate::world::{Event, World};

const HOUR: i64 = 3_600_000;
/// How often a keeper is asked, in ms; and how often when all has been well for long, which costs less to compute.
const PERIOD: i64 = 5_000;
const LONG_PERIOD: i64 = 120_000;
/// By then whatever waited at a keeper has been asked for: HTTP counts as read.
const READ_BY_THEN: i64 = 90_000;

/// What is kept, and what the dialer has of it. All of it lies in memory: it ends with the process.
#[derive(Default)]
pub struct Polls {
    keepers: BTreeMap<usize, Keeper>,
    /// The last message of a response, by keeper, once it is durable.
    after: BTreeMap<usize, MessageId>,
    /// Which response a line of the dialer's log belongs to.
    responses: BTreeMap<u64, (usize, MessageId)>,
    /// Every poll that was served, and in which life of its keeper.
    served: BTreeMap<Digest, (usize, u32)>,
    /// How many polls and messages were given; for whoever asks whether a run was one at all.
    pub given: u64,
    /// How many copies of polls were brought.
    pub copies: u64,
    overheard: Vec<(usize, Arc<[u8]>)>,
}

impl Mood {
    /// The run of a seed in which one can only dial out.
    pub fn of_polls(dice: &mut Dice) -> Self {
        let mut mood = Self::of(dice);
        mood.skewed = false;
        mood.offsets.iter_mut().for_each(|offset| *offset %= 30_000);
        mood.dialer = Some(dice.below(mood.agents as u64) as usize);
        mood.beside = Some(Beside {
            loss: [0, 5, 20, 40][dice.below(4) as usize],
            swallows: false,
            first: dice.percent(50),
            says_drained: false,
        });
        mood.acts += 10;
        for _ in 0..1 + dice.below(4) {
            let who = dice.below(mood.agents as u64) as usize;
            let when = dice.below(mood.chaos as u64) as i64;
            let span = 1_000 + dice.below(HOUR as u64 / 6) as i64;
            mood.faults.push((when, Fault::Beside(who, span)));
        }
        mood
    }
}

impl World {
    /// The ways to that agent, where one can only dial out.
    pub fn way_to_dialer(&self, who: usize) -> Option<Vec<Route>> {
        (self.mood.dialer == Some(who)).then(|| {
            vec![Route {
                carrier: CarrierId::HTTP,
                address: KEPT_FOR_POLLS.to_owned(),
            }]
        })
    }

    pub fn is_dialer(&self, who: usize) -> bool {
        self.mood.dialer == Some(who)
    }

    /// The keeper has it, whatever becomes of its connection.
    pub fn keep_for_polls(&mut self, from: usize, to: usize, name: MessageId, bytes: Arc<[u8]>) {
        let peer = cast::certificate(to).agent.clone();
        let keeper = self.polls.keepers.entry(from).or_default();
        keeper.put(&peer, name, bytes);
        let life = self.agents[from].life;
        self.plan(1, Event::HeldBeside(from, life, peer, name));
    }

    /// A message has come to its end: nobody polls for it any more.
    pub fn forget_kept(&mut self, who: usize, name: MessageId) {
        if let Some((dialer, keeper)) = self.mood.dialer.zip(self.polls.keepers.get_mut(&who)) {
            keeper.forget(&cast::certificate(dialer).agent, name);
        }
    }

    /// What only a process had is gone with it.
    pub fn forget_polls(&mut self, who: usize) {
        self.polls.keepers.remove(&who);
        if self.is_dialer(who) {
            self.polls.after.clear();
            self.polls.responses.clear();
        }
    }

    /// The dialer's gateway begins to poll, and counts as read some time later.
    pub fn begin_polls(&mut self, who: usize) {
        let life = self.agents[who].life;
        if self.mood.dialer.is_some() {
            self.plan(READ_BY_THEN, Event::ReadBeside(who, life));
        }
        if self.is_dialer(who) {
            for keeper in (0..self.agents.len()).filter(|keeper| *keeper != who) {
                let after = 1 + self.dice.below(PERIOD as u64) as i64;
                self.plan(after, Event::Poll(who, life, keeper));
            }
        }
    }

    pub fn read_beside(&mut self, who: usize, life: u32) {
        let agent = &mut self.agents[who];
        let at = agent.at(self.now);
        if agent.life == life
            && agent.beside
            && let Some(node) = agent.node.as_mut()
        {
            let outcome = node.turn(at).carriers().drained(&CarrierId::HTTP);
            self.keep(who, outcome, Vec::new());
        }
    }

    /// The dialer asks one keeper, and plans to ask again.
    pub fn poll(&mut self, who: usize, life: u32, keeper: usize) {
        if self.agents[who].life != life || !self.agents[who].beside {
            return;
        }
        let is_late = self.calm && self.now > self.mood.chaos + 600_000;
        let period = if is_late { LONG_PERIOD } else { PERIOD };
        self.plan(period, Event::Poll(who, life, keeper));
        let last = self.polls.after.get(&keeper).copied();
        let at = self.agents[who].at(self.now);
        let Some(node) = self.agents[who].node.as_mut() else {
            return;
        };
        let Ok(signed) = node
            .turn(at)
            .peers()
            .poll(&cast::certificate(keeper).agent, last)
        else {
            return;
        };
        let bytes = Arc::clone(signed.bytes());
        if self.is_lost(who, keeper) {
            return;
        }
        self.overhear(keeper, &bytes);
        let after = 1 + self.dice.below(self.mood.delay) as i64;
        self.plan(after, Event::Polled(keeper, bytes, Some(life)));
    }

    fn is_lost(&mut self, from: usize, to: usize) -> bool {
        let loss = self.mood.beside.map_or(0, |kind| kind.loss);
        let loss = if self.calm { 0 } else { loss };
        self.is_cut(from, to) || self.dice.percent(loss)
    }

    /// Somebody on the way keeps it, and brings it again: soon, or after the keeper's next start.
    fn overhear(&mut self, keeper: usize, bytes: &Arc<[u8]>) {
        if self.calm || !self.dice.percent(20) {
            return;
        }
        self.polls.overheard.push((keeper, Arc::clone(bytes)));
        let after = 1 + self.dice.below(90_000) as i64;
        self.plan(after, Event::Polled(keeper, Arc::clone(bytes), None));
    }

    /// What somebody overheard is brought at the worst moment: as soon as the keeper is there again.
    pub fn bring_overheard(&mut self, who: usize) {
        let heard = std::mem::take(&mut self.polls.overheard);
        let (of_keeper, others) = heard.into_iter().partition(|(keeper, _)| *keeper == who);
        self.polls.overheard = others;
        let of_keeper: Vec<_> = of_keeper;
        for (keeper, bytes) in of_keeper {
            let after = 1 + self.dice.below(2_000) as i64;
            self.plan(after, Event::Polled(keeper, bytes, None));
        }
    }

    /// A poll reaches its keeper: from the dialer in that life of its, or from whoever overheard it.
    pub fn polled(&mut self, keeper: usize, bytes: &Arc<[u8]>, from: Option<u32>) {
        if !self.agents[keeper].beside {
            return;
        }
        let at = self.agents[keeper].at(self.now);
        let judged = self.judge(keeper, bytes).by(CarrierId::HTTP);
        let node = self.agents[keeper].node.as_mut().unwrap();
        let outcome = node.turn(at).handle_inbound(judged);
        assert_eq!(
            outcome.polled.is_some(),
            outcome.ruled == Some(Disposition::Accepted),
            "a poll is served, or counted"
        );
        let polled = outcome.polled.clone();
        self.keep(keeper, outcome, Vec::new());
        self.polls.copies += u64::from(from.is_none());
        let Some(polled) = polled else { return };
        self.watch_served(keeper, bytes);
        let kept = self.polls.keepers.entry(keeper).or_default();
        let given = kept.give(&polled);
        let Some(dialer) = self.mood.dialer else {
            return;
        };
        let for_dialer = |bytes: &Arc<[u8]>| {
            message_of(bytes).headers.recipient_id == cast::certificate(dialer).agent
        };
        assert!(
            given.iter().all(for_dialer),
            "what is kept for one is for that one"
        );
        let Some(life) = from else { return };
        if given.is_empty() || self.is_lost(keeper, dialer) {
            return;
        }
        let after = 1 + self.dice.below(self.mood.delay) as i64;
        self.plan(after, Event::Response(dialer, life, keeper, given));
    }

    /// Nobody is given anything for a copy of a poll. One that was signed ahead of its keeper's clock is no copy to a keeper
    /// that has forgotten it, for as long as it was ahead (docs/protocol.md, Polls).
    fn watch_served(&mut self, keeper: usize, bytes: &Arc<[u8]>) {
        let message = message_of(bytes);
        let life = self.agents[keeper].life;
        let before = self.polls.served.insert(message.hash(), (keeper, life));
        let Some((_, before)) = before else { return };
        assert_ne!(before, life, "{} serves a copy of a poll", NAMES[keeper]);
        // Tell the keeper's start by its clock as it is now: the clock may have been set since the start.
        let begun = self.agents[keeper].at(self.agents[keeper].begun).now;
        assert!(
            message.headers.timestamp > begun,
            "{} serves a poll from before its start",
            NAMES[keeper]
        );
    }

    /// The response reaches the dialer, once or twice.
    pub fn response(&mut self, (who, life): (usize, u32), keeper: usize, given: &[Arc<[u8]>]) {
        if self.agents[who].life != life || !self.agents[who].beside {
            return;
        }
        self.polls.given += given.len() as u64;
        let Some(last) = given.last() else { return };
        let last = message_of(last).headers.message_id;
        note!(
            self,
            "{} polled {} of {}",
            NAMES[who],
            given.len(),
            NAMES[keeper]
        );
        let copies = 1 + u64::from(self.dice.percent(self.mood.copies));
        for _ in 0..copies {
            for bytes in given {
                self.hear(who, bytes, (Vec::new(), CarrierId::HTTP));
            }
        }
        // The next poll may name the last of these messages only when all of them are durable: note it under a place
        // that becomes durable with them.
        let place = self
            .polls
            .responses
            .last_key_value()
            .map_or(0, |(place, _)| place + 1);
        self.polls.responses.insert(place, (keeper, last));
        self.keep(who, signet_proto::node::Outcome::default(), vec![place]);
    }

    /// A response is durable at the dialer.
    pub fn have_response(&mut self, places: &[u64]) {
        for place in places {
            if let Some((keeper, last)) = self.polls.responses.remove(place) {
                self.polls.after.insert(keeper, last);
            }
        }
    }

    /// Nothing is kept any more for whoever has said of everything what became of it.
    pub fn watch_kept(&self) {
        let asked: BTreeSet<_> = self.polls.keepers.keys().collect();
        for keeper in asked {
            let kept = &self.polls.keepers[keeper];
            assert!(
                kept.is_empty(),
                "{} keeps mail that was fetched",
                NAMES[*keeper]
            );
        }
    }
}
