//! Capabilities that programs offer for a while: ours, which peers are told of within a second, and what
//! peers tell us of theirs (`agent.offer`).
//!
//! An offer says all that is offered beside what the flight of the session's handshake settled, so that
//! the newest alone counts, whatever came before it or is lost.
//!
//! An offer of ours stands for a while after its programs have gone (`Policy::offer_linger`), and across a
//! start: what peers sent while both were away waits for the program then, instead of being refused.

mod fault;
mod held;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use signet_json::{Map, Value};

use crate::budget::Bucket;
use crate::draft::Draft;
use crate::envelope::{Message, Method};
use crate::handshake::Offer;
use crate::headers::CapabilityName;
use crate::ids::{AgentId, SessionId};
use crate::policy::{BodySchema, Capability};
use crate::session::Session;
use crate::time::Timestamp;

use super::LocalError;
use super::turn::OffersDoor;
use super::{At, Node, Outcome};

pub use fault::OfferFault;
pub use held::OfferedTo;
pub use held::Offers;
use held::Served;

/// A peer is told of changes so often at most.
const EACH: Duration = Duration::from_secs(1);

/// Who offers: a connection, of a program that runs under a user id. Several of one user id may offer the
/// same name and share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// Rises with every connection; it serves nothing any more when it ends.
    pub connection: u64,
    /// The user id.
    pub user: u32,
}

/// When a peer is to hear what is offered, by the clock that nobody sets.
#[derive(Clone, Copy, Debug, Default)]
struct OfferPace {
    due: Option<Duration>,
    told: Bucket,
}

impl OfferPace {
    fn mark(&mut self, now: Duration) {
        let next = now.max(self.told.room_at(EACH, EACH, 1));
        self.due = Some(self.due.map_or(next, |due| due.min(next)));
    }

    fn note_told(&mut self, now: Duration) {
        self.due = None;
        self.told.work_off(now, 1);
        self.told.owe(EACH);
    }
}

/// What lies between us and one peer of what programs of ours offer.
#[derive(Clone, Debug, Default)]
pub(super) struct PeerOffers {
    pace: OfferPace,
    told: Option<ToldOffers>,
}

impl PeerOffers {
    /// When the peer is to hear more, by the clock that nobody sets.
    pub(super) fn due(&self) -> Option<Duration> {
        self.pace.due
    }

    /// What the peer was last told.
    pub(super) fn told(&self) -> Option<&ToldOffers> {
        self.told.as_ref()
    }

    /// Puts back what the peer was last told.
    pub(super) fn put_back(&mut self, told: Option<ToldOffers>) {
        self.told = told;
    }

    /// What we told the peer last, as the line of it says.
    pub(super) fn apply_told(&mut self, at: Timestamp, message: &Message) {
        let offers = message.body().and_then(Offer::parse_all);
        if let (Some(session), Some(offers)) = (message.headers.session, offers) {
            self.told = Some(ToldOffers {
                at,
                session,
                offers,
            });
        }
    }
}

/// What a peer was last told that programs of ours offer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ToldOffers {
    /// When, by our log.
    at: Timestamp,
    /// It counts there alone: each session begins with none.
    session: SessionId,
    /// All of it.
    offers: Vec<Offer>,
}

