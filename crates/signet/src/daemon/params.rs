//! The parameters of the control socket's methods.

use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use signet_proto::node::{CallerKey, Content, Continues, Sending, Way};

use crate::control::ApiError;
use crate::permission::Question;

use super::sending::Asked;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct SendParams {
    pub(super) peer: String,
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) body: Value,
    pub(super) summary: Option<String>,
    pub(super) capability: Option<String>,
    pub(super) conversation_id: Option<String>,
    pub(super) data_tier: Option<u8>,
    /// The message-id of the call that this one follows from, and whose it was.
    pub(super) continues: Option<String>,
    pub(super) continues_from: Option<String>,
    /// Seconds that the message may wait and live.
    pub(super) life: Option<u64>,
    /// The caller's own key.
    pub(super) key: Option<String>,
    /// Seconds to wait for what becomes of it.
    #[serde(default)]
    pub(super) wait: f64,
    /// Seconds after which it is enough that the peer's mailbox holds it.
    pub(super) mailbox_after: Option<f64>,
    /// Whether the peer may be unknown although its id resembles a known one.
    #[serde(default)]
    pub(super) introduce: bool,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    Request,
    Notification,
    Ping,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ReplyParams {
    pub(super) message_id: String,
    pub(super) from: Option<String>,
    pub(super) body: Option<Value>,
    pub(super) decline: Option<String>,
    pub(super) summary: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct AcknowledgeParams {
    pub(super) messages: Vec<Name>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Name {
    pub(super) from: String,
    pub(super) message_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct BindParams {
    pub(super) certificate: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct MessageParams {
    pub(super) message_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct PeerParams {
    pub(super) peer: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct CheckParams {
    pub(super) peer: String,
    pub(super) tier: u8,
    pub(super) capability: Option<String>,
    pub(super) way: Option<WayName>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WayName {
    Send,
    Receive,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct ListParams {
    /// The number of the last message already seen.
    pub(super) after: u64,
    /// At most so many; 1,000 when absent.
    pub(super) limit: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct SkipParams {
    /// How many were already seen.
    pub(super) skip: usize,
}

pub(super) fn parse_send(params: Value) -> Result<Asked, ApiError> {
    let params = parse::<SendParams>(params)?;
    let content = Content {
        summary: params.summary,
        body: params.body,
        capability: params
            .capability
            .as_deref()
            .map(|name| named("capability", name))
            .transpose()?,
        conversation_id: params
            .conversation_id
            .as_deref()
            .map(|name| named("conversation-id", name))
            .transpose()?,
        data_tier: params.data_tier,
        life: params.life.map(Duration::from_secs),
        continues: continues(
            params.continues.as_deref(),
            params.continues_from.as_deref(),
        )?,
    };
    let sending = match params.kind {
        Kind::Request => Sending::Request(content),
        Kind::Notification => Sending::Notification(content),
        Kind::Ping => Sending::Ping,
    };
    Ok(Asked {
        peer: named("peer", &params.peer)?,
        sending,
        key: params.key.map(|key| parse_key(&key)).transpose()?,
        wait: parse_wait(params.wait)?,
        introduce: params.introduce,
        mailbox_after: params.mailbox_after.map(parse_wait).transpose()?,
    })
}

/// The caller's own key for a message.
pub(super) fn parse_key(text: &str) -> Result<CallerKey, ApiError> {
    let key = text.parse::<CallerKey>();
    key.map_err(|error| ApiError::invalid_params(error.to_string()))
}

fn continues(name: Option<&str>, from: Option<&str>) -> Result<Option<Continues>, ApiError> {
    let from = from.map(|from| named("continues-from", from)).transpose()?;
    let message = name.map(|name| named("continues", name)).transpose()?;
    Ok(message.map(|message| Continues { from, message }))
}

pub(super) fn parse_question(params: Value) -> Result<Question, ApiError> {
    let params = parse::<CheckParams>(params)?;
    if !(1..=4).contains(&params.tier) {
        return Err(ApiError::invalid_params("tier is a number from 1 to 4"));
    }
    let capability = params.capability.as_deref();
    Ok(Question {
        peer: named("peer", &params.peer)?,
        tier: params.tier,
        capability: capability
            .map(|name| named("capability", name))
            .transpose()?,
        way: params.way.map(|way| match way {
            WayName::Send => Way::Send,
            WayName::Receive => Way::Receive,
        }),
    })
}

pub(super) fn parse_wait(seconds: f64) -> Result<Duration, ApiError> {
    Duration::try_from_secs_f64(seconds)
        .map(|wait| wait.min(LONGEST_WAIT))
        .map_err(|_| ApiError::invalid_params("wait is a number of seconds"))
}

pub(super) fn parse<T: for<'de> Deserialize<'de>>(params: Value) -> Result<T, ApiError> {
    serde_json::from_value(params).map_err(|error| ApiError::invalid_params(fault(&error)))
}

/// What is wrong with parameters, without the value that is: it may be part of a message.
fn fault(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match (
        text.starts_with("unknown field"),
        text.rsplit_once(", expected "),
    ) {
        (false, Some((_, expected))) => {
            format!("a parameter has the wrong form; expected {expected}")
        }
        _ => text,
    }
}

/// Parameters that may be left out altogether.
pub(super) fn parse_given<T>(params: Value) -> Result<T, ApiError>
where
    T: Default + for<'de> Deserialize<'de>,
{
    match params.is_null() {
        true => Ok(T::default()),
        false => parse(params),
    }
}

pub(super) fn named<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, ApiError> {
    text.parse()
        .map_err(|_| ApiError::invalid_params(format!("{name} is not of the right form")))
}

/// The longest that a call may wait for an answer.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wrong_parameter_is_not_repeated_in_the_error() {
        let wrong = [
            json!({"peer": "agent-bob", "kind": "secret"}),
            json!({"peer": "agent-bob", "kind": "request", "data-tier": "secret"}),
            json!({"peer": "agent-bob", "kind": "request", "data-tier": "secret, expected secret"}),
            json!({"peer": "agent-bob", "kind": {"secret": "secret"}}),
            json!({"peer": ["secret"], "kind": "request"}),
            json!("secret"),
        ];
        for params in wrong {
            let error = parse::<SendParams>(params.clone()).err().unwrap();
            let text = format!("{error:?}");
            assert!(!text.contains("secret"), "{params}: {text}");
        }
        let typo = parse::<PeerParams>(json!({"pear": "agent-bob"}))
            .err()
            .unwrap();
        assert!(format!("{typo:?}").contains("`pear`"));
    }
}
