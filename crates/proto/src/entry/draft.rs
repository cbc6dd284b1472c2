//! The lines of messages that wait.

use std::fmt;
use std::str::FromStr;

use super::derived::{Derived, tier_of};
use super::line::{Line, LineMembers};
#[cfg(test)]
use super::schema_tests::*;
use super::{EntryError, LineKind, LineSubject, LineVersion, SEALED};
use crate::envelope::Sealed;
use crate::headers::{ConversationId, Tier};
use crate::ids::{AgentId, Digest, IdError, KeyId, MessageId};
use signet_json::{Map, Value};

/// A message that waits: its JSON without what signing adds.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftLine {
    /// For whom.
    pub peer: AgentId,
    /// Its name.
    pub message_id: MessageId,
    /// Seconds that it may wait and then live.
    pub life: u64,
    /// The root key that the recipient is bound to, when the person's approval is needed: it must be
    /// the same when the draft leaves.
    pub approve: Option<KeyId>,
    /// The whole message without timestamp, expires-at, key-id, session, sequence, audit-head and
    /// signature; what tiers 3 and 4 carry is sealed for ourselves in it.
    pub message: Value,
    /// What is sealed in it, for our own person.
    pub copy: Option<Sealed>,
    /// The tag of its caller's key and content, when the caller gave one.
    pub client_key: Option<ClientKey>,
}

/// What a line says of its caller's key: 16 bytes of the key's tag and 16 of the content's, spelt as the
/// key-ids are that readers of version 2 expect there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientKey(pub Digest);

impl FromStr for ClientKey {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let key: KeyId = text.parse()?;
        Ok(Self(*key.digest()))
    }
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ed25519:{}", self.0)
    }
}

impl DraftLine {
    /// What is sealed in the message, for ourselves.
    pub fn sealed(&self) -> Option<Sealed> {
        let places = ["/params/sealed", "/result/sealed", "/error/data/sealed"];
        let found = places
            .into_iter()
            .find_map(|place| self.message.pointer(place));
        found.and_then(|sealed| Sealed::parse(sealed).ok())
    }

    /// What the message that waits belongs to.
    pub fn conversation(&self) -> Option<ConversationId> {
        let headers = self.envelope()?.get("headers")?;
        let conversation = headers.get("conversation-id")?.as_str();
        conversation.and_then(|name| name.parse().ok())
    }

    /// The data tier of the message that waits.
    pub fn tier(&self) -> Option<u8> {
        let tier = self.envelope()?.get("headers")?.get("data-tier");
        // A message of tier 1 is sent without the header `data-tier`: so where the header is absent, the tier is 1.
        tier.map_or(Some(1), |tier| tier.as_u64()?.try_into().ok())
    }

    /// What the message carries in clear.
    pub fn body(&self) -> Option<&Value> {
        self.envelope()?.get("body")
    }

    fn envelope(&self) -> Option<&Value> {
        let places = ["/params", "/result", "/error/data"];
        places
            .into_iter()
            .find_map(|place| self.message.pointer(place))
    }

    /// Writes what the message says, in the order of a message's line.
    fn write_derived(&self, line: &mut Line<'_>) {
        let envelope = self.envelope();
        let Some(headers) = envelope.and_then(|envelope| envelope.get("headers")?.as_object())
        else {
            return;
        };
        let method = self.message.get("method").and_then(Value::as_str);
        let method = method.and_then(|method| method.parse().ok());
        let derived = Derived::of_headers(headers, method);
        derived.write_class(line);
        // The caller, `write`, has put the `id` into the line already: leave it out here, or the line would have it twice.
        Derived {
            id: None,
            ..derived
        }
        .write_names(line);
        let tier = tier_of(headers).unwrap_or(1);
        line.number("tier", u64::from(tier));
        let summary = envelope.and_then(|envelope| envelope.get("summary")?.as_str());
        // Messages of tiers 3 and 4 are secret: never write their summary into the log in clear, whatever the draft contains.
        let is_clear = tier < Tier::Sensitive.number();
        line.some("summary", summary.filter(|_| is_clear));
    }
}

impl LineKind for DraftLine {
    fn write(&self, line: &mut Line<'_>) {
        line.text("peer", self.peer.as_str());
        line.message_id(&self.message_id);
        let is_second = line.version >= LineVersion::V2;
        if is_second {
            self.write_derived(line);
        }
        line.number("life", self.life);
        let root = self.approve.map(|root| root.to_string());
        line.some("approve", root.as_deref());
        line.value("message", &self.message);
        line.copy(self.copy.as_ref());
        let key = self.client_key.filter(|_| is_second);
        line.some(CLIENT_KEY, key.map(|key| key.to_string()).as_deref());
    }

    fn parse(mut line: Map<String, Value>) -> Result<Self, EntryError> {
        let message = line.remove("message");
        let members = LineMembers(&line);
        Ok(Self {
            peer: members.parsed("peer")?,
            message_id: members.message_id()?,
            life: members.number("life")?,
            approve: members.given("approve")?,
            copy: members.copy()?,
            client_key: members.given(CLIENT_KEY)?,
            message: message.ok_or(EntryError("message"))?,
        })
    }

    fn about(&self) -> LineSubject {
        LineSubject {
            tier: self.tier(),
            conversation: self.conversation(),
            ..LineSubject::message(&self.peer, self.message_id)
        }
    }

    fn describe(&self) -> String {
        let sealed = self
            .sealed()
            .map_or(String::new(), |_| format!("  {SEALED}"));
        let (peer, life, id) = (&self.peer, self.life, self.message_id);
        format!("{:<12}  {peer:<14}  for {life} s{sealed}  {id}", "waits")
    }

    #[cfg(test)]
    fn shape() -> LineShape {
        LineShape::default()
            .with("peer", common("agent-id"))
            .message_id()
            .derived()
            .required_later("class")
            .later("tier", common("tier"))
            .maybe_later("summary", about("Tiers 1 and 2 only.", text()))
            .with("life", at_least(1))
            .maybe("approve", common("key-id"))
            .with("message", serde_json::json!({"type": "object"}))
            .maybe("copy", copy())
    }
}

const CLIENT_KEY: &str = "client-key";
