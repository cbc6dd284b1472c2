//! What we offer, and what we accept from whom.
//!
//! ```text
//! Policy ── allowance(peer) ──┐
//! session: Grant ─────────────┼─▶ Terms ── explain ─▶ Finding … ── authorize ─▶ Ok or Reason
//! Table: Tier ─▶ layers ──────┘
//! ```
//!
//! The receiver decides, from its own table and from what the sender's certificate proves. The same
//! terms, seen from the other side, tell a sender what its peer will refuse before anything is signed.

mod body;
mod bounds;
mod bucket;
mod pattern;
mod rules;
mod table;

use std::collections::BTreeMap;
use std::time::Duration;

use signet_json::{Map, Value, canonical};

use crate::envelope::{Form, Message, Method};
use crate::handshake::Grant;
use crate::headers::{CapabilityName, Tier};
use crate::ids::AgentId;
use crate::time::Timestamp;

pub use body::{BodySchema, Misfit, SCHEMA_BYTES};
pub use bounds::SchemaError;
pub use bucket::CallBudget;
pub use pattern::{NamePattern, PatternError};
pub(crate) use rules::concerns;
pub use rules::{By, Finding, Terms, authorize, explain};
pub use table::Table;

/// The capability that every daemon answers by itself.
pub const PING: &str = "signet.ping";
/// The capability under which a holder reports on a task, to its giver's daemon and agent.
pub const TASK: &str = "signet.task";
/// How often a conversation may be passed on.
pub const MAX_HOPS: u8 = 8;
/// How many capabilities one agent offers at most.
pub const MOST_CAPABILITIES: usize = 64;
/// The largest budget, in messages a minute.
pub const MOST_PER_MINUTE: u32 = 1_000_000;

/// Whether a message is a ping or the answer to one, and says nothing else: a sign of life that no person has to read. Nobody hides a
/// message by calling it a ping.
pub fn is_mere_ping(message: &Message) -> bool {
    let body = message.body();
    match &message.form {
        Form::Call(Method::Request) => {
            let is_empty = message.summary.is_none() && body.is_none_or(Value::is_null);
            let capability = message.headers.capability.as_ref();
            is_empty && capability.is_some_and(|name| name.as_str() == PING)
        }
        Form::Success => {
            let body = body.and_then(Value::as_object);
            let received = body.and_then(|body| body.get("received")?.as_str());
            let is_time = received.is_some_and(|time| time.parse::<Timestamp>().is_ok());
            let is_pong = body.is_some_and(|body| body.len() == 2 && body.contains_key("pong"));
            message.summary.is_none() && is_time && is_pong
        }
        Form::Call(_) | Form::Failure { .. } => false,
    }
}

/// A capability that we offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Its name.
    pub name: CapabilityName,
    /// The highest data tier it takes.
    pub tier: Tier,
    /// One line for people.
    pub description: Option<String>,
    /// What the body of a request has to look like.
    pub schema: Option<BodySchema>,
}

impl Capability {
    /// A capability that takes any body.
    pub const fn new(name: CapabilityName, tier: Tier) -> Self {
        Self {
            name,
            tier,
            description: None,
            schema: None,
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        let mut members = Map::new();
        members.insert("name".into(), self.name.as_str().into());
        members.insert("tier".into(), self.tier.number().into());
        if let Some(text) = &self.description {
            members.insert("description".into(), text.as_str().into());
        }
        if let Some(schema) = &self.schema {
            members.insert("schema".into(), schema.source().clone());
        }
        Value::Object(members)
    }
}

/// What the principal has decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// What we offer.
    pub capabilities: Vec<Capability>,
    /// The highest data tier that a pinned peer may send us; the table asks for layers besides.
    pub tier: Tier,
    /// The data tiers at which a message of ours leaves only with our person's approval.
    pub approve: Vec<Tier>,
    /// The names that programs of our own may offer.
    pub offerable: Vec<NamePattern>,
    /// How long such an offer stands after its programs have gone, and after a start.
    pub offer_linger: Duration,
    /// The capabilities that a pinned peer may ask for; `None` for every one that we offer.
    pub granted: Option<Vec<CapabilityName>>,
    /// Calls a minute that a pinned peer may send us; `None` for no limit.
    pub messages_per_minute: Option<u32>,
    /// Calls a minute within one conversation with a peer; `None` for no limit.
    pub conversation_per_minute: Option<u32>,
    /// What is decided otherwise for single peers.
    pub peers: BTreeMap<AgentId, PeerRule>,
    /// The layers that each tier asks for.
    pub table: Table,
}

/// What is decided otherwise for one peer; what is `None` is as for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerRule {
    /// The highest data tier.
    pub tier: Option<Tier>,
    /// The capabilities.
    pub capabilities: Option<Vec<CapabilityName>>,
    /// Calls a minute.
    pub messages_per_minute: Option<u32>,
}

/// What our configuration says of one peer now.
#[derive(Clone, Copy, Debug)]
pub struct Allowance<'a> {
    policy: &'a Policy,
    rule: Option<&'a PeerRule>,
}

