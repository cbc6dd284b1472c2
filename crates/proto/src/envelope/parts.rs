//! Where the envelope stands in each form: taking a message apart, and writing its canonical form.

use std::ops::Range;

use signet_json::{Map, Value};

use super::form::Form;
use crate::headers::Headers;
use crate::ids::decode_array;
use crate::method::Method;
use crate::reject::Reason;

/// The places of the envelope in the three forms.
pub(super) struct Parts<'a> {
    pub(super) top: &'a Map<String, Value>,
    pub(super) path: &'static [&'static str],
    pub(super) envelope: &'a Map<String, Value>,
    pub(super) headers: &'a Map<String, Value>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(value: &'a Value) -> Result<Self, Reason> {
        let top = value.as_object().ok_or(Reason::InvalidShape)?;
        let path: &'static [&'static str] = if top.contains_key("params") {
            &["params"]
        } else if top.contains_key("result") {
            &["result"]
        } else {
            // Without `params` and `result`, the message can only be a failure, whose envelope is in `error.data`. If it has no
            // `error` either, the search below finds no envelope and refuses the message.
            &["error", "data"]
        };
        let object = |value: &'a Value, name: &&str| value.as_object()?.get(*name);
        let envelope = path
            .iter()
            .try_fold(value, object)
            .and_then(Value::as_object)
            .ok_or(Reason::InvalidShape)?;
        let headers = envelope
            .get("headers")
            .and_then(Value::as_object)
            .ok_or(Reason::InvalidShape)?;
        Ok(Self {
            top,
            path,
            envelope,
            headers,
        })
    }

    pub(super) fn form(&self) -> Result<Form, Reason> {
        if let Some(method) = self.top.get("method").and_then(Value::as_str) {
            return Method::parse(method).map(Form::Call);
        }
        let Some(error) = self.top.get("error").and_then(Value::as_object) else {
            return Ok(Form::Success);
        };
        let text = |value: Option<&Value>| {
            value
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or(Reason::InvalidShape)
        };
        Ok(Form::Failure {
            code: error
                .get("code")
                .and_then(Value::as_i64)
                .ok_or(Reason::InvalidShape)?,
            message: text(error.get("message"))?,
            reason: text(self.envelope.get("reason"))?,
        })
    }

    pub(super) fn prove_id(&self, form: &Form, headers: &Headers) -> Result<(), Reason> {
        let id = self.top.get("id");
        let expected = match form {
            Form::Call(method) if method.is_call() => Some(headers.message_id),
            Form::Call(Method::Progress) if headers.in_reply_to.is_none() => {
                return Err(Reason::HeaderMissing);
            }
            Form::Call(_) => None,
            Form::Success | Form::Failure { .. } => {
                Some(headers.in_reply_to.ok_or(Reason::HeaderMissing)?)
            }
        };
        let same = match (id, expected) {
            (Some(id), Some(expected)) => id.as_str() == Some(expected.to_string().as_str()),
            (None, None) => true,
            // JSON-RPC gives an `id` to requests and answers, and none to notifications: this message lacks its `id`, or has
            // one although it must not.
            _ => return Err(Reason::MessageTypeMismatch),
        };
        if same {
            Ok(())
        } else {
            Err(Reason::IdMismatch)
        }
    }

    pub(super) fn signature(&self) -> Result<[u8; 64], Reason> {
        let text = self
            .envelope
            .get("signature")
            .and_then(Value::as_str)
            .ok_or(Reason::InvalidShape)?;
        decode_array(text).map_err(|_| Reason::InvalidShape)
    }
}

pub(super) fn take_body(value: Value) -> Option<Value> {
    let Value::Object(mut top) = value else {
        return None;
    };
    let envelope = match (
        top.remove("params").or_else(|| top.remove("result")),
        top.remove("error"),
    ) {
        (Some(envelope), _) => envelope,
        (None, Some(Value::Object(mut error))) => error.remove("data")?,
        _ => return None,
    };
    let Value::Object(mut envelope) = envelope else {
        return None;
    };
    envelope.remove("body")
}

/// Canonical bytes, and the place of the envelope's signature member in them with its comma.
///
/// The members around the envelope are the protocol's own and ASCII, so that sorting them by bytes
/// is sorting them by UTF-16 code units. `headers` sorts before `signature`: the comma is there.
pub(super) fn write_enveloped(value: &Value, path: &[&str]) -> (Vec<u8>, Range<usize>) {
    let mut out = Vec::with_capacity(1024);
    let mut span = 0..0;
    write_level(value, Some(path), &mut out, &mut span);
    (out, span)
}

fn write_level(value: &Value, path: Option<&[&str]>, out: &mut Vec<u8>, span: &mut Range<usize>) {
    let (Some(path), Some(object)) = (path, value.as_object()) else {
        return signet_json::write_canonical(value, out);
    };
    let mut members: Vec<(&String, &Value)> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    out.push(b'{');
    for (index, (name, member)) in members.into_iter().enumerate() {
        let start = out.len();
        if index > 0 {
            out.push(b',');
        }
        signet_json::write_string(name, out);
        out.push(b':');
        let inner = path
            .split_first()
            .filter(|(first, _)| *first == name)
            .map(|(_, rest)| rest);
        write_level(member, inner, out, span);
        if path.is_empty() && name == "signature" {
            *span = start..out.len();
        }
    }
    out.push(b'}');
}
