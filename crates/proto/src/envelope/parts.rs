//! Where the envelope stands in each form: taking a message apart, and putting one together.

use std::ops::Range;

use signet_json::{Map, Value};

use super::form::Form;
use super::sealed::Sealed;
use crate::headers::Headers;
use crate::ids::{MessageId, decode_array, encode_base64url};
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
            // One of the two is missing: a call without `id` under a calling method, or an `id` on a notification.
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

/// The JSON of a message without its signature, ready to be signed.
pub(crate) fn assemble(
    form: &Form,
    headers: &Headers,
    summary: Option<&str>,
    body: Option<Value>,
    sealed: Option<&Sealed>,
) -> Value {
    let mut envelope = Map::new();
    envelope.insert("headers".into(), headers.to_value());
    if let Some(summary) = summary {
        envelope.insert("summary".into(), summary.into());
    }
    if let Some(body) = body {
        envelope.insert("body".into(), body);
    }
    if let Some(sealed) = sealed {
        envelope.insert("sealed".into(), sealed.to_value());
    }
    let mut top = Map::new();
    top.insert("jsonrpc".into(), "2.0".into());
    let id = |id: Option<MessageId>| Value::from(id.map(|id| id.to_string()).unwrap_or_default());
    match form {
        Form::Call(method) => {
            top.insert("method".into(), method.as_str().into());
            if method.is_call() {
                top.insert("id".into(), id(Some(headers.message_id)));
            }
            top.insert("params".into(), Value::Object(envelope));
        }
        Form::Success => {
            top.insert("id".into(), id(headers.in_reply_to));
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
            top.insert("id".into(), id(headers.in_reply_to));
            top.insert("error".into(), Value::Object(error));
        }
    }
    Value::Object(top)
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
