//! What must hold after every step, and what must be true in the end.

use std::sync::Arc;

use signet_proto::entry::{Direction, Entry, Ruling, Verdict};
use signet_proto::envelope::{Message, Method};
use signet_proto::ids::AgentId;
use signet_proto::node::{Accepted, Effect, Notice, Outcome, State};
use signet_proto::reject::Reason;

use crate::cast::NAMES;
use crate::household::net::message_of;
use crate::note;
use crate::tale;
use crate::world::World;

/// How far a sender's clock may be ahead of the receiver's, in ms.
const TOLERANCE: i64 = 60_000;

impl World {
    /// What one input made of a node: nothing from another time is accepted, and honest agents that
    /// lost nothing cause no alarm.
    pub fn watch_inbound(&mut self, to: usize, bytes: &Arc<[u8]>, outcome: &Outcome) {
        let now = self.agents[to].at(self.now).now;
        for entry in &outcome.entries {
            let Entry::Message(verdict) = entry else {
                continue;
            };
            if verdict.direction != Direction::In {
                continue;
            }
            match verdict.ruling {
                Ruling::Rejected(reason) => assert!(
                    !is_alarm(reason) || self.may_alarm(to, bytes, verdict, reason),
                    "{} refuses what an honest agent sent: {}",
                    NAMES[to],
                    reason.name()
                ),
                _ => {
                    let headers = message_of(bytes).headers;
                    let ahead = headers.timestamp.as_millis() - now.as_millis();
                    assert!(ahead <= TOLERANCE, "{} accepts the future", NAMES[to]);
                    let receipt = verdict.message().is_some_and(|message| is_receipt(message));
                    assert!(
                        receipt || now < headers.expires_at,
                        "{} accepts the past",
                        NAMES[to]
                    );
                }
            }
        }
    }

    fn may_alarm(&self, to: usize, bytes: &[u8], verdict: &Verdict, reason: Reason) -> bool {
        if self.is_liar(to) || self.is_liars(&message_of(bytes).headers.agent_id) {
            return true;
        }
        let sender = verdict.message().map(|message| &message.headers.agent_id);
        let sender = self
            .agents
            .iter()
            .position(|agent| Some(agent.id()) == sender);
        // A certificate, a key statement or a session ran out while the message was under way.
        if self.is_run_out(to, bytes, reason) {
            return true;
        }
        // A wrong clock may have signed the mandate: then it lies in the recipient's future, and is refused for that.
        let late = (self.mood.skewed || self.mood.strays) && reason == Reason::MandateInvalid;
        late || sender.is_some_and(|from| self.is_restored(from, to))
    }

    /// Nothing is signed outside the dates of the certificate.
    pub fn watch_dates(&self, who: usize, outcome: &Outcome) {
        let node = self.agents[who].node.as_ref().unwrap();
        let own = &node.identity().certificate;
        for entry in &outcome.entries {
            if let Entry::Message(verdict) = entry
                && verdict.direction == Direction::Out
                && let Some(message) = verdict.message()
            {
                let signed = message.headers.timestamp;
                let valid = own.covers(signed) && own.covers(self.agents[who].at(self.now).now);
                assert!(valid, "{} signs outside its certificate", NAMES[who]);
            }
        }
    }

    pub fn watch_index(&mut self, who: usize) {
        let broken = &self.agents[who].index.broken;
        assert!(
            broken.is_none(),
            "{}: {}",
            NAMES[who],
            broken.as_deref().unwrap_or_default()
        );
    }

    /// Nothing is done that no durable line allows.
    pub fn watch_effect(&mut self, who: usize, effect: &Effect) {
        if let Some(told) = tale::effect(effect) {
            note!(self, "{} {told}", NAMES[who]);
        }
        match effect {
            Effect::Publish(signed) => {
                let known = self.agents[who]
                    .index
                    .sent
                    .contains_key(&signed.message().hash());
                assert!(known, "{} sends without a line", NAMES[who]);
                if is_receipt(signed.message()) {
                    self.watch_receipt(who, signed.message());
                }
            }
            Effect::Deliver(taken) => self.watch_handed(who, taken),
            Effect::Answer(taken) | Effect::Pong(taken) => {
                self.watch_handed(who, taken);
                let request = taken.message().headers.in_reply_to;
                if let Some(sent) = request.and_then(|name| self.sent.get_mut(&name)) {
                    sent.answered = true;
                }
            }
            Effect::Settle {
                message_id, state, ..
            } => {
                self.watch_state(who, *message_id, state);
                if let Some(sent) = self.sent.get_mut(message_id) {
                    sent.told.push(state.clone());
                }
            }
            Effect::Notice(notice) => self.watch_notice(who, notice),
            _ => {}
        }
    }

