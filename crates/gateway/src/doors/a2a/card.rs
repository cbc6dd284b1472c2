//! Cards: what this agent, or a peer behind it, tells of itself.
//!
//! The card of 1.0 and the one of 0.3 differ in where the address stands. A hybrid one has both; what reads 1.0 strictly
//! wants `v1`, and `/.well-known/agent.json` is of 0.3 always. Where the daemon has a `[card]`, it makes and signs the card of
//! 1.0 itself, and this door adds to it what a reader of 0.3 looks for, and nothing else.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use signet_api::{AgentCard, CardAuth, passing_on, skill};

use super::door::A2aDoor;
use super::fault::A2aError;
use super::words::method::A2aVersion;
use crate::config::Auth;
use crate::config::a2a::CardForm;
use crate::scope::{Caller, SeenPeer};
use crate::shown::Shown;

/// Whose card, and from where it is looked at.
pub(crate) struct About<'a> {
    pub(crate) room: &'a A2aDoor,
    /// The peer that the card is of, where it is not this agent's own.
    pub(crate) peer: Option<SeenPeer<'a>>,
    /// The address by which the listener was called, without a stroke at its end.
    pub(crate) base: &'a str,
    /// What is offered, where that may be told.
    pub(crate) skills: Vec<Value>,
}

/// The card of this agent, for everybody.
pub(crate) async fn own(room: &A2aDoor, base: &str, form: CardForm) -> Result<Value, A2aError> {
    let about = About {
        room,
        peer: None,
        base,
        skills: vec![passing_on()],
    };
    about.written(form).await
}

/// The card of a peer, where the configuration lets it be told.
pub(crate) async fn of_peer(
    room: &A2aDoor,
    peer: SeenPeer<'_>,
    base: &str,
    form: CardForm,
) -> Result<Value, A2aError> {
    let about = About {
        room,
        peer: Some(peer),
        base,
        skills: skills(room, peer).await?,
    };
    about.written(form).await
}

/// The card for somebody who has proved who they are: with what the agent behind the address offers.
pub(crate) async fn extended(
    room: &A2aDoor,
    caller: &Caller,
    peer: &str,
    base: &str,
    version: A2aVersion,
) -> Result<Value, A2aError> {
    let form = match version {
        A2aVersion::V1 => CardForm::V1,
        A2aVersion::V03 => CardForm::V03,
    };
    let is_seen = caller.scope.knows(peer);
    let peer = is_seen.then_some(SeenPeer { caller, peer });
    let skills = match peer {
        Some(peer) => skills(room, peer).await?,
        None => vec![passing_on()],
    };
    let about = About {
        room,
        peer,
        base,
        skills,
    };
    about.written(form).await
}

/// Whether there is a card for those who have proved who they are: without tokens and certificates nobody has.
fn has_extended(room: &A2aDoor) -> bool {
    room.context.config.listen.auth != Auth::None
}

/// What tells one card from another, for clients that ask again.
pub(crate) fn etag(card: &str) -> String {
    let hash = Sha256::digest(card);
    let mut text = data_encoding::HEXLOWER.encode(&hash);
    text.truncate(32);
    format!("\"{text}\"")
}

impl About<'_> {
    /// The card that the daemon signs, where it has one, and else one without a signature.
    async fn written(self, form: CardForm) -> Result<Value, A2aError> {
        let signed = match form {
            CardForm::V03 => None,
            CardForm::V1 | CardForm::Hybrid => self.room.signed_card(self.peer).await?,
        };
        match signed.and_then(|shown| shown.card.as_object().cloned()) {
            Some(mut card) => {
                if form == CardForm::Hybrid {
                    put_old_members(&mut card, has_extended(self.room));
                    put_old_security(&mut card);
                }
                Ok(Value::Object(card))
            }
            None => self.unsigned(form).await,
        }
    }

    async fn unsigned(self, form: CardForm) -> Result<Value, A2aError> {
        let (name, description) = self.words().await?;
        let url = match self.peer {
            Some(SeenPeer { peer, .. }) => format!("{}/a2a/{peer}", self.base),
            None => format!("{}/a2a", self.base),
        };
        let section = self.room.section();
        let with_token = self.room.context.config.listen.auth == Auth::Token;
        let card = AgentCard {
            name: &name,
            description: &description,
            url: &url,
            push: section.push,
            extension_required: section.require_extension,
            auth: with_token.then_some(CardAuth::Bearer),
            skills: self.skills,
        };
        let mut card = object(card.into_json());
        if form != CardForm::V1 {
            put_old_members(&mut card, has_extended(self.room));
            put_old_security(&mut card);
        }
        if form == CardForm::V03 {
            take_new_members(&mut card);
        }
        // The offers in a peer's card were written by that peer: `Shown` makes their hidden characters visible, so that they
        // cannot mislead a reader.
        Shown::of(&card)
            .map(Shown::into_value)
            .map_err(|_| A2aError::internal("Internal error: a card has no form"))
    }

    async fn words(&self) -> Result<(String, String), A2aError> {
        let section = self.room.section();
        if let Some(SeenPeer { peer, .. }) = self.peer {
            let text = format!("{peer}, reached by signed messages between households");
            return Ok((peer.to_owned(), text));
        }
        let name = match &section.name {
            Some(name) => name.clone(),
            None => self.room.agent().await?,
        };
        let description = section.description.clone();
        let description = description.unwrap_or_else(|| {
            "Passes messages on to agents of other households, signed, and kept in a log".to_owned()
        });
        Ok((name, description))
    }
}

