//! The four flights as we send them, and what follows from the peer's.

use std::sync::Arc;
use std::time::Duration;

use signet_json::{Map, Value};

use crate::draft::{Draft, FLIGHT_LIFE, Signed, Stamp};
use crate::envelope::{Message, Method};
use crate::handshake::{Flight, Handshake, Overdue, Role, START_AGAIN, best_common};
use crate::ids::{AgentId, Version};
use crate::reject::Reason;

use super::{Peer, Peers};
use crate::node::clock::after;
use crate::node::people::carried_revocations;
use crate::node::turn::FlightsDoor;

/// How many handshakes may be half open at once.
const HALF_OPEN_HANDSHAKES: usize = 64;
/// A silent peer is announced to from this often …
const FIRST_SILENCE: Duration = Duration::from_secs(5 * 60);
/// … down to this often.
const LONGEST_SILENCE: Duration = Duration::from_secs(6 * 3600);

impl Peers {
    /// Check V10 of a flight, as far as the peer's handshake goes and those that are under way with others.
    pub(in crate::node) fn rule_flight(
        &self,
        peer: &Peer,
        message: &Message,
        flight: &Flight,
        own: &AgentId,
    ) -> Result<(), Reason> {
        peer.handshake.admit(message, flight, own)?;
        if message.form.method() == Some(Method::Announce) {
            let signed = message.headers.timestamp;
            if peer.heard_announce.is_some_and(|heard| signed <= heard) {
                return Err(Reason::AnnounceStale);
            }
            if !peer.is_half_open() && self.known.are_half_open(HALF_OPEN_HANDSHAKES) {
                return Err(Reason::HandshakeBusy);
            }
        }
        Ok(())
    }
}

impl FlightsDoor<'_, '_> {
    /// Starts a handshake: flight 1.
    pub(in crate::node) fn announce(&mut self, peer: &AgentId) {
        let context = self.turn.node.context();
        if !(self.turn.node.alarms).held_by(context, peer).is_empty() {
            // An alarm holds the announce back. Try again after the life of a flight, and not at each timer before that.
            let later = self.turn.at.now.saturating_add(FLIGHT_LIFE);
            self.turn.node.peers.entry(peer).next_announce = Some(later);
            return;
        }
        let announced = self.turn.node.peers.get(peer);
        let announced = announced.and_then(|peer| peer.announced);
        let signed_at = after(self.turn.at.now, announced);
        // Sign nothing outside of our certificate's dates: no peer would take the announce. Try again when the certificate
        // begins, or after the life of a flight.
        if !self.turn.node.me.may_sign(signed_at) {
            let later = self.turn.at.now.saturating_add(FLIGHT_LIFE);
            let begins = self.turn.node.me.may_sign_at(self.turn.at.now);
            let later = begins.map_or(later, |begins| begins.min(later));
            self.turn.node.peers.entry(peer).next_announce = Some(later);
            return;
        }
        let nonce = self.turn.node.ids.nonce();
        let mut body = self.credentials();
        body.insert("nonce".into(), nonce.to_string().into());
        self.put_offer(peer, &mut body);
        self.fly(peer, Method::Announce, body);
    }

    /// Starts a handshake unless one is under way, or just ended and waits for the peer's first word.
    pub(in crate::node) fn announce_if_idle(&mut self, peer: &AgentId) {
        let link = self.turn.node.peers.entry(peer);
        let settling = link.sessions.last().and_then(|session| session.retry);
        let settling = settling.is_some_and(|retry| self.turn.at.now < retry.stale_at());
        if link.handshake.is_idle() && !settling {
            self.announce(peer);
        }
    }

