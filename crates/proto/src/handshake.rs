//! Announce, verify, capability, trust: four signed flights that end in one session on both sides.
//!
//! ```text
//! A                                   B
//! Idle ──── 1 announce ────────────▶ Idle
//! AwaitVerify ◀──── 2 verify, H1 ─── AwaitCapability
//! AwaitTrust ── 3 capability, H2 ──▶ Granting
//! session ◀──── 4 trust, H3 ──────── session
//! ```
//!
//! The machine is a fold over messages: [`Handshake::admit`] says whether a flight is welcome and
//! changes nothing; [`Handshake::take`] and [`Handshake::sent`] move it. A refused flight therefore
//! never costs a handshake.

mod established;
mod flight;
mod retry;
mod states;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signet_json::{Map, Value, canonical};

use crate::envelope::{Message, Method};
use crate::headers::{CapabilityName, Tier};
use crate::ids::{AgentId, Digest, Version};
use crate::reject::Reason;
use crate::time::Timestamp;

pub use established::Established;
use flight::TakenFlight;
pub use flight::{Credentials, Flight};
pub use retry::Retry;
pub use states::{AwaitCapability, AwaitTrust, AwaitVerify, Granting};

/// How long a handshake may stay half open, and a flight is resent.
pub const HALF_OPEN: Duration = Duration::from_secs(300);
/// After this long without flight 4 the initiator starts again: the responder may have lost its half.
pub const START_AGAIN: Duration = Duration::from_secs(15);

/// The longest life of a session; keys and certificates may end it earlier.
pub const SESSION_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Which side of a handshake an agent was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A, who announced.
    Initiator,
    /// B, who answered.
    Responder,
}

/// One side of a handshake with one peer.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Handshake {
    /// None under way.
    #[default]
    Idle,
    /// We announced.
    AwaitVerify(AwaitVerify),
    /// We answered flight 2.
    AwaitTrust(AwaitTrust),
    /// The peer announced and we are about to answer, or have.
    AwaitCapability(AwaitCapability),
    /// Flight 3 is here and flight 4 is about to be signed.
    Granting(Granting),
}

impl Handshake {
    /// Whether a proven flight is welcome now (check V11). Changes nothing.
    ///
    /// # Errors
    /// The reason for which the flight is refused.
    pub fn admit(&self, message: &Message, flight: &Flight, me: &AgentId) -> Result<(), Reason> {
        let Some(method) = message.form.method() else {
            return Err(Reason::HandshakeUnexpected);
        };
        match (method, self) {
            (Method::Announce, _) => self.admit_announce(message, flight, me),
            (Method::Verify, Self::AwaitVerify(state)) => state.admit(message, flight),
            (Method::Capability, Self::AwaitCapability(state)) => state.admit(flight),
            (Method::Trust, Self::AwaitTrust(state)) => state.admit(flight),
            _ => Err(Reason::HandshakeUnexpected),
        }
    }

    /// Moves on by a flight that [`Handshake::admit`] welcomed. Flight 4 ends it, with a session when
    /// the peer granted one. Resends are counted from `now`; what is remembered, from `written`.
    pub fn take(
        &mut self,
        message: &Arc<Message>,
        flight: &Arc<Flight>,
        now: Timestamp,
        written: Timestamp,
    ) -> Option<Established> {
        let taken = TakenFlight {
            message: Arc::clone(message),
            flight: Arc::clone(flight),
        };
        match (message.form.method()?, std::mem::take(self)) {
            (Method::Announce, _) => {
                *self = Self::AwaitCapability(AwaitCapability::of(taken, written))
            }
            (Method::Verify, Self::AwaitVerify(state)) => {
                let next = state.take(taken, now);
                *self = if next.choice.is_some() {
                    Self::AwaitTrust(next)
                } else {
                    Self::Idle
                };
            }
            (Method::Capability, Self::AwaitCapability(state)) => {
                *self = state.take(taken).map_or(Self::Idle, Self::Granting);
            }
            (Method::Trust, Self::AwaitTrust(state)) => return state.finish(taken),
            // A flight that this state does not expect changes nothing: put the state back.
            (_, before) => *self = before,
        }
        None
    }

    /// Moves on by a flight of our own. Flight 4 ends it.
    pub fn sent(&mut self, flight: &Arc<Message>, now: Timestamp) -> Option<Established> {
        match (flight.form.method()?, std::mem::take(self)) {
            (Method::Announce, _) => {
                *self = Self::AwaitVerify(AwaitVerify {
                    announce: Arc::clone(flight),
                    retry: Retry::from(now),
                });
            }
            (Method::Verify, Self::AwaitCapability(state)) => {
                let next = state.sent(flight);
                *self = if next.choice.is_some() {
                    Self::AwaitCapability(next)
                } else {
                    Self::Idle
                };
            }
            (Method::Capability, Self::AwaitTrust(state)) => {
                *self = Self::AwaitTrust(state.sent(flight, now))
            }
            (Method::Trust, Self::Granting(state)) => return state.finish(flight),
            (_, before) => *self = before,
        }
        None
    }

