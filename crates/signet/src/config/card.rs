//! `[card]`: how agents that speak A2A learn of this agent.

use serde::Deserialize;
use signet_api::CardAuth;

use super::ConfigError;
use super::section::Source;

/// What a card says that follows from nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardConfig {
    /// Where the gateway is reached, without a slash at its end.
    pub url: String,
    /// The name that people read; the agent's id when absent.
    pub name: Option<String>,
    /// One line for people.
    pub description: Option<String>,
    /// How callers of the gateway prove who they are; `None` where they need not.
    pub auth: Option<CardAuth>,
    /// Whether the gateway delivers what moves to an address of the caller's.
    pub push: bool,
    /// Whether the gateway refuses who does not name our extension of A2A.
    pub extension_required: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct CardSection {
    url: Option<String>,
    name: Option<String>,
    description: Option<String>,
    auth: AuthWord,
    push: Option<bool>,
    require_extension: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AuthWord {
    #[default]
    Token,
    Mtls,
    None,
}

impl CardSection {
    /// There is no card without a `url`.
    pub(super) fn read(self, source: Source<'_>) -> Result<Option<CardConfig>, ConfigError> {
        let plain = |text: &String| text.len() <= LONGEST && !text.chars().any(char::is_control);
        for (key, text) in [
            ("card.name", &self.name),
            ("card.description", &self.description),
        ] {
            if !text.as_ref().is_none_or(plain) {
                return Err(source.bad(key, "a line of at most 200 bytes is expected"));
            }
        }
        let Some(url) = &self.url else {
            let fault = "it needs `url` beside it: where the gateway is reached";
            return match self.name.is_some() || self.description.is_some() {
                true => Err(source.bad("card.name", fault)),
                false => Ok(None),
            };
        };
        let fault = "an address such as \"https://agents.example\" is expected";
        Ok(Some(CardConfig {
            url: address(url).ok_or_else(|| source.bad("card.url", fault))?,
            name: self.name,
            description: self.description,
            auth: match self.auth {
                AuthWord::Token => Some(CardAuth::Bearer),
                AuthWord::Mtls => Some(CardAuth::Mtls),
                AuthWord::None => None,
            },
            push: self.push.unwrap_or(true),
            extension_required: self.require_extension,
        }))
    }
}

/// The address without a slash at its end: scheme, host, perhaps a port and a path; no user, query or fragment.
fn address(url: &str) -> Option<String> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))?;
    let host = rest.split('/').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]%".contains(c);
    let fits = !host.is_empty() && url.len() <= LONGEST && rest.chars().all(plain);
    fits.then(|| url.trim_end_matches('/').to_owned())
}

const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::home::Home;

    fn parsed(section: &str) -> Result<Option<CardConfig>, ConfigError> {
        let text = format!("[agent]\nagent = \"agent-a\"\nprincipal = \"a\"\n[card]\n{section}");
        Config::parse(&text, &Home::at("/home-of-a"), None).map(|config| config.card)
    }

    #[test]
    fn there_is_a_card_where_there_is_an_address() {
        assert_eq!(parsed("").unwrap(), None);
        let written =
            "url = \"https://a.example:8443/\"\nauth = \"mtls\"\nrequire-extension = true";
        let card = parsed(written).unwrap().unwrap();
        assert_eq!(
            (card.url.as_str(), card.auth, card.push),
            ("https://a.example:8443", Some(CardAuth::Mtls), true)
        );
        assert!(card.extension_required);
    }

    #[test]
    fn what_is_no_address_or_no_line_is_refused_by_its_key() {
        for (section, key) in [
            ("url = \"ftp://a.example\"", "url"),
            ("url = \"https://\"", "url"),
            ("url = \"https://user@a.example\"", "url"),
            ("url = \"https://a.example/?q\"", "url"),
            ("url = \"https://a.example\"\nauth = \"basic\"", "auth"),
            (
                "url = \"https://a.example\"\nname = \"a\\u001b[2J\"",
                "name",
            ),
            ("name = \"Alice\"", "name"),
        ] {
            let error = parsed(section).unwrap_err().to_string();
            assert!(error.contains(key), "{section}: {error}");
        }
    }
}
