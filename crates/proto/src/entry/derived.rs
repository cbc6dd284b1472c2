//! What a line of version 2 repeats at its top from the message inside, where `jq` finds it.
//!
//! Every member is derived here, from what the line itself holds, both when it is written and when
//! somebody rebuilds it to compare: so none of them can say anything else than the message does.

use super::line::{Line, LineMembers};
use super::verdict::{Direction, Evidence, Verdict};
use crate::envelope::{Class, Form, Message, Method};
use crate::headers::{ConversationId, MessageType};
use crate::ids::{MessageId, PrincipalId};
use signet_json::{Map, Value};

/// Members that are absent where the message has nothing to say, or was not proved.
#[derive(Default)]
pub(super) struct Derived<'a> {
    /// The name of the reason for which the peer refused what we had asked.
    pub(super) peer_reason: Option<&'a str>,
    /// For whom the sender acts.
    pub(super) principal: Option<PrincipalId>,
    pub(super) method: Option<Method>,
    pub(super) class: Option<Class>,
    pub(super) id: Option<MessageId>,
    pub(super) conversation: Option<ConversationId>,
    pub(super) in_reply_to: Option<MessageId>,
}

impl<'a> Derived<'a> {
    /// Of a message that came or went. Nothing where its signature was not proved, and nothing of a copy,
    /// whose message stands in another line.
    pub(super) fn of(verdict: &'a Verdict) -> Self {
        match &verdict.evidence {
            Evidence::Whole(message) => Self::of_message(message, verdict.direction),
            // A log line with `Evidence::Headers` keeps only the message's headers, and a reader of the log makes the
            // line's other members anew from them. Leave out the peer's reason, which no header holds.
            Evidence::Headers(message) => Self {
                peer_reason: None,
                ..Self::of_message(message, verdict.direction)
            },
            Evidence::Withheld(headers, method) => Self::of_headers(headers, *method),
            Evidence::Copy(_) | Evidence::Raw(..) => Self::default(),
        }
    }

    fn of_message(message: &'a Message, direction: Direction) -> Self {
        let (form, headers) = (&message.form, &message.headers);
        let peer_reason = match form {
            Form::Failure { reason, .. } if direction == Direction::In => Some(reason.as_str()),
            _ => None,
        };
        Self {
            peer_reason,
            principal: Some(headers.principal_id.clone()),
            method: form.method(),
            class: Some(form.class()),
            id: Some(headers.message_id),
            conversation: headers.conversation_id.clone(),
            in_reply_to: headers.in_reply_to,
        }
    }

    pub(super) fn of_headers(headers: &Map<String, Value>, method: Option<Method>) -> Self {
        let headers = LineMembers(headers);
        let message_type = headers.parsed("message-type").ok();
        let method = method_of(message_type, method);
        let class = match message_type {
            Some(MessageType::Response) => Some(Class::Application),
            _ => method.map(Method::class),
        };
        Self {
            peer_reason: None,
            principal: headers.parsed("principal-id").ok(),
            method,
            class,
            id: headers.parsed("message-id").ok(),
            conversation: headers.parsed("conversation-id").ok(),
            in_reply_to: headers.parsed("in-reply-to").ok(),
        }
    }

    pub(super) fn write_class(&self, line: &mut Line<'_>) {
        line.some("class", self.class.map(Class::as_str));
    }

    pub(super) fn write_names(&self, line: &mut Line<'_>) {
        line.some("method", self.method.map(Method::as_str));
        if let Some(id) = &self.id {
            line.id("id", id);
        }
        let conversation = self.conversation.as_ref().map(ConversationId::as_str);
        line.some("conversation", conversation);
        if let Some(request) = &self.in_reply_to {
            line.id("in-reply-to", request);
        }
    }
}

impl Verdict {
    /// What the message is for; `None` where nothing was proved, and for a copy.
    pub fn class(&self) -> Option<Class> {
        Derived::of(self).class
    }

    /// The method, likewise; answers have none.
    pub fn method(&self) -> Option<Method> {
        Derived::of(self).method
    }

    /// The message-id, likewise.
    pub fn id(&self) -> Option<MessageId> {
        Derived::of(self).id
    }

    /// What the message belongs to, likewise.
    pub fn conversation(&self) -> Option<ConversationId> {
        Derived::of(self).conversation
    }

    /// Which message it answers or belongs to, likewise.
    pub fn in_reply_to(&self) -> Option<MessageId> {
        Derived::of(self).in_reply_to
    }
}

/// The data tier in headers that stand alone: 1 when they name none.
pub(super) fn tier_of(headers: &Map<String, Value>) -> Option<u8> {
    match headers.get("data-tier") {
        None => Some(1),
        Some(tier) => tier.as_u64().and_then(|tier| u8::try_from(tier).ok()),
    }
}

/// Headers name the method of a call, but of a notification only the line does.
fn method_of(message_type: Option<MessageType>, told: Option<Method>) -> Option<Method> {
    match message_type? {
        MessageType::Request => Some(Method::Request),
        MessageType::Handoff => Some(Method::Handoff),
        MessageType::Response => None,
        kind @ MessageType::Notification => told.filter(|method| method.message_type() == kind),
    }
}