    /// The transcript hash that our next flight must carry.
    pub fn transcript(&self) -> Option<Digest> {
        match self {
            Self::Idle | Self::AwaitVerify(_) => None,
            Self::AwaitTrust(state) => Some(state.transcript.0),
            Self::AwaitCapability(state) => Some(state.transcript.0),
            Self::Granting(state) => Some(state.transcript.0),
        }
    }

    /// The stored flight that answers a repeated one, by the hash of the repeated one.
    pub fn answer_to(&self, hash: Digest) -> Option<&Arc<Message>> {
        match self {
            Self::AwaitCapability(state) if state.announce.message.hash() == hash => {
                state.verify.as_ref()
            }
            Self::AwaitTrust(state) if state.verify.message.hash() == hash => {
                state.capability.as_ref()
            }
            _ => None,
        }
    }

    /// When a resend or the end is due.
    pub fn due(&self) -> Option<Timestamp> {
        match self {
            Self::Idle => None,
            // Our flight 4 could not be signed yet. Wait no longer than the peer's
            // flight 3 lives: after that, flight 4 would be useless.
            Self::Granting(state) => Some(state.capability.message.headers.expires_at),
            Self::AwaitVerify(state) => Some(state.retry.due()),
            Self::AwaitTrust(state) => Some(state.retry.due()),
            Self::AwaitCapability(state) => Some(state.since.saturating_add(HALF_OPEN)),
        }
    }

    /// What to do about the time: the flight to send again, or that it is over.
    pub fn overdue(&mut self, now: Timestamp) -> Overdue {
        let (retry, flight) = match self {
            Self::Idle => return Overdue::Nothing,
            Self::AwaitCapability(_) | Self::Granting(_) if self.is_over(now) => {
                return Overdue::Over;
            }
            Self::AwaitCapability(_) | Self::Granting(_) => return Overdue::Nothing,
            Self::AwaitVerify(state) => (&mut state.retry, Some(&state.announce)),
            Self::AwaitTrust(state) => (&mut state.retry, state.capability.as_ref()),
        };
        if retry.is_over(now) {
            return Overdue::Over;
        }
        match flight {
            Some(flight) if retry.strike(now) => Overdue::Resend(Arc::clone(flight)),
            _ => Overdue::Nothing,
        }
    }

    /// Whether the responder's half has lasted too long.
    fn is_over(&self, now: Timestamp) -> bool {
        match self {
            Self::AwaitCapability(state) => now >= state.since.saturating_add(HALF_OPEN),
            Self::Granting(state) => now >= state.capability.message.headers.expires_at,
            Self::Idle | Self::AwaitVerify(_) | Self::AwaitTrust(_) => false,
        }
    }

    /// A flight of ours could not be signed: what we began is over, and may be begun anew. What the peer
    /// began ends by itself.
    pub(crate) fn give_up(&mut self) {
        if matches!(self, Self::AwaitVerify(_) | Self::AwaitTrust(_)) {
            *self = Self::Idle;
        }
    }

    /// The connection is back: the flight that waits for its answer goes out now.
    pub(crate) fn hasten(&mut self, now: Timestamp) {
        match self {
            Self::AwaitVerify(state) => state.retry.hasten(now),
            Self::AwaitTrust(state) => state.retry.hasten(now),
            Self::Idle | Self::AwaitCapability(_) | Self::Granting(_) => {}
        }
    }

    /// What a restart leaves of it, and the flight that the log does not show as sent.
    ///
    /// An initiator starts anew. A responder keeps its half, which the log shows whole: its peer only
    /// repeats flight 1, which is a copy now, and nothing else would answer it.
    pub fn restart(&mut self, now: Timestamp) -> Option<Method> {
        match self {
            Self::AwaitCapability(state) if now < state.since.saturating_add(HALF_OPEN) => {
                state.verify.is_none().then_some(Method::Verify)
            }
            Self::Granting(state) if now < state.capability.message.headers.expires_at => {
                Some(Method::Trust)
            }
            _ => {
                *self = Self::Idle;
                None
            }
        }
    }

    /// The initiator's half, which every start drops, and the responder's, unless it is over. One of
    /// the two is idle.
    pub(crate) fn halves(&self, now: Timestamp) -> (Self, Self) {
        match self {
            Self::AwaitVerify(_) | Self::AwaitTrust(_) => (self.clone(), Self::Idle),
            _ if self.is_over(now) => (Self::Idle, Self::Idle),
            Self::Idle | Self::AwaitCapability(_) | Self::Granting(_) => (Self::Idle, self.clone()),
        }
    }

