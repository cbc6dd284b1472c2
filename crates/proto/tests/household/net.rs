//! A little network with virtual time: it loses, copies, delays and reorders by a seed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::envelope::{Message, Method, Unverified};
use signet_proto::ids::MessageId;
use signet_proto::node::{At, Content, Effect, Sending};

use super::{Agent, at};

/// Splitmix64: enough for a test, and the same everywhere.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// Kill an agent when its log holds so many flights; what it was about to send may be lost.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    pub who: usize,
    pub flights: usize,
    pub loses_effects: bool,
}

/// To whom, and what.
type Mail = (usize, Arc<[u8]>);

pub struct Net {
    pub agents: Vec<Agent>,
    /// How far each agent's clock is ahead, in ms.
    pub skew: Vec<i64>,
    pub now: i64,
    pub dice: Dice,
    pub loss: u64,
    pub copies: u64,
    pub delay: u64,
    /// Whether messages from one agent (first) to another (second) are all lost.
    pub cut: Option<(usize, usize)>,
    pub crash: Option<Crash>,
    /// Everything that was handed to the network: when, from whom, which bytes.
    pub sent: Vec<(i64, usize, Arc<[u8]>)>,
    pub effects: Vec<(usize, Effect)>,
    queue: BTreeMap<(i64, u64), Mail>,
    count: u64,
    ticks: VecDeque<i64>,
}

impl Net {
    pub fn new(agents: Vec<Agent>, seed: u64) -> Self {
        Self {
            skew: vec![0; agents.len()],
            agents,
            now: 0,
            dice: Dice(seed),
            loss: 0,
            copies: 0,
            delay: 1,
            cut: None,
            crash: None,
            sent: Vec::new(),
            effects: Vec::new(),
            queue: BTreeMap::new(),
            count: 0,
            ticks: VecDeque::new(),
        }
    }

    /// Nobody sets the clock that counts how long an agent has run.
    pub fn at(&self, who: usize) -> At {
        At {
            elapsed: Duration::from_millis(self.now.try_into().unwrap_or_default()),
            ..at(self.now + self.skew[who])
        }
    }

    /// What an agent is about to do: sending goes into the network, the rest is noted.
    pub fn perform(&mut self, who: usize, effects: Vec<Effect>) {
        for effect in effects {
            let Effect::Publish(signed) = &effect else {
                self.effects.push((who, effect));
                continue;
            };
            let bytes = Arc::clone(signed.bytes());
            self.sent.push((self.now, who, Arc::clone(&bytes)));
            let to = self
                .agents
                .iter()
                .position(|agent| agent.id() == *signed.recipient());
            let Some(to) = to.filter(|to| self.cut != Some((who, *to))) else {
                continue;
            };
            let copies = 1 + u64::from(self.dice.percent(self.copies));
            for _ in 0..copies {
                if !self.dice.percent(self.loss) {
                    let delay = 1 + self.dice.below(self.delay);
                    self.put(to, Arc::clone(&bytes), delay as i64);
                }
            }
        }
    }

    /// Bytes that reach an agent after so many ms, whoever sent them.
    pub fn put(&mut self, to: usize, bytes: Arc<[u8]>, after: i64) {
        self.count += 1;
        self.queue
            .insert((self.now + after, self.count), (to, bytes));
    }

    pub fn send(&mut self, who: usize, to: usize, sending: Sending) -> MessageId {
        let peer = self.agents[to].id();
        let at = self.at(who);
        let sent = self.agents[who]
            .node
            .turn(at)
            .sent()
            .send(&peer, sending)
            .unwrap();
        let (name, outcome) = (sent.id, sent.outcome);
        let effects = self.agents[who].keep(at, outcome);
        self.after_step(who, effects);
        name
    }

    pub fn ask(&mut self, who: usize, to: usize) -> MessageId {
        let body = serde_json::json!({"n": self.count});
        let content = Content {
            body,
            ..Content::default()
        };
        self.send(who, to, Sending::Request(content))
    }

    pub fn reply(&mut self, who: usize, request: MessageId) {
        let content = Content {
            body: serde_json::json!("yes"),
            ..Content::default()
        };
        self.answer(who, request, Ok(content));
    }

    pub fn answer(&mut self, who: usize, request: MessageId, answer: Result<Content, String>) {
        let at = self.at(who);
        let (_, outcome) = self.agents[who]
            .node
            .turn(at)
            .sent()
            .reply(None, request, answer.map_err(|why| why.as_str().into()))
            .unwrap();
        let effects = self.agents[who].keep(at, outcome);
        self.after_step(who, effects);
    }

    pub fn restart(&mut self, who: usize) {
        let at = self.at(who);
        let effects = self.agents[who].restart(at);
        self.perform(who, effects);
    }

