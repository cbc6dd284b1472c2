//! `[a2a]` of gateway.toml.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use signet_proto::headers::CapabilityName;
use signet_proto::ids::AgentId;

/// How A2A is spoken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct A2aSection {
    /// Whether the door is open.
    pub(crate) enabled: bool,
    /// The agent behind `/` and `/a2a`.
    pub(crate) default: Option<String>,
    /// In which form cards are written.
    pub(crate) card: CardForm,
    /// Whether there are cards of peers: they tell whom one trusts.
    pub(crate) peer_cards: bool,
    /// What the card calls this agent; its id when absent.
    pub(crate) name: Option<String>,
    /// What the card says of it.
    pub(crate) description: Option<String>,
    /// By which address others reach the listener; that of each request when absent.
    pub(crate) url: Option<String>,
    /// The file of the tasks.
    pub(crate) state: Option<PathBuf>,
    /// Seconds that a call waits for the end of its task, before it answers with the task as it is.
    pub(crate) wait_seconds: u64,
    /// Whether a call that waited is answered with a message alone, where no progress came before the answer.
    pub(crate) direct: bool,
    /// Whether tasks are pushed to addresses that clients name.
    pub(crate) push: bool,
    /// Whether a client has to name our extension.
    pub(crate) require_extension: bool,
    /// The agents whose tiers 3 and 4 may be kept in the file of the tasks, and pushed.
    pub(crate) keep: Vec<String>,
    /// What an agent is asked for where the client does not say.
    pub(crate) capabilities: BTreeMap<String, String>,
    /// Tasks that are kept.
    pub(crate) tasks: usize,
    /// Streams at once.
    pub(crate) streams: usize,
}

/// How a card is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum CardForm {
    /// For both: a card of 1.0 with the members of 0.3 beside.
    #[serde(rename = "hybrid")]
    Hybrid,
    #[serde(rename = "v1")]
    V1,
    #[serde(rename = "v0.3")]
    V03,
}

impl A2aSection {
    /// Where the tasks are: where the file says, else where a unit of systemd lets its process write, else beside the file.
    pub(crate) fn state(&self, beside: &Path) -> PathBuf {
        match &self.state {
            Some(path) => beside.join(path),
            None => std::env::var_os("STATE_DIRECTORY")
                .map_or_else(|| beside.to_owned(), PathBuf::from)
                .join(UNNAMED),
        }
    }

    pub(crate) const fn patience(&self) -> Duration {
        Duration::from_secs(self.wait_seconds)
    }

    pub(crate) fn keeps(&self, peer: &str) -> bool {
        self.keep.iter().any(|kept| kept == peer)
    }

    /// The agents that it names, each after its key.
    pub(crate) fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let default = self.default.iter().map(|peer| ("default", peer));
        let keep = self.keep.iter().map(|peer| ("keep", peer));
        let asked = self.capabilities.keys().map(|peer| ("capabilities", peer));
        let all = default.chain(keep).chain(asked);
        all.map(|(key, peer)| (key, peer.as_str()))
    }

    /// The first setting that cannot be what the person wants, in words.
    pub(crate) fn unfit(&self) -> Option<String> {
        let is_http = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        let fault = match () {
            () if self.tasks == 0 || self.streams == 0 => {
                "`tasks` and `streams` of 0 in [a2a] let nothing in"
            }
            () if self.wait_seconds > 3_600 => "`wait-seconds` of [a2a] is 3600 at most",
            () if !self.url.as_ref().is_none_or(is_http) => {
                "`url` of [a2a] begins with http:// or https://"
            }
            () => return self.unfit_name(),
        };
        Some(fault.to_owned())
    }

    fn unfit_name(&self) -> Option<String> {
        let is_no_agent = |(_, peer): &(&str, &str)| peer.parse::<AgentId>().is_err();
        if let Some((key, peer)) = self.named().find(is_no_agent) {
            return Some(format!(
                "`{key}` under [a2a] has {peer:?}, which is no agent's id; `signet peer list` says whom the daemon knows"
            ));
        }
        let mut asked = self.capabilities.iter();
        let (peer, name) = asked.find(|(_, name)| name.parse::<CapabilityName>().is_err())?;
        Some(format!(
            "`capabilities` under [a2a] has {name:?} for {peer}, which is no name of a capability; `signet peer show {peer}` \
             says what it offers"
        ))
    }
}

const UNNAMED: &str = "gateway-a2a.db";

impl Default for A2aSection {
    fn default() -> Self {
        Self {
            enabled: true,
            default: None,
            card: CardForm::Hybrid,
            peer_cards: false,
            name: None,
            description: None,
            url: None,
            state: None,
            wait_seconds: 20,
            direct: false,
            push: true,
            require_extension: false,
            keep: Vec::new(),
            capabilities: BTreeMap::new(),
            tasks: 10_000,
            streams: 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_section_keeps_nothing_sealed_and_shows_no_peer() {
        let section: A2aSection = toml::from_str("").unwrap();
        assert!(!section.keeps("agent-bob") && !section.peer_cards);
        assert_eq!((section.card, section.unfit()), (CardForm::Hybrid, None));
        let section: A2aSection =
            toml::from_str("card = \"v0.3\"\nkeep = [\"agent-bob\"]").unwrap();
        assert!(section.keeps("agent-bob") && section.card == CardForm::V03);
        for wrong in [
            "tasks = 0",
            "wait-seconds = 9999",
            "url = \"ftp://x\"",
            "default = \"not an id!\"",
            "keep = [\"agent-bob\", \"\"]",
            "[capabilities]\n\"agent bob\" = \"a.b\"",
            "[capabilities]\nagent-bob = \"not a name!\"",
        ] {
            let section: A2aSection = toml::from_str(wrong).unwrap();
            assert!(section.unfit().is_some(), "{wrong}");
        }
        assert!(toml::from_str::<A2aSection>("defualt = \"x\"").is_err());
    }
}
