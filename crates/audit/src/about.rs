//! Whom a line's message came from or went to, and what it calls itself.

use std::str::FromStr;

use signet_json::Value;
use signet_proto::entry::{Direction, Evidence, Verdict};
use signet_proto::headers::MessageType;
use signet_proto::ids::{AgentId, MessageId};

/// Whom a message came from or went to: proven or, for unproven input, claimed.
#[must_use]
pub fn peer_of(verdict: &Verdict) -> Option<AgentId> {
    match &verdict.evidence {
        Evidence::Whole(message) | Evidence::Headers(message) => Some(match verdict.direction {
            Direction::In => message.headers.agent_id.clone(),
            Direction::Out => message.headers.recipient_id.clone(),
        }),
        Evidence::Withheld(headers, _) => parsed(headers.get(match verdict.direction {
            Direction::In => "agent-id",
            Direction::Out => "recipient-id",
        })),
        Evidence::Copy(claimed) | Evidence::Raw(_, claimed) => claimed.agent.clone(),
    }
}

/// The name that its sender gave it, where the line has it.
#[must_use]
pub fn message_id_of(verdict: &Verdict) -> Option<MessageId> {
    match &verdict.evidence {
        Evidence::Whole(message) | Evidence::Headers(message) => Some(message.headers.message_id),
        Evidence::Withheld(headers, _) => parsed(headers.get("message-id")),
        Evidence::Copy(_) | Evidence::Raw(..) => None,
    }
}

/// Its type, likewise.
pub(crate) fn message_type(verdict: &Verdict) -> Option<MessageType> {
    match &verdict.evidence {
        Evidence::Whole(message) | Evidence::Headers(message) => Some(message.headers.message_type),
        Evidence::Withheld(headers, _) => parsed(headers.get("message-type")),
        Evidence::Copy(claimed) | Evidence::Raw(_, claimed) => claimed.message_type,
    }
}

fn parsed<T: FromStr>(header: Option<&Value>) -> Option<T> {
    header.and_then(Value::as_str)?.parse().ok()
}
