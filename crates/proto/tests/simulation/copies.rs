//! One agent that runs twice at once, from a copy of its log: an alarm rings, and nothing false is
//! said of any message.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use signet_proto::entry::Alarm;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{Content, Effect, Sending, State};

use crate::household::net::{Dice, times_taken};
use crate::household::{Agent, alice_and_bob, at, published};

const ALICE: usize = 0;

/// Alice, Bob, and perhaps Bob once more.
struct Town {
    agents: Vec<Agent>,
    now: i64,
    dice: Dice,
    /// What went to Bob, by name.
    sent: Vec<MessageId>,
    told: Vec<(MessageId, State)>,
}

impl Town {
    fn new(seed: u64) -> Self {
        let (alice, bob) = alice_and_bob();
        Self {
            agents: vec![alice, bob],
            now: 0,
            dice: Dice(seed),
            sent: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Everything that an agent publishes reaches everybody of the recipient's name, or is lost.
    fn perform(&mut self, who: usize, effects: Vec<Effect>) {
        let mut queue: VecDeque<(usize, Vec<Effect>)> = [(who, effects)].into();
        while let Some((who, effects)) = queue.pop_front() {
            for effect in &effects {
                if let Effect::Settle {
                    message_id, state, ..
                } = effect
                {
                    self.told.push((*message_id, state.clone()));
                }
            }
            for (to, bytes) in published(&effects) {
                for other in (0..self.agents.len()).filter(|other| *other != who) {
                    if self.agents[other].id() == to && !self.dice.percent(5) {
                        queue.push_back((other, self.hear(other, &bytes)));
                    }
                }
            }
        }
    }

    fn hear(&mut self, who: usize, bytes: &Arc<[u8]>) -> Vec<Effect> {
        self.agents[who].hear(at(self.now), bytes)
    }

    fn send(&mut self, who: usize, to: &AgentId) {
        let content = Content {
            life: Some(Duration::from_secs(600)),
            ..Content::default()
        };
        let sending = Sending::Notification(content);
        let agent = &mut self.agents[who];
        let Ok(sent) = agent.node.turn(at(self.now)).sent().send(to, sending) else {
            return;
        };
        let (name, outcome) = (sent.id, sent.outcome);
        let effects = agent.keep(at(self.now), outcome);
        if who == ALICE {
            self.sent.push(name);
        }
        self.perform(who, effects);
    }

    /// Lets so many seconds pass; now and then somebody says something.
    fn run(&mut self, seconds: i64, talk: bool) {
        for _ in 0..seconds {
            self.now += 1_000;
            for who in 0..self.agents.len() {
                if talk && self.dice.percent(2) {
                    let to = if who == ALICE { 1 } else { ALICE };
                    let to = self.agents[to].id();
                    self.send(who, &to);
                }
                let due = self.agents[who].node.poll_timeout(at(self.now));
                if due.is_some_and(|due| due <= at(self.now).now) {
                    let effects = self.agents[who].tick(at(self.now));
                    self.perform(who, effects);
                }
            }
        }
    }

    /// A second Bob starts from a copy of the first one's log, which goes on.
    fn double(&mut self) {
        let mut copy = Agent::new("agent-bob", "bob");
        copy.log = self.agents[1].log.clone();
        copy.restart(at(self.now));
        let effects = copy.restart(at(self.now));
        self.agents.push(copy);
        self.perform(2, effects);
    }

    fn rings(&self, what: Alarm) -> bool {
        let mut agents = self.agents.iter();
        agents.any(|agent| agent.node.alarms().keys().any(|(rung, _)| *rung == what))
    }
}

#[test]
fn a_second_copy_of_an_agent_rings_an_alarm_and_no_message_is_called_what_it_is_not() {
    for seed in 0..10 {
        let mut town = Town::new(seed);
        town.run(300, true);
        assert!(
            town.agents
                .iter()
                .all(|agent| agent.node.alarms().is_empty())
        );
        town.double();
        town.run(3_600, true);
        town.run(3_600, false);
        let alarms = [
            Alarm::SecondCopy,
            Alarm::SequenceReuse,
            Alarm::PeerRestored,
            Alarm::Restored,
        ];
        let rung: Vec<_> = alarms.iter().filter(|what| town.rings(**what)).collect();
        assert!(!rung.is_empty(), "seed {seed}: nobody notices");
        for (name, state) in &town.told {
            let bobs = town.agents.iter().skip(1);
            let taken: usize = bobs.map(|bob| times_taken(bob, *name)).sum();
            let ours = town.sent.contains(name);
            assert!(
                !ours || *state != State::Received || taken > 0,
                "seed {seed}: {name} is called received"
            );
        }
        let alice = &town.agents[ALICE].node;
        for name in &town.sent {
            let state = alice.sent().status(*name).unwrap().state;
            assert!(state.is_settled(), "seed {seed}: {name} is {state:?}");
        }
    }
}
