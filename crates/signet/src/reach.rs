//! How far the callers of a socket reach: the ceiling that the configuration, and whoever narrows it, gives them.

use signet_api::Ceiling;
use signet_proto::envelope::Message;
use signet_proto::ids::AgentId;
use signet_proto::node::Task;

/// The ceiling of one socket, or of a connection that was narrowed.
pub type Reach = Ceiling<AgentId>;

/// What the node has, held against a ceiling.
pub(crate) trait Sees {
    /// Whether a message that came is within it.
    fn sees_message(&self, message: &Message) -> bool;

    /// Whether a task is within it.
    fn sees_task(&self, task: &Task) -> bool;
}

impl Sees for Reach {
    fn sees_message(&self, message: &Message) -> bool {
        self.sees(&message.headers.agent_id, message.headers.data_tier.into())
    }

    fn sees_task(&self, task: &Task) -> bool {
        self.sees(&task.peer, task.given.tier)
    }
}
