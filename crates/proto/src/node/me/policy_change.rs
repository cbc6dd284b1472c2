//! The person decides otherwise while the agent runs: what we offer, and what we accept from whom.

use crate::ids::AgentId;
use crate::policy::Policy;

use crate::node::turn::MeDoor;
use crate::node::{Node, Outcome};

impl MeDoor<'_, '_> {
    /// Goes on by another policy. What is narrower holds from the next message on; what is wider with the
    /// handshakes that this begins, with each peer whose session was granted under the old one. Gives back
    /// those peers.
    ///
    /// A handshake that is under way, or that nobody answers, is followed by another as soon as it is over.
    pub fn change_policy(&mut self, policy: Policy) -> (Outcome, Vec<AgentId>) {
        if self.turn.node.me.policy == policy {
            return (Outcome::default(), Vec::new());
        }
        self.turn.node.me.policy = policy;
        self.turn.node.offers.end_unfit(&self.turn.node.me.policy);
        self.turn.offers().tell_changed_offers();
        let mut told = Vec::new();
        let peers: Vec<AgentId> = self.turn.node.peers.known().names().cloned().collect();
        for peer in peers {
            let Node {
                peers, me, trust, ..
            } = &mut *self.turn.node;
            if peers.mark_outdated(me, &peer) && trust.view().trusted(&peer).is_some() {
                self.turn.flights().seek_session(&peer);
                told.push(peer);
            }
        }
        (self.turn.take(), told)
    }
}
