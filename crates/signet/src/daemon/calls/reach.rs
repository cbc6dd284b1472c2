//! What a call names, held against the ceiling of its caller. What the configuration does not allow a socket, no call does:
//! whoever takes over a program at that socket gains nothing that the person did not give it.

use signet_api::{ApiError, Call, CeilingExceeded, Named, Reason};
use signet_proto::envelope::Message;
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::Node;

use super::nearest::{known_near, peer_named};
use super::serve::{maybe_named, named};
use crate::reach::Reach;

/// Whether a call stays within the ceiling of its caller.
///
/// # Errors
/// `beyond-ceiling`, with what the ceiling is.
pub(super) fn admit(reach: &Reach, node: &Node, call: &Call) -> Result<(), ApiError> {
    reach.admit_effect(call).map_err(beyond)?;
    Admission { reach, node }.names(call)
}

/// A ceiling beside the node that knows what a name stands for.
struct Admission<'a> {
    reach: &'a Reach,
    node: &'a Node,
}

impl Admission<'_> {
    fn names(&self, call: &Call) -> Result<(), ApiError> {
        let mut names = call.names().into_iter();
        names.try_for_each(|named| match named {
            Named::Peer(peer) => self.admit_peer(peer),
            Named::Tier(tier) => self.admit_tier(tier),
            Named::Came(from, name) => self.admit_came(from, name),
            Named::Lease(lease) => self.admit_lease(lease),
            Named::Ours(name) => self.admit_ours(name),
            Named::Task(task) => self.admit_task(task),
            Named::Authority(tier, under) => self.admit_authority(tier, under),
        })
    }

    fn admit_peer(&self, peer: &str) -> Result<(), ApiError> {
        let agent = peer_named(self.node, self.reach, peer)?;
        self.admit_agent(&agent).map_err(|beyond| {
            // `known_near` suggests only agents within the caller's limits, so the suggestion reveals no other agent.
            let Some(near) = known_near(self.node, self.reach, peer) else {
                return beyond;
            };
            let next = format!("write {near}, if that is meant");
            let beyond = beyond.with_next(next);
            beyond.with(|refusal| refusal.did_you_mean = Some(near.to_owned()))
        })
    }

    fn admit_agent(&self, agent: &AgentId) -> Result<(), ApiError> {
        self.reach.admit_peer(agent, agent.as_str()).map_err(beyond)
    }

    fn admit_tier(&self, tier: u8) -> Result<(), ApiError> {
        self.reach.admit_tier(tier).map_err(beyond)
    }

    /// Holds a handoff against the ceiling. One that names no tier has the tier of the task under which it is handed
    /// on.
    fn admit_authority(&self, tier: Option<u8>, under: Option<&str>) -> Result<(), ApiError> {
        let Some(under) = maybe_named("under", under)? else {
            return self.admit_tier(tier.unwrap_or(1));
        };
        // Admit a task that the node does not know: the call itself then says that there is no such task.
        let Some(task) = self.node.tasks().held(under) else {
            return Ok(());
        };
        self.admit_agent(&task.peer)?;
        self.admit_tier(tier.unwrap_or(task.given.chain.authority().tier))
    }

    /// What waits in the inbox under that name.
    fn admit_came(&self, from: Option<&str>, name: &str) -> Result<(), ApiError> {
        // A caller that reaches everything reaches it as well, and the call itself judges the form of the names: agents acknowledge
        // hundreds of messages in one call.
        if self.reach.sees_everything() {
            return Ok(());
        }
        let name: MessageId = named("message-id", name)?;
        let from: Option<AgentId> = maybe_named("from", from)?;
        let waiting = self.node.inbox().named(name);
        let mut meant = waiting.filter(|message| {
            let sender = &message.headers.agent_id;
            from.as_ref().is_none_or(|from| from == sender)
        });
        // Two peers may use one message-id, so without `from` the call may mean either message: the caller must be allowed to
        // see both.
        meant.try_for_each(|message| self.admit_message(message))
    }

    /// What was handed out under that lease: its name alone lets nobody settle what is beyond the ceiling.
    fn admit_lease(&self, lease: &str) -> Result<(), ApiError> {
        // Admit a text that is no lease: it names no message, and the call itself says that the lease has ended.
        let leased = lease
            .parse()
            .ok()
            .and_then(|lease| self.node.inbox().handed_out(lease));
        leased.map_or(Ok(()), |message| self.admit_message(message))
    }

    fn admit_message(&self, message: &Message) -> Result<(), ApiError> {
        self.admit_agent(&message.headers.agent_id)?;
        self.admit_tier(message.headers.data_tier.number())
    }

    fn admit_ours(&self, name: &str) -> Result<(), ApiError> {
        // Admit a message-id that the node does not know: the call itself says that there is no such message.
        let Some(out) = self.node.sent().status(named("message-id", name)?) else {
            return Ok(());
        };
        // Do not name the peer in this refusal: a caller that may not see the peer must not learn who it is.
        let words = "the peer of that message";
        self.reach.admit_peer(&out.peer, words).map_err(beyond)?;
        self.admit_tier(out.tier.unwrap_or_default().number())
    }

    fn admit_task(&self, name: &str) -> Result<(), ApiError> {
        let id = named("task", name)?;
        let tasks = self.node.tasks();
        let mut known = tasks.held(id).into_iter().chain(tasks.given(id));
        known.try_for_each(|task| {
            self.admit_agent(&task.peer)?;
            self.admit_tier(task.given.tier)
        })
    }
}

/// A program that serves others narrows the ceiling of its socket by their tokens.
fn beyond(beyond: CeilingExceeded) -> ApiError {
    let text = format!(
        "this caller {beyond}: the token by which it came says so, or `{}` in the section of this socket in config.toml, and \
         only the person changes either",
        beyond.setting()
    );
    ApiError::refused(Reason::BeyondCeiling, text)
}
