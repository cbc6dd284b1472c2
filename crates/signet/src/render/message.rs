//! One message as an agent reads it.

use std::sync::Arc;

use serde::{Serialize, Serializer, ser};
use serde_json::value::RawValue;
use signet_api as api;
use signet_proto::envelope::{Form, HeldBody, Message};
use signet_proto::ids::MessageId;
use signet_proto::reject::PeerReason;
use signet_proto::seal::Opened;
use signet_proto::time::Timestamp;

/// The message with what was sealed in it, or with a word that it stays shut.
pub fn item(message: &Message, opened: Option<&Opened>) -> api::Message {
    let body = match opened {
        Some(opened) => opened.body.clone(),
        None => message.copy_of_body(),
    };
    described(message, opened, body)
}

/// A message that is only written: it is written as [`item`] gives it, and no text is copied and no tree made for that.
pub struct RenderedMessage {
    /// The message.
    pub message: Arc<Message>,
    /// The content that was sealed in it, where it could be opened.
    pub opened: Option<Opened>,
}

impl RenderedMessage {
    /// The memory that its words would take as a tree, in bytes, about.
    pub fn weight(&self) -> usize {
        let message = &*self.message;
        let opened = self.opened.as_ref();
        let body = match opened {
            Some(opened) => opened.body.as_ref().map_or(0, signet_json::weight),
            None => message.weight_of_body(),
        };
        let error = match &message.form {
            Form::Failure { message, .. } => message.len(),
            _ => 0,
        };
        body + summary(message, opened).map_or(0, str::len) + error
    }
}

impl Serialize for RenderedMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (message, opened) = (&*self.message, self.opened.as_ref());
        let body = match opened {
            Some(opened) => opened.body.as_ref().map(HeldBody::Tree),
            None => message.held_body(),
        };
        let item: api::Message<MessageText<'_>, ShownBody<'_>> =
            described(message, opened, body.map(ShownBody));
        item.serialize(serializer)
    }
}

fn described<'a, T: From<MessageText<'a>>, B>(
    message: &'a Message,
    opened: Option<&'a Opened>,
    body: Option<B>,
) -> api::Message<T, B> {
    let headers = &message.headers;
    let text = |text: &'a str| T::from(MessageText::Words(text));
    let capability = headers.capability.as_ref();
    let conversation_id = headers.conversation_id.as_ref();
    let is_sealed = message.sealed.is_some();
    api::Message {
        from: text(headers.agent_id.as_str()),
        principal: text(headers.principal_id.as_str()),
        message_id: MessageText::Id(headers.message_id).into(),
        message_type: text(headers.message_type.as_str()),
        timestamp: MessageText::Time(headers.timestamp).into(),
        expires_at: MessageText::Time(headers.expires_at).into(),
        data_tier: headers.data_tier.number(),
        hops: headers.hops,
        capability: capability.map(|name| text(name.as_str())),
        conversation_id: conversation_id.map(|id| text(id.as_str())),
        in_reply_to: headers.in_reply_to.map(|id| MessageText::Id(id).into()),
        summary: summary(message, opened).map(text),
        body,
        sealed: is_sealed.then_some(true),
        shut: (is_sealed && opened.is_none()).then(|| text(SHUT)),
        error: failure(message),
    }
}

fn summary<'a>(message: &'a Message, opened: Option<&'a Opened>) -> Option<&'a str> {
    match opened {
        Some(opened) => opened.summary.as_deref(),
        None => message.summary.as_deref(),
    }
}

fn failure(message: &Message) -> Option<api::Failure> {
    let Form::Failure {
        code,
        message: words,
        reason,
    } = &message.form
    else {
        return None;
    };
    let is_misfit = message.form.refusal() == Some(PeerReason::Misfit);
    Some(api::Failure {
        code: *code,
        message: words.clone(),
        reason: reason.clone(),
        does_not_fit: is_misfit.then_some(true),
    })
}

/// A text of a message that is made when it is written.
enum MessageText<'a> {
    Words(&'a str),
    Id(MessageId),
    Time(Timestamp),
}

impl Serialize for MessageText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Words(words) => serializer.serialize_str(words),
            Self::Id(id) => serializer.collect_str(id),
            Self::Time(time) => serializer.collect_str(time),
        }
    }
}

impl From<MessageText<'_>> for String {
    fn from(text: MessageText<'_>) -> Self {
        match text {
            MessageText::Words(words) => words.to_owned(),
            MessageText::Id(id) => id.to_string(),
            MessageText::Time(time) => time.to_string(),
        }
    }
}

/// The body of a message, written in the form in which the message holds it.
struct ShownBody<'a>(HeldBody<'a>);

impl Serialize for ShownBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            HeldBody::Text(text) => {
                let raw: &RawValue = serde_json::from_str(text).map_err(ser::Error::custom)?;
                raw.serialize(serializer)
            }
            HeldBody::Tree(tree) => tree.serialize(serializer),
        }
    }
}

/// Said of a sealed message in the place of its body.
const SHUT: &str = "sealed to a key that is destroyed; your audit key reads it: signet audit open";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use signet_proto::envelope::Unverified;

    use super::*;

    /// The messages of the published vectors that name one.
    fn messages() -> Vec<Arc<Message>> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/accepted");
        let files = std::fs::read_dir(folder).unwrap();
        let inputs = files.map(|file| {
            let text = std::fs::read(file.unwrap().path()).unwrap();
            let vector: Value = serde_json::from_slice(&text).unwrap();
            vector["input"].as_str().unwrap().to_owned()
        });
        let parsed = inputs.map(|input| Unverified::parse(input.as_bytes()).unwrap());
        parsed
            .map(|parsed| Arc::new(parsed.claims().clone()))
            .collect()
    }

    #[test]
    fn what_is_written_of_a_message_is_what_an_agent_reads() {
        let messages = messages();
        let has = |what: fn(&Message) -> bool| messages.iter().any(|message| what(message));
        assert!(has(|message| message.sealed.is_some()));
        assert!(has(|message| matches!(message.form, Form::Failure { .. })));
        assert!(has(|message| matches!(
            message.held_body(),
            Some(HeldBody::Tree(_))
        )));
        assert!(has(|message| matches!(
            message.held_body(),
            Some(HeldBody::Text(_))
        )));
        for message in messages {
            let sealed = Opened {
                summary: Some("words".to_owned()),
                body: Some(json!({"a": [1, "\u{1f600}", null]})),
            };
            for opened in [None, Some(sealed)] {
                let read = serde_json::to_value(item(&message, opened.as_ref())).unwrap();
                let written = RenderedMessage {
                    message: Arc::clone(&message),
                    opened,
                };
                let written = serde_json::to_string(&written).unwrap();
                assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), read);
            }
        }
    }
}
