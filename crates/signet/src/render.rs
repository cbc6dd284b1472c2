//! Messages and peers as the control socket and the command line show them.

pub mod task;

use serde_json::{Map, Value, json};
use signet_proto::envelope::{Form, Message};
use signet_proto::ids::AgentId;
use signet_proto::keys::fingerprint;
use signet_proto::node::Standing;
use signet_proto::reject::{DOES_NOT_FIT, PeerReason};
use signet_proto::seal::Opened;
use signet_proto::session::Session;
use signet_proto::trust::Peer;

pub use signet_proto::carrier::inbox_subject;

/// One message as an agent reads it: with what was sealed in it, or a word that it stays shut.
pub fn item(message: &Message, opened: Option<&Opened>) -> Value {
    let (headers, refusal) = (&message.headers, message.form.refusal());
    let mut item = Map::new();
    let mut put =
        |name: &str, value: Option<Value>| value.map(|value| item.insert(name.to_owned(), value));
    put("from", Some(headers.agent_id.as_str().into()));
    put("principal", Some(headers.principal_id.as_str().into()));
    put("message-id", Some(headers.message_id.to_string().into()));
    put("type", Some(headers.message_type.as_str().into()));
    put("timestamp", Some(headers.timestamp.to_string().into()));
    put("expires-at", Some(headers.expires_at.to_string().into()));
    put("data-tier", Some(headers.data_tier.into()));
    put("hops", Some(headers.hops.into()));
    put(
        "capability",
        headers.capability.as_ref().map(|name| name.as_str().into()),
    );
    put(
        "conversation-id",
        headers
            .conversation_id
            .as_ref()
            .map(|name| name.as_str().into()),
    );
    put(
        "in-reply-to",
        headers.in_reply_to.map(|id| id.to_string().into()),
    );
    let (summary, body) = match opened {
        Some(opened) => (&opened.summary, &opened.body),
        None => (&message.summary, &message.body),
    };
    put("summary", summary.as_deref().map(Into::into));
    put("body", body.clone());
    if message.sealed.is_some() {
        put("sealed", Some(true.into()));
        put("shut", opened.is_none().then(|| SHUT.into()));
    }
    if let Form::Failure {
        code,
        message,
        reason,
    } = &message.form
    {
        let mut error = json!({"code": code, "message": message, "reason": reason});
        if let (Some(PeerReason::Misfit), Some(members)) = (refusal, error.as_object_mut()) {
            members.insert(DOES_NOT_FIT.to_owned(), true.into());
        }
        put("error", Some(error));
    }
    Value::Object(item)
}

/// One peer as a person wants to see it.
pub fn peer(agent: &AgentId, peer: &Peer, standing: &Standing) -> Value {
    let mut out = json!({
        "peer": agent.as_str(),
        "session": standing.session.map(|id| id.to_string()),
        "session-ends": standing.ends.map(|ends| ends.to_string()),
        "handshake": standing.handshake,
        "waiting": standing.drafts,
        "unconfirmed": standing.unconfirmed,
        "over-budget": standing.over_budget,
        "withheld": standing.withheld,
    });
    if let (Some(newest), Some(members)) = (peer.newest(), out.as_object_mut()) {
        members.insert("principal".into(), newest.principal.as_str().into());
        members.insert("fingerprint".into(), fingerprint(&newest.root).into());
        members.insert("serial".into(), newest.serial.into());
        members.insert("not-after".into(), newest.not_after.to_string().into());
        members.insert("layers".into(), newest.layers.to_value());
    }
    out
}

/// A peer with what it offers: its capabilities and the text of their schemas.
pub fn with_offers(mut shown: Value, session: Option<&Session>) -> Value {
    if let (Some(session), Some(members)) = (session, shown.as_object_mut()) {
        let offers = crate::permission::offers(&session.offered);
        members.insert("capabilities".into(), offers);
    }
    shown
}

/// Bytes as lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// Said of a sealed message in the place of its body.
const SHUT: &str = "sealed to a key that is destroyed; your audit key reads it: signet audit open";
