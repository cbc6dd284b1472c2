//! What people sign with their own keys and every daemon obeys: revocations, pause and resume.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signet_json::{Map, Value};

use crate::certificate::ControlCertificate;
use crate::draft::{Draft, LONGEST_LIFE, Stamp};
use crate::entry::Entry;
use crate::envelope::{Message, Method};
use crate::ids::AgentId;
use crate::reject::Reason;
use crate::statement::{PauseStatement, Revocation};
use crate::time::Timestamp;
use crate::verify::Payload;

use crate::node::LocalError;
use crate::node::peers::Peer;
use crate::node::rule::ruled::{Rejected, Ruled};
use crate::node::turn::PeopleDoor;
use crate::node::{Node, Notice, Outcome, RuleContext};
use crate::trust::TrustView;

use super::People;

/// How often a decree is told again, and for how long.
const TELL_AGAIN: Duration = Duration::from_secs(24 * 3600);
const TELL_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many revocations one flight has room for.
const REVOCATIONS: usize = 64;

/// Whether our person lets their agents pause, and by which word.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pausing {
    #[serde(with = "crate::stored")]
    pub(super) statement: Option<PauseStatement>,
    /// The last arrival in the inbox before the pause.
    pub(super) arrivals: u64,
}

impl Pausing {
    /// Whether the agents pause now.
    pub fn is_paused(&self) -> bool {
        self.statement.as_ref().is_some_and(|said| said.paused)
    }

    /// The person's last word.
    pub fn statement(&self) -> Option<&PauseStatement> {
        self.statement.as_ref()
    }

    /// The last word on the pause, for an agent of our person: a pause is told for as long as it holds, a resume only
    /// while it is young.
    fn word_for(
        &self,
        trust: &TrustView,
        peer: &AgentId,
        now: Timestamp,
    ) -> Option<&PauseStatement> {
        let of_peer = trust.peer(peer).and_then(|peer| peer.principal());
        let word = self.statement.as_ref()?;
        let is_told = word.paused || is_young(now, word.issued_at);
        (is_told && of_peer == Some(trust.own_principal())).then_some(word)
    }
}

impl People {
    /// Whether a control certificate is our own person's, valid now, and not older than one we know.
    pub(in crate::node) fn is_our_control(
        &self,
        context: RuleContext<'_>,
        now: Timestamp,
        control: &ControlCertificate,
    ) -> bool {
        let own = &context.identity.certificate;
        // Accept our own certificate's root key, and the one known for our person: another agent of the person may have told us
        // of a new root key before our certificate was renewed.
        let pinned = context.trust.principal(&own.principal);
        let known = context.identity.control.as_ref();
        let known = known.map_or(0, |known| known.serial);
        let obeyed = self.pausing.statement.as_ref();
        let obeyed = obeyed.map_or(0, |said| said.control.serial);
        // Obey only our own person's control certificate, and none that is older than the newest one we know: the key of an
        // older certificate may have been stolen.
        control.principal == own.principal
            && (control.root == own.root
                || pinned.is_some_and(|pinned| *pinned.root() == control.root))
            && control.covers(now)
            && control.serial >= known.max(obeyed)
    }

    /// Check V12 of `agent.revoke`, `agent.pause` and `agent.resume`.
    pub(in crate::node) fn rule(
        &self,
        context: RuleContext<'_>,
        now: Timestamp,
        message: &Message,
        payload: &Payload,
    ) -> Result<(), Reason> {
        if let Payload::Revocation(revocation) = payload {
            return match context.trust.is_authentic(revocation) {
                true => Ok(()),
                false => Err(Reason::StatementInvalid),
            };
        }
        let Payload::Pause(statement) = payload else {
            return Err(Reason::StatementInvalid);
        };
        let pauses = message.form.method() == Some(Method::Pause);
        // Another person's agent must have no say in whether our person's agents pause.
        let is_ours = message.headers.principal_id == *context.trust.own_principal();
        match is_ours && statement.paused == pauses {
            true => self.rule_pause(context, now, statement),
            false => Err(Reason::StatementInvalid),
        }
    }

    fn rule_pause(
        &self,
        context: RuleContext<'_>,
        now: Timestamp,
        statement: &PauseStatement,
    ) -> Result<(), Reason> {
        if !self.is_our_control(context, now, &statement.control) {
            return Err(Reason::StatementInvalid);
        }
        let last = self.pausing.statement.as_ref();
        // The very same statement again is no fault: each agent of our person repeats it daily.
        let echo = last == Some(statement);
        // `rank` compares control certificates before serials: a thief of an older key may use up the highest serial.
        match echo || last.is_none_or(|last| rank(last) < rank(statement)) {
            true => Ok(()),
            false => Err(Reason::StatementStale),
        }
    }

