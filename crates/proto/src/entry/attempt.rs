//! The lines of what our own agent tried and its own side refused: nothing was signed, nothing left, nothing
//! was decided.

use super::line::{Line, LineMembers};
use super::members::LineMember;
#[cfg(test)]
use super::schema_tests::*;
use super::{EntryError, LineKind, LineSubject, LineVersion};
use crate::headers::{CapabilityName, ConversationId, MessageType};
use crate::ids::AgentId;
use signet_json::{Map, Value};
use signet_text::{counted, printable};

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
    /// 1 to 4; of a line that is read, any number.
    pub tier: u8,
    /// What it asked for.
    pub capability: Option<CapabilityName>,
    /// What it belonged to.
    pub conversation: Option<ConversationId>,
}

impl LineKind for AttemptLine {
    fn write(&self, line: &mut Line<'_>) {
        line.maybe("peer", self.peer.as_ref().map(AgentId::as_str));
        line.text("reason", &self.reason);
        line.number("count", self.count);
        // The member `call` exists since version 2 of the log's lines. A line of version 1 is written anew only to
        // compare it with the line that the log holds: with `call` in it, the two would differ.
        let is_second = line.version == LineVersion::V2;
        line.some("call", self.call.as_deref().filter(|_| is_second));
        let Some(tried) = &self.tried else { return };
        line.text("type", tried.message_type.as_str());
        line.number("tier", tried.tier.into());
        let capability = tried.capability.as_ref();
        line.some("capability", capability.map(CapabilityName::as_str));
        // The member `conversation` exists since version 2, too: leave it out of a line of version 1.
        let conversation = tried.conversation.as_ref().filter(|_| is_second);
        line.some("conversation", conversation.map(ConversationId::as_str));
    }

    fn parse(line: Map<String, Value>) -> Result<Self, EntryError> {
        let members = LineMembers(&line);
        let tried = match line.contains_key("type") {
            true => Some(Tried {
                message_type: members.parsed("type")?,
                tier: members.small("tier")?,
                capability: members.given("capability")?,
                conversation: members.given("conversation")?,
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
            call: LineMember::read("call", &members)?,
        })
    }

    fn about(&self) -> LineSubject {
        let tried = self.tried.as_ref();
        LineSubject {
            peer: self.peer.clone(),
            tier: tried.map(|tried| tried.tier),
            conversation: tried.and_then(|tried| tried.conversation.clone()),
            ..LineSubject::default()
        }
    }

    fn describe(&self) -> String {
        let why = printable(&self.reason);
        if let Some(call) = &self.call {
            let (call, times) = (printable(call), counted(self.count, "time"));
            let (what, whose) = ("forbidden", "a socket");
            return format!("{what:<12}  {whose:<14}  {call}, tried {times}  {why}");
        }
        let peer = self.peer.as_ref().map_or("several agents", AgentId::as_str);
        let what = match &self.tried {
            Some(tried) => {
                let asked = tried.capability.as_ref().map(|name| format!(", {name}"));
                let (kind, tier) = (tried.message_type.as_str(), tried.tier);
                format!("{kind}, tier {tier}{}", asked.unwrap_or_default())
            }
            None => format!("{}, counted only", counted(self.count, "attempt")),
        };
        format!("{:<12}  {peer:<14}  {what}  {why}", "not sent")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        let call = serde_json::json!({"type": "string", "pattern": "^[a-z]+(\\.[a-z-]+)?$"});
        LineShape::default()
            .with("peer", or_null(common("agent-id")))
            .with("reason", common("reason-name"))
            .with("count", at_least(1))
            .maybe_later("call", call)
            .maybe("type", message_type())
            .maybe("tier", common("tier"))
            .maybe("capability", common("capability-name"))
            .maybe_later("conversation", text())
    }
}
