//! What we offer, and what we accept from whom.

use crate::envelope::Message;
use crate::handshake::Grant;
use crate::headers::CapabilityName;
use crate::json::{Map, Value};
use crate::reject::Reason;

/// The capability that every daemon answers by itself.
pub const PING: &str = "signet.ping";
/// How often a conversation may be passed on.
pub const MAX_HOPS: u8 = 8;
/// The highest tier that travels in clear.
pub const HIGHEST_CLEAR_TIER: u8 = 2;

/// A capability that we offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Its name.
    pub name: CapabilityName,
    /// The highest data tier it takes.
    pub tier: u8,
}

/// What the principal has decided.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What we offer.
    pub capabilities: Vec<Capability>,
    /// The highest data tier that a pinned peer may send us.
    pub tier: u8,
    /// The data tiers at which a message of ours leaves only with our person's approval.
    pub approve: Vec<u8>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            capabilities: Vec::new(),
            tier: HIGHEST_CLEAR_TIER,
            approve: Vec::new(),
        }
    }
}

impl Policy {
    /// What a pinned peer is granted: every capability that we offer, up to our tier.
    pub fn grant(&self) -> Grant {
        let capabilities = self
            .capabilities
            .iter()
            .map(|capability| capability.name.clone())
            .collect();
        Grant {
            capabilities,
            tier: self.tier,
        }
    }

    /// The capabilities as flights 3 and 4 carry them.
    pub fn offer(&self) -> Value {
        let offer = |capability: &Capability| {
            let mut members = Map::new();
            members.insert("name".into(), capability.name.as_str().into());
            members.insert("tier".into(), capability.tier.into());
            Value::Object(members)
        };
        self.capabilities.iter().map(offer).collect()
    }
}

/// Whether a message may go out and be kept unsealed: above tier 2 only one without content, such as
/// the error that refuses a request.
pub fn may_travel_in_clear(tier: u8, summary: bool, body: bool) -> bool {
    tier <= HIGHEST_CLEAR_TIER || !(summary || body)
}

/// Whether a message in a session is allowed by what was granted (check V12).
///
/// # Errors
/// `seal-required`, `seal-mismatch`, `tier-not-granted`, `capability-not-granted` or `hops-exceeded`.
pub fn authorize(message: &Message, grant: &Grant) -> Result<(), Reason> {
    let headers = &message.headers;
    if !may_travel_in_clear(
        headers.data_tier,
        message.summary.is_some(),
        message.body.is_some(),
    ) {
        return Err(Reason::SealRequired);
    }
    // A box in a lower tier would be a secret that nobody says is one.
    if message.sealed.is_some() && headers.data_tier <= HIGHEST_CLEAR_TIER {
        return Err(Reason::SealMismatch);
    }
    // A response ends what it answers, and is taken once: it can be part of no loop.
    if message.form.method().is_none() {
        return Ok(());
    }
    if headers.hops > MAX_HOPS {
        return Err(Reason::HopsExceeded);
    }
    if headers.data_tier > grant.tier {
        return Err(Reason::TierNotGranted);
    }
    let named = headers
        .capability
        .as_ref()
        .filter(|name| name.as_str() != PING);
    if named.is_some_and(|name| !grant.capabilities.contains(name)) {
        return Err(Reason::CapabilityNotGranted);
    }
    Ok(())
}
