//! The agents that are known, and what may go to and come from them.

use signet_api::{AddPeer, ApiError, Bound, CheckPolicy, ListPeers, ShowPeer, ShowPolicy};
use signet_json::Value;
use signet_proto::certificate::Certificate;
use signet_proto::headers::Tier;
use signet_proto::keys::fingerprint;
use signet_proto::node::{LocalError, Node, Turn};
use signet_proto::time::Timestamp;

use crate::policy_view::{self, PolicyQuery};
use crate::render;

use super::nearest::{peer_named, refused_of};
use super::serve::{Handled, Serve, bind_refused, maybe_named, shown};
use crate::reach::Reach;

impl Serve for AddPeer {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let certificate = parse_certificate(&self.certificate)?;
        let outcome = turn.people().bind(&certificate).map_err(bind_refused)?;
        let changed = !outcome.entries.is_empty();
        Ok((bound(&certificate, changed), outcome))
    }
}

impl Serve for ListPeers {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        shown(peers(turn.node(), turn.now(), reach))
    }
}

impl Serve for ShowPeer {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let agent = peer_named(turn.node(), reach, &self.peer)?;
        let peer = turn.node().trust().peer(&agent);
        let unknown = || refused_of(turn.node(), reach, LocalError::PeerUnknown(agent.clone()));
        let peer = peer.ok_or_else(unknown)?;
        let peer = render::peer(&agent, peer, &turn.node().standing(&agent, turn.now()));
        shown(render::with_offers(
            peer,
            turn.node().peers().session(&agent, turn.now()),
        ))
    }
}

impl Serve for ShowPolicy {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        shown(policy_view::show(turn.node(), turn.now()))
    }
}

impl Serve for CheckPolicy {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let unfit = |_| ApiError::invalid_params("tier is a number from 1 to 4");
        let question = PolicyQuery {
            tier: Tier::parse(self.tier).map_err(unfit)?,
            peer: peer_named(turn.node(), reach, &self.peer)?,
            capability: maybe_named("capability", self.capability.as_deref())?,
            way: self.way,
        };
        let answer = policy_view::answer(turn.node(), turn.now(), &question);
        let unknown = || refused_of(turn.node(), reach, LocalError::PeerUnknown(question.peer));
        shown(answer.ok_or_else(unknown)?)
    }
}

pub(super) fn peers(node: &Node, now: Timestamp, reach: &Reach) -> Vec<signet_api::Peer> {
    let peers = node.trust().peers().filter(|(agent, _)| reach.knows(agent));
    let peer = |(agent, peer)| render::peer(agent, peer, &node.standing(agent, now));
    peers.map(peer).collect()
}

pub(super) fn bound(certificate: &Certificate, changed: bool) -> Bound {
    Bound {
        peer: certificate.agent.to_string(),
        principal: certificate.principal.to_string(),
        fingerprint: fingerprint(&certificate.root),
        changed,
    }
}

pub(super) fn parse_certificate(value: &Value) -> Result<Certificate, ApiError> {
    Certificate::parse(value)
        .map_err(|error| ApiError::refused("certificate-invalid", error.to_string()))
}
