//! A household at a hub: its name, its password there, and its agents.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use signet_proto::ids::AgentId;
use zeroize::Zeroizing;

use crate::cli::CliError;
use crate::random;

/// The name of a household: its user at the hub, and the name and JetStream domain of its own server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct HouseholdName(String);

impl HouseholdName {
    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HouseholdName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for HouseholdName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // The name stands in configurations, in a URL, in a file's name and as a JetStream domain: these letters mean
        // nothing else in any of them.
        let is_of_names = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let is_name = text.len() <= 32
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(is_of_names);
        is_name.then(|| Self(text.to_owned())).ok_or_else(|| {
            "write 1 to 32 letters a-z, digits or -, a letter first, such as house-one".to_owned()
        })
    }
}

impl TryFrom<String> for HouseholdName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// The password of a household at its hub.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct HubPassword(Zeroizing<String>);

impl HubPassword {
    /// A password of the system's random source.
    fn new() -> Result<Self, CliError> {
        let bytes = random::bytes::<24>().map(Zeroizing::new);
        let bytes = bytes.map_err(|error| {
            let what = format!("the system's random bytes make no password: {error}");
            CliError::refused(what, "try again")
        })?;
        Ok(Self(Zeroizing::new(HEXLOWER.encode(&*bytes))))
    }

    /// The password.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for HubPassword {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let text = Zeroizing::new(text);
        // The password stands in configurations and in a URL: these letters mean nothing else there.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_password = (1..=128).contains(&text.len()) && text.chars().all(is_plain);
        // The error says nothing of what it was given: it is secret.
        is_password
            .then_some(Self(text))
            .ok_or("no password of a hub")
    }
}

impl From<HubPassword> for String {
    fn from(password: HubPassword) -> Self {
        password.as_str().to_owned()
    }
}

/// One household as the hub knows it.
pub(super) struct HubHousehold {
    pub(super) name: HouseholdName,
    pub(super) password: HubPassword,
    pub(super) agents: Vec<AgentId>,
}

impl HubHousehold {
    /// A new one of `NAME=AGENT,AGENT`, with a password of the system's random source.
    pub(super) fn new(text: &str) -> Result<Self, CliError> {
        let form = "write NAME=AGENT,AGENT, such as house-one=agent-alice-001";
        let Some((name, agents)) = text.split_once('=') else {
            return Err(CliError::usage("a household without its agents", form));
        };
        let name = name.parse::<HouseholdName>();
        let name = name.map_err(|next| CliError::usage("the name of a household is none", next))?;
        let agents = agents.split(',').map(str::parse).collect::<Result<_, _>>();
        let agents = agents.map_err(|error| CliError::usage(format!("{name}: {error}"), form))?;
        Ok(Self {
            name,
            password: HubPassword::new()?,
            agents,
        })
    }
}

/// Refuses a household or an agent that is there twice: two households with one agent would get each other's mail.
pub(super) fn refuse_twice(households: &[HubHousehold]) -> Result<(), CliError> {
    let (mut names, mut owners) = (BTreeSet::new(), BTreeMap::new());
    for household in households {
        let name = &household.name;
        if !names.insert(name) {
            return Err(CliError::usage(
                format!("the household {name} is named twice"),
                "give each household a name of its own; to give one another password: --remove NAME and --add NAME=AGENT at once",
            ));
        }
        for agent in &household.agents {
            if let Some(other) = owners.insert(agent, name) {
                return Err(CliError::usage(
                    format!("{agent} is named twice, in {other} and in {name}"),
                    "name each agent in its own household alone; two agents of one id cannot share a hub",
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_means_something_in_a_configuration_an_address_or_a_path_is_refused() {
        for name in [
            "",
            "1e5",
            "-a",
            "a b",
            "a\nb",
            "a\"b",
            "a}b",
            "a$b",
            "a:b",
            "a@b",
            "a/b",
            "..",
            "A",
            "a_b",
            "a#b",
            &"a".repeat(33),
        ] {
            assert!(name.parse::<HouseholdName>().is_err(), "{name:?}");
        }
        for name in ["a", "house-one", "h2", &"a".repeat(32)] {
            assert!(name.parse::<HouseholdName>().is_ok(), "{name:?}");
        }
    }

    #[test]
    fn each_household_has_a_password_of_its_own_of_24_bytes() {
        let [one, two] =
            ["a=agent-a", "b=agent-b,agent-c"].map(|text| HubHousehold::new(text).unwrap());
        assert_eq!((one.password.as_str().len(), two.agents.len()), (48, 2));
        assert!(one.password != two.password);
    }
}