/// What the peer offers, as skills; a plain one where that is unknown.
async fn skills(room: &A2aDoor, seen: SeenPeer<'_>) -> Result<Vec<Value>, A2aError> {
    let offers = room
        .offers(seen.caller, seen.peer)
        .await?
        .unwrap_or_default();
    let skills = offers
        .iter()
        .map(|offer| skill(&offer.name, offer.description.as_deref()));
    let skills: Vec<Value> = skills.collect();
    Ok(match skills.is_empty() {
        true => vec![passing_on()],
        false => skills,
    })
}

/// What readers of 0.3 look for. The signature is over the card without it: readers of 1.0 leave out what they do not know
/// before they verify.
fn put_old_members(card: &mut Map<String, Value>, has_extended: bool) {
    let address = card
        .get("supportedInterfaces")
        .and_then(|all| all.get(0))
        .and_then(|first| first.get("url"))
        .cloned();
    let old = [
        ("url", address.unwrap_or_default()),
        ("preferredTransport", json!("JSONRPC")),
        ("protocolVersion", json!("0.3.0")),
        ("supportsAuthenticatedExtendedCard", json!(has_extended)),
    ];
    for (name, value) in old {
        card.insert(name.to_owned(), value);
    }
}

/// How callers prove who they are, as 0.3 says it, beside what 1.0 says of it. A scheme of 1.0 is one member with all that is
/// said of it; of 0.3 it is that and a `type`. Readers of 1.0 that know 0.3 as well take a scheme with a `type` for one of
/// 0.3 and put it into the form of 1.0: then it has to say all that was signed.
fn put_old_security(card: &mut Map<String, Value>) {
    let Some(schemes) = card
        .get_mut("securitySchemes")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let mut wanted = Map::new();
    for (name, scheme) in schemes {
        if let Some(scheme) = scheme.as_object_mut() {
            put_old_scheme(scheme);
        }
        wanted.insert(name.clone(), json!([]));
    }
    card.insert("security".to_owned(), json!([wanted]));
}

fn put_old_scheme(scheme: &mut Map<String, Value>) {
    for (new, old) in SCHEMES {
        if let Some(Value::Object(said)) = scheme.get(new).cloned() {
            scheme.extend(said);
            scheme.insert("type".to_owned(), json!(old));
        }
    }
}

/// What a reader of 0.3 alone does not know.
fn take_new_members(card: &mut Map<String, Value>) {
    card.remove("supportedInterfaces");
    card.remove("securityRequirements");
    let capabilities = card.get_mut("capabilities").and_then(Value::as_object_mut);
    if let Some(capabilities) = capabilities {
        capabilities.remove("extendedAgentCard");
    }
    let schemes = card
        .get_mut("securitySchemes")
        .and_then(Value::as_object_mut);
    for scheme in schemes.into_iter().flat_map(Map::values_mut) {
        if let Some(scheme) = scheme.as_object_mut() {
            for (new, _) in SCHEMES {
                scheme.remove(new);
            }
        }
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The schemes that a card may have: the member of 1.0, and the type of 0.3.
const SCHEMES: [(&str, &str); 2] = [
    ("httpAuthSecurityScheme", "http"),
    ("mtlsSecurityScheme", "mutualTLS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn card(auth: CardAuth) -> Map<String, Value> {
        let card = AgentCard {
            name: "agent-alice",
            description: "x",
            url: "https://agent.example/a2a",
            push: true,
            extension_required: false,
            auth: Some(auth),
            skills: vec![passing_on()],
        };
        object(card.into_json())
    }

    /// What readers of both versions do: they put each scheme that has a type of 0.3 into the form of 1.0, and leave out what
    /// that does not know.
    fn as_read_by_1_0(mut card: Map<String, Value>, known: &Map<String, Value>) -> Value {
        for scheme in card["securitySchemes"]
            .as_object_mut()
            .unwrap()
            .values_mut()
        {
            let (new, _) = *SCHEMES
                .iter()
                .find(|(_, old)| scheme["type"] == *old)
                .unwrap();
            let mut said = scheme.as_object().unwrap().clone();
            said.retain(|name, _| ["scheme", "description"].contains(&&**name));
            *scheme = json!({ new: said });
        }
        card.retain(|name, _| known.contains_key(name));
        Value::Object(card)
    }

    #[test]
    fn what_is_added_for_0_3_says_how_callers_prove_who_they_are_and_takes_nothing_from_what_is_signed()
     {
        for (auth, name, kind) in [
            (CardAuth::Bearer, "token", "http"),
            (CardAuth::Mtls, "certificate", "mutualTLS"),
        ] {
            let signed = card(auth);
            let mut hybrid = signed.clone();
            put_old_members(&mut hybrid, true);
            put_old_security(&mut hybrid);
            assert_eq!(hybrid["security"], json!([{ name: [] }]));
            let scheme = &hybrid["securitySchemes"][name];
            assert_eq!(scheme["type"], kind);
            if auth == CardAuth::Bearer {
                assert_eq!(scheme["scheme"], "Bearer");
            }
            assert_eq!(
                as_read_by_1_0(hybrid.clone(), &signed),
                Value::Object(signed.clone())
            );
            // The hybrid card holds the members of A2A 0.3 beside those of 1.0, and must leave those of 1.0 as they are:
            // otherwise a client of 1.0 would read another scheme than in the signed card.
            for (new, _) in SCHEMES {
                let of_signed = &signed["securitySchemes"][name][new];
                assert_eq!(&scheme[new], of_signed, "{new}");
            }
        }
    }
}