impl OffersDoor<'_, '_> {
    /// A program offers a capability for as long as it is connected, and for the policy's linger after that, to those
    /// of the peers with whom it has to do: no other is told of it, and none is served. Offering it again changes it.
    ///
    /// # Errors
    /// When our person allows no such offer, has settled the name in the configuration, approves what leaves in words,
    /// another program offers it, its tier is above 2, or there are too many.
    pub fn offer(
        &mut self,
        program: Program,
        peers: OfferedTo,
        capability: Capability,
    ) -> Result<Outcome, LocalError> {
        let refused = |why| LocalError::OfferRefused(capability.name.clone(), why);
        let Node { me, offers, .. } = &mut *self.turn.node;
        let policy = me.policy();
        if policy.capability(&capability.name).is_some() {
            return Err(refused(OfferFault::Configured));
        }
        if !policy.allows_offer(&capability.name) {
            return Err(refused(OfferFault::NotAllowed));
        }
        if capability.tier.is_sealed() {
            return Err(refused(OfferFault::Tier));
        }
        if !policy.may_leave_unapproved(&capability) {
            return Err(refused(OfferFault::Words));
        }
        // Programs of one user of this machine may offer the same name. Refuse a program of another user: it would be given the
        // messages that peers send to the first user.
        if offers.is_held_by_another(&capability.name, program) {
            return Err(refused(OfferFault::Held));
        }
        if !offers.make_room(policy, program.connection, &capability) {
            return Err(refused(OfferFault::TooMuch));
        }
        offers.serve(program, peers, capability);
        self.tell_changed_offers();
        Ok(self.turn.take())
    }

    /// A program has gone: what it alone offered stands for the policy's linger.
    pub fn end(&mut self, connection: u64) -> Outcome {
        let elapsed = self.turn.at.elapsed;
        if self.turn.node.offers.leave(connection, elapsed) {
            self.tell_changed_offers();
        }
        self.end_lapsed_offers();
        self.turn.take()
    }

    /// Ends the offers whose programs have not come back in time.
    pub(super) fn end_lapsed_offers(&mut self) {
        let linger = self.turn.node.me.policy().offer_linger;
        if self.turn.node.offers.overdue(self.turn.at.elapsed, linger) {
            self.tell_changed_offers();
        }
    }

    /// At a start: what peers were told before it stands until the programs are back, or for the policy's linger.
    pub(super) fn recall_offers(&mut self) {
        if self.turn.node.me.policy().offer_linger.is_zero() {
            return;
        }
        for name in self.told_offers() {
            let told = self.told_of(&name);
            let elapsed = self.turn.at.elapsed;
            self.turn.node.offers.recall(name, told, elapsed);
        }
        self.turn.node.offers.end_unfit(self.turn.node.me.policy());
    }

    pub(super) fn tell_changed_offers(&mut self) {
        let peers: Vec<AgentId> = self.turn.node.peers.known().names().cloned().collect();
        for peer in peers {
            self.mark_offers(&peer);
            self.tell_offers(&peer);
        }
    }

    /// Looks whether the peer has to hear of offers: something of them changed, or a session began.
    pub(super) fn mark_offers(&mut self, peer: &AgentId) {
        let peer = self.turn.node.peers.entry(peer);
        peer.offers_mut().pace.mark(self.turn.at.elapsed);
    }

    /// Tells the peer what is offered now, if it is due and not what was told.
    pub(super) fn tell_offers(&mut self, peer: &AgentId) {
        let At { now, elapsed, .. } = self.turn.at;
        let due = self.turn.node.judge(now).offer_due(elapsed, peer);
        if due.is_none_or(|due| due > now) {
            return;
        }
        let Some(slot) = self.turn.node.sent().slot(self.turn.at.now, peer) else {
            return;
        };
        let session = self.turn.node.peers.session(peer, self.turn.at.now);
        let body = self.offer_for(peer, session);
        if session.is_none_or(|session| self.was_told(peer, session, &body)) {
            // There is no session in which the offer could be sent, or the peer knows the offer already. Clear `due`: otherwise
            // each timer would look at the offer again.
            self.turn.node.peers.entry(peer).offers_mut().pace.due = None;
            return;
        }
        let id = self.turn.node.ids.fresh(self.turn.at.now);
        let draft = Draft::call(Method::Offer, peer.clone(), id, body);
        // Ignore the error: an offer that is too large for any message counts as sent, so that it is not tried for ever.
        let _ = self.turn.sent().put_out(draft, slot);
        let offers = self.turn.node.peers.entry(peer).offers_mut();
        offers.pace.note_told(self.turn.at.elapsed);
    }