    pub(in crate::node) fn follow_flight(&mut self, flight: &Arc<Message>) {
        let peer = flight.headers.agent_id.clone();
        match flight.form.method() {
            Some(Method::Announce) => {
                self.turn.alarms().suspect_clock(flight);
                self.send_verify(&peer);
            }
            Some(Method::Verify) => {
                match self.turn.node.peers.get(&peer).map(|link| &link.handshake) {
                    Some(Handshake::AwaitTrust(_)) => {
                        self.turn.alarms().suspect_clock(flight);
                        self.send_capability(&peer);
                    }
                    // The agents have no version in common, so the handshake has ended: refuse the drafts that waited for its
                    // session, since they can never leave.
                    _ => self
                        .turn
                        .drafts()
                        .refuse_all(&peer, Reason::VersionUnsupported),
                }
            }
            Some(Method::Capability) => {
                self.turn.alarms().suspect_clock(flight);
                self.send_trust(&peer);
            }
            _ => match (self.turn.node.peers.get(&peer)).and_then(|link| link.sessions.last()) {
                Some(session) if session.answers_flight(flight) => {
                    let id = session.id;
                    self.turn.receipts().send(&peer, id);
                    self.turn.drafts().release(&peer);
                }
                // Flight 4 opened no session, because the peer decided `refused`: so refuse all drafts that wait for a session.
                _ => self.turn.drafts().refuse_all(&peer, Reason::PeerRefused),
            },
        }
    }

    pub(in crate::node) fn send_verify(&mut self, peer: &AgentId) {
        let Some(Handshake::AwaitCapability(state)) =
            self.turn.node.peers.get(peer).map(|link| &link.handshake)
        else {
            return;
        };
        let choice = best_common(
            &self.turn.node.me.identity().certificate.versions,
            state.offered(),
        );
        let nonce = self.turn.node.ids.nonce();
        let mut body = self.credentials();
        body.insert("nonce".into(), nonce.to_string().into());
        body.insert(
            "choice".into(),
            choice.map_or(Value::Null, |version| version.to_string().into()),
        );
        self.put_offer(peer, &mut body);
        self.put_transcript(peer, &mut body);
        self.fly(peer, Method::Verify, body);
    }

    fn send_capability(&mut self, peer: &AgentId) {
        let mut body = self.credentials();
        self.put_grant(peer, &mut body);
        self.put_transcript(peer, &mut body);
        self.fly(peer, Method::Capability, body);
    }

    pub(in crate::node) fn send_trust(&mut self, peer: &AgentId) {
        let mut body = self.credentials();
        self.put_grant(peer, &mut body);
        self.put_transcript(peer, &mut body);
        body.insert("decision".into(), "granted".into());
        self.fly(peer, Method::Trust, body);
    }

    fn fly(&mut self, peer: &AgentId, method: Method, body: Map<String, Value>) {
        let id = self.turn.node.ids.fresh(self.turn.at.now);
        let draft = Draft {
            life: FLIGHT_LIFE,
            ..Draft::call(method, peer.clone(), id, Value::Object(body))
        };
        let link = self.turn.node.peers.get(peer);
        let link = link.filter(|_| method == Method::Announce);
        let announced = link.and_then(|link| link.announced);
        let stamp = Stamp {
            // A peer takes an announce only if its timestamp is later than the timestamp of our last announce.
            now: after(self.turn.at.now, announced),
            session: None,
            sequence: None,
            audit_head: self.turn.at.head,
            version: self.turn.node.me.identity().certificate.lowest_version(),
        };
        let speaks = self.turn.node.me.may_sign(stamp.now);
        let signed = draft.sign(self.turn.node.me.identity(), stamp).ok();
        match signed.filter(|_| speaks) {
            Some(signed) => {
                if method == Method::Announce {
                    self.turn.node.peers.entry(peer).last_announce = Some(self.turn.at.elapsed);
                }
                self.turn.write_sent(signed);
            }
            // The flight did not leave. Give up a handshake that we began: otherwise it would wait for an answer to a flight
            // that the peer never gets, and hold up the next handshake.
            None => self.turn.node.peers.entry(peer).handshake.give_up(),
        }
    }

    /// Makes a session where one is due.
    pub(in crate::node) fn seek_session(&mut self, peer: &AgentId) {
        let Some(link) = self.turn.node.peers.get(peer) else {
            return;
        };
        let mail_waits = self.turn.node.sent.drafts().next(peer).is_some();
        let due = link.seeks_session_at(self.turn.node.me.identity().until(), mail_waits);
        if due.is_some_and(|due| due <= self.turn.at.now) {
            self.announce(peer);
        }
    }

    /// Makes a new session where the one in use was granted under another configuration.
    pub(in crate::node) fn renew_grant(&mut self, peer: &AgentId) {
        let session = self.turn.node.peers.session(peer, self.turn.at.now);
        if session.is_some_and(|session| !self.turn.node.me.is_in_force(peer, session)) {
            self.announce_if_idle(peer);
        }
    }

