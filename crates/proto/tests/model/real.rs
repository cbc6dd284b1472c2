//! What surrounds `Handshake` in the model is not `Node`, and must not differ from it: real nodes
//! walk every path of a small model, and take what it takes.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use signet_proto::envelope::Method;
use signet_proto::ids::Digest;
use signet_proto::node::{Effect, Sending};
use stateright::Model;

use crate::cast::{ALICE, BOB};
use crate::household::net::{flights, message_of};
use crate::household::{Agent, at, published};
use crate::world::{Action, State, Step, World};

type Path = Vec<(Action, State)>;

/// Every step that the model allows, and every one that it refuses, from every state. Gives back how
/// many steps were compared.
pub fn walk(world: &World, alice: fn() -> Agent, bob: fn() -> Agent) -> usize {
    let start = world.init_states().remove(0);
    let mut seen = HashSet::from([start.clone()]);
    let mut ahead: VecDeque<(State, Path)> = [(start, Vec::new())].into();
    let mut compared = 0;
    while let Some((state, path)) = ahead.pop_front() {
        let mut actions = Vec::new();
        world.actions(&state, &mut actions);
        for action in actions
            .into_iter()
            .filter(|action| is_walked(world, &state, action))
        {
            let mut pair = Pair::new(alice(), bob());
            pair.follow(world, &path);
            let next = world.next_state(&state, action.clone());
            pair.step(world, &state, &action, next.as_ref());
            compared += 1;
            if let Some(next) = next.filter(|next| seen.insert(next.clone())) {
                let mut path = path.clone();
                path.push((action, next.clone()));
                ahead.push_back((next, path));
            }
        }
    }
    compared
}

/// A node with a session announces only when it is to be renewed, in weeks.
fn is_walked(world: &World, state: &State, action: &Action) -> bool {
    match action {
        Action::Of(who, Step::Announce(_)) => world.judged(state, *who).claims.is_empty(),
        Action::Of(_, Step::GiveUp(_)) | Action::Carol(..) => false,
        Action::Of(..) => true,
    }
}

/// Two nodes, and their flights by the hash of the model's.
struct Pair {
    agents: [Agent; 2],
    flights: HashMap<Digest, Arc<[u8]>>,
    now: i64,
}

impl Pair {
    fn new(mut alice: Agent, mut bob: Agent) -> Self {
        alice.knows(&bob);
        bob.knows(&alice);
        Self {
            agents: [alice, bob],
            flights: HashMap::new(),
            now: 0,
        }
    }

    fn follow(&mut self, world: &World, path: &Path) {
        let mut state = world.init_states().remove(0);
        for (action, next) in path {
            self.step(world, &state, action, Some(next));
            state = next.clone();
        }
    }

    /// Lets a node do what the model's agent does, and compares what came of it.
    fn step(&mut self, world: &World, from: &State, action: &Action, to: Option<&State>) {
        let Action::Of(who, step) = action else {
            panic!("Carol has no node")
        };
        self.now += 1;
        let before = flights(&self.agents[*who]);
        let effects = self.perform(world, *who, *step);
        let Some(to) = to else {
            let taken = flights(&self.agents[*who]) - before;
            let crashes = matches!(step, Step::HearAndCrash(_));
            return assert!(
                taken == 0 || crashes,
                "{action:?} is refused in the model only"
            );
        };
        let (old, new) = (world.judged(from, *who), world.judged(to, *who));
        let mine = |log: &[crate::local::Line]| -> Vec<Digest> {
            let own = log.iter().filter(|line| line.own);
            own.map(|line| line.flight.hash()).collect()
        };
        let fresh = mine(&new.local.log).split_off(mine(&old.local.log).len());
        let sent: Vec<_> = published(&effects)
            .into_iter()
            .map(|(_, bytes)| bytes)
            .collect();
        let is_flight = |bytes: &&Arc<[u8]>| {
            message_of(bytes)
                .form
                .method()
                .is_some_and(Method::is_handshake)
        };
        let sent: Vec<_> = sent.iter().filter(is_flight).cloned().collect();
        assert_eq!(sent.len(), fresh.len(), "{action:?}");
        self.flights.extend(fresh.into_iter().zip(sent));
        self.compare(world, to, action);
    }

    fn perform(&mut self, world: &World, who: usize, step: Step) -> Vec<Effect> {
        let now = at(self.now);
        let peer = self.agents[1 - who].id();
        let agent = &mut self.agents[who];
        let bytes = |flight: u32| {
            let hash = world.known().flights[flight as usize].hash();
            Arc::clone(&self.flights[&hash])
        };
        match step {
            Step::Announce(_) => {
                let sent = agent.node.turn(now).sent().send(&peer, Sending::Ping);
                agent.keep(now, sent.unwrap().outcome)
            }
            Step::Hear(flight) => agent.hear(now, &bytes(flight)),
            Step::HearAndCrash(flight) => {
                let durable = agent.log.len() + 1;
                agent.hear(now, &bytes(flight));
                agent.log.truncate(durable);
                agent.restart(now)
            }
            _ => agent.restart(now),
        }
    }

    fn compare(&self, world: &World, state: &State, action: &Action) {
        for who in [ALICE, BOB] {
            let judged = world.judged(state, who);
            let (agent, peer) = (&self.agents[who], self.agents[1 - who].id());
            let standing = agent.node.standing(&peer, at(self.now).now);
            let idle = judged.local.links[1 - who].handshake.is_idle();
            assert_eq!(standing.handshake, !idle, "{action:?}");
            assert_eq!(flights(agent), judged.local.log.len(), "{action:?}");
        }
    }
}
