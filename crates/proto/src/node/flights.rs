//! The four flights as we send them, and what follows from the peer's.

use std::sync::Arc;

use crate::draft::{Draft, FLIGHT_LIFE, Signed, Stamp};
use crate::entry::{Direction, Entry, Evidence, Ruling, TrustChange, Verdict};
use crate::envelope::{Message, Method};
use crate::handshake::{Established, Handshake, Role, best_common};
use crate::ids::{AgentId, Version};
use crate::json::{Map, Value};
use crate::reject::Reason;
use crate::seal::Sealed;

use super::memory::Changed;
use super::outbound::after;
use super::{At, Effect, Node, Notice, Outcome, State};

impl Node {
    /// Starts a handshake: flight 1.
    pub(super) fn announce(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        if self.is_held(peer) {
            // Not at every timer either.
            let later = at.now.saturating_add(FLIGHT_LIFE);
            self.link_mut(peer).next_announce = Some(later);
            return;
        }
        let announced = self.link(peer).and_then(|link| link.announced);
        if !self.may_sign(after(at.now, announced)) {
            let later = at.now.saturating_add(FLIGHT_LIFE);
            let later = self.may_sign_at(at.now).map_or(later, |at| at.min(later));
            self.link_mut(peer).next_announce = Some(later);
            return;
        }
        let nonce = self.nonce();
        let mut body = self.credentials();
        body.insert("nonce".into(), nonce.to_string().into());
        self.put_offer(peer, &mut body);
        self.fly(at, peer, Method::Announce, body, outcome);
    }

    /// Starts a handshake unless one is under way, or just ended and waits for the peer's first word.
    pub(super) fn announce_if_idle(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        let link = self.link_mut(peer);
        let settling = link.sessions.last().and_then(|session| session.retry);
        let settling = settling.is_some_and(|retry| at.now < retry.stale_at());
        if link.handshake.is_idle() && !settling {
            self.announce(at, peer, outcome);
        }
    }

    pub(super) fn follow_flight(
        &mut self,
        at: At,
        method: Method,
        flight: &Arc<Message>,
        outcome: &mut Outcome,
    ) {
        let peer = flight.headers.agent_id.clone();
        match method {
            Method::Announce => {
                self.suspect_clock(at, flight, outcome);
                self.send_verify(at, &peer, outcome);
            }
            Method::Verify => match self.link(&peer).map(|link| &link.handshake) {
                Some(Handshake::AwaitTrust(_)) => {
                    self.suspect_clock(at, flight, outcome);
                    self.send_capability(at, &peer, outcome);
                }
                _ => self.refuse_drafts(at, &peer, Reason::VersionUnsupported, outcome),
            },
            Method::Capability => {
                self.suspect_clock(at, flight, outcome);
                self.send_trust(at, &peer, outcome);
            }
            _ => match self.link(&peer).and_then(|link| link.sessions.last()) {
                Some(session) if session.answers_flight(flight) => {
                    let id = session.id;
                    self.send_receipt(at, &peer, id, outcome);
                    self.release(at, &peer, outcome);
                }
                _ => self.refuse_drafts(at, &peer, Reason::PeerRefused, outcome),
            },
        }
    }

    /// What a finished handshake is worth: the peer's newer certificate, and whoever waits for it.
    fn welcome(
        &mut self,
        established: &Established,
        renewed: Option<TrustChange>,
        outcome: &mut Outcome,
    ) {
        let certificate = &established.certificate;
        // The binding moved with the flight already; the line tells the person.
        if let Some(change) = renewed {
            let entry = Entry::Trust(change, certificate.clone());
            outcome.entries.push(entry);
        }
        if renewed == Some(TrustChange::RootSucceeded) {
            let notice = Notice::RootSucceeded(certificate.clone());
            outcome.effects.push(Effect::Notice(Box::new(notice)));
        }
        outcome.effects.push(Effect::Trust(self.trust().clone()));
        outcome
            .effects
            .push(Effect::Established(certificate.agent.clone()));
    }

    pub(super) fn send_verify(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        let Some(Handshake::AwaitCapability(state)) = self.link(peer).map(|link| &link.handshake)
        else {
            return;
        };
        let choice = best_common(&self.identity.certificate.versions, &state.offered());
        let nonce = self.nonce();
        let mut body = self.credentials();
        body.insert("nonce".into(), nonce.to_string().into());
        body.insert(
            "choice".into(),
            choice.map_or(Value::Null, |version| version.to_string().into()),
        );
        self.put_offer(peer, &mut body);
        self.put_transcript(peer, &mut body);
        self.fly(at, peer, Method::Verify, body, outcome);
    }

    fn send_capability(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        let mut body = self.credentials();
        self.put_grant(peer, &mut body);
        self.put_transcript(peer, &mut body);
        self.fly(at, peer, Method::Capability, body, outcome);
    }

