//! The secret line by which one household joins a hub: made by `signet nats hub`, used by `signet up --join`.

use serde::{Deserialize, Serialize};
use signet_proto::ids::{AgentId, decode_base64url, encode_base64url};
use zeroize::Zeroizing;

use super::address::HubAddress;
use super::authority::HubAuthority;
use super::household::{HouseholdName, HubPassword};
use crate::cli::CliError;
use crate::cli::setup::invite::read_pasted;
use crate::config::ReplyPrefix;

/// The facts that a household needs of its hub. The type of each field checks it: whoever made the line may be hostile.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HubAccess {
    pub(crate) hub: HubUrl,
    pub(crate) household: HouseholdName,
    pub(crate) password: HubPassword,
    /// The agents of the household.
    pub(crate) agents: Vec<AgentId>,
    /// The reply prefix for which the hub's lists are written.
    #[serde(
        default,
        rename = "reply-prefix",
        skip_serializing_if = "ReplyPrefix::is_default"
    )]
    pub(crate) replies: ReplyPrefix,
    /// Absent where the household's system trusts the authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authority: Option<HubAuthority>,
}

impl HubAccess {
    /// The line that a person hands over. `None` where it would be longer than what is read of a pasted text.
    pub(super) fn to_line(&self) -> Option<Zeroizing<String>> {
        let bytes = Zeroizing::new(serde_json::to_vec(self).unwrap_or_default());
        let line = Zeroizing::new(format!("{PREFIX}{}", encode_base64url(&bytes)));
        (line.len() <= LONGEST).then_some(line)
    }

    /// Reads the line in a text as a person pastes it.
    pub(crate) fn parse(text: &str) -> Result<Self, CliError> {
        let found = read_pasted(text, PREFIX, Self::read, |fault| {
            *fault == LineFault::PlainText
        });
        found.map_err(LineFault::told)
    }

    fn read(line: &str) -> Result<Self, LineFault> {
        let line = line.trim();
        let Some(rest) = line.strip_prefix(PREFIX) else {
            let is_other = line.contains(MARK) && !line.contains(PREFIX);
            return Err(if is_other {
                LineFault::Version
            } else {
                LineFault::Broken
            });
        };
        let bytes = decode_base64url(rest).map_err(|_| LineFault::Broken)?;
        let bytes = Zeroizing::new(bytes);
        if let Ok(Scheme { hub }) = serde_json::from_slice(&bytes)
            && !hub.starts_with(TLS)
        {
            return Err(LineFault::PlainText);
        }
        // The reason of serde's is dropped: it may repeat a part of the line.
        serde_json::from_slice(&bytes).map_err(|_| LineFault::Broken)
    }
}

/// The part of a line that says how the hub is reached.
#[derive(Deserialize)]
struct Scheme {
    hub: String,
}

/// `tls://HOST:PORT`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct HubUrl(HubAddress);

impl HubUrl {
    pub(super) const fn of(address: HubAddress) -> Self {
        Self(address)
    }

    /// HOST:PORT.
    pub(crate) const fn address(&self) -> &HubAddress {
        &self.0
    }
}

impl TryFrom<String> for HubUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let address = text.strip_prefix(TLS).unwrap_or_default();
        address.parse().map(Self)
    }
}

impl From<HubUrl> for String {
    fn from(url: HubUrl) -> Self {
        format!("{TLS}{}", url.0)
    }
}

/// Why a line is not used. It repeats nothing of the line, which is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineFault {
    Broken,
    Version,
    PlainText,
}

impl LineFault {
    fn told(self) -> CliError {
        match self {
            Self::Broken => CliError::usage(
                "this is no line of a hub: one line of signet nats hub is expected, which begins with signet-hub:1:",
                "copy it whole; - reads it from standard input",
            ),
            Self::Version => CliError::usage(
                "this line of a hub is of another version than signet-hub:1:, which this release reads",
                "take the release of whoever keeps the hub, or ask for a line of this one",
            ),
            Self::PlainText => CliError::refused(
                "this line names a hub without TLS, and whoever reads the network would have the household's password",
                "ask whoever keeps the hub for a line with tls://, as their signet nats hub makes it",
            ),
        }
    }
}

const MARK: &str = "signet-hub:";
/// Every line begins with it.
const PREFIX: &str = "signet-hub:1:";
const TLS: &str = "tls://";
/// In bytes. No more is read of a pasted text (`pasted.rs`).
const LONGEST: usize = 16 * 1024 - 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(json: &str) -> String {
        format!("{PREFIX}{}", encode_base64url(json.as_bytes()))
    }

    fn told(text: &str) -> String {
        match HubAccess::parse(text) {
            Err(CliError::Told { what, .. }) => what,
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("{text} was read"),
        }
    }

    const GOOD: &str = r#"{"hub":"tls://hub.example:7422","household":"house-one","password":"SECRET","agents":["agent-a"]}"#;

    #[test]
    fn a_line_that_mail_has_wrapped_is_read_and_written_again() {
        let whole = line(GOOD);
        let (one, two) = whole.split_at(40);
        for text in [whole.clone(), format!("> {one}\n> {two}\n\nBye\n")] {
            let Ok(read) = HubAccess::parse(&text) else {
                panic!("{text}")
            };
            assert_eq!(read.hub.address().to_string(), "hub.example:7422");
            assert_eq!(read.to_line().as_deref(), Some(&whole));
        }
    }

    #[test]
    fn a_newline_a_quote_or_a_brace_in_a_field_makes_a_line_that_is_refused_and_not_repeated() {
        for evil in [
            "\\n", "\\\"", "}", "\\\\", "$", "#", "@", "/", " ", "\\u0000", ":",
        ] {
            for field in ["hub.example", "house-one", "SECRET", "agent-a"] {
                let json = GOOD.replace(field, &format!("{field}{evil}"));
                let what = told(&line(&json));
                assert!(
                    what.starts_with("this is no line of a hub"),
                    "{json}: {what}"
                );
            }
        }
        let authority =
            r#","authority":"-----BEGIN CERTIFICATE-----\n}\n-----END CERTIFICATE-----\n"}"#;
        let unknown = r#","include":"/etc/passwd"}"#;
        for more in [authority, unknown] {
            let json = format!("{}{more}", GOOD.trim_end_matches('}'));
            assert!(told(&line(&json)).starts_with("this is no line of a hub"));
        }
    }

    #[test]
    fn plain_text_another_version_and_a_broken_line_are_told_apart() {
        for scheme in ["nats://", "ws://", "", "TLS://"] {
            let json = GOOD.replace("tls://", scheme);
            assert!(told(&line(&json)).contains("without TLS"), "{scheme}");
        }
        let later = line(GOOD).replace(":1:", ":2:");
        assert!(told(&later).contains("of another version"));
        for text in ["", "hello", PREFIX, &line(GOOD)[..60], "signet-login:1:abc"] {
            assert!(told(text).starts_with("this is no line of a hub"), "{text}");
        }
    }
}
