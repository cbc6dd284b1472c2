//! A message of ours before it is signed: written once, in canonical form, so that the signature has only to be put in.

use std::fmt::Display;
use std::io::Write as _;

use signet_json::{Map, Value, write_canonical, write_string};

use super::{Form, Sealed};
use crate::headers::{Headers, Tier};
use crate::ids::{MessageId, encode_base64url};

/// What a message of ours says.
#[derive(Clone, Copy)]
pub(crate) struct UnsignedParts<'a> {
    pub(crate) form: &'a Form,
    pub(crate) headers: &'a Headers,
    pub(crate) summary: Option<&'a str>,
    pub(crate) body: Option<&'a Value>,
    pub(crate) sealed: Option<&'a Sealed>,
}

/// A message in canonical form, without its signature: what is signed.
pub(crate) struct Unsigned {
    bytes: Vec<u8>,
    /// Where the signature goes.
    place: usize,
}

impl Unsigned {
    /// What the signature is over.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The canonical form with the signature.
    pub(crate) fn with(mut self, signature: &[u8; 64]) -> Vec<u8> {
        // In the envelope, `headers` always stands before `signature`: so the inserted member begins with a comma.
        let member = format!(",\"signature\":\"{}\"", encode_base64url(signature));
        self.bytes
            .splice(self.place..self.place, member.into_bytes());
        self.bytes
    }
}

impl UnsignedParts<'_> {
    /// The JSON-RPC `id`: a call's own name, or that of the request that is answered.
    fn id(&self) -> Option<String> {
        let text = |id: MessageId| id.to_string();
        match self.form {
            Form::Call(method) => method.is_call().then(|| text(self.headers.message_id)),
            // The empty id is never sent: the check of the finished message refuses an answer without `in-reply-to`
            // (`Parts::prove_id`).
            Form::Success | Form::Failure { .. } => {
                Some(self.headers.in_reply_to.map(text).unwrap_or_default())
            }
        }
    }

    /// Its canonical form without the signature.
    pub(crate) fn canonical(&self) -> Unsigned {
        let mut out = Vec::with_capacity(FIRST_CAPACITY);
        let id = self.id().map(|id| format!("\"id\":\"{id}\","));
        let id = id.unwrap_or_default();
        let place = match self.form {
            Form::Call(method) => {
                put(
                    &mut out,
                    format_args!(
                        "{{{id}\"jsonrpc\":\"2.0\",\"method\":\"{}\",\"params\":",
                        method.as_str()
                    ),
                );
                let place = self.write_envelope(None, &mut out);
                out.push(b'}');
                place
            }
            Form::Success => {
                put(
                    &mut out,
                    format_args!("{{{id}\"jsonrpc\":\"2.0\",\"result\":"),
                );
                let place = self.write_envelope(None, &mut out);
                out.push(b'}');
                place
            }
            Form::Failure {
                code,
                message,
                reason,
            } => {
                put(
                    &mut out,
                    format_args!("{{\"error\":{{\"code\":{code},\"data\":"),
                );
                let place = self.write_envelope(Some(reason), &mut out);
                out.extend_from_slice(b",\"message\":");
                write_string(message, &mut out);
                put(&mut out, format_args!("}},{id}\"jsonrpc\":\"2.0\"}}"));
                place
            }
        };
        Unsigned { bytes: out, place }
    }

    /// The envelope; where its signature goes.
    fn write_envelope(&self, reason: Option<&str>, out: &mut Vec<u8>) -> usize {
        out.push(b'{');
        if let Some(body) = self.body {
            out.extend_from_slice(b"\"body\":");
            write_canonical(body, out);
            out.push(b',');
        }
        write_headers(self.headers, out);
        if let Some(reason) = reason {
            out.extend_from_slice(b",\"reason\":");
            write_string(reason, out);
        }
        if let Some(sealed) = self.sealed {
            out.extend_from_slice(b",\"sealed\":");
            write_canonical(&sealed.to_value(), out);
        }
        // The signature is inserted later, where canonical order wants it: behind `sealed` and before `summary`. Return that
        // place.
        let place = out.len();
        if let Some(summary) = self.summary {
            out.extend_from_slice(b",\"summary\":");
            write_string(summary, out);
        }
        out.push(b'}');
        place
    }

    /// Its JSON without the signature.
    pub(crate) fn to_value(self) -> Value {
        let mut envelope = Map::new();
        envelope.insert("headers".into(), self.headers.to_value());
        if let Some(summary) = self.summary {
            envelope.insert("summary".into(), summary.into());
        }
        if let Some(body) = self.body {
            envelope.insert("body".into(), body.clone());
        }
        if let Some(sealed) = self.sealed {
            envelope.insert("sealed".into(), sealed.to_value());
        }
        let mut top = Map::new();
        top.insert("jsonrpc".into(), "2.0".into());
        if let Some(id) = self.id() {
            top.insert("id".into(), id.into());
        }
        match self.form {
            Form::Call(method) => {
                top.insert("method".into(), method.as_str().into());
                top.insert("params".into(), Value::Object(envelope));
            }
            Form::Success => {
                top.insert("result".into(), Value::Object(envelope));
            }
            Form::Failure {
                code,
                message,
                reason,
            } => {
                envelope.insert("reason".into(), reason.as_str().into());
                let mut error = Map::new();
                error.insert("code".into(), (*code).into());
                error.insert("message".into(), message.as_str().into());
                error.insert("data".into(), Value::Object(envelope));
                top.insert("error".into(), Value::Object(error));
            }
        }
        Value::Object(top)
    }
}