    /// When the next decree is to be told to a peer.
    pub(in crate::node) fn orders_due(
        &self,
        node: &Node,
        now: Timestamp,
        peer: &AgentId,
    ) -> Option<Timestamp> {
        let link = node.peers.get(peer)?;
        let due = self.orders_of(node.trust(), peer, link)?;
        // While no carrier is up or nothing may be signed, peers can be told nothing: a due time would wake the daemon in vain.
        (node.peers.carriers().is_any_up() && node.me.may_sign(now)).then_some(due)
    }

    /// The same, as soon as a carrier is up and something may be signed.
    pub(in crate::node) fn orders_of(
        &self,
        trust: &TrustView,
        peer: &AgentId,
        link: &Peer,
    ) -> Option<Timestamp> {
        let none = self.pausing.statement.is_none() && !trust.has_revocations();
        if none || !hears_decrees(trust, peer) {
            return None;
        }
        let told = link.orders_told();
        let next = told.map_or(Timestamp::EPOCH, |told| told.saturating_add(TELL_AGAIN));
        let mut revocations = young_revocations(trust, next);
        let tells =
            revocations.next().is_some() || self.pausing.word_for(trust, peer, next).is_some();
        tells.then_some(next)
    }

    /// What a peer is told: our principal's revocations, and for our person's other agents whether
    /// they pause.
    fn decrees_for(
        &self,
        trust: &TrustView,
        peer: &AgentId,
        now: Timestamp,
    ) -> impl Iterator<Item = (Method, Value)> + use<> {
        let mut decrees: Vec<_> = young_revocations(trust, now)
            .map(|revocation| (Method::Revoke, object("revocation", &revocation.to_value())))
            .collect();
        let word = self.pausing.word_for(trust, peer, now);
        decrees.extend(word.map(|word| {
            let method = if word.paused {
                Method::Pause
            } else {
                Method::Resume
            };
            let mut body = object("statement", &word.to_value());
            if let Some(members) = body.as_object_mut() {
                members.insert("control".into(), word.control.to_value());
            }
            (method, body)
        }));
        decrees.into_iter()
    }
}

impl PeopleDoor<'_, '_> {
    /// Takes a revocation that a person handed in: it is obeyed, and when it is our own principal's,
    /// told to every peer.
    ///
    /// # Errors
    /// `statement-invalid` when no pinned root signed it.
    pub fn revoke(&mut self, revocation: &Revocation) -> Result<Outcome, LocalError> {
        if !self.turn.node.trust().is_authentic(revocation) {
            return Err(LocalError::Message(Reason::StatementInvalid));
        }
        self.take_revocation(revocation);
        self.tell_decrees();
        Ok(self.turn.take())
    }

    /// Obeys our person's word to pause or to go on, and tells it to their other agents.
    ///
    /// # Errors
    /// `statement-invalid` when our person's control key did not sign it, `statement-stale` when a
    /// word with its serial or a higher one was obeyed before.
    pub fn pause(&mut self, statement: &PauseStatement) -> Result<Outcome, LocalError> {
        self.rule_pause(statement).map_err(LocalError::Message)?;
        self.take_pause(statement);
        self.tell_decrees();
        Ok(self.turn.take())
    }

    fn rule_pause(&self, statement: &PauseStatement) -> Result<(), Reason> {
        let node = &self.turn.node;
        let context = node.context();
        node.people.rule_pause(context, self.turn.at.now, statement)
    }

    /// Everybody hears of it at once, and then daily.
    fn decrees_changed(&mut self) {
        for link in self.turn.node.peers.known_mut().values_mut() {
            link.tell_orders_after(None);
        }
    }

    /// Obeys what a message carries that passed every check. Its lines come before the message's own: a torn tail
    /// may lose the message, which comes again, but not the decree alone.
    ///
    /// # Errors
    /// `certificate-revoked`: it took back the key that signed it.
    pub(in crate::node) fn obey(&mut self, ruled: Ruled) -> Result<Ruled, Rejected> {
        let before = self.turn.out.entries.len();
        match &ruled.payload {
            Payload::Flight(flight) => {
                for revocation in &flight.revocations {
                    self.take_carried(revocation);
                }
            }
            Payload::Revocation(revocation) => self.take_revocation(revocation),
            Payload::Pause(statement) => self.take_pause(statement),
            // The other payloads carry no order.
            _ => {}
        }
        let changed = self.turn.out.entries.len() > before;
        let headers = &ruled.message.headers;
        let trust = self.turn.node.trust();
        let known = trust.peer(&headers.agent_id);
        let mut certificate = known.and_then(|peer| peer.certificate(headers.key_id));
        if let Payload::Flight(flight) = &ruled.payload {
            certificate = Some(&flight.credentials.certificate);
        }
        // Check V06 of docs/protocol.md has refused keys that were revoked before this message. Ask again if the message has
        // brought a new revocation: that may revoke the message's own key.
        match changed && certificate.is_some_and(|certificate| trust.is_revoked(certificate)) {
            true => Err(Rejected {
                message: ruled.message,
                fault: Reason::CertificateRevoked.into(),
            }),
            false => Ok(ruled),
        }
    }

