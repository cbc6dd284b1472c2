//! The headers: six of identity, six of delivery, eight optional (docs/protocol.md, Headers).

mod tier;

use std::fmt;
use std::str::FromStr;

use signet_json::{Map, Value};
use smol_str::SmolStr;

use crate::ids::{AgentId, Digest, KeyId, MessageId, PrincipalId, SessionId, Version};
use crate::reject::Reason;
use crate::time::Timestamp;
use crate::words::words;

pub use tier::Tier;

words! {
    /// The four kinds of message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum MessageType {
        /// Asks for an answer.
        Request "request",
        /// Answers one request.
        Response "response",
        /// Tells, and wants no answer.
        Notification "notification",
        /// Hands work over.
        Handoff "handoff",
    }
}

impl MessageType {
    /// Whether it is answered.
    pub(crate) const fn is_answered(self) -> bool {
        matches!(self, Self::Request | Self::Handoff)
    }
}

impl FromStr for MessageType {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        Self::of(text).ok_or(Reason::HeaderInvalid)
    }
}

impl fmt::Display for MessageType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of skill layers, 0 to 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Layers(u16);

impl Layers {
    /// The layers in `list`; numbers above 15 are left out.
    pub fn of(list: &[u8]) -> Self {
        Self(
            list.iter()
                .filter(|layer| **layer < 16)
                .fold(0, |set, layer| set | 1 << layer),
        )
    }

    /// Takes one layer more; nothing for a number above 15, and for a layer that is there already.
    pub(crate) fn add(&mut self, layer: u8) -> Option<()> {
        let bit = 1_u16.checked_shl(u32::from(layer))?;
        let is_new = self.0 & bit == 0;
        self.0 |= bit;
        is_new.then_some(())
    }

    /// Whether every layer of `self` is in `other`.
    pub const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The layers of `self` that `other` has not.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The layers that both have.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The layers, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..16_u8).filter(move |layer| self.0 >> layer & 1 == 1)
    }

    /// The layers as the wire writes them, ascending.
    pub fn to_value(self) -> Value {
        self.iter().map(Value::from).collect()
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (number, layer) in self.iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            write!(f, "{comma}{layer}")?;
        }
        Ok(())
    }
}

impl TryFrom<&Value> for Layers {
    type Error = Reason;

    fn try_from(value: &Value) -> Result<Self, Reason> {
        let items = value.as_array().ok_or(Reason::HeaderInvalid)?;
        let mut set = Self::default();
        for item in items {
            let layer = item.as_u64().and_then(|layer| u8::try_from(layer).ok());
            let added = layer.and_then(|layer| set.add(layer));
            added.ok_or(Reason::HeaderInvalid)?;
        }
        Ok(set)
    }
}

/// The name of a capability: `[a-z0-9][a-z0-9.-]{0,126}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CapabilityName(SmolStr);

impl CapabilityName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CapabilityName {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        let inner = |byte: &u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-')
        };
        let first = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let holds = text.len() <= 127
            && text.as_bytes().first().is_some_and(first)
            && text.bytes().all(|b| inner(&b));
        if holds {
            Ok(Self(SmolStr::new(text)))
        } else {
            Err(Reason::HeaderInvalid)
        }
    }
}

impl fmt::Display for CapabilityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a conversation: 1 to 128 of `[A-Za-z0-9._:-]`, chosen by whoever opens it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConversationId(SmolStr);

impl ConversationId {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ConversationId {
    type Err = Reason;

