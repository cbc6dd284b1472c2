//! `[tiers]`, `[grant]`, `[[peer]]` and `[[capability]]`: what the principal has decided.

use std::collections::BTreeMap;
use std::time::Duration;

use signet_proto::headers::CapabilityName;
use signet_proto::ids::AgentId;
use signet_proto::policy::{
    BodySchema, Capability, HIGHEST_TIER, MOST_PER_MINUTE, NamePattern, PeerRule, Policy,
    SCHEMA_BYTES, TIERS, Table,
};

use super::section::Section;
use super::{ConfigError, read};
use crate::home::Home;

/// Reads the policy of a configuration.
pub(super) fn policy(root: &Section<'_>, home: &Home) -> Result<Policy, ConfigError> {
    let capabilities = capabilities(root, home)?;
    let grant = root.section("grant", GRANT_KEYS)?;
    let offer = root.section("offer", &["allow", LINGER])?;
    let linger = offer
        .number(LINGER, 0..=LONGEST_LINGER)?
        .unwrap_or(DEFAULT_LINGER);
    let per_minute = |key| grant.number(key, 1..=MOST_PER_MINUTE);
    let policy = Policy {
        tier: grant
            .small("tier", 1..=HIGHEST_TIER)?
            .unwrap_or(HIGHEST_TIER),
        granted: names(&grant, &capabilities)?,
        messages_per_minute: per_minute(PER_MINUTE)?.or(Some(DEFAULT_PER_MINUTE)),
        conversation_per_minute: per_minute(OF_CONVERSATION)?.or(Some(DEFAULT_OF_CONVERSATION)),
        peers: peers(root, &capabilities)?,
        offerable: offerable(&offer)?,
        offer_linger: Duration::from_secs(linger.into()),
        approve: approved_tiers(&root.section("approve", &["tiers"])?)?,
        table: table(&root.section("tiers", TIER_KEYS)?)?,
        capabilities,
    };
    policy
        .fit_offer()
        .map_err(|fault| root.bad("capability", &fault.to_string()))?;
    Ok(policy)
}

/// The tiers at which a message leaves only with the person's approval: the highest, unless said
/// otherwise.
fn approved_tiers(section: &Section<'_>) -> Result<Vec<u8>, ConfigError> {
    let tiers = section.smalls("tiers", 1..=HIGHEST_TIER)?;
    Ok(tiers.unwrap_or_else(|| vec![HIGHEST_TIER]))
}

/// The names that programs may offer: none, unless said otherwise.
fn offerable(section: &Section<'_>) -> Result<Vec<NamePattern>, ConfigError> {
    let texts = section.texts("allow")?.unwrap_or_default();
    let pattern = |text: &String| text.parse::<NamePattern>();
    let patterns: Result<_, _> = texts.iter().map(pattern).collect();
    patterns.map_err(|fault| section.bad("allow", &fault.to_string()))
}

fn table(section: &Section<'_>) -> Result<Table, ConfigError> {
    let mut table = Table::default();
    for tier in TIERS {
        if let Some(layers) = section.layers(tier.name)? {
            table = table.with(tier.number, layers);
        }
    }
    let below = table.descends_at();
    match TIERS.iter().find(|tier| Some(tier.number) == below) {
        Some(tier) => Err(section.bad(
            tier.name,
            "it asks for less than the tier below it; add that one's layers",
        )),
        None => Ok(table),
    }
}

fn peers(
    root: &Section<'_>,
    offered: &[Capability],
) -> Result<BTreeMap<AgentId, PeerRule>, ConfigError> {
    let mut peers = BTreeMap::new();
    for section in root.sections("peer", PEER_KEYS)? {
        let rule = PeerRule {
            tier: section.small("tier", 1..=HIGHEST_TIER)?,
            capabilities: names(&section, offered)?,
            messages_per_minute: section.number(PER_MINUTE, 1..=MOST_PER_MINUTE)?,
        };
        if peers.insert(section.required("id")?, rule).is_some() {
            return Err(section.bad("id", "another [[peer]] has this id"));
        }
    }
    Ok(peers)
}

/// The capabilities that are granted; each must be offered, so that a misspelt one is not silently
/// without effect.
fn names(
    section: &Section<'_>,
    offered: &[Capability],
) -> Result<Option<Vec<CapabilityName>>, ConfigError> {
    let known = |text: &String| {
        let mut offers = offered.iter().map(|capability| &capability.name);
        let name = offers.find(|name| name.as_str() == text);
        name.cloned().ok_or_else(|| {
            let fault = format!("{text:?} is the name of no [[capability]]");
            section.bad("capabilities", &fault)
        })
    };
    let texts = section.texts("capabilities")?;
    texts
        .map(|texts| texts.iter().map(known).collect())
        .transpose()
}

fn capabilities(root: &Section<'_>, home: &Home) -> Result<Vec<Capability>, ConfigError> {
    let mut capabilities: Vec<Capability> = Vec::new();
    for section in root.sections("capability", CAPABILITY_KEYS)? {
        let name: CapabilityName = section.required("name")?;
        if capabilities.iter().any(|known| known.name == name) {
            return Err(section.bad("name", "another [[capability]] has this name"));
        }
        let description = section.text("description")?.map(str::to_owned);
        let long = |text: &String| text.chars().count() > DESCRIPTION_CHARS;
        if description.as_ref().is_some_and(long) {
            return Err(section.bad("description", "at most 200 characters are expected"));
        }
        capabilities.push(Capability {
            name,
            tier: section.small("tier", 1..=HIGHEST_TIER)?.unwrap_or(2),
            description,
            schema: schema(&section, home)?,
        });
    }
    Ok(capabilities)
}

/// The schema of a body: the text itself where it starts with a brace, else the path of a file.
fn schema(section: &Section<'_>, home: &Home) -> Result<Option<BodySchema>, ConfigError> {
    let Some(text) = section.text("schema")? else {
        return Ok(None);
    };
    let (place, text) = if text.trim_start().starts_with('{') {
        (String::new(), text.to_owned())
    } else {
        let path = home.join(text);
        let place = format!("{}: ", path.display());
        // One byte more than is allowed is enough to see that it is too long.
        (place, read(&path, SCHEMA_BYTES as u64 + 1)?)
    };
    let schema = BodySchema::compile(text.as_bytes());
    schema
        .map(Some)
        .map_err(|fault| section.bad("schema", &format!("{place}{fault}")))
}

/// A household's busy morning, with a shopping list and a calendar, is some twenty messages in one
/// minute; agents that talk in a loop send hundreds.
const DEFAULT_PER_MINUTE: u32 = 120;
/// One conversation is less than all that a peer has to say.
const DEFAULT_OF_CONVERSATION: u32 = 60;
const PER_MINUTE: &str = "messages-per-minute";
const OF_CONVERSATION: &str = "conversation-messages-per-minute";
const LINGER: &str = "linger-seconds";
/// Time for a machine to start again, and its programs after the daemon.
const DEFAULT_LINGER: u32 = 300;
/// A day: for a program that runs now and then.
const LONGEST_LINGER: u32 = 86_400;
const DESCRIPTION_CHARS: usize = 200;
const TIER_KEYS: &[&str] = &["public", "household", "sensitive", "restricted"];
const GRANT_KEYS: &[&str] = &["tier", "capabilities", PER_MINUTE, OF_CONVERSATION];
pub(super) const PEER_KEYS: &[&str] = &["id", "tier", "capabilities", PER_MINUTE, "carriers"];
const CAPABILITY_KEYS: &[&str] = &["name", "tier", "description", "schema"];