    fn watch_handed(&mut self, who: usize, taken: &Accepted) {
        let message = taken.message();
        let agent = &self.agents[who];
        assert!(
            agent.index.accepted.contains(&message.hash()),
            "{} acts without a line",
            NAMES[who]
        );
        let name = (message.headers.agent_id.clone(), message.headers.message_id);
        assert!(
            !agent.index.done.contains(&name),
            "{} acts on what was done",
            NAMES[who]
        );
        let times = self
            .handed
            .entry((who, agent.life, name.0, name.1))
            .or_default();
        *times += 1;
        assert!(*times == 1, "{} acts twice on {}", NAMES[who], name.1);
    }

    /// A receipt speaks of nothing that is not durable.
    fn watch_receipt(&self, who: usize, receipt: &Message) {
        let Some(peer) = self
            .agents
            .iter()
            .find(|peer| *peer.id() == receipt.headers.recipient_id)
        else {
            return;
        };
        if self.is_excused(who, peer.who) {
            return;
        }
        let Some((session, body)) = receipt.headers.session.zip(receipt.body()) else {
            return;
        };
        let parsed = signet_proto::receipt::Receipt::parse(body).unwrap();
        let index = &self.agents[who].index;
        for (place, hash) in peer
            .index
            .numbers
            .range((session, 0)..=(session, parsed.through))
        {
            let exception = parsed.except.iter().find(|(number, _)| *number == place.1);
            let held = index.accepted.contains(hash) || index.refused.contains_key(hash);
            match exception {
                Some((_, exception)) => {
                    let refused = index.refused.get(hash).map(|reason| reason.name());
                    let missing = exception.reason == "missing" && !index.accepted.contains(hash);
                    assert!(
                        missing || refused == Some(exception.reason.as_str()),
                        "{} says {} of #{}",
                        NAMES[who],
                        exception.reason,
                        place.1
                    );
                }
                None => {
                    // A receipt may pass a number for which there is no line: its sender gave it up, by whatever clock,
                    // and said so.
                    let name = peer.index.sent[hash].headers.message_id;
                    assert!(
                        held || peer.index.given_up.contains(&name),
                        "{} receipts #{} without a line",
                        NAMES[who],
                        place.1
                    );
                }
            }
        }
    }

    /// What a person is told of their message is true.
    fn watch_state(&self, who: usize, name: signet_proto::ids::MessageId, state: &State) {
        let Some(message) = self.agents[who].index.names.get(&name) else {
            return;
        };
        let hash = message.hash();
        let peer = self
            .agents
            .iter()
            .find(|peer| *peer.id() == message.headers.recipient_id);
        let peer = peer.unwrap();
        if self.is_liar(who) || self.is_liar(peer.who) {
            return;
        }
        let restored = self.is_restored(who, peer.who);
        let accepted = self.ever_accepted(peer.who, &hash);
        // A message that was refused and signed anew has two forms under one name: `Refused` may be true of the first
        // form alone.
        let forms = self.agents[who].index.sent.iter();
        let forms = forms.filter(|(_, form)| form.headers.message_id == name);
        let refusals: Vec<_> = forms
            .filter_map(|(form, _)| peer.index.refused.get(form))
            .map(|reason| reason.name())
            .collect();
        let what = tale::short(&name.to_string());
        match state {
            State::Received => assert!(
                accepted || self.is_confused(who, peer.who, message),
                "{what} is called received"
            ),
            State::Refused(reason) => assert!(
                restored || refusals.contains(&reason.as_str()) && !accepted,
                "{what} is called refused for {reason}"
            ),
            State::RefusedHere(reason)
                if ["expired", "session-lost", "restored-backup"].contains(&reason.as_str()) =>
            {
                assert!(!accepted, "{what} is said to have never left: {reason}");
            }
            State::Unknown(_) if !restored => panic!("{what} is unknown, and nobody lost anything"),
            _ => {}
        }
        let before = self.sent.get(&name).and_then(|sent| sent.told.last());
        let back = matches!(
            (before, state),
            (Some(State::Received | State::Refused(_)), State::Expired)
        );
        // An agent whose log was put back has forgotten that it was told how the message ended: so it may call it
        // expired.
        let forgot = self.mood.restored == Some(who);
        assert!(
            forgot || !back,
            "{what} goes from {before:?} back to {state:?}"
        );
    }

