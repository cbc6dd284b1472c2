//! From [`Draft`] to [`Signed`]: the only way by which bytes leave.

use std::sync::Arc;
use std::time::Duration;

use crate::certificate::{Certificate, ControlCertificate, KeyStatement};
use crate::envelope::{Form, MAX_MESSAGE, Message, Method, assemble, attach};
use crate::headers::{CapabilityName, ConversationId, Headers, Layers};
use crate::ids::{AgentId, Digest, KeyId, MessageId, SessionId, Version};
use crate::json::{Map, Value, canonical};
use crate::keys::{Purpose, SealKey, SealSecret, SigningKey};
use crate::reject::Reason;
use crate::schema;
use crate::time::Timestamp;

/// How long a message lives when its sender does not say: a weekend.
pub const LIFE: Duration = Duration::from_secs(72 * 3600);
/// The longest life of a message.
pub const LONGEST_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// The longest life of a flight.
pub const FLIGHT_LIFE: Duration = Duration::from_secs(300);

/// Who we are: names, keys and what others certify of us.
#[derive(Debug)]
pub struct Identity {
    /// Our certificate.
    pub certificate: Certificate,
    /// Our key statement.
    pub keys: KeyStatement,
    /// The key that the certificate names.
    pub signing: SigningKey,
    /// Keys that signed before it: they sign the receipts of the sessions that they opened, and
    /// nothing else.
    pub former: Vec<SigningKey>,
    /// The skill layers that we have loaded, within the certificate's.
    pub layers: Layers,
    /// The secrets of our sealing keys that are not destroyed yet, the one of `keys` among them.
    pub secrets: Vec<SealSecret>,
    /// Our person's own keys: who approves and pauses, and for whom the log is sealed once more.
    pub control: Option<ControlCertificate>,
}

impl Identity {
    /// Our agent-id.
    pub fn agent(&self) -> &AgentId {
        &self.certificate.agent
    }

    /// Our signing key `key`, now or formerly, when we still have it.
    pub fn signer(&self, key: KeyId) -> Option<&SigningKey> {
        std::iter::once(&self.signing)
            .chain(&self.former)
            .find(|signer| signer.public().id() == key)
    }

    /// The secret of the sealing key `key`, when we still have it.
    pub fn secret(&self, key: SealKey) -> Option<&SealSecret> {
        self.secrets.iter().find(|secret| secret.public() == key)
    }
}

/// A message of ours before it is signed.
#[derive(Clone, Debug, PartialEq)]
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
    /// 1 to 4.
    pub data_tier: u8,
    /// What is asked for.
    pub capability: Option<CapabilityName>,
    /// What it belongs to.
    pub conversation_id: Option<ConversationId>,
    /// The request it answers.
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

    /// A message that was signed before and goes out again, byte for byte.
    pub(crate) fn again(message: Arc<Message>) -> Self {
        Self(message)
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
            data_tier: 1,
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

    /// Signs it.
    ///
    /// # Errors
    /// `too-large`, or what a recipient would say of its shape.
    pub fn sign(self, identity: &Identity, stamp: Stamp) -> Result<Signed, Reason> {
        self.sign_by(&identity.signing, identity, stamp)
    }

    /// Signs it with a key that is, or was, `identity`'s.
    pub(crate) fn sign_by(
        self,
        key: &SigningKey,
        identity: &Identity,
        stamp: Stamp,
    ) -> Result<Signed, Reason> {
        let mut headers = self.headers(identity, stamp);
        headers.key_id = key.public().id();
        let mut value = assemble(&self.form, &headers, self.summary.as_deref(), self.body);
        let signature = key.sign(Purpose::Message, &[&canonical(&value)]);
        attach(&mut value, &signature);
        schema::fit_message(&value)?;
        let message = Message::from_value(value)?;
        if message.canonical().len() > MAX_MESSAGE {
            return Err(Reason::TooLarge);
        }
        Ok(Signed(Arc::new(message)))
    }

    /// The draft as the log keeps it: without what signing adds.
    pub fn to_value(&self, identity: &Identity, now: Timestamp) -> Value {
        let stamp = Stamp {
            now,
            session: None,
            sequence: None,
            audit_head: None,
            version: Version::CURRENT,
        };
        let headers = self.headers(identity, stamp);
        let mut value = assemble(
            &self.form,
            &headers,
            self.summary.as_deref(),
            self.body.clone(),
        );
        if let Some(headers) =
            envelope_mut(&mut value).and_then(|envelope| envelope.get_mut("headers"))
        {
            for name in ["timestamp", "expires-at", "key-id"] {
                headers
                    .as_object_mut()
                    .and_then(|headers| headers.remove(name));
            }
        }
        value
    }

    /// Reads a draft back from the log.
    ///
    /// # Errors
    /// As for a message that does not fit.
    pub fn parse(mut value: Value, life: Duration) -> Result<Self, Reason> {
        let envelope = envelope_mut(&mut value).ok_or(Reason::InvalidShape)?;
        let headers = envelope
            .get_mut("headers")
            .and_then(Value::as_object_mut)
            .ok_or(Reason::HeaderMissing)?;
        // What signing will replace: any well-formed values do.
        for (name, text) in [
            ("timestamp", "1970-01-01T00:00:00Z"),
            ("expires-at", "1970-01-01T00:00:00Z"),
            (
                "key-id",
                "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            ),
        ] {
            headers.insert(name.into(), text.into());
        }
        attach(&mut value, &[0; 64]);
        let message = Message::from_value(value)?;
        Ok(Self {
            form: message.form,
            recipient: message.headers.recipient_id,
            message_id: message.headers.message_id,
            summary: message.summary,
            body: message.body,
            data_tier: message.headers.data_tier,
            capability: message.headers.capability,
            conversation_id: message.headers.conversation_id,
            in_reply_to: message.headers.in_reply_to,
            hops: message.headers.hops,
            life,
        })
    }

    fn headers(&self, identity: &Identity, stamp: Stamp) -> Headers {
        Headers {
            agent_id: identity.agent().clone(),
            principal_id: identity.certificate.principal.clone(),
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

fn envelope_mut(value: &mut Value) -> Option<&mut Map<String, Value>> {
    let place = ["/params", "/result", "/error/data"]
        .into_iter()
        .find(|place| value.pointer(place).is_some())?;
    value.pointer_mut(place)?.as_object_mut()
}
