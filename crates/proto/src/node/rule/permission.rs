//! What may pass between us and a peer: the receiving side of check V12, and the same asked by the
//! sending side before anything is signed.

use std::time::Duration;

use signet_json::Value;

use crate::draft::Draft;
use crate::entry::Ruling;
use crate::envelope::{Message, Method};
use crate::handshake::Grant;
use crate::headers::{CapabilityName, Layers};
use crate::ids::{AgentId, Version};
use crate::policy::{Bucket, Finding, Terms, authorize, concerns, explain, stricter};
use crate::reject::Reason;
use crate::session::Session;
use crate::time::Timestamp;

use crate::node::peers::Peer;
use crate::node::request::LocalError;
use crate::node::rule::ruled::Fault;
use crate::node::turn::Turn;
use crate::node::{Node, Notice};

/// People are told of an exceeded budget at most this often.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Which way a message would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From us to the peer.
    Send,
    /// From the peer to us.
    Receive,
}

impl Node {
    /// What each rule would say of a call between us and `peer`; `None` for a peer that is unknown.
    ///
    /// Without a session, the peer's grant is not known yet and no finding speaks of it.
    pub fn explain<'a>(
        &'a self,
        now: Timestamp,
        peer: &AgentId,
        way: Way,
        tier: u8,
        capability: Option<&'a CapabilityName>,
    ) -> Option<Vec<Finding<'a>>> {
        let proven = self.trust().peer(peer)?.newest()?.layers;
        let session = self.peers.get(peer).and_then(|link| link.sendable(now));
        let terms = match way {
            Way::Send => self.terms_out(peer, session, capability),
            Way::Receive => {
                let layers = session.map_or(proven, |session| session.peer_layers.and(proven));
                let given = session.map(|session| &session.given);
                let version = session.map_or(Version::CURRENT, |session| session.version);
                self.terms_in(peer, layers, given, version, capability)
            }
        };
        Some(explain(&terms, tier, capability).collect())
    }

    /// What we decide.
    pub fn policy(&self) -> &crate::policy::Policy {
        self.me.policy()
    }

    /// The session that a new message to `peer` would use.
    pub fn session(&self, peer: &AgentId, now: Timestamp) -> Option<&Session> {
        self.peers.get(peer)?.sendable(now)
    }

    /// Whether our flight of the session says what we offer and grant the peer now.
    pub(in crate::node) fn is_in_force(&self, peer: &AgentId, session: &Session) -> bool {
        let Some(flight) = session.last_flight.body.as_ref() else {
            return true;
        };
        let grant = self.me.policy().allowance(peer).grant().to_value();
        flight.get("grant") == Some(&grant)
            && flight.get("capabilities") == Some(&self.me.policy().offer())
    }

    /// Whether the grant, the table and the budget allow a message (check V12). Changes nothing.
    pub(in crate::node) fn permit(
        &self,
        now: Timestamp,
        link: &Peer,
        session: &Session,
        message: &Message,
    ) -> Result<(), Reason> {
        let headers = &message.headers;
        let peer = &headers.agent_id;
        if message.form.method().is_some() && self.charge(now, link, session, message).is_none() {
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
    pub(in crate::node) fn fit_body(
        &self,
        message: &Message,
        body: Option<&Value>,
    ) -> Result<(), Fault> {
        if !message.form.method().is_some_and(Method::is_call) {
            return Ok(());
        }
        let named = message.headers.capability.as_ref();
        let peer = &message.headers.agent_id;
        let capability = named.and_then(|name| self.offers.own(self.me.policy(), peer, name));
        let schema = capability.and_then(|capability| capability.schema.as_ref());
        let misfit = schema.and_then(|schema| schema.misfit(body.unwrap_or(&Value::Null)));
        misfit.map_or(Ok(()), |misfit| {
            Err(Fault {
                reason: Reason::BodyUnfit,
                detail: Some(misfit.text(message.headers.data_tier)),
            })
        })
    }

    /// Nobody listens to an agent whose own certificate was taken back.
    pub(in crate::node) fn may_speak(&self) -> Result<(), LocalError> {
        match self.is_revoked() {
            true => Err(LocalError::Revoked),
            false => Ok(()),
        }
    }

    /// Whether the recipient has what our table asks for, and granted what the draft needs.
    pub(in crate::node) fn fit_recipient(
        &self,
        now: Timestamp,
        draft: &Draft,
    ) -> Result<(), LocalError> {
        let peer = &draft.recipient;
        let session = self.peers.get(peer).and_then(|link| link.sendable(now));
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

    /// When a draft may leave by the budget that its recipient granted: at once, or at that time.
    pub(in crate::node) fn leaves_at(
        &self,
        now: Timestamp,
        peer: &AgentId,
        call: bool,
    ) -> Option<Timestamp> {
        let (per_minute, said) = self.said(now, peer, call)?;
        said.room_at(per_minute)
    }

    /// Counts what goes out, where it is a call.
    pub(in crate::node) fn count_own(&mut self, now: Timestamp, peer: &AgentId, call: bool) {
        if let Some((_, said)) = self.said(now, peer, call) {
            self.peers.entry(peer).budgets.said = said.spend();
        }
    }

    fn said(&self, now: Timestamp, peer: &AgentId, call: bool) -> Option<(u32, Bucket)> {
        let link = self.peers.get(peer).filter(|_| call)?;
        let per_minute = link.sendable(now)?.received.messages_per_minute?;
        Some((per_minute, link.budgets.said.at(now, per_minute)))
    }

    /// The buckets after one call more; `None` when one of them has no room for it.
    fn charge(
        &self,
        now: Timestamp,
        link: &Peer,
        session: &Session,
        message: &Message,
    ) -> Option<(Bucket, Option<Bucket>)> {
        let headers = &message.headers;
        let age = now.since(headers.timestamp);
        let allowance = self.me.policy().allowance(&headers.agent_id);
        let per_minute = stricter(
            session.given.messages_per_minute,
            allowance.messages_per_minute(),
        );
        let take = |bucket: Bucket, per_minute| bucket.at(now, per_minute).take(per_minute, age);
        let heard = match per_minute {
            Some(per_minute) => take(link.budgets.heard, per_minute)?,
            None => link.budgets.heard,
        };
        let conversation = headers.conversation_id.as_ref();
        let conversation = match conversation.zip(self.me.policy().conversation_per_minute) {
            Some((id, per_minute)) => Some(take(link.budgets.of(id), per_minute)?),
            None => None,
        };
        Some((heard, conversation))
    }

    fn terms_in<'a>(
        &'a self,
        peer: &AgentId,
        layers: Layers,
        given: Option<&'a Grant>,
        version: Version,
        capability: Option<&CapabilityName>,
    ) -> Terms<'a> {
        let offered = capability.and_then(|name| self.offers.own(self.me.policy(), peer, name));
        Terms {
            table: &self.me.policy().table,
            layers,
            session: given,
            allowance: Some(self.me.policy().allowance(peer)),
            takes: offered.map(|capability| capability.tier),
            live: capability
                .is_some_and(|name| self.offers.is_live(self.me.policy(), peer, name, version)),
        }
    }

    fn terms_out<'a>(
        &'a self,
        peer: &AgentId,
        session: Option<&'a Session>,
        capability: Option<&CapabilityName>,
    ) -> Terms<'a> {
        let newest = self.trust().peer(peer).and_then(|peer| peer.newest());
        let proven = newest.map_or(Layers::default(), |certificate| certificate.layers);
        let offer = capability.zip(session).and_then(|(name, session)| {
            let mut offers = session.offered.iter();
            offers.find(|offer| offer.name == *name)
        });
        Terms {
            table: &self.me.policy().table,
            layers: session.map_or(proven, |session| session.peer_layers.and(proven)),
            session: session.map(|session| &session.received),
            allowance: None,
            takes: offer.map(|offer| offer.tier),
            live: false,
        }
    }
}

