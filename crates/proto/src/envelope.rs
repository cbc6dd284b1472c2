//! One message: its JSON-RPC form, its headers, and the one function by which bytes become it.
//!
//! ```text
//! bytes ──Unverified::parse──▶ Unverified ──verify──▶ Verified ──Node──▶ Accepted
//! Draft ──sign──▶ Signed ──▶ bytes
//! ```
//!
//! Only [`Unverified`] is made from bytes and only [`Signed`](crate::draft::Signed) gives bytes back.

use std::ops::Range;
use std::sync::Arc;

use crate::headers::{Headers, MessageType};
use crate::ids::{Digest, MessageId, decode_base64url, encode_base64url};
use crate::json::{self, Limits, Map, Value};
use crate::reject::Reason;
use crate::schema;

/// The largest message, in bytes: NATS limits a payload to 256 KiB with its headers.
pub const MAX_MESSAGE: usize = Limits::MESSAGE.bytes;

/// The methods of signet/1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// `agent.request`
    Request,
    /// `agent.notification`
    Notification,
    /// `agent.handoff`
    Handoff,
    /// `agent.receipt`
    Receipt,
    /// `agent.revoke`
    Revoke,
    /// `agent.pause`
    Pause,
    /// `agent.resume`
    Resume,
    /// `agent.announce`: flight 1
    Announce,
    /// `agent.verify`: flight 2
    Verify,
    /// `agent.capability`: flight 3
    Capability,
    /// `agent.trust`: flight 4
    Trust,
}

impl Method {
    /// Every method.
    pub const ALL: [Self; 11] = [
        Self::Request,
        Self::Notification,
        Self::Handoff,
        Self::Receipt,
        Self::Revoke,
        Self::Pause,
        Self::Resume,
        Self::Announce,
        Self::Verify,
        Self::Capability,
        Self::Trust,
    ];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "agent.request",
            Self::Notification => "agent.notification",
            Self::Handoff => "agent.handoff",
            Self::Receipt => "agent.receipt",
            Self::Revoke => "agent.revoke",
            Self::Pause => "agent.pause",
            Self::Resume => "agent.resume",
            Self::Announce => "agent.announce",
            Self::Verify => "agent.verify",
            Self::Capability => "agent.capability",
            Self::Trust => "agent.trust",
        }
    }

    /// The `message-type` that goes with it.
    pub const fn message_type(self) -> MessageType {
        match self {
            Self::Request => MessageType::Request,
            Self::Handoff => MessageType::Handoff,
            _ => MessageType::Notification,
        }
    }

    /// Whether it is one of the four flights.
    pub const fn is_handshake(self) -> bool {
        matches!(
            self,
            Self::Announce | Self::Verify | Self::Capability | Self::Trust
        )
    }

    /// Whether the call carries an `id` and wants an answer.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Request | Self::Handoff)
    }

    fn parse(text: &str) -> Result<Self, Reason> {
        Self::ALL
            .into_iter()
            .find(|method| method.as_str() == text)
            .ok_or(Reason::MethodNotFound)
    }
}

/// The JSON-RPC 2.0 form of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A call; with an `id` when the method wants an answer.
    Call(Method),
    /// A successful response.
    Success,
    /// A failed response.
    Failure {
        /// JSON-RPC's error code.
        code: i64,
        /// For a person.
        message: String,
        /// The stable name, from the table of reasons or a later table.
        reason: String,
    },
}

impl Form {
    /// The method, when it is a call.
    pub const fn method(&self) -> Option<Method> {
        match self {
            Self::Call(method) => Some(*method),
            Self::Success | Self::Failure { .. } => None,
        }
    }

    /// The `message-type` that goes with it.
    pub const fn message_type(&self) -> MessageType {
        match self {
            Self::Call(method) => method.message_type(),
            Self::Success | Self::Failure { .. } => MessageType::Response,
        }
    }
}

/// What a message says, whoever says so. It proves nothing by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Its JSON-RPC form.
    pub form: Form,
    /// Its headers.
    pub headers: Headers,
    /// One line for people.
    pub summary: Option<String>,
    /// What it carries.
    pub body: Option<Value>,
    signature: [u8; 64],
    canonical: Arc<[u8]>,
    span: Range<usize>,
    hash: Digest,
}

impl Message {
    /// The canonical bytes (RFC 8785), with the signature.
    pub fn canonical(&self) -> &Arc<[u8]> {
        &self.canonical
    }

    /// The hash of the message: SHA-256 of its canonical bytes with the signature.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The Ed25519 signature.
    pub fn signature(&self) -> &[u8; 64] {
        &self.signature
    }

    /// The canonical bytes without the signature, in two parts: what the signature is over.
    pub fn signed_parts(&self) -> [&[u8]; 2] {
        let before = self.canonical.get(..self.span.start).unwrap_or_default();
        let after = self.canonical.get(self.span.end..).unwrap_or_default();
        [before, after]
    }

    /// Takes a message apart that was parsed strictly and fits the schema.
    ///
    /// # Errors
    /// The reason of check V03 or V04 that it fails.
    pub fn from_value(value: Value) -> Result<Self, Reason> {
        let parts = Parts::of(&value)?;
        let headers = Headers::parse(parts.headers)?;
        let form = parts.form()?;
        if headers.message_type != form.message_type() {
            return Err(Reason::MessageTypeMismatch);
        }
        parts.prove_id(&form, &headers)?;
        let signature = parts.signature()?;
        let summary = parts
            .envelope
            .get("summary")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let (canonical, span) = write_enveloped(&value, parts.path);
        let body = take_body(value);
        let hash = Digest::of(&[&canonical]);
        Ok(Self {
            form,
            headers,
            summary,
            body,
            signature,
            canonical: canonical.into(),
            span,
            hash,
        })
    }
}

