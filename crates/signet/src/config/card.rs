//! `[card]`: how agents that speak A2A learn of this agent.

use signet_api::CardAuth;

use super::ConfigError;
use super::section::Section;

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

/// Reads the section; there is no card without a `url`.
pub(super) fn card(root: &Section<'_>) -> Result<Option<CardConfig>, ConfigError> {
    let section = root.section("card", KEYS)?;
    let said = |key| section.text(key).map(|text| text.map(str::to_owned));
    let (name, description) = (said("name")?, said("description")?);
    for (key, text) in [("name", &name), ("description", &description)] {
        let plain = |text: &String| text.len() <= LONGEST && !text.chars().any(char::is_control);
        if !text.as_ref().is_none_or(plain) {
            return Err(section.bad(key, "a line of at most 200 bytes is expected"));
        }
    }
    let auth = match section.text("auth")? {
        None | Some("token") => Some(CardAuth::Bearer),
        Some("mtls") => Some(CardAuth::Mtls),
        Some("none") => None,
        Some(_) => return Err(section.bad("auth", "\"token\", \"mtls\" or \"none\" is expected")),
    };
    let push = section.flag("push")?.unwrap_or(true);
    let extension_required = section.flag("require-extension")?.unwrap_or(false);
    let Some(url) = section.text("url")? else {
        return match name.is_some() || description.is_some() {
            true => Err(section.bad(
                "name",
                "it needs `url` beside it: where the gateway is reached",
            )),
            false => Ok(None),
        };
    };
    Ok(Some(CardConfig {
        url: address(url).ok_or_else(|| {
            section.bad(
                "url",
                "an address such as \"https://agents.example\" is expected",
            )
        })?,
        name,
        description,
        auth,
        push,
        extension_required,
    }))
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
const KEYS: &[&str] = &[
    "url",
    "name",
    "description",
    "auth",
    "push",
    "require-extension",
];

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