    /// Lets time pass, event by event. No node may be due at the same moment again and again.
    pub fn run_until(&mut self, end: i64) {
        loop {
            let due = (0..self.agents.len()).filter_map(|who| {
                let due = self.agents[who].node.poll_timeout(self.at(who))?;
                // The clock of the net counts whole milliseconds: round a due time up to the next one, since before it
                // nothing is due yet.
                let due = due.saturating_add(Duration::from_nanos(999_999));
                let ms = due.as_millis() - super::START - self.skew[who];
                Some((ms.max(self.now), who))
            });
            let tick = due.min().filter(|(ms, _)| *ms <= end);
            let mail = self.queue.first_key_value().map(|((ms, _), _)| *ms);
            let mail = mail.filter(|ms| *ms <= end && tick.is_none_or(|(due, _)| *ms <= due));
            if let Some(ms) = mail {
                self.now = self.now.max(ms);
                let (_, (to, bytes)) = self.queue.pop_first().unwrap();
                let at = self.at(to);
                let effects = self.agents[to].hear(at, &bytes);
                self.after_step(to, effects);
            } else if let Some((ms, who)) = tick {
                self.now = ms;
                self.note_tick();
                let at = self.at(who);
                let effects = self.agents[who].tick(at);
                self.after_step(who, effects);
            } else {
                self.now = end;
                return;
            }
        }
    }

    pub fn run_for(&mut self, ms: i64) {
        self.run_until(self.now + ms);
    }

    /// How many messages of that method were handed to the network since `from`.
    pub fn sent_since(&self, from: i64, method: Option<Method>) -> usize {
        let since = self.sent.iter().filter(|(ms, _, _)| *ms >= from);
        since
            .filter(|(_, _, bytes)| method.is_none() || message_of(bytes).form.method() == method)
            .count()
    }

    fn note_tick(&mut self) {
        self.ticks.push_back(self.now);
        while self.ticks.front().is_some_and(|ms| *ms + 1_000 < self.now) {
            self.ticks.pop_front();
        }
        if self.ticks.len() >= 150 {
            for agent in &self.agents {
                let tale = tale(agent);
                let last: Vec<_> = tale.lines().rev().take(12).collect();
                println!("{}: {last:#?}", agent.id());
            }
            panic!("busy loop at {} ms", self.now);
        }
    }

    fn after_step(&mut self, who: usize, effects: Vec<Effect>) {
        let crash = self
            .crash
            .filter(|crash| crash.who == who && flights(&self.agents[who]) >= crash.flights);
        let Some(crash) = crash else {
            return self.perform(who, effects);
        };
        self.crash = None;
        if !crash.loses_effects {
            self.perform(who, effects);
        }
        self.restart(who);
    }
}

/// How many flights, ours or the peer's, an agent has in its log.
pub fn flights(agent: &Agent) -> usize {
    let is_flight = |message: &Message| message.form.method().is_some_and(Method::is_handshake);
    let done = agent.log.iter().filter(|(_, entry)| match entry {
        Entry::Message(verdict) => {
            !matches!(verdict.ruling, Ruling::Rejected(_))
                && verdict.message().is_some_and(|message| is_flight(message))
        }
        _ => false,
    });
    done.count()
}

/// How often an agent's log says that a message of that name was taken.
pub fn times_taken(agent: &Agent, name: MessageId) -> usize {
    let taken = agent.log.iter().filter(|(_, entry)| match entry {
        Entry::Message(verdict) => {
            verdict.direction == Direction::In
                && verdict.ruling == Ruling::Accepted
                && verdict
                    .message()
                    .is_some_and(|message| message.headers.message_id == name)
        }
        _ => false,
    });
    taken.count()
}

/// Bytes read as a message, whoever signed it.
pub fn message_of(bytes: &[u8]) -> Message {
    Unverified::parse(bytes).unwrap().claims().clone()
}

/// A message signed anew by `identity`, with changes: what only its sender can do.
pub fn resign(
    identity: &Identity,
    message: &Message,
    change: impl FnOnce(&mut Draft, &mut Stamp),
) -> Arc<[u8]> {
    let headers = &message.headers;
    let mut draft = Draft {
        form: message.form.clone(),
        recipient: headers.recipient_id.clone(),
        message_id: headers.message_id,
        summary: message.summary.clone(),
        body: message.body().cloned(),
        data_tier: headers.data_tier,
        capability: headers.capability.clone(),
        conversation_id: headers.conversation_id.clone(),
        in_reply_to: headers.in_reply_to,
        hops: headers.hops,
        life: headers.expires_at.since(headers.timestamp),
    };
    let mut stamp = Stamp {
        now: headers.timestamp,
        session: headers.session,
        sequence: headers.sequence,
        audit_head: headers.audit_head,
        version: headers.version,
    };
    change(&mut draft, &mut stamp);
    Arc::clone(draft.sign(identity, stamp).unwrap().bytes())
}

/// The log as a person would want to see it: for a failing test.
pub fn tale(agent: &Agent) -> String {
    let line = |(ts, entry): &(signet_proto::time::Timestamp, Entry)| {
        let ms = ts.as_millis() - super::START;
        let Entry::Message(verdict) = entry else {
            return format!("{ms} {entry:?}").chars().take(90).collect();
        };
        let method = verdict.message().map(|message| message.form.method());
        format!(
            "{ms} {:?} {:?} {method:?}",
            verdict.direction, verdict.ruling
        )
    };
    let lines: Vec<String> = agent.log.iter().map(line).collect();
    lines.join("\n")
}