/// A message parsed strictly and of the right shape: **the only thing that bytes can become**.
#[derive(Clone, Debug)]
pub struct Unverified {
    message: Message,
}

impl Unverified {
    /// Checks V01 to V04: size, strict JSON, shape, headers.
    ///
    /// # Errors
    /// The first check that fails, with what the bytes *claim* as far as they could be read.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unparsed> {
        let value = json::parse(bytes, Limits::MESSAGE)
            .map_err(|error| Unparsed::new(bytes, error.into(), None))?;
        if value.is_array() {
            return Err(Unparsed::new(bytes, Reason::BatchUnsupported, None));
        }
        if let Err(reason) = schema::fit_message(&value) {
            return Err(Unparsed::new(bytes, reason, Some(&value)));
        }
        let claimed = Claimed::of(&value);
        match Message::from_value(value) {
            Ok(message) => Ok(Self { message }),
            Err(reason) => Err(Unparsed {
                reason,
                hash: Digest::of(&[bytes]),
                claimed,
            }),
        }
    }

    /// What it says, unproven.
    pub fn claims(&self) -> &Message {
        &self.message
    }

    pub(crate) fn into_message(self) -> Message {
        self.message
    }

    pub(crate) fn of_message(message: Message) -> Self {
        Self { message }
    }
}

/// Bytes that did not become a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unparsed {
    /// Why not.
    pub reason: Reason,
    /// SHA-256 of the bytes.
    pub hash: Digest,
    /// What they claim.
    pub claimed: Claimed,
}

impl Unparsed {
    fn new(bytes: &[u8], reason: Reason, value: Option<&Value>) -> Self {
        Self {
            reason,
            hash: Digest::of(&[bytes]),
            claimed: value.map(Claimed::of).unwrap_or_default(),
        }
    }
}

/// Unproven words of an unproven message, kept for the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// `agent-id`, when it is a possible one.
    pub agent: Option<crate::ids::AgentId>,
    /// `message-type`, when it is one of the four.
    pub message_type: Option<MessageType>,
}

impl Claimed {
    fn of(value: &Value) -> Self {
        let Ok(parts) = Parts::of(value) else {
            return Self::default();
        };
        let text = |name: &str| parts.headers.get(name).and_then(Value::as_str);
        Self {
            agent: text("agent-id").and_then(|text| text.parse().ok()),
            message_type: text("message-type").and_then(|text| text.parse().ok()),
        }
    }
}

impl From<json::JsonError> for Reason {
    fn from(error: json::JsonError) -> Self {
        error.name().parse().unwrap_or(Self::MalformedJson)
    }
}

/// The places of the envelope in the three forms.
struct Parts<'a> {
    top: &'a Map<String, Value>,
    path: &'static [&'static str],
    envelope: &'a Map<String, Value>,
    headers: &'a Map<String, Value>,
}

impl<'a> Parts<'a> {
    fn of(value: &'a Value) -> Result<Self, Reason> {
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

    fn form(&self) -> Result<Form, Reason> {
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

    fn prove_id(&self, form: &Form, headers: &Headers) -> Result<(), Reason> {
        let id = self.top.get("id");
        let expected = match form {
            Form::Call(method) if method.is_call() => Some(headers.message_id),
            Form::Call(_) => None,
            Form::Success | Form::Failure { .. } => {
                Some(headers.in_reply_to.ok_or(Reason::HeaderMissing)?)
            }
        };
        let same = match (id, expected) {
            (Some(id), Some(expected)) => id.as_str() == Some(expected.to_string().as_str()),
            (None, None) => true,
            // A call without `id` under a calling method, or an `id` on a notification.
            _ => return Err(Reason::MessageTypeMismatch),
        };
        if same {
            Ok(())
        } else {
            Err(Reason::IdMismatch)
        }
    }

    fn signature(&self) -> Result<[u8; 64], Reason> {
        let text = self
            .envelope
            .get("signature")
            .and_then(Value::as_str)
            .ok_or(Reason::InvalidShape)?;
        let bytes = decode_base64url(text).map_err(|_| Reason::InvalidShape)?;
        bytes.try_into().map_err(|_| Reason::InvalidShape)
    }
}

fn take_body(value: Value) -> Option<Value> {
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
fn write_enveloped(value: &Value, path: &[&str]) -> (Vec<u8>, Range<usize>) {
    let mut out = Vec::with_capacity(1024);
    let mut span = 0..0;
    write_level(value, Some(path), &mut out, &mut span);
    (out, span)
}

fn write_level(value: &Value, path: Option<&[&str]>, out: &mut Vec<u8>, span: &mut Range<usize>) {
    let (Some(path), Some(object)) = (path, value.as_object()) else {
        return json::write_canonical(value, out);
    };
    let mut members: Vec<(&String, &Value)> = object.iter().collect();
    members.sort_unstable_by_key(|(name, _)| *name);
    out.push(b'{');
    for (index, (name, member)) in members.into_iter().enumerate() {
        let start = out.len();
        if index > 0 {
            out.push(b',');
        }
        json::write_string(name, out);
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
) -> Value {
    let mut envelope = Map::new();
    envelope.insert("headers".into(), headers.to_value());
    if let Some(summary) = summary {
        envelope.insert("summary".into(), summary.into());
    }
    if let Some(body) = body {
        envelope.insert("body".into(), body);
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