    /// Whether anything is under way.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    fn admit_announce(
        &self,
        message: &Message,
        flight: &Flight,
        me: &AgentId,
    ) -> Result<(), Reason> {
        flight.admit_offer(message)?;
        let later_than =
            |known: &TakenFlight| message.headers.timestamp > known.message.headers.timestamp;
        // If both agents announced at the same time, the one with the smaller agent-id goes on. Both compare the same two ids,
        // so exactly one gives way.
        let go_on_as_initiator = *me < message.headers.agent_id;
        match self {
            Self::AwaitVerify(_) if go_on_as_initiator => Err(Reason::HandshakeCrossed),
            // The peer has answered our announce. Refuse its own announce if that is not later than its answer: only a later
            // one shows that the peer has lost its half of the handshake.
            Self::AwaitTrust(state) if !later_than(&state.verify) => Err(Reason::HandshakeCrossed),
            Self::AwaitCapability(state) if !later_than(&state.announce) => {
                Err(Reason::AnnounceStale)
            }
            Self::Granting(state) if !later_than(&state.capability) => Err(Reason::AnnounceStale),
            _ => Ok(()),
        }
    }
}

/// What time asks of a handshake.
#[derive(Clone, Debug)]
pub enum Overdue {
    /// Not yet.
    Nothing,
    /// This flight goes out again.
    Resend(Arc<Message>),
    /// It has taken too long.
    Over,
}

/// The newest version that both lists name.
pub fn best_common(mine: &[Version], theirs: &[Version]) -> Option<Version> {
    // Lists of versions ascend, so the last common version is the newest.
    mine.iter()
        .rev()
        .find(|version| theirs.contains(version))
        .copied()
}

/// A capability as its owner offers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offer {
    /// Its name.
    pub name: CapabilityName,
    /// The highest data tier it takes.
    pub tier: Tier,
    /// One line for people.
    pub description: Option<String>,
    /// The text of the JSON Schema of the body: shown to people, never compiled by a receiver, and
    /// not kept parsed, which takes a hundred times its length.
    pub schema: Option<String>,
}

impl Offer {
    pub(crate) fn parse(value: &Value) -> Option<Self> {
        let description = value.get("description").and_then(Value::as_str);
        Some(Self {
            name: value.get("name")?.as_str()?.parse().ok()?,
            tier: Tier::parse(value.get("tier")?.as_u64()?).ok()?,
            description: description.map(str::to_owned),
            schema: value.get("schema").map(text_of),
        })
    }

    /// The body of `agent.offer`: all that it lists, or nothing where one of them cannot be read.
    pub(crate) fn parse_all(body: &Value) -> Option<Vec<Self>> {
        let list = body.get("capabilities")?.as_array()?;
        list.iter().map(Self::parse).collect()
    }
}

/// What one side accepts from the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The capabilities that may be asked for.
    pub capabilities: Vec<CapabilityName>,
    /// The highest data tier.
    pub tier: Tier,
    /// Calls a minute; `None` for no limit.
    pub messages_per_minute: Option<u32>,
}

impl Grant {
    /// As flights 3 and 4 carry it.
    pub fn to_value(&self) -> Value {
        let mut members = Map::new();
        let names = self.capabilities.iter().map(|name| name.as_str());
        members.insert("capabilities".into(), names.map(Value::from).collect());
        members.insert("tier".into(), self.tier.number().into());
        if let Some(number) = self.messages_per_minute {
            members.insert("messages-per-minute".into(), number.into());
        }
        Value::Object(members)
    }

    /// What is left of it when only what is offered counts.
    fn within(mut self, offered: &[Offer]) -> Self {
        let is_offered = |name: &CapabilityName| offered.iter().any(|offer| offer.name == *name);
        self.capabilities.retain(is_offered);
        self
    }

    fn parse(value: &Value) -> Option<Self> {
        let budget = value.get("messages-per-minute").and_then(Value::as_u64);
        let names = value.get("capabilities")?.as_array()?.iter();
        let names = names.map(|name| name.as_str()?.parse().ok());
        Some(Self {
            capabilities: names.collect::<Option<_>>()?,
            tier: Tier::parse(value.get("tier")?.as_u64()?).ok()?,
            // A number above u32 would become `None`, which means no limit. No such number comes: the schema allows a million
            // at most.
            messages_per_minute: budget.and_then(|number| u32::try_from(number).ok()),
        })
    }
}

/// Whether a list of offers names a capability twice: which of the two would hold?
pub(crate) fn names_twice(offers: &[Offer]) -> bool {
    let names: BTreeSet<_> = offers.iter().map(|offer| &offer.name).collect();
    names.len() < offers.len()
}

fn text_of(schema: &Value) -> String {
    String::from_utf8_lossy(&canonical(schema)).into_owned()
}
