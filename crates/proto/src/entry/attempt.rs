//! The lines of what our own agent tried and its own side refused: nothing was signed, nothing left, nothing
//! was decided.

use signet_json::{Map, Value};

use super::line::{Line, Members};
use super::{EntryError, LineVersion};
use crate::headers::{CapabilityName, ConversationId, MessageType};
use crate::ids::AgentId;

/// One refused attempt, or many that were counted.
///
/// It holds headers alone: never a summary or a body, of whatever tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptLine {
    /// For whom it was; `None` where attempts for several agents were counted together.
    pub peer: Option<AgentId>,
    /// Why, by a stable name.
    pub reason: String,
    /// How many attempts the line stands for.
    pub count: u64,
    /// What was tried; absent where attempts were counted.
    pub tried: Option<Tried>,
    /// The call of a socket that its callers may not use; absent where it was to send something.
    pub call: Option<String>,
}

/// What our agent tried to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// What kind of message.
    pub message_type: MessageType,
    /// 1 to 4.
    pub tier: u8,
    /// What it asked for.
    pub capability: Option<CapabilityName>,
    /// What it belonged to.
    pub conversation: Option<ConversationId>,
}

impl AttemptLine {
    pub(super) fn write(&self, line: &mut Line<'_>) {
        line.maybe("peer", self.peer.as_ref().map(AgentId::as_str));
        line.text("reason", &self.reason);
        line.number("count", self.count);
        // Version 1 has no member of that name.
        if let Some(call) = self
            .call
            .as_ref()
            .filter(|_| line.version == LineVersion::V2)
        {
            line.text("call", call);
        }
        let Some(tried) = &self.tried else { return };
        line.text("type", tried.message_type.as_str());
        line.number("tier", tried.tier.into());
        if let Some(capability) = &tried.capability {
            line.text("capability", capability.as_str());
        }
        // Version 1 has no member of that name.
        let conversation = tried.conversation.as_ref();
        if let Some(conversation) = conversation.filter(|_| line.version == LineVersion::V2) {
            line.text("conversation", conversation.as_str());
        }
    }

    pub(super) fn parse(line: &Map<String, Value>) -> Result<Self, EntryError> {
        let members = Members(line);
        let tried = match line.contains_key("type") {
            true => Some(Tried {
                message_type: members.parsed("type")?,
                tier: u8::try_from(members.number("tier")?).map_err(|_| EntryError("tier"))?,
                capability: given(&members, "capability")?,
                conversation: given(&members, "conversation")?,
            }),
            false => None,
        };
        Ok(Self {
            peer: match line.get("peer") {
                Some(Value::Null) => None,
                _ => Some(members.parsed("peer")?),
            },
            reason: members.text("reason")?.to_owned(),
            count: members.number("count")?,
            tried,
            call: given(&members, "call")?,
        })
    }
}

fn given<T: std::str::FromStr>(
    members: &Members<'_>,
    name: &'static str,
) -> Result<Option<T>, EntryError> {
    let given = members.0.contains_key(name);
    given.then(|| members.parsed(name)).transpose()
}
