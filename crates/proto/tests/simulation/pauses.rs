//! People who let their agents pause and go on, and what an agent does not do while it pauses.

use signet_proto::entry::{Direction, Entry};
use signet_proto::node::{Effect, Outcome};

use crate::cast::NAMES;
use crate::household::people;
use crate::note;
use crate::world::{Event, World};

impl World {
    /// Somebody's person says that their agent pauses, or goes on. Nobody hears it who is down, or who
    /// does not know the time.
    pub fn tell_pause(&mut self, who: usize, paused: bool) -> bool {
        let agent = &mut self.agents[who];
        let at = agent.at(self.now);
        let Some(node) = agent.node.as_mut() else {
            return false;
        };
        agent.words += 1;
        let said = people::pause(NAMES[who], paused, agent.words);
        let Ok(outcome) = node.turn(at).people().pause(&said) else {
            assert!(agent.stray != 0, "{} does not obey", NAMES[who]);
            return false;
        };
        agent.paused = paused;
        note!(self, "{} pauses: {paused}", NAMES[who]);
        self.keep(who, outcome, Vec::new());
        if paused {
            // During the pause nobody takes messages, but the person goes through the quarantine.
            let (life, after) = (self.agents[who].life, self.dice.below(20_000) as i64);
            self.plan(after, Event::Look(who, life));
        }
        if !paused && std::mem::take(&mut self.agents[who].shut_out) {
            let life = self.agents[who].life;
            self.plan(1_000, Event::Look(who, life));
        }
        true
    }

    /// Whoever pauses and can hear it goes on.
    pub fn go_on(&mut self, who: usize) {
        if self.agents[who].paused {
            self.tell_pause(who, false);
        }
    }

    /// While an agent pauses it is handed nothing, and nothing of its own goes out.
    pub fn watch_pause(&self, who: usize, outcome: &Outcome) {
        let agent = &self.agents[who];
        let knows = agent.node.as_ref().unwrap().people().pausing().is_paused();
        assert!(
            knows == agent.paused,
            "{} does not know whether it pauses",
            NAMES[who]
        );
        if !agent.paused {
            return;
        }
        for entry in &outcome.entries {
            let Entry::Message(verdict) = entry else {
                continue;
            };
            let numbered = verdict
                .message()
                .is_some_and(|message| message.headers.sequence.is_some());
            assert!(
                verdict.direction == Direction::In || !numbered,
                "{} speaks while it pauses",
                NAMES[who]
            );
        }
        for effect in &outcome.effects {
            let quiet = match effect {
                Effect::Deliver(_) | Effect::Answer(_) => false,
                Effect::Publish(signed) => signed.message().headers.sequence.is_none(),
                _ => true,
            };
            assert!(quiet, "{} acts while it pauses", NAMES[who]);
        }
    }
}
