//! A caller's own key for a message: the same call again is the same message, also after a restart.
//!
//! The log tells of it by a tag in the line of the draft (`client-key`): half of it says which key, half
//! which content. Both halves rest on a signature of the agent's key that nobody else can make, so that a
//! reader of the log can guess neither a key nor what was sealed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use signet_json::Value;

use crate::draft::Identity;
use crate::entry::ClientKey;
use crate::ids::{AgentId, Digest, MessageId};
use crate::keys::{Purpose, SigningKey};
use crate::time::Timestamp;

use crate::node::LocalError;

use super::request::{Content, Handing, Sending};

/// How long a key is remembered, counted from its line.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many are remembered; the oldest goes first.
const MOST: usize = 65_536;

/// What a caller names a call by: 1 to 128 of `[A-Za-z0-9._:-]`.
#[derive(Clone, PartialEq, Eq)]
pub struct CallerKey(String);

impl FromStr for CallerKey {
    type Err = LocalError;

    fn from_str(text: &str) -> Result<Self, LocalError> {
        let known =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b':' | b'-');
        match (1..=128).contains(&text.len()) && text.bytes().all(known) {
            true => Ok(Self(text.to_owned())),
            false => Err(LocalError::KeyUnfit),
        }
    }
}

/// It may name something that its caller wants to keep to itself.
impl fmt::Debug for CallerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallerKey(..)")
    }
}

/// The message that a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::node) struct Keyed {
    pub(super) since: Timestamp,
    pub(super) message_id: MessageId,
    content: [u8; HALF],
}

/// The keys of the last 30 days.
#[derive(Clone, Debug, Default)]
pub(in crate::node) struct Keys {
    known: BTreeMap<[u8; HALF], Keyed>,
    /// The oldest first.
    order: BTreeSet<(Timestamp, MessageId, [u8; HALF])>,
}

impl Keys {
    pub(in crate::node) fn note(&mut self, now: Timestamp, message_id: MessageId, tag: &ClientKey) {
        let (key, content) = halves(tag);
        self.put(
            key,
            Keyed {
                since: now,
                message_id,
                content,
            },
        );
        while let Some((since, _, key)) = self.order.first().copied() {
            if self.order.len() <= MOST && now.since(since) < REMEMBERED {
                break;
            }
            self.order.pop_first();
            self.known.remove(&key);
        }
    }

    /// Puts back a key as it was remembered.
    pub(in crate::node) fn put(&mut self, key: [u8; HALF], keyed: Keyed) {
        if let Some(before) = self.known.insert(key, keyed) {
            self.order.remove(&(before.since, before.message_id, key));
        }
        self.order.insert((keyed.since, keyed.message_id, key));
    }

    pub(in crate::node) fn iter(&self) -> impl Iterator<Item = (&[u8; HALF], &Keyed)> {
        self.known.iter()
    }
}

/// What is known of a call with a key.
pub(super) enum Known {
    /// An earlier call with the same content made this message.
    Same(MessageId),
    /// An earlier call with another content made this message.
    Other(MessageId),
    /// No call made any: the line of the draft gets this tag.
    New(ClientKey),
}

impl Keys {
    /// What is known of a call by us with that key and content.
    pub(super) fn look_up(
        &self,
        own: &Identity,
        now: Timestamp,
        key: &CallerKey,
        content: &[u8],
    ) -> Known {
        let tag = tag_of(&own.signing, key, content);
        // A call is remembered by a tag that our signing key makes of the caller's key. Our signing key may have changed since
        // the earlier call: so also look for the tags that our former keys make.
        let former = own.former.iter();
        let mut tags =
            std::iter::once(tag).chain(former.map(|key_before| tag_of(key_before, key, content)));
        let known = tags.find_map(|tag| {
            let (key, content) = halves(&tag);
            let known = self.known.get(&key)?;
            known
                .is_fresh(now)
                .then_some((known.message_id, known.content == content))
        });
        match known {
            Some((message_id, true)) => Known::Same(message_id),
            Some((message_id, false)) => Known::Other(message_id),
            None => Known::New(tag),
        }
    }

    /// The message that a call of ours with that key made, whatever it said.
    pub(super) fn made_under(
        &self,
        own: &Identity,
        now: Timestamp,
        key: &CallerKey,
    ) -> Option<MessageId> {
        match self.look_up(own, now, key, &[]) {
            Known::Same(message_id) | Known::Other(message_id) => Some(message_id),
            Known::New(_) => None,
        }
    }
}

impl Keyed {
    fn is_fresh(&self, now: Timestamp) -> bool {
        now.since(self.since) < REMEMBERED
    }
}

/// How many bytes of a tag tell the key; as many tell the content.
pub(super) const HALF: usize = 16;

fn halves(tag: &ClientKey) -> ([u8; HALF], [u8; HALF]) {
    let (mut key, mut content) = ([0; HALF], [0; HALF]);
    let (first, second) = tag.0.as_bytes().split_at(HALF);
    key.copy_from_slice(first);
    content.copy_from_slice(second);
    (key, content)
}

/// Ed25519 signatures are deterministic (RFC 8032): the same key gives the same tag.
fn tag_of(signing: &SigningKey, key: &CallerKey, content: &[u8]) -> ClientKey {
    let secret = signing.sign(Purpose::ClientKey, &[key.0.as_bytes()]);
    let name = Digest::of(&[b"name\n", &secret]).0;
    let said = Digest::of(&[b"content\n", &secret, content]).0;
    let mut tag = [0; 2 * HALF];
    let halves = name.iter().take(HALF).chain(said.iter().take(HALF));
    for (place, byte) in tag.iter_mut().zip(halves) {
        *place = *byte;
    }
    ClientKey(Digest(tag))
}

/// All that a caller says of a message.
pub(super) fn content_of(peer: &AgentId, sending: &Sending) -> Value {
    let (kind, content) = match sending {
        Sending::Request(content) => ("request", of_content(content)),
        Sending::Notification(content) => ("notification", of_content(content)),
        Sending::Ping => ("ping", Value::Null),
        Sending::Handoff(handing) => ("handoff", of_handing(handing)),
    };
    // Never change the form of this JSON: the log holds hashes of it. With another form, a call that is repeated after an
    // upgrade would have another hash, and be refused as another call under the same key.
    json!({"peer": peer.as_str(), "kind": kind, "content": content})
}

fn of_content(content: &Content) -> Value {
    let continues = content.continues.as_ref();
    json!({
        "summary": content.summary,
        "body": content.body,
        "capability": content.capability.as_ref().map(|name| name.as_str()),
        "conversation": content.conversation_id.as_ref().map(|id| id.as_str()),
        "tier": content.data_tier.unwrap_or_default().number(),
        "life": content.life.map(|life| life.as_secs()),
        "continues": continues.map(|continues| continues.message.to_string()),
        "continues-from": continues.and_then(|continues| continues.from.as_ref()).map(AgentId::as_str),
    })
}

/// Of the limits the time is left out: it is told as a span, and a later call names another end.
fn of_handing(handing: &Handing) -> Value {
    let limits = &handing.limits;
    let names = limits.capabilities.as_ref();
    json!({
        "goal": handing.goal,
        "input": handing.input,
        "parent": handing.parent.map(|task| task.to_string()),
        "summary": handing.summary,
        "tier": handing.data_tier.unwrap_or_default().number(),
        "capabilities": names.map(|names| names.iter().map(|name| name.as_str()).collect::<Vec<_>>()),
        "limit-tier": limits.tier,
        "depth": limits.depth,
    })
}
