//! The rules of permission, one finding each: the receiver judges by them (check V12), the sender
//! asks them before it signs, and a person reads them.

use std::fmt;

use super::{Allowance, MAX_HOPS, PING, TASK, Table, is_report};
use crate::envelope::{Form, Message, Method};
use crate::handshake::Grant;
use crate::headers::{CapabilityName, Layers, Tier};
use crate::reject::Reason;

/// Where something is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// In the handshake of the session.
    Session,
    /// In `[grant]`, for everybody.
    Grant,
    /// In the peer's own `[[peer]]`.
    Peer,
    /// By the list of what is offered, `[[capability]]`.
    Offer,
}

/// One rule, and what it says of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding<'a> {
    /// The highest tier that is accepted.
    Tier {
        /// The message's.
        tier: Tier,
        /// The highest.
        most: Tier,
        /// Who says so.
        by: By,
    },
    /// The layers that the table asks of the other side.
    Layers {
        /// The message's tier.
        tier: Tier,
        /// What the table asks for.
        needs: Layers,
        /// What the certificate proves and the other side has loaded.
        has: Layers,
    },
    /// Whether the capability may be asked for.
    Capability {
        /// Which.
        name: &'a CapabilityName,
        /// Whether it may.
        granted: bool,
        /// Who says so.
        by: By,
    },
    /// The highest tier that the capability takes.
    CapabilityTier {
        /// Which.
        name: &'a CapabilityName,
        /// The message's tier.
        tier: Tier,
        /// The highest.
        most: Tier,
    },
}

impl Finding<'_> {
    /// Whether the message may pass.
    pub fn holds(&self) -> bool {
        match *self {
            Self::Tier { tier, most, .. } | Self::CapabilityTier { tier, most, .. } => tier <= most,
            Self::Layers { needs, has, .. } => needs.is_subset_of(has),
            Self::Capability { granted, .. } => granted,
        }
    }

    /// The reason for which a message is refused where it does not hold.
    pub const fn reason(&self) -> Reason {
        match self {
            Self::Tier { .. } | Self::CapabilityTier { .. } => Reason::TierNotGranted,
            Self::Layers { .. } => Reason::LayersInsufficient,
            Self::Capability { .. } => Reason::CapabilityNotGranted,
        }
    }
}

/// What is missing, or why it is allowed, in plain words.
impl fmt::Display for Finding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier { tier, most, .. } => write!(f, "tier {tier}, and up to {most} is granted"),
            Self::Layers { tier, needs, has } => {
                write!(f, "tier {tier} asks for the layers {needs}, and it has ")?;
                write!(f, "{has}")?;
                let missing = needs.without(*has);
                if missing.is_empty() {
                    Ok(())
                } else {
                    write!(f, ": {missing} missing")
                }
            }
            Self::Capability { name, granted, .. } => {
                let not = if *granted { "" } else { "not " };
                write!(f, "the capability {name} is {not}granted")
            }
            Self::CapabilityTier { name, tier, most } => {
                write!(f, "tier {tier}, and {name} takes up to {most}")
            }
        }
    }
}

/// All that decides whether a message may pass between us and one peer, in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Our table.
    pub table: &'a Table,
    /// What the peer has: proven by its certificate, and loaded.
    pub layers: Layers,
    /// What was granted in the session's handshake, where there is one.
    pub session: Option<&'a Grant>,
    /// What our configuration says now: for what comes to us.
    pub allowance: Option<Allowance<'a>>,
    /// The highest tier that the capability takes, where it is known.
    pub takes: Option<Tier>,
    /// Whether a program of ours offers the capability now: no handshake knew of it.
    pub live: bool,
}

/// What each rule says, in the order in which they are judged.
pub fn explain<'a>(
    terms: &Terms<'a>,
    tier: Tier,
    capability: Option<&'a CapabilityName>,
) -> impl Iterator<Item = Finding<'a>> + use<'a> {
    let needs = terms.table.layers(tier);
    let has = terms.layers;
    let live = terms.live;
    let of_tier = |(most, by)| Finding::Tier { tier, most, by };
    let of_grant = |grant: &Grant| of_tier((grant.tier, By::Session));
    // Pings and reports on tasks need no grant: the daemon answers a ping by itself, and a report is checked in another way,
    // since its sender has to hold the task.
    let named = capability.filter(|name| ![PING, TASK].contains(&name.as_str()));
    let by_session = named.zip(terms.session).map(|(name, grant)| {
        let granted = live || grant.capabilities.contains(name);
        let by = By::Session;
        Finding::Capability { name, granted, by }
    });
    let by_config = named.zip(terms.allowance).map(|(name, allowance)| {
        let (granted, by) = allowance.capability(name, live);
        Finding::Capability { name, granted, by }
    });
    let of_capability = |(name, most)| Finding::CapabilityTier { name, tier, most };
    let findings = [
        terms.session.map(of_grant),
        terms.allowance.map(|allowance| of_tier(allowance.tier())),
        Some(Finding::Layers { tier, needs, has }),
        by_session,
        by_config,
        named.zip(terms.takes).map(of_capability),
    ];
    findings.into_iter().flatten()
}

/// Whether a message in a session is allowed by what was granted and is decided now (check V12). Its
/// body is another matter, and so is how many there are.
///
/// # Errors
/// `seal-required`, `seal-mismatch`, `hops-exceeded`, `tier-not-granted`, `layers-insufficient` or
/// `capability-not-granted`.
pub fn authorize(message: &Message, terms: &Terms<'_>) -> Result<(), Reason> {
    let headers = &message.headers;
    if message.bares_secrets() {
        return Err(Reason::SealRequired);
    }
    // Refuse a sealed box in a tier that travels in clear: its content would be secret, but its tier would not say so.
    if message.sealed.is_some() && !headers.data_tier.is_sealed() {
        return Err(Reason::SealMismatch);
    }
    // Limit the hops of everything but responses and progress, which make no loop: a response ends its request and is taken
    // once, and nobody answers progress.
    if !message.form.belongs_to_request() && headers.hops > MAX_HOPS {
        return Err(Reason::HopsExceeded);
    }
    let capability = headers.capability.as_ref();
    // `TASK` needs no grant, so only reports may use it: refuse any other message that names it (V12).
    if capability.is_some_and(|name| name.as_str() == TASK) && !is_report(message) {
        return Err(Reason::CapabilityNotGranted);
    }
    let mut findings = explain(terms, headers.data_tier, capability);
    let against = findings.find(|finding| !finding.holds() && concerns(finding, &message.form));
    against.map_or(Ok(()), |finding| Err(finding.reason()))
}

/// A response was asked for, and so was progress: no grant speaks of it. Its content goes to a peer or
/// comes from one all the same; a failure has none.
pub(crate) fn concerns(finding: &Finding<'_>, form: &Form) -> bool {
    match form {
        Form::Success | Form::Call(Method::Progress) => matches!(finding, Finding::Layers { .. }),
        Form::Call(_) => true,
        Form::Failure { .. } => false,
    }
}