/// Our offers do not fit into one flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// More than [`MOST_CAPABILITIES`].
    #[error("at most 64 capabilities are offered; leave some out")]
    TooMany,
    /// All capabilities and their schemas together are too long or have too many values.
    #[error(
        "the capabilities and their schemas together are over 160 KiB or 8,000 values and do not fit into one message; shorten the schemas"
    )]
    TooLarge,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            capabilities: Vec::new(),
            approve: Vec::new(),
            tier: Tier::Restricted,
            offerable: Vec::new(),
            offer_linger: Duration::ZERO,
            granted: None,
            messages_per_minute: None,
            conversation_per_minute: None,
            peers: BTreeMap::new(),
            table: Table::default(),
        }
    }
}

impl Policy {
    /// What is decided for `peer`.
    pub fn allowance(&self, peer: &AgentId) -> Allowance<'_> {
        Allowance {
            policy: self,
            rule: self.peers.get(peer),
        }
    }

    /// The capability of that name, where we offer it.
    pub fn capability(&self, name: &CapabilityName) -> Option<&Capability> {
        let mut known = self.capabilities.iter();
        known.find(|capability| capability.name == *name)
    }

    /// Whether a program of our own may offer a capability of that name.
    pub fn allows_offer(&self, name: &CapabilityName) -> bool {
        self.offerable.iter().any(|pattern| pattern.matches(name))
    }

    /// Whether a program's offer leaves without words, or our person lets words of tier 1 leave unapproved: an offer
    /// waits for nobody.
    pub(crate) fn may_leave_unapproved(&self, capability: &Capability) -> bool {
        let has_words = capability.description.is_some() || capability.schema.is_some();
        !(has_words && self.approve.contains(&Tier::Public))
    }

    /// The capabilities as flights 3 and 4 carry them.
    pub fn offer(&self) -> Value {
        self.capabilities.iter().map(Capability::to_value).collect()
    }

    /// Whether the offer fits into a flight beside certificate and grant.
    ///
    /// # Errors
    /// Says which limit is exceeded.
    pub fn fit_offer(&self) -> Result<(), OfferError> {
        fits_together(self.capabilities.iter())
    }
}

impl<'a> Allowance<'a> {
    /// The grant that a handshake gives.
    pub fn grant(&self) -> Grant {
        // Grant only capabilities that we offer: other names in a grant count for nothing (protocol.md, Grants).
        let offered = self.policy.capabilities.iter();
        let names = offered
            .map(|capability| &capability.name)
            .filter(|name| self.names(name));
        Grant {
            capabilities: names.cloned().collect(),
            tier: self.tier().0,
            messages_per_minute: self.messages_per_minute(),
        }
    }

    /// The highest tier, and where that is decided.
    pub fn tier(&self) -> (Tier, By) {
        match self.rule.and_then(|rule| rule.tier) {
            Some(tier) => (tier, By::Peer),
            None => (self.policy.tier, By::Grant),
        }
    }

    /// Whether `name` may be asked for, and where that is decided. `live` says that a program offers it.
    pub fn capability(&self, name: &CapabilityName, live: bool) -> (bool, By) {
        let by = match self.rule.and_then(|rule| rule.capabilities.as_ref()) {
            // Ask first whether anybody offers the capability: a person who asks why it is refused should read that nobody
            // offers it, and not that it was not granted.
            _ if self.policy.capability(name).is_none() && !live => return (false, By::Offer),
            Some(_) => By::Peer,
            None => By::Grant,
        };
        (self.names(name), by)
    }

    /// Calls a minute.
    pub fn messages_per_minute(&self) -> Option<u32> {
        let own = self.rule.and_then(|rule| rule.messages_per_minute);
        own.or(self.policy.messages_per_minute)
    }

    /// Whether the peer may ask for `name`, once it is offered.
    pub(crate) fn names(&self, name: &CapabilityName) -> bool {
        let own = self.rule.and_then(|rule| rule.capabilities.as_ref());
        let names = own.or(self.policy.granted.as_ref());
        names.is_none_or(|names| names.contains(name))
    }
}

/// Whether capabilities fit into one flight, or one offer.
pub(crate) fn fits_together<'a>(
    capabilities: impl Iterator<Item = &'a Capability>,
) -> Result<(), OfferError> {
    let offer: Vec<Value> = capabilities.map(Capability::to_value).collect();
    if offer.len() > MOST_CAPABILITIES {
        return Err(OfferError::TooMany);
    }
    let offer = Value::from(offer);
    if canonical(&offer).len() > OFFER_BYTES || bounds::values(&offer) > OFFER_VALUES {
        return Err(OfferError::TooLarge);
    }
    Ok(())
}

/// The stricter of two budgets.
pub fn stricter(one: Option<u32>, other: Option<u32>) -> Option<u32> {
    // `None` means no limit. Leave it out of the comparison, so that any number is stricter than no limit.
    one.into_iter().chain(other).min()
}

/// Whether it is a holder's report on a task: a notification of the capability [`TASK`], which is
/// nothing that a peer grants. Whether the sender holds the task is judged instead.
pub fn is_report(message: &Message) -> bool {
    let named = message.headers.capability.as_ref();
    message.form == Form::Call(Method::Notification)
        && named.is_some_and(|name| name.as_str() == TASK)
}

/// How long the offer may be, so that the flight around it stays below 240 KiB.
const OFFER_BYTES: usize = 160 * 1024;
/// How many values it may have, of the flight's 10,000.
const OFFER_VALUES: usize = 8_000;
