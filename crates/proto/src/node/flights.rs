//! The four flights as we send them, and what follows from the peer's.

use std::sync::Arc;

use signet_json::{Map, Value};

use crate::draft::{Draft, FLIGHT_LIFE, Signed, Stamp};
use crate::entry::{Direction, Entry, Evidence, Ruling, Verdict};
use crate::envelope::{Message, Method};
use crate::handshake::{Handshake, Role, best_common};
use crate::ids::{AgentId, Version};
use crate::reject::Reason;
use crate::seal::Sealed;

use super::outbound::after;
use super::people::carried_revocations;
use super::turn::Turn;
use super::{Node, State};

impl Node {
    fn credentials(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert(
            "certificate".into(),
            self.me.identity().certificate.to_value().clone(),
        );
        body.insert("keys".into(), self.me.identity().keys.to_value().clone());
        body
    }

    fn put_offer(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        let versions = &self.me.identity().certificate.versions;
        body.insert(
            "versions".into(),
            versions
                .iter()
                .map(|v: &Version| Value::from(v.to_string()))
                .collect(),
        );
        body.insert("layers".into(), self.me.identity().layers.to_value());
        let held = self
            .peers
            .get(peer)
            .into_iter()
            .flat_map(|link| link.held());
        body.insert(
            "sessions".into(),
            held.map(|id| Value::from(id.to_string())).collect(),
        );
        let revocations = carried_revocations(self.trust());
        if revocations.as_array().is_some_and(|list| !list.is_empty()) {
            body.insert("revocations".into(), revocations);
        }
    }

    fn put_grant(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        body.insert("capabilities".into(), self.me.policy().offer());
        body.insert(
            "grant".into(),
            self.me.policy().allowance(peer).grant().to_value(),
        );
    }

    fn put_transcript(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        let transcript = self
            .peers
            .get(peer)
            .and_then(|link| link.handshake.transcript());
        if let Some(transcript) = transcript {
            body.insert("transcript".into(), transcript.to_string().into());
        }
    }
}

