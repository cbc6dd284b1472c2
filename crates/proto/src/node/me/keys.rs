//! A change of our own keys: what it means for sessions that stand, and who hears of it.

use crate::certificate::Certificate;
use crate::draft::Identity;
use crate::entry::{Entry, TrustChange};
use crate::envelope::Message;
use crate::ids::AgentId;
use crate::reject::Reason;
use crate::seal;
use crate::session::Session;
use crate::time::Timestamp;

use crate::node::memory::Line;
use crate::node::rule::ruled::Unsealed;
use crate::node::turn::MeDoor;
use crate::node::{Node, Outcome};

use super::Me;

impl Me {
    /// The dates of our certificate, when the clock stands outside of them: then nothing is signed, for
    /// no peer would take it, and what we have to say waits.
    pub fn outside_certificate(&self, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let own = &self.identity.certificate;
        (!own.covers(now)).then_some((own.not_before, own.not_after))
    }

    /// Whether something may be signed that bears this time.
    pub(in crate::node) fn may_sign(&self, time: Timestamp) -> bool {
        self.identity.certificate.covers(time)
    }

    /// When the certificate begins, if that lies ahead.
    pub(in crate::node) fn may_sign_at(&self, now: Timestamp) -> Option<Timestamp> {
        let begins = self.identity.certificate.not_before;
        (now < begins).then_some(begins)
    }

    /// The last step of check V12: what is sealed, and its bytes for the log's copy.
    pub(in crate::node) fn open(&self, message: &Message) -> Result<Option<Unsealed>, Reason> {
        let Some(sealed) = &message.sealed else {
            return Ok(None);
        };
        let secret = self.identity.secret_for(sealed);
        let secret = secret.ok_or(Reason::Unsealable)?;
        seal::open(sealed, secret, message).map(Some)
    }

    /// Whether our flight of the session says what we offer and grant the peer now.
    pub(in crate::node) fn is_in_force(&self, peer: &AgentId, session: &Session) -> bool {
        let grant = self.policy.allowance(peer).grant();
        session.last_flight.says(&self.policy.offer(), &grant)
    }

    /// A certificate of our own takes the place of the one before.
    fn apply_own(&mut self, now: Timestamp, own: &Certificate) {
        let before = self.recorded.as_ref();
        if before.is_some_and(|before| before.signing_key != own.signing_key) {
            self.rekeyed = Some(now);
        }
        self.recorded = Some(own.clone());
    }
}

impl Line<'_> {
    /// The log begins with our certificate of that time: those whom our root certifies were known
    /// under it.
    pub(in crate::node) fn apply_genesis(self, own: &Certificate) {
        let is_ours = own.agent == *self.node.me.identity.agent();
        if is_ours && self.node.trust().peers().next().is_none() {
            self.apply_own(own);
        }
    }

    /// A certificate of our own takes the place of the one before, and of its root.
    pub(in crate::node) fn apply_own(self, own: &Certificate) {
        if own.principal == self.node.me.identity.certificate.principal {
            self.node.trust.adopt_own(own);
            // Mark every peer as changed, so that the agenda looks at each again: our certificate decides when the session with
            // a peer is renewed.
            self.node.peers.known_mut().note_all();
            self.node.me.apply_own(self.now, own);
        }
    }
}

impl MeDoor<'_, '_> {
    /// Goes on with other keys of the same agent: a later certificate or key statement, or another
    /// set of old secrets.
    ///
    /// Sessions that another signing key opened are used for sending no more: what stands unreceipted
    /// in them goes out again as it was signed, what comes in them is judged and receipted. Where a
    /// peer has to learn of the change, an announce goes to every trusted one. An identity of another
    /// agent or person, or with a lower serial, changes nothing.
    pub fn adopt(&mut self, identity: Identity) -> Outcome {
        if !self.turn.node.me.identity.may_become(&identity) {
            return self.turn.take();
        }
        let told = self.turn.node.me.identity.certificate != identity.certificate
            || self.turn.node.me.identity.keys != identity.keys;
        let resigned = self.turn.node.me.identity.signing.public() != identity.signing.public();
        self.turn.node.me.identity = identity;
        let Node { peers, me, .. } = &mut *self.turn.node;
        peers.retire_sessions(&me.identity);
        self.record_own();
        if told {
            self.announce_to_all(resigned);
        }
        self.turn.take()
    }

    /// Writes our certificate down when the log knows another one: keys change while we are down as
    /// well.
    pub(in crate::node) fn record_own(&mut self) {
        let own = self.turn.node.me.identity.certificate.clone();
        let recorded = self.turn.node.me.recorded.as_ref();
        let Some(before) = recorded.filter(|before| **before != own) else {
            return;
        };
        let change = match before.root == own.root {
            true => TrustChange::Renewed,
            false => TrustChange::RootSucceeded,
        };
        let entry = Entry::trust(change, own);
        self.turn.write(entry);
        self.turn.tell_trust();
    }

    /// A handshake that the old key began cannot end well: then it is begun anew.
    fn announce_to_all(&mut self, anew: bool) {
        let peers = self.turn.node.trust().peers().map(|(peer, _)| peer);
        let peers = peers.filter(|peer| self.turn.node.trust().trusted(peer).is_some());
        let peers: Vec<AgentId> = peers.cloned().collect();
        for peer in peers {
            if anew {
                self.turn.flights().announce(&peer);
            } else {
                self.turn.flights().announce_if_idle(&peer);
            }
        }
    }
}

impl Session {
    /// Compares what opened it with what we have now.
    pub(in crate::node) fn judge_by(&mut self, own: &Identity) {
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
