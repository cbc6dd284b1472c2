//! `[tiers]`, `[grant]`, `[[peer]]` and `[[capability]]`: what the principal has decided.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use signet_files::Within;
use signet_proto::headers::{CapabilityName, Layers, Tier};
use signet_proto::ids::AgentId;
use signet_proto::policy::{
    BodySchema, Capability, NamePattern, PeerRule, Policy, SCHEMA_BYTES, Table,
};

use super::section::{PerMinute, Source, WrittenTier};
use super::{ConfigError, Sections, read};

/// `[tiers]`: a key for each [`Tier`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TiersSection {
    public: Option<Layers>,
    household: Option<Layers>,
    sensitive: Option<Layers>,
    restricted: Option<Layers>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ApproveSection {
    tiers: Option<Vec<WrittenTier>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct GrantSection {
    tier: Option<WrittenTier>,
    capabilities: Option<Vec<CapabilityName>>,
    messages_per_minute: Option<PerMinute>,
    conversation_messages_per_minute: Option<PerMinute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PeerKeys {
    pub(super) id: AgentId,
    tier: Option<WrittenTier>,
    capabilities: Option<Vec<CapabilityName>>,
    messages_per_minute: Option<PerMinute>,
    pub(super) carriers: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CapabilityKeys {
    name: CapabilityName,
    tier: Option<WrittenTier>,
    description: Option<String>,
    schema: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct OfferSection {
    allow: Vec<NamePattern>,
    linger_seconds: Option<Within<u32, 0, LONGEST_LINGER>>,
}

impl Sections {
    /// What the sections about peers, tiers and capabilities decide.
    pub(super) fn policy(&self, source: Source<'_>) -> Result<Policy, ConfigError> {
        let capabilities = self.capabilities(source)?;
        let (grant, offer) = (&self.grant, &self.offer);
        let per_minute =
            |written: Option<PerMinute>, usual| Some(written.map_or(usual, |number| number.0));
        let linger = offer
            .linger_seconds
            .map_or(DEFAULT_LINGER, |seconds| seconds.0);
        are_offered(grant.capabilities.as_deref(), &capabilities)
            .map_err(|fault| source.bad("grant.capabilities", &fault))?;
        let policy = Policy {
            tier: grant.tier.map_or(Tier::Restricted, |tier| tier.0),
            granted: grant.capabilities.clone(),
            messages_per_minute: per_minute(grant.messages_per_minute, DEFAULT_PER_MINUTE),
            conversation_per_minute: per_minute(
                grant.conversation_messages_per_minute,
                DEFAULT_OF_CONVERSATION,
            ),
            peers: self.peers(&capabilities, source)?,
            offerable: offer.allow.clone(),
            offer_linger: Duration::from_secs(linger.into()),
            // Unless the configuration says otherwise, a person
            // approves messages of the highest tier, the most private.
            approve: match &self.approve.tiers {
                Some(tiers) => tiers.iter().map(|tier| tier.0).collect(),
                None => vec![Tier::Restricted],
            },
            table: self.table(source)?,
            capabilities,
        };
        policy
            .fit_offer()
            .map_err(|fault| source.bad("capability", &fault.to_string()))?;
        Ok(policy)
    }

    fn table(&self, source: Source<'_>) -> Result<Table, ConfigError> {
        let own = &self.tiers;
        let rows = [own.public, own.household, own.sensitive, own.restricted];
        let rows = Tier::ALL.into_iter().zip(rows);
        let table = rows.fold(Table::default(), |table, (tier, row)| match row {
            Some(layers) => table.with(tier, layers),
            None => table,
        });
        match table.descends_at() {
            Some(tier) => Err(source.bad(
                &format!("tiers.{}", tier.name()),
                "it asks for less than the tier below it; add that one's layers",
            )),
            None => Ok(table),
        }
    }

    fn peers(
        &self,
        offered: &[Capability],
        source: Source<'_>,
    ) -> Result<BTreeMap<AgentId, PeerRule>, ConfigError> {
        let mut peers = BTreeMap::new();
        for (number, section) in self.peer.iter().enumerate() {
            let bad = |key: &str, fault: &str| source.bad(&format!("peer.{number}.{key}"), fault);
            are_offered(section.capabilities.as_deref(), offered)
                .map_err(|fault| bad("capabilities", &fault))?;
            let rule = PeerRule {
                tier: section.tier.map(|tier| tier.0),
                capabilities: section.capabilities.clone(),
                messages_per_minute: section.messages_per_minute.map(|number| number.0),
            };
            if peers.insert(section.id.clone(), rule).is_some() {
                return Err(bad("id", "another [[peer]] has this id"));
            }
        }
        Ok(peers)
    }

    fn capabilities(&self, source: Source<'_>) -> Result<Vec<Capability>, ConfigError> {
        let mut capabilities: Vec<Capability> = Vec::new();
        for (number, section) in self.capability.iter().enumerate() {
            let path = |key| format!("capability.{number}.{key}");
            let (name, description) = (section.name.clone(), section.description.clone());
            if capabilities.iter().any(|known| known.name == name) {
                return Err(source.bad(&path("name"), "another [[capability]] has this name"));
            }
            let long = |text: &String| text.chars().count() > DESCRIPTION_CHARS;
            if description.as_ref().is_some_and(long) {
                let fault = "at most 200 characters are expected";
                return Err(source.bad(&path("description"), fault));
            }
            let schema = section.schema.as_deref();
            let schema = schema.map(|text| schema_of(text, &path("schema"), source));
            capabilities.push(Capability {
                name,
                tier: section.tier.map_or(Tier::Household, |tier| tier.0),
                description,
                schema: schema.transpose()?,
            });
        }
        Ok(capabilities)
    }
}

/// A capability that is granted must be offered, so that a misspelt one is not silently without effect.
fn are_offered(granted: Option<&[CapabilityName]>, offered: &[Capability]) -> Result<(), String> {
    let is_odd = |name: &&CapabilityName| !offered.iter().any(|known| known.name == **name);
    match granted.unwrap_or_default().iter().find(is_odd) {
        Some(name) => Err(format!(
            "{:?} is the name of no [[capability]]",
            name.as_str()
        )),
        None => Ok(()),
    }
}

/// The schema of a body: the text itself where it starts with a brace, else the path of a file.
fn schema_of(text: &str, at: &str, source: Source<'_>) -> Result<BodySchema, ConfigError> {
    let (place, text) = if text.trim_start().starts_with('{') {
        (String::new(), text.to_owned())
    } else {
        let path = source.path(text);
        let place = format!("{}: ", path.display());
        // Read one byte more than a schema may have, and no further: that is enough to see that the file is too long.
        (place, read(&path, SCHEMA_BYTES as u64 + 1)?)
    };
    BodySchema::compile(text.as_bytes()).map_err(|fault| source.bad(at, &format!("{place}{fault}")))
}

/// A household's busy morning, with a shopping list and a calendar, is some twenty messages in one
/// minute; agents that talk in a loop send hundreds.
const DEFAULT_PER_MINUTE: u32 = 120;
/// One conversation is less than all that a peer has to say.
const DEFAULT_OF_CONVERSATION: u32 = 60;
/// Time for a machine to start again, and its programs after the daemon.
const DEFAULT_LINGER: u32 = 300;
/// A day: for a program that runs now and then.
const LONGEST_LINGER: i64 = 86_400;
const DESCRIPTION_CHARS: usize = 200;
