//! One message: its JSON-RPC form, its headers, and the one function by which bytes become it.
//!
//! ```text
//! bytes ──Unverified::parse──▶ Unverified ──verify──▶ Verified ──Node──▶ Ruled ──▶ Accepted
//! Draft ──sign──▶ Signed ──▶ bytes
//! ```
//!
//! Only [`Unverified`] is made from bytes and only [`Signed`](crate::draft::Signed) gives bytes back.

mod body;
mod form;
mod one_pass;
mod parts;
mod sealed;
mod unsigned;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::headers::{Headers, MessageType};
use crate::ids::{AgentId, Digest};
use crate::reject::Reason;
use crate::schema;
use signet_json::{Limits, Value};

pub use crate::method::{BodyForm, Class, KeptIn, Method};
use body::Body;
pub use body::HeldBody;
pub use form::Form;
use parts::{Parts, take_body, write_enveloped};
pub use sealed::Sealed;
pub(crate) use unsigned::{UnsignedParts, attach};

/// The largest message, in bytes: NATS limits a payload to 256 KiB with its headers.
pub const MAX_MESSAGE: usize = Limits::MESSAGE.bytes;

/// Characters of a summary, sealed or not (schemas/message.schema.json).
pub(crate) const LONGEST_SUMMARY: usize = 500;

/// What a message says, whoever says so. It proves nothing by itself, and does not print what should
/// have been sealed.
#[derive(Clone)]
pub struct Message {
    /// Its JSON-RPC form.
    pub form: Form,
    /// Its headers.
    pub headers: Headers,
    /// One line for people.
    pub summary: Option<String>,
    body: Option<Body>,
    /// Summary and body of tiers 3 and 4, for the recipient alone.
    pub sealed: Option<Sealed>,
    signature: [u8; 64],
    canonical: Arc<[u8]>,
    span: Range<usize>,
    hash: Digest,
}

impl Message {
    /// Whether it carries in clear what its tier would have sealed.
    pub(crate) fn bares_secrets(&self) -> bool {
        self.headers.data_tier.is_sealed() && (self.summary.is_some() || self.has_body())
    }

    /// What it carries.
    pub fn body(&self) -> Option<&Value> {
        let body = self.body.as_ref()?;
        Some(body.tree(&self.canonical))
    }

    /// What it carries, for whoever takes it away.
    pub fn copy_of_body(&self) -> Option<Value> {
        let body = self.body.as_ref()?;
        Some(body.copy(&self.canonical))
    }

    /// The body in the form in which the message holds it: no text and no tree is made.
    pub fn held_body(&self) -> Option<HeldBody<'_>> {
        let body = self.body.as_ref()?;
        Some(body.held(&self.canonical))
    }

    /// Whether it carries something in clear.
    pub fn has_body(&self) -> bool {
        self.body.is_some()
    }

    /// What the tree of its body takes in memory, about, in bytes.
    pub fn weight_of_body(&self) -> usize {
        self.body.as_ref().map_or(0, Body::weight)
    }

    /// What it carries, moved out of it.
    pub(crate) fn take_body(&mut self) -> Option<Value> {
        let body = self.body.take()?;
        Some(body.into_tree(&self.canonical))
    }

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
        let bodiless = Self::read(&value)?;
        Ok(bodiless.with_body_of(value))
    }

    /// All but the body, which is moved and not copied.
    fn read(value: &Value) -> Result<Self, Reason> {
        let parts = Parts::of(value)?;
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
        let sealed = parts.envelope.get("sealed").map(Sealed::parse);
        // Write the canonical form and its hash last, because they cost the most: a message that fails a check above needs
        // neither.
        let (canonical, span) = write_enveloped(value, parts.path);
        let hash = Digest::of(&[&canonical]);
        Ok(Self {
            form,
            headers,
            summary,
            body: None,
            sealed: sealed.transpose()?,
            signature,
            canonical: canonical.into(),
            span,
            hash,
        })
    }

    fn with_body_of(self, value: Value) -> Self {
        Self {
            body: take_body(value).map(Body::Tree),
            ..self
        }
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Message");
        out.field("form", &self.form)
            .field("headers", &self.headers)
            .field("sealed", &self.sealed)
            .field("hash", &self.hash);
        if !self.headers.data_tier.is_sealed() {
            out.field("summary", &self.summary)
                .field("body", &self.body());
        }
        out.finish_non_exhaustive()
    }
}

/// All that a message says stands in its canonical bytes, its signature too.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.canonical == other.canonical
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
        Self::parse_canonical(bytes).map_or_else(|| Self::parse_any(bytes), Ok)
    }

    /// The fast one of two readers: what [`Unverified::parse_any`] says of these bytes, or nothing. It speaks of most
    /// messages that come in clear and in canonical form.
    pub fn parse_canonical(bytes: &[u8]) -> Option<Self> {
        let message = one_pass::message(bytes)?;
        Some(Self { message })
    }

    /// The reader of every spelling, which alone gives a reason.
    ///
    /// # Errors
    /// As [`Unverified::parse`].
    pub fn parse_any(bytes: &[u8]) -> Result<Self, Unparsed> {
        Self::read(bytes, parse_value(bytes)?)
    }

    /// As [`Unverified::parse`], for documents whose sender is `wanted`; nothing for others.
    pub(crate) fn parse_from(
        bytes: &[u8],
        wanted: impl FnOnce(&AgentId) -> bool,
    ) -> Option<Result<Self, Unparsed>> {
        if let Some(read) = Self::parse_canonical(bytes) {
            return wanted(&read.message.headers.agent_id).then_some(Ok(read));
        }
        // Drop the parser's error: this function serves floods, in which a message that does not parse is only counted, and
        // nobody asks for the reason.
        let value = parse_value(bytes).ok()?;
        let sender = Claimed::of(&value).agent?;
        wanted(&sender).then(|| Self::read(bytes, value))
    }

    fn read(bytes: &[u8], value: Value) -> Result<Self, Unparsed> {
        if value.is_array() {
            return Err(Unparsed::new(bytes, Reason::BatchUnsupported, None));
        }
        if let Err(reason) = schema::fit_message(&value) {
            return Err(Unparsed::new(bytes, reason, Some(&value)));
        }
        match Message::read(&value) {
            Ok(bodiless) => Ok(Self {
                message: bodiless.with_body_of(value),
            }),
            Err(reason) => Err(Unparsed::new(bytes, reason, Some(&value))),
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

fn parse_value(bytes: &[u8]) -> Result<Value, Unparsed> {
    signet_json::parse(bytes, Limits::MESSAGE)
        .map_err(|error| Unparsed::new(bytes, error.into(), None))
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
    pub agent: Option<AgentId>,
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

impl From<signet_json::JsonError> for Reason {
    fn from(error: signet_json::JsonError) -> Self {
        // Every JSON error has the name of a `Reason`, so the fallback is never used.
        error.name().parse().unwrap_or(Self::MalformedJson)
    }
}
