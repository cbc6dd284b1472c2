//! What a person decides about a message that our agent's handlers could not handle.

use signet_api::{
    ApiError, DropMessage, DroppedMessage, ListQuarantine, Quarantine, Quarantined, Retried,
    RetryMessage,
};
use signet_proto::envelope::{Form, Method};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{LocalError, Node, Shelved, Turn};

use crate::render;

use super::listing::{MESSAGES, page};
use super::serve::{Handled, Serve, maybe_named, named, refused, shown};
use crate::reach::{Reach, Sees as _};

/// Lists the quarantine: with each message why its last try failed, and since when it is there.
impl Serve for ListQuarantine {
    fn serve(self, turn: &mut Turn<'_>, reach: &Reach) -> Result<Handled<Self>, ApiError> {
        let quarantine = turn.node().inbox().quarantine();
        let seen = || {
            quarantine
                .iter()
                .filter(|shelved| reach.sees_message(&shelved.message))
        };
        let listed = seen().skip(self.skip);
        let listed = listed.map(|shelved| shown_shelved(turn.node(), shelved));
        shown(Quarantine {
            messages: page(listed, MESSAGES).collect(),
            waiting: seen().count(),
        })
    }
}

impl Serve for RetryMessage {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let (from, message_id) = shelved(turn.node(), &self.message_id, self.from.as_deref())?;
        let retried = turn.inbox().retry(Some(&from), message_id);
        let outcome = retried.map_err(refused)?;
        let retried = Retried {
            message_id: message_id.to_string(),
            from: from.to_string(),
        };
        Ok((retried, outcome))
    }
}

impl Serve for DropMessage {
    fn serve(self, turn: &mut Turn<'_>, _: &Reach) -> Result<Handled<Self>, ApiError> {
        let (from, message_id) = shelved(turn.node(), &self.message_id, self.from.as_deref())?;
        // Ask whether the message is a request before it is dropped: afterwards it is no longer in the quarantine.
        let declined = is_request(turn.node(), &from, message_id);
        let dropped = turn.inbox().drop_shelved(Some(&from), message_id);
        let outcome = dropped.map_err(refused)?;
        let dropped = DroppedMessage {
            message_id: message_id.to_string(),
            from: from.to_string(),
            declined,
        };
        Ok((dropped, outcome))
    }
}

fn shown_shelved(node: &Node, shelved: &Shelved) -> Quarantined {
    let message = &shelved.message;
    Quarantined {
        failed: shelved.reason.as_deref().map(str::to_owned),
        since: shelved.since.to_string(),
        message: render::item(message, node.opened(message).as_ref()),
    }
}

fn is_request(node: &Node, from: &AgentId, message_id: MessageId) -> bool {
    let mut named = node.inbox().quarantine().named(message_id);
    named.any(|shelved| {
        let message = &shelved.message;
        message.headers.agent_id == *from && message.form == Form::Call(Method::Request)
    })
}

/// One message of the quarantine; whose it is follows from its name, unless two peers used it.
fn shelved(node: &Node, name: &str, from: Option<&str>) -> Result<(AgentId, MessageId), ApiError> {
    let message_id = named::<MessageId>("message-id", name)?;
    let from = maybe_named::<AgentId>("from", from)?;
    let named = node.inbox().quarantine().named(message_id);
    let senders = named.map(|shelved| &shelved.message.headers.agent_id);
    let mut senders = senders.filter(|sender| from.as_ref().is_none_or(|from| from == *sender));
    match (senders.next(), senders.next()) {
        (Some(sender), None) => Ok((sender.clone(), message_id)),
        (None, _) => Err(refused(LocalError::NotQuarantined(message_id))),
        (Some(_), Some(_)) => Err(refused(LocalError::Ambiguous(message_id))),
    }
}
