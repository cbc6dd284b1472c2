//! A change of our own keys: what it means for sessions that stand, and who hears of it.

use crate::certificate::Certificate;
use crate::draft::Identity;
use crate::entry::{Entry, TrustChange};
use crate::envelope::Message;
use crate::ids::{AgentId, SessionId};
use crate::reject::Reason;
use crate::seal::{self, Opened};
use crate::session::Session;
use crate::time::Timestamp;

use super::rule::ruled::Unsealed;
use super::turn::Turn;
use super::{At, Node, Outcome};

impl Node {
    /// The dates of our certificate, when the clock stands outside of them: then nothing is signed, for
    /// no peer would take it, and what we have to say waits.
    pub fn outside_certificate(&self, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let own = &self.identity.certificate;
        (!own.covers(now)).then_some((own.not_before, own.not_after))
    }

    /// Whether something may be signed that bears this time.
    pub(super) fn may_sign(&self, time: Timestamp) -> bool {
        self.identity.certificate.covers(time)
    }

    /// When the certificate begins, if that lies ahead.
    pub(super) fn may_sign_at(&self, now: Timestamp) -> Option<Timestamp> {
        let begins = self.identity.certificate.not_before;
        (now < begins).then_some(begins)
    }

    /// What is sealed in a message for us. `None` when nothing is, and when the secret that it was
    /// sealed to is destroyed.
    pub fn opened(&self, message: &Message) -> Option<Opened> {
        self.open(message).ok().flatten().map(|(opened, _)| opened)
    }

    /// The last step of check V12: what is sealed, and its bytes for the log's copy.
    pub(super) fn open(&self, message: &Message) -> Result<Option<Unsealed>, Reason> {
        let Some(sealed) = &message.sealed else {
            return Ok(None);
        };
        let secret = self.identity.secret_for(sealed);
        let secret = secret.ok_or(Reason::Unsealable)?;
        seal::open(sealed, secret, message).map(Some)
    }

    /// Whether a new sealing key and a key statement of it are due.
    pub fn keys_due(&self, now: Timestamp) -> bool {
        self.identity.keys.is_due(now)
    }

    /// Goes on with other keys of the same agent: a later certificate or key statement, or another
    /// set of old secrets.
    ///
    /// Sessions that another signing key opened are used for sending no more: what stands unreceipted
    /// in them goes out again as it was signed, what comes in them is judged and receipted. Where a
    /// peer has to learn of the change, an announce goes to every trusted one. An identity of another
    /// agent or person, or with a lower serial, changes nothing.
    pub fn adopt(&mut self, at: At, identity: Identity) -> Outcome {
        let mut turn = self.turn(at);
        if !turn.node.identity.may_become(&identity) {
            return turn.out;
        }
        let told = turn.node.identity.certificate != identity.certificate
            || turn.node.identity.keys != identity.keys;
        let resigned = turn.node.identity.signing.public() != identity.signing.public();
        turn.node.identity = identity;
        turn.node.retire_sessions();
        turn.record_own();
        if told {
            turn.announce_to_all(resigned);
        }
        turn.out
    }

    /// The log begins with our certificate of that time: those whom our root certifies were known
    /// under it.
    pub(super) fn apply_genesis(&mut self, now: Timestamp, own: &Certificate) {
        if own.agent == *self.identity.agent() && self.trust().peers().next().is_none() {
            self.apply_own(now, own);
        }
    }

    /// A certificate of our own takes the place of the one before, and of its root.
    pub(super) fn apply_own(&mut self, now: Timestamp, own: &Certificate) {
        if own.principal == self.identity.certificate.principal {
            self.trust.adopt_own(own);
            let before = self.recorded.as_ref();
            if before.is_some_and(|before| before.signing_key != own.signing_key) {
                self.rekeyed = Some(now);
            }
            self.recorded = Some(own.clone());
        }
    }

    /// Marks the sessions that our present key, certificate or key statement did not open. A flight that
    /// carries older ones is sent no more.
    pub(super) fn retire_sessions(&mut self) {
        for session in self.links.values_mut().flat_map(|link| &mut link.sessions) {
            session.judge_by(&self.identity);
            session.retry = session.retry.filter(|_| !session.stale);
        }
    }

    /// What fits into no message must not be tried for ever.
    pub(super) fn forgive_receipt(&mut self, peer: &AgentId, id: SessionId) {
        if let Some(session) = self.link_mut(peer).session_mut(id) {
            session.window.reported();
        }
    }

    /// What cannot be said now is said when it can be.
    pub(super) fn owe_receipt(&mut self, peer: &AgentId, id: SessionId) {
        if let Some(session) = self.link_mut(peer).session_mut(id) {
            session.window.owe();
        }
    }
}

impl Turn<'_> {
    /// Writes our certificate down when the log knows another one: keys change while we are down as
    /// well.
    pub(super) fn record_own(&mut self) {
        let own = self.node.identity.certificate.clone();
        let Some(before) = self.node.recorded.as_ref().filter(|before| **before != own) else {
            return;
        };
        let change = match before.root == own.root {
            true => TrustChange::Renewed,
            false => TrustChange::RootSucceeded,
        };
        let entry = Entry::trust(change, own);
        self.write(entry);
        self.tell_trust();
    }

    /// A handshake that the old key began cannot end well: then it is begun anew.
    fn announce_to_all(&mut self, anew: bool) {
        let peers = self.node.trust().peers().map(|(peer, _)| peer);
        let peers = peers.filter(|peer| self.node.trust().trusted(peer).is_some());
        let peers: Vec<AgentId> = peers.cloned().collect();
        for peer in peers {
            if anew {
                self.announce(&peer);
            } else {
                self.announce_if_idle(&peer);
            }
        }
    }
}

impl Session {
    /// Compares what opened it with what we have now.
    pub(super) fn judge_by(&mut self, own: &Identity) {
        let (certificate, keys) = self.own_serials;
        self.retired = self.own_key != own.signing.public().id();
        self.keyless = self.retired && own.signer(self.own_key).is_none();
        let later = own.certificate.serial > certificate || own.keys.serial > keys;
        self.stale = self.retired || later;
    }
}

impl Identity {
    /// Whether `next` is this agent's, and no older.
    fn may_become(&self, next: &Self) -> bool {
        let (mine, theirs) = (&self.certificate, &next.certificate);
        mine.agent == theirs.agent
            && mine.principal == theirs.principal
            && mine.serial <= theirs.serial
            && self.keys.serial <= next.keys.serial
    }
}
