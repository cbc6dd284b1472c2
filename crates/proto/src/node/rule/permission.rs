//! What may pass between us and a peer: the receiving side of check V12, and the same asked by the
//! sending side before anything is signed.

use std::time::Duration;

use signet_json::Value;

use crate::draft::Draft;
use crate::envelope::{Message, Method};
use crate::handshake::Grant;
use crate::headers::{CapabilityName, Layers, Tier};
use crate::ids::{AgentId, Version};
use crate::policy::{Finding, Terms, authorize, concerns, explain};
use crate::reject::Reason;
use crate::session::Session;
use crate::time::Timestamp;

use crate::node::LocalError;
use crate::node::peers::Peer;
use crate::node::rule::ruled::{Fault, Readable};

use super::judge::Judge;

/// Which way a message would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From us to the peer.
    Send,
    /// From the peer to us.
    Receive,
}

impl<'n> Judge<'n> {
    /// What each rule would say of a call between us and `peer`; `None` for a peer that is unknown.
    ///
    /// Without a session, the peer's grant is not known yet and no finding speaks of it.
    pub fn explain(
        &self,
        peer: &AgentId,
        way: Way,
        tier: Tier,
        capability: Option<&'n CapabilityName>,
    ) -> Option<Vec<Finding<'n>>> {
        let proven = self.node.trust().peer(peer)?.newest()?.layers;
        let session = self.node.peers.session(peer, self.now);
        let terms = match way {
            Way::Send => self.terms_out(peer, session, capability),
            Way::Receive => {
                // Use the layers that the peer declared for the session and that its newest certificate still proves: a newer
                // certificate may have fewer.
                let layers = session.map_or(proven, |session| session.peer_layers.and(proven));
                let given = session.map(|session| &session.given);
                let version = session.map_or(Version::CURRENT, |session| session.version);
                self.terms_in(peer, layers, given, version, capability)
            }
        };
        Some(explain(&terms, tier, capability).collect())
    }

    /// Whether the grant, the table and the budget allow a message (check V12). Changes nothing.
    pub(super) fn permit(
        &self,
        link: &Peer,
        session: &Session,
        message: &Message,
    ) -> Result<(), Reason> {
        let headers = &message.headers;
        let peer = &headers.agent_id;
        let policy = self.node.me.policy();
        // Only look at the budget here: `count_call` charges the call when its line is written, because calls that V12 refuses
        // are charged as well.
        if message.form.method().is_some()
            && (link.charge(self.now, policy, session, message)).is_none()
        {
            return Err(Reason::BudgetExceeded);
        }
        let capability = headers.capability.as_ref();
        let terms = self.terms_in(
            peer,
            headers.layers,
            Some(&session.given),
            session.version,
            capability,
        );
        authorize(message, &terms)
    }

    /// Whether the opened body of a call fits the schema of the capability that it names: the last
    /// step of check V12, after a seal is opened.
    pub(super) fn fit_body(&self, readable: Readable<'_>) -> Result<(), Fault> {
        let message = readable.message();
        if !message.form.method().is_some_and(Method::is_call) {
            return Ok(());
        }
        let named = message.headers.capability.as_ref();
        let peer = &message.headers.agent_id;
        let capability =
            named.and_then(|name| self.node.offers.own(self.node.me.policy(), peer, name));
        let schema = capability.and_then(|capability| capability.schema.as_ref());
        let misfit = schema.and_then(|schema| {
            // An absent body counts as `null` (protocol.md, Capabilities and their schemas).
            let body = readable.body().unwrap_or(&Value::Null);
            schema.misfit(body)
        });
        misfit.map_or(Ok(()), |misfit| {
            Err(Fault {
                reason: Reason::BodyUnfit,
                // The refusal's text travels in clear: for tiers 3 and 4, `text` repeats nothing that the sender wrote.
                detail: Some(misfit.text(message.headers.data_tier)),
            })
        })
    }

    /// Nobody listens to an agent whose own certificate was taken back.
    pub(in crate::node) fn may_speak(&self) -> Result<(), LocalError> {
        match self.node.context().is_revoked() {
            true => Err(LocalError::Revoked),
            false => Ok(()),
        }
    }

    /// Whether the recipient has what our table asks for, and granted what the draft needs.
    pub(in crate::node) fn fit_recipient(&self, draft: &Draft) -> Result<(), LocalError> {
        let peer = &draft.recipient;
        let session = self.node.peers.session(peer, self.now);
        // Without a session we do not know what the peer granted: let the draft pass now, since it is checked again when it is
        // released.
        if session.is_none() {
            return Ok(());
        }
        let terms = self.terms_out(peer, session, draft.capability.as_ref());
        let mut findings = explain(&terms, draft.data_tier, draft.capability.as_ref());
        let against = findings.find(|finding| !finding.holds() && concerns(finding, &draft.form));
        against.map_or(Ok(()), |finding| {
            Err(LocalError::NotAllowed {
                peer: peer.clone(),
                reason: finding.reason(),
                what: finding.to_string(),
            })
        })
    }

    /// When the peer is told of offers, if something is to be told and there is a session for it.
    pub(in crate::node) fn offer_due(
        &self,
        elapsed: Duration,
        peer: &AgentId,
    ) -> Option<Timestamp> {
        let now = self.now;
        let due = self.offer_from(peer)?;
        let paced = now.saturating_add(due.saturating_sub(elapsed));
        let room = self.node.peers.leaves_at(now, peer, true);
        Some(room.map_or(paced, |room| room.max(paced)))
    }

    /// From when on, by the clock that nobody sets; the budget that the peer granted may have no room before a later time.
    pub(in crate::node) fn offer_from(&self, peer: &AgentId) -> Option<Duration> {
        let due = self.node.peers.get(peer)?.offers().due()?;
        let slot = self.node.sent().slot(self.now, peer)?;
        (slot.version() >= Version::PROGRESS).then_some(due)
    }

    fn terms_in<'a>(
        &self,
        peer: &AgentId,
        layers: Layers,
        given: Option<&'a Grant>,
        version: Version,
        capability: Option<&CapabilityName>,
    ) -> Terms<'a>
    where
        'n: 'a,
    {
        let offered =
            capability.and_then(|name| self.node.offers.own(self.node.me.policy(), peer, name));
        Terms {
            table: &self.node.me.policy().table,
            layers,
            session: given,
            // Use the present configuration besides the session's grant: if the configuration became narrower since, that
            // applies at once.
            allowance: Some(self.node.me.policy().allowance(peer)),
            takes: offered.map(|capability| capability.tier),
            live: capability.is_some_and(|name| {
                self.node
                    .offers
                    .is_live(self.node.me.policy(), peer, name, version)
            }),
        }
    }

    fn terms_out<'a>(
        &self,
        peer: &AgentId,
        session: Option<&'a Session>,
        capability: Option<&CapabilityName>,
    ) -> Terms<'a>
    where
        'n: 'a,
    {
        let newest = self.node.trust().peer(peer).and_then(|peer| peer.newest());
        let proven = newest.map_or(Layers::default(), |certificate| certificate.layers);
        let offer = capability.zip(session).and_then(|(name, session)| {
            let mut offers = session.offered.iter();
            offers.find(|offer| offer.name == *name)
        });
        Terms {
            table: &self.node.me.policy().table,
            layers: session.map_or(proven, |session| session.peer_layers.and(proven)),
            session: session.map(|session| &session.received),
            // Only the peer knows the limits in its own configuration: so of its limits, only those count here that it granted
            // to us.
            allowance: None,
            takes: offer.map(|offer| offer.tier),
            live: false,
        }
    }
}
