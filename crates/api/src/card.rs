//! The signed card by which agents that speak A2A learn of this agent, or of a peer behind it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The card of this agent, or of a peer that is reached through it. The daemon makes it of its own configuration: no
/// caller says what is signed.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShowCard {
    /// The peer; this agent itself when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
}

/// A card with its signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ShownCard {
    /// The agent card of A2A 1.0 with `signatures`: JWS by the card key (docs/gateway.md).
    pub card: Value,
    /// The public key as a set of JWK (RFC 7517), for `/.well-known/jwks.json`.
    pub keys: Value,
}

/// What an agent card of A2A 1.0 says. No value of it is empty: readers leave such out before they verify a signature.
pub struct AgentCard<'a> {
    /// The agent's name.
    pub name: &'a str,
    /// A sentence for people.
    pub description: &'a str,
    /// Where the agent is called, whole.
    pub url: &'a str,
    /// Whether tasks are pushed to an address of the caller's.
    pub push: bool,
    /// Whether a caller has to name [`A2A_EXTENSION`].
    pub extension_required: bool,
    /// How callers prove who they are; `None` where they need not.
    pub auth: Option<CardAuth>,
    /// What the agent can be asked for: [`skill`], and [`passing_on`] where that is unknown.
    pub skills: Vec<Value>,
}

/// How callers prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardAuth {
    /// A token in the header `Authorization` (RFC 6750).
    Bearer,
    /// A certificate of theirs (TLS).
    Mtls,
}

impl AgentCard<'_> {
    /// The card as A2A 1.0 writes it.
    pub fn into_json(self) -> Value {
        let interface = |version: &str| {
            json!({
                "url": self.url,
                "protocolBinding": "JSONRPC",
                "protocolVersion": version,
            })
        };
        let mut extension = json!({ "uri": A2A_EXTENSION, "description": A2A_EXTENSION_SAYS });
        if let (true, Some(extension)) = (self.extension_required, extension.as_object_mut()) {
            extension.insert("required".to_owned(), true.into());
        }
        let mut card = json!({
            "name": self.name,
            "description": self.description,
            "version": env!("CARGO_PKG_VERSION"),
            "supportedInterfaces": [interface("1.0"), interface("0.3")],
            "capabilities": {
                "streaming": true,
                "pushNotifications": self.push,
                "extensions": [extension],
            },
            "defaultInputModes": MODES,
            "defaultOutputModes": MODES,
            "skills": self.skills,
        });
        if let (Some(auth), Some(members)) = (self.auth, card.as_object_mut()) {
            if let Some(Value::Object(can)) = members.get_mut("capabilities") {
                // Announce a second, fuller card (A2A's `extendedAgentCard`) only if there is a login: only callers that prove
                // who they are may read it.
                can.insert("extendedAgentCard".to_owned(), true.into());
            }
            let (name, scheme) = auth.scheme();
            members.insert("securitySchemes".to_owned(), json!({ name: scheme }));
            // `list` says what a caller's login must allow, here to send. It must not be empty: readers leave out empty lists
            // before they verify the card's signature (A2A's JSON is protobuf's), and would find another text than was signed.
            let required = json!([{ "schemes": { name: { "list": ["send"] } } }]);
            members.insert("securityRequirements".to_owned(), required);
        }
        card
    }
}

impl CardAuth {
    /// The name by which the card calls it, and the scheme of that name.
    fn scheme(self) -> (&'static str, Value) {
        match self {
            Self::Bearer => {
                let says = "A token of `signet token make`.";
                let scheme = json!({ "scheme": "Bearer", "description": says });
                ("token", json!({ "httpAuthSecurityScheme": scheme }))
            }
            Self::Mtls => {
                let says = "A certificate that the gateway knows.";
                let scheme = json!({ "mtlsSecurityScheme": { "description": says } });
                ("certificate", scheme)
            }
        }
    }
}

/// What an agent offers, as a skill. The description is what the agent wrote: the caller sees to hidden characters.
pub fn skill(name: &str, description: Option<&str>) -> Value {
    let plain = format!("Answers requests for {name}.");
    let description = description.filter(|text| !text.is_empty());
    json!({ "id": name, "name": name, "description": description.unwrap_or(&plain), "tags": TAGS })
}

/// The skill of an agent of which is not known what it offers.
pub fn passing_on() -> Value {
    json!({
        "id": "message",
        "name": "Pass a message on",
        "description": "Passes a message on, signed, and brings the answer.",
        "tags": TAGS,
    })
}

const MODES: [&str; 2] = ["text/plain", "application/json"];
const TAGS: [&str; 1] = ["signet"];

/// The extension of A2A by which a client says what it asks for: the name under which the metadata of a message has it.
pub const A2A_EXTENSION: &str = "urn:signet:a2a:request:1";
/// What a card says of it.
pub const A2A_EXTENSION_SAYS: &str = "In the metadata of a message, under this name: capability (what is asked for), \
    tier (1 to 4, how far it may be told), life (seconds that it may wait)";

quiet!(ShowCard);