    /// Lets flights go out again that nobody answered, and ends the handshakes whose time is over.
    pub(super) fn resend(&mut self, peer: &AgentId) {
        let link = self.turn.node.peers.entry(peer);
        // After our clock was set back, `next_announce` may be too far ahead: cap it at `LONGEST_SILENCE` from now.
        let latest = self.turn.at.now.saturating_add(LONGEST_SILENCE);
        link.next_announce = link.next_announce.map(|next| next.min(latest));
        // `may_tell` is called only to work the budget off until now, so that the budget can say when it has room: drop its
        // answer.
        link.budgets.bytes.may_tell(self.turn.at.now);
        let mut again = Vec::new();
        match link.handshake.overdue(self.turn.at.now) {
            Overdue::Nothing => {}
            Overdue::Resend(flight) => again.push(flight),
            Overdue::Over => {
                // Try a silent peer again after ever longer times. A peer that fell silent between flights 2 and 4 may have
                // restarted: try that peer again at once the first time, and after longer times only if it stays silent.
                let doubled = link.silence * 2;
                match link.handshake {
                    Handshake::AwaitVerify(_) => {
                        link.silence = doubled.clamp(FIRST_SILENCE, LONGEST_SILENCE);
                        link.next_announce = Some(self.turn.at.now.saturating_add(link.silence));
                    }
                    Handshake::AwaitTrust(_) => {
                        link.next_announce = Some(self.turn.at.now.saturating_add(link.silence));
                        link.silence = doubled.clamp(START_AGAIN, LONGEST_SILENCE);
                    }
                    Handshake::Idle | Handshake::AwaitCapability(_) | Handshake::Granting(_) => {}
                }
                link.handshake = Handshake::Idle;
            }
        }
        for session in &mut link.sessions {
            let Some(retry) = session.retry.as_mut() else {
                continue;
            };
            if retry.is_over(self.turn.at.now) {
                session.retry = None;
            } else if retry.strike(self.turn.at.now) {
                again.extend(session.last_flight.open());
            }
        }
        for flight in again {
            self.turn.ways().fly_again(peer, Signed::again(flight));
        }
    }

    fn credentials(&self) -> Map<String, Value> {
        let mut body = Map::new();
        body.insert(
            "certificate".into(),
            self.turn.node.me.identity().certificate.to_value(),
        );
        body.insert("keys".into(), self.turn.node.me.identity().keys.to_value());
        body
    }

    fn put_offer(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        let versions = &self.turn.node.me.identity().certificate.versions;
        body.insert(
            "versions".into(),
            versions
                .iter()
                .map(|v: &Version| Value::from(v.to_string()))
                .collect(),
        );
        body.insert(
            "layers".into(),
            self.turn.node.me.identity().layers.to_value(),
        );
        let peer = self.turn.node.peers.get(peer);
        let held = peer.into_iter().flat_map(|peer| peer.held());
        body.insert(
            "sessions".into(),
            held.map(|id| Value::from(id.to_string())).collect(),
        );
        let revocations = carried_revocations(self.turn.node.trust());
        if revocations.as_array().is_some_and(|list| !list.is_empty()) {
            body.insert("revocations".into(), revocations);
        }
    }

    fn put_grant(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        body.insert("capabilities".into(), self.turn.node.me.policy().offer());
        let grant = self.turn.node.me.policy().allowance(peer).grant();
        body.insert("grant".into(), grant.to_value());
    }

    fn put_transcript(&self, peer: &AgentId, body: &mut Map<String, Value>) {
        let peer = self.turn.node.peers.get(peer);
        let transcript = peer.and_then(|peer| peer.handshake.transcript());
        if let Some(transcript) = transcript {
            body.insert("transcript".into(), transcript.to_string().into());
        }
    }
}

impl crate::session::Session {
    /// Whether flight 4 `trust` is the one that made this session on the initiator's side.
    pub(in crate::node) fn answers_flight(&self, trust: &Message) -> bool {
        self.role == Role::Initiator && self.began == trust.headers.timestamp && !self.closed
    }
}
