//! From [`Draft`] to [`Signed`]: the only way by which bytes leave.

mod identity;
mod stored;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rand_core::CryptoRngCore;
use signet_json::Value;

use crate::envelope::{Form, MAX_MESSAGE, Message, Method, UnsignedParts, Unverified, attach};
use crate::headers::{CapabilityName, ConversationId, Headers, Tier};
use crate::ids::{AgentId, Digest, MessageId, SessionId, Version};
use crate::keys::{Purpose, SealKey, SigningKey};
use crate::reject::Reason;
use crate::schema;
use crate::seal::{self, Sealed};
use crate::time::Timestamp;

pub use identity::Identity;
pub use stored::StoredDraft;

/// How long a message lives when its sender does not say: a weekend.
pub const LIFE: Duration = Duration::from_secs(72 * 3600);
/// The longest life of a message.
pub const LONGEST_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// The longest life of a flight.
pub const FLIGHT_LIFE: Duration = Duration::from_secs(300);

/// A message of ours before it is signed, in clear; it does not print what will be sealed.
#[derive(Clone, PartialEq)]
pub struct Draft {
    /// Its JSON-RPC form.
    pub form: Form,
    /// For whom.
    pub recipient: AgentId,
    /// Its name.
    pub message_id: MessageId,
    /// One line for people.
    pub summary: Option<String>,
    /// What it carries.
    pub body: Option<Value>,
    /// How careful its readers must be.
    pub data_tier: Tier,
    /// What is asked for.
    pub capability: Option<CapabilityName>,
    /// What it belongs to.
    pub conversation_id: Option<ConversationId>,
    /// The request it answers; for a call, the first call of the chain that it continues.
    pub in_reply_to: Option<MessageId>,
    /// How often the conversation was passed on.
    pub hops: u8,
    /// How long it lives.
    pub life: Duration,
}

/// What signing adds.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// The time of signing.
    pub now: Timestamp,
    /// The session; none in the handshake.
    pub session: Option<SessionId>,
    /// The number; none in the handshake and on receipts.
    pub sequence: Option<u64>,
    /// SHA-256 of our last durable audit line.
    pub audit_head: Option<Digest>,
    /// The session's version.
    pub version: Version,
}

/// A message of ours with its signature: **the only thing that serialises**.
#[derive(Clone, Debug, PartialEq)]
pub struct Signed(Arc<Message>);

impl Signed {
    /// The bytes to send: canonical JSON.
    pub fn bytes(&self) -> &Arc<[u8]> {
        self.0.canonical()
    }

    /// For whom.
    pub fn recipient(&self) -> &AgentId {
        &self.0.headers.recipient_id
    }

    /// What it says.
    pub fn message(&self) -> &Arc<Message> {
        &self.0
    }

    fn of(outgoing: UnsignedParts<'_>, key: &SigningKey) -> Result<Self, Reason> {
        let unsigned = outgoing.canonical();
        let signature = key.sign(Purpose::Message, &[unsigned.bytes()]);
        // Check our own message by reading it with the fast reader, which builds no tree: every recipient takes what this
        // reader takes (decision 17 in docs/decisions).
        if let Some(read) = Unverified::parse_canonical(&unsigned.with(&signature)) {
            return Ok(Self(Arc::new(read.into_message())));
        }
        // The fast reader gave up: it does not cover messages of this kind, or a recipient would refuse this message. The
        // schema and the full parser tell which.
        let mut value = outgoing.to_value();
        attach(&mut value, &signature);
        schema::fit_message(&value)?;
        let message = Message::from_value(value)?;
        if message.canonical().len() > MAX_MESSAGE {
            return Err(Reason::TooLarge);
        }
        Ok(Self(Arc::new(message)))
    }

    /// A message that was signed before, in another form: with a time and a number of its own, and the same
    /// name, content and life.
    pub(crate) fn anew(
        message: &Message,
        identity: &Identity,
        stamp: Stamp,
    ) -> Result<Self, Reason> {
        let old = &message.headers;
        let life = old.expires_at.since(old.timestamp);
        let headers = Headers {
            timestamp: stamp.now,
            version: stamp.version,
            layers: identity.layers,
            expires_at: stamp.now.saturating_add(life),
            key_id: identity.signing.public().id(),
            session: stamp.session,
            sequence: stamp.sequence,
            audit_head: stamp.audit_head,
            ..old.clone()
        };
        let outgoing = UnsignedParts {
            form: &message.form,
            headers: &headers,
            summary: message.summary.as_deref(),
            body: message.body(),
            sealed: message.sealed.as_ref(),
        };
        Self::of(outgoing, &identity.signing)
    }

    /// A message that was signed before and goes out again, byte for byte.
    pub(crate) fn again(message: Arc<Message>) -> Self {
        Self(message)
    }
}

impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Draft");
        out.field("form", &self.form)
            .field("recipient", &self.recipient)
            .field("message_id", &self.message_id)
            .field("data_tier", &self.data_tier)
            .field("in_reply_to", &self.in_reply_to);
        if !self.wants_seal() {
            out.field("summary", &self.summary)
                .field("body", &self.body);
        }
        out.finish_non_exhaustive()
    }
}