impl Turn<'_> {
    /// Starts a handshake: flight 1.
    pub(super) fn announce(&mut self, peer: &AgentId) {
        if self.node.is_held(peer) {
            // Not at every timer either.
            let later = self.at.now.saturating_add(FLIGHT_LIFE);
            self.node.peers.entry(peer).next_announce = Some(later);
            return;
        }
        let announced = self.node.peers.get(peer).and_then(|link| link.announced);
        if !self.node.me.may_sign(after(self.at.now, announced)) {
            let later = self.at.now.saturating_add(FLIGHT_LIFE);
            let begins = self.node.me.may_sign_at(self.at.now);
            let later = begins.map_or(later, |begins| begins.min(later));
            self.node.peers.entry(peer).next_announce = Some(later);
            return;
        }
        let nonce = self.node.ids.nonce();
        let mut body = self.node.credentials();
        body.insert("nonce".into(), nonce.to_string().into());
        self.node.put_offer(peer, &mut body);
        self.fly(peer, Method::Announce, body);
    }

    /// Starts a handshake unless one is under way, or just ended and waits for the peer's first word.
    pub(super) fn announce_if_idle(&mut self, peer: &AgentId) {
        let link = self.node.peers.entry(peer);
        let settling = link.sessions.last().and_then(|session| session.retry);
        let settling = settling.is_some_and(|retry| self.at.now < retry.stale_at());
        if link.handshake.is_idle() && !settling {
            self.announce(peer);
        }
    }

    pub(super) fn follow_flight(&mut self, flight: &Arc<Message>) {
        let peer = flight.headers.agent_id.clone();
        match flight.form.method() {
            Some(Method::Announce) => {
                self.alarms().suspect_clock(flight);
                self.send_verify(&peer);
            }
            Some(Method::Verify) => match self.node.peers.get(&peer).map(|link| &link.handshake) {
                Some(Handshake::AwaitTrust(_)) => {
                    self.alarms().suspect_clock(flight);
                    self.send_capability(&peer);
                }
                _ => self.refuse_drafts(&peer, Reason::VersionUnsupported),
            },
            Some(Method::Capability) => {
                self.alarms().suspect_clock(flight);
                self.send_trust(&peer);
            }
            _ => match self
                .node
                .peers
                .get(&peer)
                .and_then(|link| link.sessions.last())
            {
                Some(session) if session.answers_flight(flight) => {
                    let id = session.id;
                    self.send_receipt(&peer, id);
                    self.release(&peer);
                }
                _ => self.refuse_drafts(&peer, Reason::PeerRefused),
            },
        }
    }

    pub(super) fn send_verify(&mut self, peer: &AgentId) {
        let Some(Handshake::AwaitCapability(state)) =
            self.node.peers.get(peer).map(|link| &link.handshake)
        else {
            return;
        };
        let choice = best_common(
            &self.node.me.identity().certificate.versions,
            state.offered(),
        );
        let nonce = self.node.ids.nonce();
        let mut body = self.node.credentials();
        body.insert("nonce".into(), nonce.to_string().into());
        body.insert(
            "choice".into(),
            choice.map_or(Value::Null, |version| version.to_string().into()),
        );
        self.node.put_offer(peer, &mut body);
        self.node.put_transcript(peer, &mut body);
        self.fly(peer, Method::Verify, body);
    }

    fn send_capability(&mut self, peer: &AgentId) {
        let mut body = self.node.credentials();
        self.node.put_grant(peer, &mut body);
        self.node.put_transcript(peer, &mut body);
        self.fly(peer, Method::Capability, body);
    }

    pub(super) fn send_trust(&mut self, peer: &AgentId) {
        let mut body = self.node.credentials();
        self.node.put_grant(peer, &mut body);
        self.node.put_transcript(peer, &mut body);
        body.insert("decision".into(), "granted".into());
        self.fly(peer, Method::Trust, body);
    }

    fn fly(&mut self, peer: &AgentId, method: Method, body: Map<String, Value>) {
        let id = self.node.ids.fresh(self.at.now);
        let draft = Draft {
            life: FLIGHT_LIFE,
            ..Draft::call(method, peer.clone(), id, Value::Object(body))
        };
        let link = self
            .node
            .peers
            .get(peer)
            .filter(|_| method == Method::Announce);
        let announced = link.and_then(|link| link.announced);
        let stamp = Stamp {
            // A peer takes an announce only with a later timestamp than the last one.
            now: after(self.at.now, announced),
            session: None,
            sequence: None,
            audit_head: self.at.head,
            version: self.node.me.identity().certificate.lowest_version(),
        };
        let speaks = self.node.me.may_sign(stamp.now);
        let signed = draft.sign(self.node.me.identity(), stamp).ok();
        match signed.filter(|_| speaks) {
            Some(signed) => {
                if method == Method::Announce {
                    self.node.peers.entry(peer).last_announce = Some(self.at.elapsed);
                }
                self.write_sent(signed);
            }
            None => self.node.peers.entry(peer).handshake.give_up(),
        }
    }

    /// Writes a message of ours down, and lets it go out when the line is durable.
    pub(super) fn write_sent(&mut self, signed: Signed) {
        self.write_sealed(signed, None);
    }

    /// The same for a message with a sealed box: `copy` holds it for our person.
    pub(super) fn write_sealed(&mut self, signed: Signed, copy: Option<Sealed>) {
        let message = signed.message();
        let entry = Entry::Message(Verdict {
            direction: Direction::Out,
            ruling: Ruling::Sent,
            bytes: message.canonical().len() as u64,
            hash: message.hash(),
            evidence: Evidence::Whole(Arc::clone(message)),
            copy,
        });
        let budgets = &mut self.node.peers.entry(signed.recipient()).budgets;
        budgets.bytes.note_sent(&entry);
        // Whoever hears of flight 4 answers at once: the workers know the peer's key before it goes out.
        self.write(entry);
        self.publish(signed);
    }

    fn refuse_drafts(&mut self, peer: &AgentId, reason: Reason) {
        let drafts = self.node.sent.drafts().of(peer);
        let names: Vec<_> = drafts.map(|waiting| waiting.draft.message_id).collect();
        for message_id in names {
            let state = State::RefusedHere(reason.name().to_owned());
            self.end_draft(peer, message_id, state);
        }
    }
}

impl crate::session::Session {
    /// Whether flight 4 `trust` is the one that made this session on the initiator's side.
    pub(super) fn answers_flight(&self, trust: &Message) -> bool {
        self.role == Role::Initiator && self.began == trust.headers.timestamp && !self.closed
    }
}
