//! The tries of our agent's handlers, and what a person decides about a message that they could not
//! handle.

use serde::Deserialize;
use serde_json::{Value, json};
use signet_proto::envelope::{Form, Method};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::node::{LocalError, Outcome, Shelved, TRIES};

use crate::control::{ApiError, Reply};
use crate::effects::Deed;
use crate::render;

use super::heart::Heart;
use super::listing::{MESSAGES, page};
use super::methods::{paused, refused};
use super::params::{Name, SkipParams, named, parse, parse_given};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct FailParams {
    from: String,
    message_id: String,
    /// Without any content of the message: it stands in the log in clear.
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct ShelvedParams {
    message_id: String,
    from: Option<String>,
}

/// What to answer once the rest is durable.
type Done = (Value, Outcome);

impl Heart {
    /// Notes how a try goes, or what a person decides; answers when that is durable.
    pub(super) async fn note_try(&mut self, method: &str, params: Value, reply: Reply) {
        let now = self.at().now;
        let done = match method {
            "inbox.start" => self.start_try(params),
            "inbox.fail" => self.fail_try(params),
            "inbox.keep" => self.keep(params),
            "quarantine.retry" => self.retry_shelved(params),
            _ => self.drop_shelved(params),
        };
        match done {
            Ok((shown, outcome)) => {
                let answer = vec![Deed::Answer(reply, shown)];
                self.write(now, vec![outcome], answer).await;
            }
            // The caller may have gone.
            Err(error) => reply.send(Err(error)),
        }
    }

    /// `quarantine.list`: with why the last try failed, and since when each is there.
    pub(super) fn quarantine(&self, params: Value) -> Result<Value, ApiError> {
        let skip = parse_given::<SkipParams>(params)?.skip;
        let quarantine = self.node.inbox().quarantine();
        let listed = quarantine.iter().skip(skip).map(|kept| self.shelved(kept));
        Ok(json!({
            "messages": page(listed, MESSAGES),
            "waiting": quarantine.iter().count(),
        }))
    }

    fn shelved(&self, shelved: &Shelved) -> Value {
        let message = &shelved.message;
        let mut shown = render::item(message, self.node.opened(message).as_ref());
        if let Some(members) = shown.as_object_mut() {
            members.insert("failed".into(), shelved.reason.as_deref().into());
            members.insert("since".into(), shelved.since.to_string().into());
        }
        shown
    }

    fn start_try(&mut self, params: Value) -> Result<Done, ApiError> {
        if self.node.pausing().is_paused() {
            return Err(paused());
        }
        let (from, message_id) = parse_name(params)?;
        let at = self.at();
        let started = self.node.handle_start(at, &from, message_id);
        let (number, outcome) = started.map_err(refused)?;
        let shown = json!({"try": number, "of": TRIES, "quarantined": number.is_none()});
        Ok((shown, outcome))
    }

    fn fail_try(&mut self, params: Value) -> Result<Done, ApiError> {
        let params = parse::<FailParams>(params)?;
        let from = named::<AgentId>("from", &params.from)?;
        let message_id = named::<MessageId>("message-id", &params.message_id)?;
        let at = self.at();
        let failed = self.node.handle_fail(at, &from, message_id, &params.reason);
        let (quarantined, outcome) = failed.map_err(refused)?;
        Ok((json!({ "quarantined": quarantined }), outcome))
    }

    fn keep(&mut self, params: Value) -> Result<Done, ApiError> {
        let (from, message_id) = parse_name(params)?;
        let at = self.at();
        let kept = self.node.handle_keep(at, &from, message_id);
        Ok((json!({"kept": true}), kept.map_err(refused)?))
    }

    fn retry_shelved(&mut self, params: Value) -> Result<Done, ApiError> {
        let (from, message_id) = self.parse_shelved(params)?;
        let at = self.at();
        let retried = self.node.handle_retry(at, Some(&from), message_id);
        let shown = json!({"message-id": message_id.to_string(), "from": from.as_str()});
        Ok((shown, retried.map_err(refused)?))
    }

    fn drop_shelved(&mut self, params: Value) -> Result<Done, ApiError> {
        let (from, message_id) = self.parse_shelved(params)?;
        let asked = self.is_request(&from, message_id);
        let at = self.at();
        let dropped = self.node.handle_drop(at, Some(&from), message_id);
        let shown = json!({
            "message-id": message_id.to_string(),
            "from": from.as_str(),
            "declined": asked,
        });
        Ok((shown, dropped.map_err(refused)?))
    }

    fn is_request(&self, from: &AgentId, message_id: MessageId) -> bool {
        let mut named = self.node.inbox().quarantine().named(message_id);
        named.any(|shelved| {
            let message = &shelved.message;
            message.headers.agent_id == *from && message.form == Form::Call(Method::Request)
        })
    }

    /// One message of the quarantine; whose it is follows from its name, unless two peers used it.
    fn parse_shelved(&self, params: Value) -> Result<(AgentId, MessageId), ApiError> {
        let params = parse::<ShelvedParams>(params)?;
        let message_id = named::<MessageId>("message-id", &params.message_id)?;
        let from = params.from.as_deref();
        let from = from
            .map(|from| named::<AgentId>("from", from))
            .transpose()?;
        let named = self.node.inbox().quarantine().named(message_id);
        let senders = named.map(|shelved| &shelved.message.headers.agent_id);
        let mut senders = senders.filter(|sender| from.as_ref().is_none_or(|from| from == *sender));
        match (senders.next(), senders.next()) {
            (Some(sender), None) => Ok((sender.clone(), message_id)),
            (None, _) => Err(refused(LocalError::NotQuarantined(message_id))),
            (Some(_), Some(_)) => Err(refused(LocalError::Ambiguous(message_id))),
        }
    }
}

fn parse_name(params: Value) -> Result<(AgentId, MessageId), ApiError> {
    let name = parse::<Name>(params)?;
    Ok((
        named("from", &name.from)?,
        named("message-id", &name.message_id)?,
    ))
}
