//! The secret line by which one household joins a hub: made by `signet nats hub`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use signet_proto::ids::{AgentId, encode_base64url};
use zeroize::Zeroizing;

use super::household::HubHousehold;
use super::settings::HubSettings;

/// The facts that a household needs of its hub.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HubLine<'a> {
    /// `tls://HOST:PORT`.
    hub: String,
    household: Cow<'a, str>,
    password: Cow<'a, str>,
    agents: Cow<'a, [AgentId]>,
    /// PEM; absent where the household's system trusts the authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    authority: Option<Cow<'a, str>>,
}

/// The line of one household.
pub(super) fn line_of(
    hub: &HubSettings,
    household: &HubHousehold,
    authority: Option<&str>,
) -> Zeroizing<String> {
    let written = HubLine {
        hub: format!("tls://{}", hub.address),
        household: household.name.as_str().into(),
        password: household.password.as_str().into(),
        agents: household.agents.as_slice().into(),
        authority: authority.map(Into::into),
    };
    let bytes = Zeroizing::new(serde_json::to_vec(&written).unwrap_or_default());
    Zeroizing::new(format!("{PREFIX}{}", encode_base64url(&bytes)))
}

/// Every line begins with it.
const PREFIX: &str = "signet-hub:1:";