    pub(super) fn send_trust(&mut self, at: At, peer: &AgentId, outcome: &mut Outcome) {
        let mut body = self.credentials();
        self.put_grant(peer, &mut body);
        self.put_transcript(peer, &mut body);
        body.insert("decision".into(), "granted".into());
        self.fly(at, peer, Method::Trust, body, outcome);
    }

    fn fly(
        &mut self,
        at: At,
        peer: &AgentId,
        method: Method,
        body: Map<String, Value>,
        outcome: &mut Outcome,
    ) {
        let id = self.fresh_id(at.now);
        let draft = Draft {
            life: FLIGHT_LIFE,
            ..Draft::call(method, peer.clone(), id, Value::Object(body))
        };
        let announced = self
            .link(peer)
            .and_then(|link| link.announced)
            .filter(|_| method == Method::Announce);
        let stamp = Stamp {
            // A peer takes an announce only with a later timestamp than the last one.
            now: after(at.now, announced),
            session: None,
            sequence: None,
            audit_head: at.head,
            version: self.identity.certificate.lowest_version(),
        };
        let speaks = self.may_sign(stamp.now);
        match draft.sign(&self.identity, stamp).ok().filter(|_| speaks) {
            Some(signed) => {
                if method == Method::Announce {
                    self.link_mut(peer).last_announce = Some(at.elapsed);
                }
                self.write_sent(at, signed, outcome);
            }
            None => self.link_mut(peer).handshake.give_up(),
        }
    }

    /// Writes a message of ours down, and lets it go out when the line is durable.
    pub(super) fn write_sent(&mut self, at: At, signed: Signed, outcome: &mut Outcome) {
        self.write_sealed(at, signed, None, outcome);
    }

    /// The same for a message with a sealed box: `copy` holds it for our person.
    pub(super) fn write_sealed(
        &mut self,
        at: At,
        signed: Signed,
        copy: Option<Sealed>,
        outcome: &mut Outcome,
    ) {
        let message = signed.message();
        let entry = Entry::Message(Verdict {
            direction: Direction::Out,
            ruling: Ruling::Sent,
            bytes: message.canonical().len() as u64,
            hash: message.hash(),
            evidence: Evidence::Whole(Arc::clone(message)),
            copy,
        });
        let budgets = &mut self.link_mut(signed.recipient()).budgets;
        budgets.bytes.note_sent(&entry);
        let changed = self.apply(at.now, &entry);
        outcome.entries.push(entry);
        // Whoever hears of flight 4 answers at once: the workers know the peer's key before it goes out.
        self.tell_established(at, changed, outcome);
        self.publish(signed, outcome);
    }

    pub(super) fn tell_established(&mut self, at: At, mut changed: Changed, outcome: &mut Outcome) {
        let established = changed.established.take();
        let renewed = changed.renewed;
        self.tell(at.now, changed, outcome);
        if let Some(established) = established {
            self.welcome(&established, renewed, outcome);
            self.mark_offers(at, &established.certificate.agent);
            self.mark_outdated(&established.certificate.agent);
            self.suspect_copy_by_number(at, &established.certificate.agent, outcome);
        }
    }

    fn refuse_drafts(&mut self, at: At, peer: &AgentId, reason: Reason, outcome: &mut Outcome) {
        let Some(link) = self.link(peer) else { return };
        let names: Vec<_> = link
            .drafts
            .iter()
            .map(|waiting| waiting.draft.message_id)
            .collect();
        for message_id in names {
            let state = State::RefusedHere(reason.name().to_owned());
            self.end_draft(at, peer, message_id, state, outcome);
        }
    }

    fn credentials(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert(
            "certificate".into(),
            self.identity.certificate.to_value().clone(),
        );
        body.insert("keys".into(), self.identity.keys.to_value().clone());
        body
    }

    fn put_offer(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        let versions = &self.identity.certificate.versions;
        body.insert(
            "versions".into(),
            versions
                .iter()
                .map(|v: &Version| Value::from(v.to_string()))
                .collect(),
        );
        body.insert("layers".into(), self.identity.layers.to_value());
        let held = self.link(peer).into_iter().flat_map(|link| link.held());
        body.insert(
            "sessions".into(),
            held.map(|id| Value::from(id.to_string())).collect(),
        );
        let revocations = self.carried_revocations();
        if revocations.as_array().is_some_and(|list| !list.is_empty()) {
            body.insert("revocations".into(), revocations);
        }
    }

    fn put_grant(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        body.insert("capabilities".into(), self.policy.offer());
        body.insert(
            "grant".into(),
            self.policy.allowance(peer).grant().to_value(),
        );
    }

    fn put_transcript(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        let transcript = self.link(peer).and_then(|link| link.handshake.transcript());
        if let Some(transcript) = transcript {
            body.insert("transcript".into(), transcript.to_string().into());
        }
    }
}

impl crate::session::Session {
    /// Whether flight 4 `trust` is the one that made this session on the initiator's side.
    pub(super) fn answers_flight(&self, trust: &Message) -> bool {
        self.role == Role::Initiator && self.began == trust.headers.timestamp && !self.closed
    }
}
