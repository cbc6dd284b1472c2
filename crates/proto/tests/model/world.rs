//! All that the agents and the attacker can do, for the model checker.
//!
//! The attacker is the network: whatever was signed can be delivered to anybody, any number of times,
//! in any order, or never. It has an agent of its own, Carol, who signs what she likes; a flight of
//! hers counts when somebody takes it. Signatures hold (Dolev-Yao): nobody else's flights change.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use signet_proto::envelope::Message;
use signet_proto::ids::Digest;
use stateright::{Model, Property};

use crate::carol::Forgery;
use crate::cast::{ALICE, BOB, CAROL, Cast};
use crate::claims::{Judged, agree};
use crate::local::{Fault, Local};

/// How far the exploration goes.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How often Alice and Bob may announce to each other.
    pub announces: [usize; 2],
    /// How often Alice may announce to Carol.
    pub to_carol: usize,
    /// How many flights of Carol's may be taken.
    pub carol: usize,
    /// Whether one of the two may crash, once.
    pub crash: bool,
    /// Whether it may come back with a newer certificate.
    pub upgrade: bool,
    /// How often a handshake may end because time passes.
    pub give_ups: u8,
}

/// What an agent does, or what befalls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Announce(usize),
    Hear(u32),
    /// The crash comes when the flight's line is durable, and that of the answer is not.
    HearAndCrash(u32),
    GiveUp(usize),
    Crash,
    CrashAndUpgrade,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Of(usize, Step),
    Carol(usize, Forgery),
}

/// Both agents (by the number of their state), what Carol signed, and what has been used up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    sides: [u32; 2],
    pub carol: Vec<u32>,
    pub crashed: bool,
    give_ups: u8,
}

/// Each agent's states and each flight are kept once, and each step of one agent is taken once.
#[derive(Default)]
pub struct Known {
    judged: Vec<Arc<Judged>>,
    by_digest: HashMap<Digest, u32>,
    sent: Vec<Vec<u32>>,
    pub flights: Vec<Arc<Message>>,
    by_hash: HashMap<Digest, u32>,
    steps: HashMap<(u32, Step), Option<u32>>,
    pub forged: HashMap<(usize, usize, Forgery, String), u32>,
}

pub struct World {
    pub cast: Cast,
    bounds: Bounds,
    fault: Fault,
    known: Mutex<Known>,
}

impl World {
    pub fn new(bounds: Bounds, fault: Fault) -> Self {
        Self {
            cast: Cast::new(),
            bounds,
            fault,
            known: Mutex::default(),
        }
    }

    pub fn judged(&self, state: &State, who: usize) -> Arc<Judged> {
        Arc::clone(&self.known().judged[state.sides[who] as usize])
    }

    /// How many states of single agents there are, and how many flights.
    pub fn sizes(&self) -> String {
        let known = self.known();
        let (agents, flights) = (known.judged.len(), known.flights.len());
        format!("{agents} states of single agents, {flights} flights")
    }

    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap()
    }

    fn step(&self, from: u32, step: Step) -> Option<u32> {
        let mut known = self.known();
        if let Some(to) = known.steps.get(&(from, step)) {
            return *to;
        }
        let mut local = known.judged[from as usize].local.clone();
        let moved = self.perform(&known, &mut local, step);
        let to = moved.then(|| known.intern(&self.cast, local));
        known.steps.insert((from, step), to);
        to
    }

    fn perform(&self, known: &Known, local: &mut Local, step: Step) -> bool {
        match step {
            Step::Announce(peer) => {
                local.announce(&self.cast, peer);
                true
            }
            Step::Hear(flight) => local
                .hear(&self.cast, &known.flights[flight as usize])
                .is_ok(),
            Step::HearAndCrash(flight) => {
                let taken = local
                    .take(&self.cast, &known.flights[flight as usize])
                    .is_ok();
                local.restart(&self.cast, false);
                taken
            }
            Step::GiveUp(peer) => local.give_up(peer),
            Step::Crash => {
                local.restart(&self.cast, false);
                true
            }
            Step::CrashAndUpgrade => {
                local.restart(&self.cast, true);
                true
            }
        }
    }

    /// Everything that was ever signed.
    pub fn network(&self, state: &State) -> BTreeSet<u32> {
        let known = self.known();
        let sides = state
            .sides
            .iter()
            .flat_map(|side| &known.sent[*side as usize]);
        sides.chain(&state.carol).copied().collect()
    }

    fn steps(&self, state: &State, who: usize) -> Vec<Step> {
        let peer = 1 - who;
        let judged = self.judged(state, who);
        let local = &judged.local;
        let mut steps = Vec::new();
        let may = |peer: usize, often: usize| {
            local.links[peer].handshake.is_idle() && local.announces(&self.cast, peer) < often
        };
        if may(peer, self.bounds.announces[who]) {
            steps.push(Step::Announce(peer));
        }
        if who == ALICE && may(CAROL, self.bounds.to_carol) {
            steps.push(Step::Announce(CAROL));
        }
        for flight in self.network(state) {
            steps.push(Step::Hear(flight));
            if self.bounds.crash && !state.crashed {
                steps.push(Step::HearAndCrash(flight));
            }
        }
        if self.bounds.crash && !state.crashed {
            steps.push(Step::Crash);
            if self.bounds.upgrade {
                steps.push(Step::CrashAndUpgrade);
            }
        }
        if state.give_ups < self.bounds.give_ups {
            steps.extend([Step::GiveUp(peer), Step::GiveUp(CAROL)]);
        }
        steps
    }
}