/// Puts the signature where the envelope is.
pub(crate) fn attach(value: &mut Value, signature: &[u8; 64]) {
    for pointer in ["/params", "/result", "/error/data"] {
        if let Some(Value::Object(envelope)) = value.pointer_mut(pointer) {
            envelope.insert("signature".into(), encode_base64url(signature).into());
            return;
        }
    }
}

/// The member `headers`, in the order of the canonical form. Nothing that a header may say has to be escaped.
fn write_headers(headers: &Headers, out: &mut Vec<u8>) {
    put(
        out,
        format_args!(
            "\"headers\":{{\"agent-id\":\"{}\"",
            headers.agent_id.as_str()
        ),
    );
    maybe(
        out,
        "audit-head",
        headers.audit_head.map(|head| head.to_hex()),
    );
    maybe(out, "capability", headers.capability.as_ref());
    maybe(out, "conversation-id", headers.conversation_id.as_ref());
    number(
        out,
        "data-tier",
        (headers.data_tier != Tier::Public).then_some(headers.data_tier.number().into()),
    );
    maybe(out, "expires-at", Some(headers.expires_at));
    number(
        out,
        "hops",
        (headers.hops != 1).then_some(headers.hops.into()),
    );
    maybe(out, "in-reply-to", headers.in_reply_to);
    maybe(out, "key-id", Some(headers.key_id));
    maybe(out, "message-id", Some(headers.message_id));
    maybe(out, "message-type", Some(headers.message_type.as_str()));
    maybe(out, "principal-id", Some(headers.principal_id.as_str()));
    maybe(out, "recipient-id", Some(headers.recipient_id.as_str()));
    number(out, "sequence", headers.sequence);
    maybe(out, "session", headers.session);
    out.extend_from_slice(b",\"skill-layers-loaded\":[");
    for (place, layer) in headers.layers.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        put(out, format_args!("{comma}{layer}"));
    }
    out.push(b']');
    maybe(out, "timestamp", Some(headers.timestamp));
    maybe(out, "trust-layer-version", Some(headers.version));
    out.push(b'}');
}

fn maybe(out: &mut Vec<u8>, name: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        put(out, format_args!(",\"{name}\":\"{value}\""));
    }
}

fn number(out: &mut Vec<u8>, name: &str, value: Option<u64>) {
    if let Some(value) = value {
        put(out, format_args!(",\"{name}\":{value}"));
    }
}

/// Writing into memory cannot fail.
fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    drop(out.write_fmt(text));
}

/// Enough for a usual message.
const FIRST_CAPACITY: usize = 1_280;