impl Turn<'_> {
    /// Makes a new session where the one in use was granted under another configuration.
    pub(in crate::node) fn renew_grant(&mut self, peer: &AgentId) {
        let session = self.node.session(peer, self.at.now);
        if session.is_some_and(|session| !self.node.is_in_force(peer, session)) {
            self.announce_if_idle(peer);
        }
    }

    /// Counts a call of a peer's that was judged by V12, and tells people of one that was too many.
    pub(in crate::node) fn count_call(&mut self, message: &Message, ruling: Ruling) {
        let counts = match ruling {
            Ruling::Accepted => true,
            Ruling::Rejected(reason) => reason.check() == Reason::BudgetExceeded.check(),
            Ruling::Sent => false,
        };
        let method = message.form.method();
        let call = method.is_some_and(|method| !method.is_handshake() && method != Method::Receipt);
        let headers = &message.headers;
        let Some(link) = self
            .node
            .peers
            .get(&headers.agent_id)
            .filter(|_| counts && call)
        else {
            return;
        };
        let Some(session) = headers.session.and_then(|id| link.session(id)) else {
            return;
        };
        if ruling == Ruling::Rejected(Reason::BudgetExceeded) {
            return self.note_excess(&headers.agent_id);
        }
        let Some((heard, conversation)) = self.node.charge(self.at.now, link, session, message)
        else {
            return;
        };
        let budgets = &mut self.node.peers.entry(&headers.agent_id).budgets;
        budgets.heard = heard;
        if let Some((id, bucket)) = headers.conversation_id.clone().zip(conversation) {
            budgets.keep(id, bucket);
        }
    }

    /// Whether a message of ours may go to a peer that we have a session with.
    ///
    /// # Errors
    /// Says in plain words what is missing.
    pub(in crate::node) fn permit_sending(&mut self, draft: &Draft) -> Result<(), LocalError> {
        let peer = &draft.recipient;
        self.node.fit_recipient(self.at.now, draft)?;
        let call = draft.form.method().is_some();
        let Some((per_minute, said)) = self.node.said(self.at.now, peer, call) else {
            return Ok(());
        };
        if said.room_at(per_minute).is_none() {
            return Ok(());
        }
        self.node.peers.entry(peer).budgets.withheld += 1;
        Err(LocalError::OverBudget {
            peer: peer.clone(),
            per_minute,
        })
    }

    pub(in crate::node) fn note_excess(&mut self, peer: &AgentId) {
        let budgets = &mut self.node.peers.entry(peer).budgets;
        budgets.refused += 1;
        let lately = budgets
            .told
            .is_some_and(|last| self.at.now.is_within(TOLD_EVERY, last));
        if !lately {
            budgets.told = Some(self.at.now);
            let (peer, refused) = (peer.clone(), budgets.refused);
            self.notify(Notice::OverBudget { peer, refused });
        }
    }
}