impl Draft {
    /// A call of the agent's own making.
    pub fn call(method: Method, recipient: AgentId, message_id: MessageId, body: Value) -> Self {
        Self {
            form: Form::Call(method),
            recipient,
            message_id,
            summary: None,
            body: Some(body),
            data_tier: Tier::Public,
            capability: None,
            conversation_id: None,
            in_reply_to: None,
            hops: 1,
            life: LIFE,
        }
    }

    /// An answer to `request`: same conversation, at least its tier, one hop more.
    pub fn answer(
        form: Form,
        request: &Message,
        message_id: MessageId,
        body: Option<Value>,
    ) -> Self {
        let headers = &request.headers;
        Self {
            form,
            recipient: headers.agent_id.clone(),
            message_id,
            summary: None,
            body,
            data_tier: headers.data_tier,
            capability: headers.capability.clone(),
            conversation_id: headers.conversation_id.clone(),
            in_reply_to: Some(headers.message_id),
            hops: headers.hops.saturating_add(1),
            life: LIFE,
        }
    }

    /// Whether it carries nothing, such as the error that refuses a request.
    pub fn is_empty(&self) -> bool {
        self.summary.is_none() && self.body.is_none()
    }

    /// Whether it shows everybody that it says nothing beyond its headers.
    pub(crate) fn is_silent(&self) -> bool {
        let says_nothing = self.body.as_ref().is_none_or(Value::is_null);
        self.summary.is_none() && says_nothing && !self.wants_seal()
    }

    /// Signs it, when it may travel in clear.
    ///
    /// # Errors
    /// `seal-required`, `too-large`, or what a recipient would say of its shape.
    pub fn sign(self, identity: &Identity, stamp: Stamp) -> Result<Signed, Reason> {
        if self.wants_seal() {
            return Err(Reason::SealRequired);
        }
        self.sign_by(&identity.signing, identity, stamp)
    }

    /// Signs what may travel in clear with a key that is, or was, `identity`'s.
    pub(crate) fn sign_by(
        self,
        key: &SigningKey,
        identity: &Identity,
        stamp: Stamp,
    ) -> Result<Signed, Reason> {
        let mut headers = self.headers(identity, stamp);
        headers.key_id = key.public().id();
        Signed::of(self.in_clear(&headers), key)
    }

    /// Seals for `to` what tiers 3 and 4 carry, and signs. The second box, when something was sealed
    /// and our person has an audit key, is the log's: the same plaintext for that key.
    ///
    /// # Errors
    /// `too-large`, or what a recipient would say of its shape.
    pub fn seal_and_sign(
        self,
        identity: &Identity,
        stamp: Stamp,
        to: SealKey,
        rng: &mut impl CryptoRngCore,
    ) -> Result<(Signed, Option<Sealed>), Reason> {
        if !self.wants_seal() {
            return Ok((self.sign(identity, stamp)?, None));
        }
        let headers = self.headers(identity, stamp);
        let (sealed, copy) = self.seal(identity, &headers, to, rng)?;
        let outgoing = self.in_box(&headers, &sealed);
        Ok((Signed::of(outgoing, &identity.signing)?, copy))
    }

    fn in_clear<'a>(&'a self, headers: &'a Headers) -> UnsignedParts<'a> {
        UnsignedParts {
            form: &self.form,
            headers,
            summary: self.summary.as_deref(),
            body: self.body.as_ref(),
            sealed: None,
        }
    }

    fn in_box<'a>(&'a self, headers: &'a Headers, sealed: &'a Sealed) -> UnsignedParts<'a> {
        UnsignedParts {
            form: &self.form,
            headers,
            summary: None,
            body: None,
            sealed: Some(sealed),
        }
    }

    fn wants_seal(&self) -> bool {
        self.data_tier.is_sealed() && !self.is_empty()
    }

    fn seal(
        &self,
        identity: &Identity,
        headers: &Headers,
        to: SealKey,
        rng: &mut impl CryptoRngCore,
    ) -> Result<(Sealed, Option<Sealed>), Reason> {
        let plaintext = seal::plaintext(headers, self.summary.as_deref(), self.body.as_ref())?;
        let sealed = Sealed::seal(to, &plaintext, rng)?;
        let copy = identity.copy_of(&plaintext, rng)?;
        Ok((sealed, copy))
    }

    fn headers(&self, identity: &Identity, stamp: Stamp) -> Headers {
        Headers {
            agent_id: identity.agent().clone(),
            principal_id: identity.certificate.principal.clone(),
            // Take `timestamp` and `expires_at` from one reading of the clock: with two readings, a flight could live longer
            // than its recipient allows.
            timestamp: stamp.now,
            message_type: self.form.message_type(),
            version: stamp.version,
            layers: identity.layers,
            recipient_id: self.recipient.clone(),
            message_id: self.message_id,
            expires_at: stamp.now.saturating_add(self.life),
            key_id: identity.signing.public().id(),
            session: stamp.session,
            sequence: stamp.sequence,
            data_tier: self.data_tier,
            capability: self.capability.clone(),
            conversation_id: self.conversation_id.clone(),
            in_reply_to: self.in_reply_to,
            audit_head: stamp.audit_head,
            hops: self.hops,
        }
    }
}