impl Known {
    fn intern(&mut self, cast: &Cast, local: Local) -> u32 {
        let digest = local.digest();
        if let Some(id) = self.by_digest.get(&digest) {
            return *id;
        }
        let own = local.log.iter().filter(|line| line.own);
        let own: Vec<_> = own.map(|line| Arc::clone(&line.flight)).collect();
        let sent = own.iter().map(|flight| self.flight(flight)).collect();
        let id = self.judged.len() as u32;
        self.sent.push(sent);
        self.judged.push(Arc::new(Judged::of(cast, local)));
        self.by_digest.insert(digest, id);
        id
    }

    pub fn flight(&mut self, flight: &Arc<Message>) -> u32 {
        let next = self.flights.len() as u32;
        let id = *self.by_hash.entry(flight.hash()).or_insert(next);
        if id == next {
            self.flights.push(Arc::clone(flight));
        }
        id
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut known = self.known();
        let sides = [ALICE, BOB].map(|who| {
            let local = Local::new(&self.cast, who, self.fault);
            known.intern(&self.cast, local)
        });
        vec![State {
            sides,
            carol: Vec::new(),
            crashed: false,
            give_ups: 0,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        for who in [ALICE, BOB] {
            let steps = self.steps(state, who).into_iter();
            actions.extend(steps.map(|step| Action::Of(who, step)));
        }
        if state.carol.len() < self.bounds.carol {
            for forgery in self.forgeries(state) {
                actions.extend([ALICE, BOB].map(|to| Action::Carol(to, forgery)));
            }
        }
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        match action {
            Action::Of(who, step) => {
                next.sides[who] = self.step(state.sides[who], step)?;
                next.give_ups += u8::from(matches!(step, Step::GiveUp(_)));
                next.crashed |= matches!(
                    step,
                    Step::Crash | Step::CrashAndUpgrade | Step::HearAndCrash(_)
                );
            }
            Action::Carol(to, forgery) => {
                let flight = self.forge(state, to, forgery);
                next.carol.push(flight);
                next.sides[to] = self.step(state.sides[to], Step::Hear(flight))?;
            }
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("agreement", |world: &Self, state| {
                let [alice, bob] = [ALICE, BOB].map(|who| world.judged(state, who));
                agree(&alice, &bob) && agree(&bob, &alice)
            }),
            Property::always("no effect before flight 3", |world: &Self, state| {
                [ALICE, BOB]
                    .iter()
                    .all(|who| world.judged(state, *who).patient)
            }),
            Property::always("no downgrade", |world: &Self, state| {
                [ALICE, BOB]
                    .iter()
                    .all(|who| world.judged(state, *who).undiminished)
            }),
            Property::always("bounded state", |world: &Self, state| {
                [ALICE, BOB]
                    .iter()
                    .all(|who| world.judged(state, *who).bounded)
            }),
        ];
        properties.extend(crate::sights::sometimes(&self.bounds));
        properties
    }
}
