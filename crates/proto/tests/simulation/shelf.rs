//! Handlers that fail, and people who sort out what is in the quarantine.

use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::LocalError;

use crate::cast::NAMES;
use crate::note;
use crate::world::World;

impl World {
    /// Whoever handles a message fails, or dies over it.
    pub fn fumble(&mut self, who: usize, peer: &AgentId, name: MessageId) {
        let at = self.agents[who].at(self.now);
        let says = self.dice.percent(60);
        let node = self.agents[who].node.as_mut().unwrap();
        let (number, mut outcome) = node.turn(at).inbox().start(peer, name).unwrap();
        let mut shelved = number.is_none();
        if says && !shelved {
            let (gone, failed) = node.turn(at).inbox().fail(peer, name, "no hands").unwrap();
            shelved = gone;
            outcome.entries.extend(failed.entries);
            outcome.effects.extend(failed.effects);
        }
        let waits = node.inbox().find(peer, name).is_some();
        let there = node.inbox().quarantine().named(name).next().is_some();
        assert!(
            waits != shelved && there == shelved,
            "{name} is neither in the inbox nor in the quarantine, or in both"
        );
        self.keep(who, outcome, Vec::new());
    }

    /// A person looks at what is in the quarantine: it is tried again, given up, or left there. Returns
    /// whether something is left.
    pub fn sort_out(&mut self, who: usize) -> bool {
        let agent = &self.agents[who];
        let all = agent.node.as_ref().unwrap().inbox().quarantine().iter();
        let all = all.map(|shelved| {
            let headers = &shelved.message.headers;
            (headers.agent_id.clone(), headers.message_id)
        });
        let (all, mut left): (Vec<_>, _) = (all.collect(), false);
        for (peer, name) in all {
            let known = self.agents[who]
                .index
                .shelved
                .contains(&(peer.clone(), name));
            let at = self.agents[who].at(self.now);
            let what = self.dice.below(3);
            let node = self.agents[who].node.as_mut().unwrap();
            let done = match what {
                0 if known => node.turn(at).inbox().retry(Some(&peer), name),
                1 if known => node.turn(at).inbox().drop_shelved(Some(&peer), name),
                _ => {
                    left = true;
                    continue;
                }
            };
            let outcome = match done {
                Ok(outcome) => outcome,
                Err(LocalError::NotQuarantined(_)) => panic!("{name} is in no quarantine"),
                Err(_) => {
                    left = true;
                    continue;
                }
            };
            note!(self, "{} sorts out {name}: {what}", NAMES[who]);
            if what == 0 {
                left = true;
                let life = self.agents[who].life;
                self.handed.remove(&(who, life, peer, name));
            }
            self.keep(who, outcome, Vec::new());
        }
        left
    }

    /// What could not be handled kept nobody else waiting, and a person saw to all of it.
    pub fn watch_shelves(&self) {
        for agent in &self.agents {
            let inbox = agent.node.as_ref().unwrap().inbox();
            let left = (inbox.len(), inbox.quarantine().iter().count());
            assert!(left == (0, 0), "{} left {left:?}", NAMES[agent.who]);
        }
    }
}