    /// What a peer only carries is looked at before its signature is: only news of a pinned root.
    fn take_carried(&mut self, revocation: &Revocation) {
        if self.turn.node.trust().is_news(revocation) && revocation.prove().is_ok() {
            self.take_revocation(revocation);
        }
    }

    fn take_revocation(&mut self, revocation: &Revocation) {
        if !self.turn.node.trust().is_news(revocation) {
            return;
        }
        let notice = Notice::Revoked(revocation.clone());
        self.turn.notify(notice);
        self.turn.write(Entry::Revoked(revocation.clone()));
        self.turn.tell_trust();
        // Repeat to peers only the revocations of our own person's agents: each person's own agents repeat theirs.
        if revocation.principal == *self.turn.node.trust().own_principal() {
            self.decrees_changed();
        }
    }

    fn take_pause(&mut self, statement: &PauseStatement) {
        let before = self.turn.node.people.pausing.clone();
        if before.statement.as_ref() == Some(statement) {
            return;
        }
        let notice = Notice::Pause(statement.clone());
        self.turn.notify(notice);
        self.turn.write(Entry::Pause(statement.clone()));
        self.decrees_changed();
        if before.is_paused() && !statement.paused {
            self.go_on(before.arrivals);
        }
    }

    /// What came during the pause is handed over, and what waited goes out.
    fn go_on(&mut self, arrivals: u64) {
        let waited: Vec<_> = self.turn.node.inbox.after(arrivals).collect();
        for item in waited {
            let headers = &item.message.headers;
            self.turn
                .hand_over_waiting(&headers.agent_id, headers.message_id);
        }
        for link in self.turn.node.peers.known_mut().values_mut() {
            for session in link.sessions_mut() {
                session.ledger.hasten(self.turn.at.now);
            }
        }
        let peers: Vec<AgentId> = self.turn.node.peers.known().names().cloned().collect();
        for peer in peers {
            self.turn.drafts().release(&peer);
        }
    }

    pub(in crate::node) fn tell_decrees(&mut self) {
        if !self.turn.node.peers.carriers().is_any_up()
            || !self.turn.node.me.may_sign(self.turn.at.now)
        {
            return;
        }
        self.turn.peers().uphold_agenda();
        let now = self.turn.at.now;
        for peer in self.turn.node.peers.known().agenda().orders_by(now) {
            let node = &self.turn.node;
            let decrees = (node.people).decrees_for(node.trust(), &peer, self.turn.at.now);
            let decrees: Vec<_> = decrees.collect();
            for (method, body) in decrees {
                self.send_decree(&peer, method, body);
            }
            let now = self.turn.at.now;
            let peer = self.turn.node.peers.entry(&peer);
            peer.tell_orders_after(Some(now));
        }
    }

    fn send_decree(&mut self, peer: &AgentId, method: Method, body: Value) {
        let id = self.turn.node.ids.fresh(self.turn.at.now);
        let draft = Draft {
            life: LONGEST_LIFE,
            ..Draft::call(method, peer.clone(), id, body)
        };
        let stamp = Stamp {
            now: self.turn.at.now,
            session: None,
            sequence: None,
            audit_head: self.turn.at.head,
            version: self.turn.node.me.identity().certificate.lowest_version(),
        };
        if let Ok(signed) = draft.sign(self.turn.node.me.identity(), stamp) {
            self.turn.write_sent(signed);
        }
    }
}

/// Our principal's revocations that are still told.
fn young_revocations(trust: &TrustView, now: Timestamp) -> impl Iterator<Item = &Arc<Revocation>> {
    let own = trust.revocations(trust.own_principal());
    own.filter(move |revocation| is_young(now, revocation.revoked_at))
}

fn is_young(now: Timestamp, since: Timestamp) -> bool {
    now.since(since) < TELL_FOR
}

/// Our principal's revocations, as flights 1 and 2 carry them.
pub(in crate::node) fn carried_revocations(trust: &TrustView) -> Value {
    let own = trust.revocations(trust.own_principal());
    own.take(REVOCATIONS)
        .map(|revocation| revocation.to_value())
        .collect()
}

/// Whoever is trusted, and our person's other agents in any case: one that is revoked hears it too.
fn hears_decrees(trust: &TrustView, peer: &AgentId) -> bool {
    let of_peer = trust.peer(peer).and_then(|peer| peer.principal());
    trust.trusted(peer).is_some() || of_peer == Some(trust.own_principal())
}

fn rank(statement: &PauseStatement) -> (u64, u64) {
    (statement.control.serial, statement.serial)
}

fn object(name: &str, value: &Value) -> Value {
    Value::Object(Map::from_iter([(name.to_owned(), value.clone())]))
}