    /// What was offered by the newest word on each name. A peer that may ask for it, and was not told of it any more,
    /// was told that it has ended: an older word to somebody who is away since then brings it back no more.
    fn told_offers(&self) -> Vec<CapabilityName> {
        let trusted = |peer: &AgentId| self.turn.node.trust().trusted(peer).is_some();
        let links = self.turn.node.peers.known().iter();
        let links = links.filter(|(peer, _)| trusted(peer));
        let told = links.filter_map(|(peer, link)| Some((peer, link, link.offers().told()?)));
        let mut told: Vec<_> = told.collect();
        told.sort_by_key(|(_, _, told)| std::cmp::Reverse(told.at));
        let mut standing: Vec<CapabilityName> = Vec::new();
        for (place, (_, link, words)) in told.iter().enumerate() {
            // Each session begins without offers: an offer sent in an older session than the newest open one no longer holds.
            let newest = link
                .sessions()
                .iter()
                .rev()
                .find(|session| session.is_open());
            if newest.is_some_and(|session| session.id != words.session) {
                continue;
            }
            for offer in &words.offers {
                let is_known = standing.contains(&offer.name);
                let has_ended = told.iter().take(place).any(|(peer, link, newer)| {
                    let session = link.sessions().iter().find(|one| one.id == newer.session);
                    self.is_for(peer, session, &offer.name)
                });
                if !is_known && !has_ended {
                    standing.extend(capability_of(offer).map(|capability| capability.name));
                }
            }
        }
        standing
    }

    /// What each peer was last told of that name: programs may have said different things to different peers.
    fn told_of(&self, name: &CapabilityName) -> Vec<Served> {
        let mut words: Vec<Served> = Vec::new();
        for (peer, link) in self.turn.node.peers.known().iter() {
            let told = link.offers().told();
            let mut offers = told.into_iter().flat_map(|told| &told.offers);
            let offer = offers.find(|offer| offer.name == *name);
            let Some(capability) = offer.and_then(capability_of) else {
                continue;
            };
            let same = words.iter_mut().find(|word| word.capability == capability);
            match same.and_then(|word| word.to.as_mut()) {
                Some(peers) => _ = peers.insert(peer.clone()),
                None => words.push(Served {
                    capability,
                    to: Some([peer.clone()].into()),
                }),
            }
        }
        words
    }

    /// What programs offer that the peer may ask for.
    fn offer_for(&self, peer: &AgentId, session: Option<&Session>) -> Value {
        let offered = self.turn.node.offers.for_peer(peer);
        let offered = offered.filter(|capability| self.is_for(peer, session, &capability.name));
        let mut body = Map::new();
        body.insert(
            "capabilities".into(),
            offered.map(Capability::to_value).collect(),
        );
        Value::Object(body)
    }

    /// Whether the peer may be told of an offer of that name, of a program that serves it. A name that the session's flight settled is none: the peer
    /// refuses it there, and hears of it in the session that follows a change of the configuration.
    fn is_for(&self, peer: &AgentId, session: Option<&Session>, name: &CapabilityName) -> bool {
        let is_settled = session.is_some_and(|session| session.last_flight.offers(name));
        self.turn.node.me.policy().allowance(peer).names(name) && !is_settled
    }

    /// Whether this was the last word to the peer in that session.
    fn was_told(&self, peer: &AgentId, session: &Session, body: &Value) -> bool {
        let peer = self.turn.node.peers.get(peer);
        let told = peer.and_then(|peer| peer.offers().told());
        let told = told.filter(|told| told.session == session.id);
        let told = told.map_or(&[][..], |told| &told.offers);
        told == Offer::parse_all(body).unwrap_or_default()
    }
}

/// A capability as we offered it; `None` where this release cannot judge bodies by its schema.
fn capability_of(offer: &Offer) -> Option<Capability> {
    let schema = offer.schema.as_ref();
    let schema = schema.map(|text| BodySchema::compile(text.as_bytes()));
    Some(Capability {
        name: offer.name.clone(),
        tier: offer.tier,
        description: offer.description.clone(),
        schema: schema.transpose().ok()?,
    })
}
