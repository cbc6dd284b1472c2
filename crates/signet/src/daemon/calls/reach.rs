//! What a call names, held against the ceiling of its caller. What the configuration does not allow a socket, no call does:
//! whoever takes over a program at that socket gains nothing that the person did not give it.

use signet_api::{ApiError, Call, Effect, May, Named, Reason};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::Node;

use super::nearest::{known_near, peer_named};
use super::serve::{maybe_named, named};
use crate::reach::Reach;

impl Reach {
    /// Whether a call stays within it.
    ///
    /// # Errors
    /// `beyond-ceiling`, with what the ceiling is.
    pub(super) fn admit(&self, node: &Node, call: &Call) -> Result<(), ApiError> {
        if self.may == May::Read && call.effect() == Effect::Changes {
            return Err(beyond("this caller may only look", "may"));
        }
        let mut names = call.names().into_iter();
        names.try_for_each(|named| match named {
            Named::Peer(peer) => self.admit_peer(node, peer),
            Named::Tier(tier) => self.admit_tier(tier),
            Named::Came(from, name) => self.admit_came(node, from, name),
            Named::Lease(lease) => self.admit_lease(node, lease),
            Named::Ours(name) => self.admit_ours(node, name),
            Named::Task(task) => self.admit_task(node, task),
            Named::Authority(tier, under) => self.admit_authority(node, tier, under),
        })
    }

    fn admit_peer(&self, node: &Node, peer: &str) -> Result<(), ApiError> {
        let agent = peer_named(node, self, peer)?;
        self.admit_agent(&agent).map_err(|beyond| {
            // Suggested are only agents that the caller may speak with, so it learns of no other.
            let Some(near) = known_near(node, self, peer) else {
                return beyond;
            };
            let next = format!("write {near}, if that is meant");
            let beyond = beyond.with_next(next);
            beyond.with(|refusal| refusal.did_you_mean = Some(near.to_owned()))
        })
    }

    fn admit_agent(&self, agent: &AgentId) -> Result<(), ApiError> {
        match self.knows(agent) {
            true => Ok(()),
            false => Err(beyond(
                &format!("this caller has nothing to do with {agent}"),
                "peers",
            )),
        }
    }

    fn admit_tier(&self, tier: u8) -> Result<(), ApiError> {
        match tier <= self.tier {
            true => Ok(()),
            false => Err(beyond(
                &format!(
                    "this caller reaches up to tier {}, and this is of tier {tier}",
                    self.tier
                ),
                "tier",
            )),
        }
    }

    /// Holds a handoff against the ceiling. One that names no tier has the tier of the task under which it is handed
    /// on.
    fn admit_authority(
        &self,
        node: &Node,
        tier: Option<u8>,
        under: Option<&str>,
    ) -> Result<(), ApiError> {
        let Some(under) = maybe_named("under", under)? else {
            return self.admit_tier(tier.unwrap_or(1));
        };
        let Some(task) = node.tasks().held(under) else {
            return Ok(());
        };
        self.admit_agent(&task.peer)?;
        self.admit_tier(tier.unwrap_or(task.given.chain.authority().tier))
    }

    /// What waits in the inbox under that name.
    fn admit_came(&self, node: &Node, from: Option<&str>, name: &str) -> Result<(), ApiError> {
        let name: MessageId = named("message-id", name)?;
        let from: Option<AgentId> = maybe_named("from", from)?;
        let waiting = node.inbox().named(name).into_iter();
        let mut meant = waiting.filter(|message| {
            let sender = &message.headers.agent_id;
            from.as_ref().is_none_or(|from| from == sender)
        });
        meant.try_for_each(|message| {
            self.admit_agent(&message.headers.agent_id)?;
            self.admit_tier(message.headers.data_tier)
        })
    }

    /// What was handed out under that lease: its name alone lets nobody settle what is beyond the ceiling.
    fn admit_lease(&self, node: &Node, lease: &str) -> Result<(), ApiError> {
        // A text that is no lease names no message here; the call itself then says that the lease has ended.
        let leased = lease
            .parse()
            .ok()
            .and_then(|lease| node.inbox().handed_out(lease));
        match leased {
            Some(message) => {
                self.admit_agent(&message.headers.agent_id)?;
                self.admit_tier(message.headers.data_tier)
            }
            None => Ok(()),
        }
    }

    fn admit_ours(&self, node: &Node, name: &str) -> Result<(), ApiError> {
        let Some(out) = node.status(named("message-id", name)?) else {
            return Ok(());
        };
        // Whoever has nothing to do with the peer is not told who it is.
        if !self.knows(&out.peer) {
            let what = "this caller has nothing to do with the peer of that message";
            return Err(beyond(what, "peers"));
        }
        self.admit_tier(out.tier.unwrap_or(1))
    }

    fn admit_task(&self, node: &Node, name: &str) -> Result<(), ApiError> {
        let id = named("task", name)?;
        let tasks = node.tasks();
        let mut known = tasks.held(id).into_iter().chain(tasks.given(id));
        known.try_for_each(|task| {
            self.admit_agent(&task.peer)?;
            self.admit_tier(task.given.tier)
        })
    }
}

/// `setting` is what says so in the section of the socket; a program that serves others narrows it by their tokens.
fn beyond(what: &str, setting: &str) -> ApiError {
    let text = format!(
        "{what}: the token by which it came says so, or `{setting}` in the section of this socket in config.toml, and only the \
         person changes either"
    );
    ApiError::refused(Reason::BeyondCeiling, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_a_ceiling_for_each_of_its_parts() {
        let (bob, carol) = ("agent-bob".parse().unwrap(), "agent-carol".parse().unwrap());
        let reach = Reach {
            peers: Some([AgentId::clone(&bob)].into()),
            tier: 2,
            may: May::Send,
        };
        assert!(reach.sees(&bob, 2) && !reach.sees(&bob, 3) && !reach.sees(&carol, 1));
        assert!(Reach::default().sees(&carol, 4));
        assert!(
            reach
                .admit_agent(&carol)
                .unwrap_err()
                .is(&Reason::BeyondCeiling)
        );
        assert!(reach.admit_tier(3).unwrap_err().is(&Reason::BeyondCeiling));
    }
}
