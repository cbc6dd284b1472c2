//! A caller's own key for a message: the same call again is the same message, also after a restart.
//!
//! The log tells of it by a tag in the line of the draft (`client-key`): half of it says which key, half
//! which content. Both halves rest on a signature of the agent's key that nobody else can make, so that a
//! reader of the log can guess neither a key nor what was sealed.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signet_json::{Map, Value, canonical};

use crate::entry::{ClientKey, Tried};
use crate::ids::{AgentId, Digest, MessageId};
use crate::keys::{Purpose, SigningKey};
use crate::time::Timestamp;

use crate::node::request::{Content, Handing, LocalError, Sending};
use crate::node::{At, Node, Outcome};

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

/// What came of a call with a key.
#[derive(Debug)]
pub struct Once {
    /// The message.
    pub message_id: MessageId,
    /// Whether an earlier call made it: then nothing happened now.
    pub again: bool,
    /// What is to be written and done.
    pub outcome: Outcome,
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
    known: HashMap<[u8; HALF], Keyed>,
    /// The oldest first.
    order: BTreeSet<(Timestamp, MessageId, [u8; HALF])>,
}

impl Keys {
    pub(super) fn note(&mut self, now: Timestamp, message_id: MessageId, tag: &ClientKey) {
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
    pub(super) fn put(&mut self, key: [u8; HALF], keyed: Keyed) {
        if let Some(before) = self.known.insert(key, keyed) {
            self.order.remove(&(before.since, before.message_id, key));
        }
        self.order.insert((keyed.since, keyed.message_id, key));
    }

    pub(in crate::node) fn iter(&self) -> impl Iterator<Item = (&[u8; HALF], &Keyed)> {
        self.known.iter()
    }
}

impl Node {
    /// Sends a new message under its caller's key, or tells which message an earlier call with the key and
    /// the same content made. Remembered for 30 days, and of more than 65,536 the newest.
    ///
    /// # Errors
    /// `key-reused` when the earlier call had another content; else as for [`Node::handle_send`], and
    /// nothing is remembered.
    pub fn handle_send_once(
        &mut self,
        at: At,
        peer: &AgentId,
        sending: Sending,
        key: &CallerKey,
    ) -> Result<Once, LocalError> {
        let text = canonical(&content_of(peer, &sending));
        let signing = &self.me.identity().signing;
        let tag = tag_of(signing, key, &text);
        // The signing key may have changed since.
        let tags = self.me.identity().former.iter();
        let mut tags = std::iter::once(tag).chain(tags.map(|former| tag_of(former, key, &text)));
        let known = tags.find_map(|tag| {
            let (key, content) = halves(&tag);
            let known = self.sent.keys.known.get(&key)?;
            let fresh = at.now.since(known.since) < REMEMBERED;
            fresh.then_some((known.message_id, known.content == content))
        });
        match known {
            Some((message_id, true)) => Ok(Once {
                message_id,
                again: true,
                outcome: Outcome::default(),
            }),
            Some((message_id, false)) => Err(LocalError::KeyReused(message_id)),
            None => {
                let tried = Tried::to_send(&sending);
                let mut turn = self.turn(at);
                let sent = turn.try_send(peer, sending, Some(tag));
                Ok(Once {
                    message_id: turn.me().note_attempt(peer, tried, sent)?,
                    again: false,
                    outcome: turn.out,
                })
            }
        }
    }

    /// The message that a call with that key made; `None` where none did, or longer ago than 30 days.
    pub fn sent_under(&self, now: Timestamp, key: &CallerKey) -> Option<MessageId> {
        let signing =
            std::iter::once(&self.me.identity().signing).chain(&self.me.identity().former);
        let mut tags = signing.map(|signing| tag_of(signing, key, &[]));
        tags.find_map(|tag| {
            let known = self.sent.keys.known.get(&halves(&tag).0)?;
            (now.since(known.since) < REMEMBERED).then_some(known.message_id)
        })
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
fn content_of(peer: &AgentId, sending: &Sending) -> Value {
    let (kind, value) = match sending {
        Sending::Request(content) => ("request", of_content(content)),
        Sending::Notification(content) => ("notification", of_content(content)),
        Sending::Ping => ("ping", Value::Null),
        Sending::Handoff(handing) => ("handoff", of_handing(handing)),
    };
    let mut members = Map::new();
    members.insert("peer".into(), peer.as_str().into());
    members.insert("kind".into(), kind.into());
    members.insert("content".into(), value);
    Value::Object(members)
}

fn of_content(content: &Content) -> Value {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let continues = content.continues.as_ref();
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.into(), value));
    put("summary", text(content.summary.as_deref()));
    put("body", content.body.clone());
    let capability = content.capability.as_ref();
    put("capability", text(capability.map(|name| name.as_str())));
    let conversation = content.conversation_id.as_ref();
    put("conversation", text(conversation.map(|id| id.as_str())));
    put("tier", content.data_tier.unwrap_or(1).into());
    put(
        "life",
        content
            .life
            .map_or(Value::Null, |life| life.as_secs().into()),
    );
    let continued = continues.map(|continues| continues.message.to_string());
    put("continues", text(continued.as_deref()));
    let from = continues.and_then(|continues| continues.from.as_ref());
    put("continues-from", text(from.map(|from| from.as_str())));
    Value::Object(members)
}

/// Of the limits the time is left out: it is told as a span, and a later call names another end.
fn of_handing(handing: &Handing) -> Value {
    let text = |text: Option<&str>| text.map_or(Value::Null, Value::from);
    let mut members = Map::new();
    let mut put = |name: &str, value: Value| drop(members.insert(name.into(), value));
    put("goal", handing.goal.as_str().into());
    put("input", handing.input.clone().unwrap_or_default());
    let parent = handing.parent.map(|task| task.to_string());
    put("parent", text(parent.as_deref()));
    put("summary", text(handing.summary.as_deref()));
    put("tier", handing.data_tier.unwrap_or(1).into());
    let limits = &handing.limits;
    let names = limits.capabilities.as_ref();
    let names = names.map(|names| {
        names
            .iter()
            .map(|name| Value::from(name.as_str()))
            .collect()
    });
    put("capabilities", names.unwrap_or_default());
    put("limit-tier", limits.tier.map_or(Value::Null, Value::from));
    put("depth", limits.depth.map_or(Value::Null, Value::from));
    Value::Object(members)
}