    fn from_str(text: &str) -> Result<Self, Reason> {
        let known =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
        let holds = (1..=128).contains(&text.len()) && text.bytes().all(known);
        if holds {
            Ok(Self(SmolStr::new(text)))
        } else {
            Err(Reason::HeaderInvalid)
        }
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The headers of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headers {
    /// Who sends.
    pub agent_id: AgentId,
    /// For whom the sender acts.
    pub principal_id: PrincipalId,
    /// When it was signed.
    pub timestamp: Timestamp,
    /// Which of the four kinds it is.
    pub message_type: MessageType,
    /// The version of the trust layer.
    pub version: Version,
    /// What the sender has committed to.
    pub layers: Layers,
    /// For whom it is.
    pub recipient_id: AgentId,
    /// Its name, used once.
    pub message_id: MessageId,
    /// When it stops being good.
    pub expires_at: Timestamp,
    /// The key that signed it.
    pub key_id: KeyId,
    /// The session and the number in it; absent in the handshake. A receipt has only the session.
    pub session: Option<SessionId>,
    /// From 1 in each session and direction.
    pub sequence: Option<u64>,
    /// Tier 1 when absent.
    pub data_tier: Tier,
    /// What is asked for.
    pub capability: Option<CapabilityName>,
    /// What it belongs to.
    pub conversation_id: Option<ConversationId>,
    /// The request it answers.
    pub in_reply_to: Option<MessageId>,
    /// SHA-256 of the sender's last durable audit line.
    pub audit_head: Option<Digest>,
    /// How often the conversation was passed on; 1 when absent.
    pub hops: u8,
}

const MANDATORY: usize = 10;
pub(crate) const MAX_SEQUENCE: u64 = (1 << 53) - 1;

impl Headers {
    /// Reads the headers (check V04).
    ///
    /// # Errors
    /// `header-missing`, `header-unknown` or `header-invalid`.
    pub fn parse(members: &Map<String, Value>) -> Result<Self, Reason> {
        // Member names are unique, so counting the mandatory names that are present tells whether one is missing.
        if members.keys().filter(|name| is_mandatory(name)).count() < MANDATORY {
            return Err(Reason::HeaderMissing);
        }
        // Look at all names before any value is read: an unknown header is reported before an invalid one (V04).
        if !members
            .keys()
            .all(|name| is_mandatory(name) || is_optional(name))
        {
            return Err(Reason::HeaderUnknown);
        }
        Ok(Self {
            agent_id: parsed(members, "agent-id")?,
            principal_id: parsed(members, "principal-id")?,
            timestamp: parsed(members, "timestamp")?,
            message_type: parsed(members, "message-type")?,
            version: parsed(members, "trust-layer-version")?,
            layers: members
                .get("skill-layers-loaded")
                .ok_or(Reason::HeaderMissing)?
                .try_into()?,
            recipient_id: parsed(members, "recipient-id")?,
            message_id: parsed(members, "message-id")?,
            expires_at: parsed(members, "expires-at")?,
            key_id: parsed(members, "key-id")?,
            session: optional(members, "session")?.map(SessionId),
            sequence: integer(members, "sequence", 1, MAX_SEQUENCE)?,
            data_tier: Tier::parse(small(members, "data-tier")?)?,
            capability: optional(members, "capability")?,
            conversation_id: optional(members, "conversation-id")?,
            in_reply_to: optional(members, "in-reply-to")?,
            audit_head: members.get("audit-head").map(head).transpose()?,
            hops: small(members, "hops")?,
        })
    }

    /// These headers as [`Headers::to_value`] writes them, and so as a line of the log tells them: times to the millisecond,
    /// where a message may have nine digits.
    pub(crate) fn as_written(&self) -> Self {
        let written = |time: Timestamp| Timestamp::from_millis(time.as_millis());
        Self {
            timestamp: written(self.timestamp),
            expires_at: written(self.expires_at),
            ..self.clone()
        }
    }

    /// The headers as a JSON object; absent ones are left out, tier 1 and hop 1 as well.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        put("agent-id", self.agent_id.as_str().into());
        put("principal-id", self.principal_id.as_str().into());
        put("timestamp", self.timestamp.to_string().into());
        put("message-type", self.message_type.as_str().into());
        put("trust-layer-version", self.version.to_string().into());
        put("skill-layers-loaded", self.layers.to_value());
        put("recipient-id", self.recipient_id.as_str().into());
        put("message-id", self.message_id.to_string().into());
        put("expires-at", self.expires_at.to_string().into());
        put("key-id", self.key_id.to_string().into());
        self.session
            .map(|session| put("session", session.to_string().into()));
        self.sequence
            .map(|sequence| put("sequence", sequence.into()));
        (self.data_tier != Tier::Public).then(|| put("data-tier", self.data_tier.number().into()));
        self.capability
            .as_ref()
            .map(|name| put("capability", name.as_str().into()));
        self.conversation_id
            .as_ref()
            .map(|name| put("conversation-id", name.as_str().into()));
        self.in_reply_to
            .map(|id| put("in-reply-to", id.to_string().into()));
        self.audit_head
            .map(|hash| put("audit-head", hash.to_hex().into()));
        (self.hops != 1).then(|| put("hops", self.hops.into()));
        Value::Object(members)
    }
}

fn is_mandatory(name: &str) -> bool {
    matches!(
        name,
        "agent-id"
            | "principal-id"
            | "timestamp"
            | "message-type"
            | "trust-layer-version"
            | "skill-layers-loaded"
            | "recipient-id"
            | "message-id"
            | "expires-at"
            | "key-id"
    )
}

fn is_optional(name: &str) -> bool {
    matches!(
        name,
        "session"
            | "sequence"
            | "data-tier"
            | "capability"
            | "conversation-id"
            | "in-reply-to"
            | "audit-head"
            | "hops"
    )
}

fn parsed<T: FromStr>(members: &Map<String, Value>, name: &str) -> Result<T, Reason> {
    optional(members, name)?.ok_or(Reason::HeaderMissing)
}

fn optional<T: FromStr>(members: &Map<String, Value>, name: &str) -> Result<Option<T>, Reason> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    let text = value.as_str().ok_or(Reason::HeaderInvalid)?;
    text.parse().map(Some).map_err(|_| Reason::HeaderInvalid)
}

fn integer(
    members: &Map<String, Value>,
    name: &str,
    least: u64,
    most: u64,
) -> Result<Option<u64>, Reason> {
    let Some(value) = members.get(name) else {
        return Ok(None);
    };
    value
        .as_u64()
        .filter(|number| (least..=most).contains(number))
        .map(Some)
        .ok_or(Reason::HeaderInvalid)
}

fn small(members: &Map<String, Value>, name: &str) -> Result<u8, Reason> {
    let number = integer(members, name, 1, 255)?.unwrap_or(1);
    u8::try_from(number).map_err(|_| Reason::HeaderInvalid)
}

fn head(value: &Value) -> Result<Digest, Reason> {
    value
        .as_str()
        .and_then(|text| Digest::from_hex(text).ok())
        .ok_or(Reason::HeaderInvalid)
}

impl Version {
    /// 1.0.0: every release speaks it, and flights and orders, which stand outside sessions, are said in it.
    pub const CURRENT: Self = Self {
        major: 1,
        minor: 0,
        patch: 0,
    };

    /// 1.1.0, which brought `agent.progress` and `agent.offer`.
    pub const PROGRESS: Self = Self {
        major: 1,
        minor: 1,
        patch: 0,
    };

    /// The versions that this release speaks, ascending: what a new certificate lists.
    pub const SPOKEN: [Self; 2] = [Self::CURRENT, Self::PROGRESS];
}
