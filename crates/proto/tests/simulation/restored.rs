//! An agent whose log was put back to an older copy: whoever it talks to notices, a new session
//! follows, and nothing false is said of any message.

use std::collections::BTreeSet;

use signet_proto::envelope::Message;
use signet_proto::ids::{Digest, SessionId};
use signet_proto::node::{Sending, State};

use crate::cast::NAMES;
use crate::faults::Fault;
use crate::household::net::Dice;
use crate::index::Index;
use crate::mood::Mood;
use crate::note;
use crate::world::{Event, Sent, World};

/// Somebody's log before it was put back.
pub struct Past {
    pub index: Index,
    /// What the copy did not hold.
    lost: BTreeSet<Digest>,
    /// Who had been told of something in it that it was received.
    told: BTreeSet<usize>,
    /// In which sessions that was.
    sessions: BTreeSet<SessionId>,
}

impl Mood {
    /// The run of a seed in which one agent is put back.
    pub fn restoring(dice: &mut Dice) -> Self {
        let mut mood = Self::of(dice);
        mood.skewed = false;
        mood.offsets.iter_mut().for_each(|offset| *offset %= 30_000);
        mood.acts += 10;
        let who = dice.below(mood.agents as u64) as usize;
        let times = [dice.below(mood.chaos as u64), dice.below(mood.chaos as u64)];
        let [copied, restored] = [times[0].min(times[1]), times[0].max(times[1])];
        mood.restored = Some(who);
        mood.faults.push((copied as i64, Fault::Copy(who)));
        let down = 1 + dice.below(20_000) as i64;
        mood.faults
            .push((restored as i64, Fault::Restore(who, down)));
        mood
    }
}

impl World {
    /// Whether one of two is the one that was put back.
    pub fn is_restored(&self, one: usize, other: usize) -> bool {
        self.mood
            .restored
            .is_some_and(|who| who == one || who == other)
    }

    pub fn restore(&mut self, who: usize, after: i64) {
        self.crash(who);
        let agent = &mut self.agents[who];
        let Some(copy) = agent.copy.take() else {
            return self.plan(after, Event::Start(who));
        };
        let mut index = Index::default();
        copy.iter().for_each(|line| index.take(line));
        let old = std::mem::replace(&mut agent.index, index);
        let mut past = Past {
            index: old,
            lost: BTreeSet::new(),
            told: BTreeSet::new(),
            sessions: BTreeSet::new(),
        };
        for line in agent.disk.durable.iter().skip(copy.len()) {
            if let signet_proto::entry::Entry::Message(verdict) = &line.entry
                && let Some(message) = verdict.message()
                && let Some(session) = message.headers.session
                && message.headers.sequence.is_some()
            {
                past.lost.insert(verdict.hash);
                past.sessions.insert(session);
            }
        }
        agent.disk.durable = copy;
        agent.rows = None;
        let told = self.agents.iter().filter(|other| {
            other.index.names.values().any(|message| {
                let told = self.sent.get(&message.headers.message_id);
                past.lost.contains(&message.hash())
                    && told.is_some_and(|sent| sent.told.contains(&State::Received))
            })
        });
        past.told = told.map(|other| other.who).collect();
        self.agents[who].past = Some(past);
        note!(self, "{} is put back", NAMES[who]);
        self.plan(after, Event::Start(who));
    }

    /// What was put back shows itself when somebody speaks.
    pub fn meet_again(&mut self) {
        let Some(who) = self.mood.restored else {
            return;
        };
        for other in (0..self.agents.len()).filter(|other| *other != who) {
            self.send(who, other, Sending::Ping);
            self.send(other, who, Sending::Ping);
        }
        self.run_until(self.now + 1_800_000);
    }

    /// Whether an agent's log ever said that it took a message.
    pub fn ever_accepted(&self, who: usize, hash: &Digest) -> bool {
        let agent = &self.agents[who];
        let past = agent.past.as_ref().map(|past| &past.index);
        agent.index.accepted.contains(hash) || past.is_some_and(|past| past.accepted.contains(hash))
    }

    /// Whether somebody who was put back sent this message under a number that a lost one had, and the other side took
    /// the lost one. A receipt bears the hash of its highest number alone: below, it cannot tell the two apart.
    pub fn is_confused(&self, who: usize, to: usize, message: &Message) -> bool {
        let headers = &message.headers;
        let place = headers.session.zip(headers.sequence);
        let past = self.agents[who].past.as_ref();
        let lost = past
            .zip(place)
            .and_then(|(past, place)| past.index.numbers.get(&place));
        lost.is_some_and(|lost| *lost != message.hash() && self.ever_accepted(to, lost))
    }

    /// What may be said of a message to or from somebody who was put back.
    pub fn watch_restored(&self, name: &str, sent: &Sent, hash: &Digest, state: Option<&State>) {
        match state {
            Some(State::Received) => {
                let confused = self.agents[sent.from].index.sent.get(hash);
                let confused = confused.is_some_and(|it| self.is_confused(sent.from, sent.to, it));
                let accepted = self.ever_accepted(sent.to, hash);
                assert!(
                    accepted || confused,
                    "{name} is called received and never was"
                );
            }
            Some(State::Queued | State::Published) => {
                panic!("{name} is still {state:?}")
            }
            _ => {}
        }
    }

    /// Whoever had heard, or been told, what the copy does not hold has noticed.
    pub fn watch_exposed(&self) {
        let Some(who) = self.mood.restored else {
            return;
        };
        let Some(past) = &self.agents[who].past else {
            return;
        };
        for peer in self.agents.iter().filter(|peer| peer.who != who) {
            let heard = past
                .lost
                .iter()
                .any(|hash| peer.index.accepted.contains(hash));
            // The agent may have got again all that this peer had sent it and its older log lacks: then nothing was
            // left to notice.
            let regained = past.lost.iter().all(|hash| {
                let accepted = &self.agents[who].index.accepted;
                !peer.index.sent.contains_key(hash) || accepted.contains(hash)
            });
            if !heard && (regained || !past.told.contains(&peer.who)) {
                continue;
            }
            let now = peer.at(self.now).now;
            let id = self.agents[who].id();
            let session = peer.node.as_ref().unwrap().standing(id, now).session;
            assert!(
                session.is_none_or(|session| !past.sessions.contains(&session)),
                "{} goes on with {} as if nothing was",
                NAMES[peer.who],
                NAMES[who]
            );
        }
    }
}
