//! What a person decides about trust: whom to know, whom no more, and what rings.
//!
//! Each is a function of the node, so that the command line can do the same on a stopped agent's state.

use signet_api::{
    Alarms, ApiError, ApproveStranger, ClearAlarms, ListAlarms, ListPending, ListTrust, Pending,
    Reason, RefuseStranger, ReplaceRoot, Revoked, RootAlarm, StrangerDecided, TakeRevocation,
    Trust, TrustedPeer, Withdraw, Withdrawn,
};
use signet_proto::certificate::CertificateError;
use signet_proto::entry::Alarm;
use signet_proto::ids::{AgentId, KeyId};
use signet_proto::keys::fingerprint;
use signet_proto::node::{Effect, Node, Stranger, Turn};
use signet_proto::statement::Revocation;
use signet_proto::time::Timestamp;

use crate::render;

use super::nearest::{peer_named, refused_of};
use super::peers::{bound, parse_certificate};
use super::serve::{Handled, Serve, bind_refused, maybe_named, named, refused, shown};
use crate::reach::Reach;

impl Serve for ListAlarms {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        shown(Alarms {
            alarms: ringing(turn.node()),
        })
    }
}

impl Serve for ClearAlarms {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        // List the alarms before they are cleared: the answer says which alarms were cleared.
        let alarms = ringing(turn.node());
        Ok((Alarms { alarms }, turn.alarms().clear()))
    }
}

impl Serve for ListPending {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let alarm = |(root, since): (KeyId, Timestamp)| RootAlarm {
            root: root.to_string(),
            since: since.to_string(),
        };
        shown(Pending {
            pending: turn
                .node()
                .people()
                .pending(turn.now())
                .map(stranger)
                .collect(),
            root_alarms: turn
                .node()
                .people()
                .root_alarms(turn.now())
                .map(alarm)
                .collect(),
        })
    }
}

impl Serve for ListTrust {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let peer = |(agent, peer)| TrustedPeer {
            peer: render::peer(agent, peer, &turn.node().standing(agent, turn.now())),
            trust: trust(turn.node(), agent),
        };
        shown(turn.node().trust().peers().map(peer).collect())
    }
}

impl Serve for ApproveStranger {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let (agent, root) = asked(&self.agent, self.root.as_deref())?;
        let decided = turn.people().approve(&agent, root);
        Ok((decided_of(turn.node(), &agent), decided.map_err(refused)?))
    }
}

impl Serve for RefuseStranger {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let (agent, root) = asked(&self.agent, self.root.as_deref())?;
        let decided = turn.people().refuse(&agent, root);
        Ok((decided_of(turn.node(), &agent), decided.map_err(refused)?))
    }
}

impl Serve for Withdraw {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let agent = peer_named(turn.node(), reach, &self.peer)?;
        // Count what is set aside before and after: messages of agents that were cut off earlier are set aside too, but not by
        // this call.
        let before = turn.node().inbox().all_aside().count();
        let outcome = turn.people().withdraw(&agent).map_err(|error| {
            let name = error.name();
            let mistyped = refused_of(turn.node(), reach, error);
            if mistyped.is(&Reason::PeerResembles) {
                return mistyped;
            }
            let what = format!("{agent} is not trusted; `signet trust list` shows who is");
            ApiError::refused(name, what)
        })?;
        let ended = outcome.effects.iter();
        let ended = ended.filter(|effect| matches!(effect, Effect::Settle { .. }));
        let withdrawn = Withdrawn {
            peer: agent.to_string(),
            ended: ended.count(),
            set_aside: turn
                .node()
                .inbox()
                .all_aside()
                .count()
                .saturating_sub(before),
        };
        Ok((withdrawn, outcome))
    }
}

impl Serve for ReplaceRoot {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let certificate = parse_certificate(&self.certificate)?;
        let replaced = turn.people().replace_root(&certificate);
        Ok((bound(&certificate, true), replaced.map_err(bind_refused)?))
    }
}

impl Serve for TakeRevocation {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        // `[people] sign` demands no signed decision besides: the revocation is itself signed, with the root key of the person
        // whose agent it names.
        let revocation = Revocation::parse(&self.statement).map_err(|error| invalid(&error))?;
        let outcome = turn.people().revoke(&revocation).map_err(refused)?;
        let revoked = Revoked {
            agent: revocation.agent.to_string(),
            principal: revocation.principal.to_string(),
            serial: revocation.serial,
            changed: !outcome.entries.is_empty(),
        };
        Ok((revoked, outcome))
    }
}

/// What rings, as `alarms.list` and `status` tell it.
pub(super) fn ringing(node: &Node) -> Vec<signet_api::Alarm> {
    let alarm = |((what, peer), since): (&(Alarm, AgentId), &Timestamp)| signet_api::Alarm {
        alarm: what.as_str().to_owned(),
        peer: peer.to_string(),
        since: since.to_string(),
        text: node.alarms().text(node.context(), *what, peer),
    };
    node.alarms().iter().map(alarm).collect()
}

/// A statement that a person's key should have signed.
pub(super) fn invalid(error: &CertificateError) -> ApiError {
    ApiError::refused("statement-invalid", error.to_string())
}

fn stranger(stranger: &Stranger) -> signet_api::Stranger {
    let claimed = &stranger.certificate;
    signet_api::Stranger {
        agent: claimed.agent.to_string(),
        principal: claimed.principal.to_string(),
        root: claimed.root.id().to_string(),
        fingerprint: fingerprint(&claimed.root),
        layers: render::layers(claimed.layers),
        serial: claimed.serial,
        not_after: claimed.not_after.to_string(),
        since: stranger.since.to_string(),
    }
}

fn trust(node: &Node, agent: &AgentId) -> Trust {
    let view = node.trust();
    match view.peer(agent) {
        Some(peer) if peer.is_withdrawn() => Trust::Withdrawn,
        Some(_) if view.trusted(agent).is_none() => Trust::Revoked,
        _ => Trust::Trusted,
    }
}

fn asked(agent: &str, root: Option<&str>) -> Result<(AgentId, Option<KeyId>), ApiError> {
    let agent = named::<AgentId>("agent", agent)?;
    Ok((agent, maybe_named::<KeyId>("root", root)?))
}

fn decided_of(node: &Node, agent: &AgentId) -> StrangerDecided {
    let peer = node.trust().peer(agent).and_then(|peer| peer.newest());
    StrangerDecided {
        agent: agent.to_string(),
        fingerprint: peer.map(|newest| fingerprint(&newest.root)),
    }
}