    /// Nobody is alarmed for nothing.
    fn watch_notice(&self, who: usize, notice: &Notice) {
        let fine = match notice {
            Notice::Clock { peer, .. } => {
                let lies = self.is_liar(who) || self.is_liars(peer);
                self.mood.skewed || self.mood.strays || lies || self.is_half_a_minute_off(who, peer)
            }
            Notice::Pause(_) => self.agents[who].words > 0,
            Notice::Quarantined { .. } => true,
            Notice::OverBudget { peer, .. } => self.is_liars(peer),
            Notice::Hole(hole) => self.is_liars(&hole.peer),
            Notice::Alarm(alarm) => self.may_ring(who, alarm.what, &alarm.peer),
            // This notice says that there is a second copy of the agent. It is true if somebody acts with the agent's
            // keys: a liar.
            Notice::Doubled(_) => self.is_liar(who),
            _ => false,
        };
        assert!(fine, "{} is told of {notice:?}", NAMES[who]);
    }

    /// Flights that come late three times in a row say that a clock is wrong: with clocks half a minute
    /// apart, half a minute of delay is enough for it, and it is no lie.
    fn is_half_a_minute_off(&self, who: usize, peer: &AgentId) -> bool {
        let offset = self.agents[who].offset;
        let other = self.agents.iter().find(|agent| agent.id() == peer);
        other.is_some_and(|other| (offset - other.offset).abs() > TOLERANCE / 2)
    }

    /// Where clocks keep two apart, both know why.
    fn watch_clocks(&self) {
        for one in &self.agents {
            for other in &self.agents {
                let far = (one.offset - other.offset).abs() > TOLERANCE + 5_000;
                let now = one.at(self.now).now;
                let waits = one.node.as_ref().unwrap().standing(other.id(), now).drafts > 0;
                let told =
                    one.index.clocks.contains(other.id()) && other.index.clocks.contains(one.id());
                assert!(
                    !far || !waits || told,
                    "mail of {} for {} waits, and not both know of the clocks",
                    NAMES[one.who],
                    NAMES[other.who]
                );
            }
        }
    }

    /// When nothing has gone wrong for long, everything has come to its end, and what is said of it
    /// is so.
    pub fn watch_end(&mut self) {
        for agent in &self.agents {
            self.compare(agent.who);
            let now = agent.at(self.now).now;
            let node = agent.node.as_ref().unwrap();
            for other in self.agents.iter().filter(|other| other.who != agent.who) {
                if self.is_liar(agent.who) || self.is_liar(other.who) {
                    continue;
                }
                let standing = node.standing(other.id(), now);
                let left = (standing.drafts, standing.unconfirmed);
                assert!(
                    self.mood.skewed || left == (0, 0),
                    "{} is not done with {}: {left:?}",
                    NAMES[agent.who],
                    NAMES[other.who]
                );
            }
        }
        self.watch_exposed();
        self.watch_shelves();
        self.watch_alarms();
        self.watch_clocks();
        for (name, sent) in &self.sent {
            self.watch_last_word(name, sent);
        }
    }

    fn watch_last_word(&self, name: &signet_proto::ids::MessageId, sent: &crate::world::Sent) {
        let Some(message) = self.agents[sent.from].index.names.get(name) else {
            return;
        };
        if self.is_liar(sent.from) || self.is_liar(sent.to) {
            return;
        }
        let accepted = self.agents[sent.to]
            .index
            .accepted
            .contains(&message.hash());
        let last = sent.told.last();
        // The sender refuses every receipt whose time lies ahead of its own clock: it may never learn that the message
        // arrived, if its person was told of the clock.
        let (sender, recipient) = (&self.agents[sent.from], &self.agents[sent.to]);
        let behind = recipient.offset - sender.offset > TOLERANCE;
        let unheard = behind && sender.index.clocks.contains(recipient.id());
        // An agent whose log was put back has forgotten the receipt, and gets no second one: its session ends.
        let forgot = self.mood.restored == Some(sent.from) && sent.told.contains(&State::Received);
        assert!(
            forgot || unheard || !(accepted && !sent.answered && last == Some(&State::Expired)),
            "{} is called expired and was received",
            tale::short(&name.to_string())
        );
    }
}

fn is_receipt(message: &Message) -> bool {
    message.form.method() == Some(Method::Receipt)
}

/// What two honest agents with whole logs never see of each other.
fn is_alarm(reason: Reason) -> bool {
    let fine = [
        Reason::Duplicate,
        Reason::Expired,
        Reason::TimestampInFuture,
        Reason::HandshakeUnexpected,
        Reason::HandshakeCrossed,
        Reason::AnnounceStale,
        Reason::TranscriptMismatch,
        Reason::CapabilityNotGranted,
        Reason::ResponseUnsolicited,
    ];
    !fine.contains(&reason)
}
