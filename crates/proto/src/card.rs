//! Signatures of agent cards (A2A 1.0, "Agent card signing"): JWS (RFC 7515) by a key that signs nothing else.
//!
//! A card is read by programs that know nothing of signet. So its key is not the agent's: its signatures carry none of
//! the labels of [`crate::keys::Purpose`], and must not be taken for anything that one of them stands for.

use std::fmt;

use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest as _, Sha256};
use signet_json::{Map, Value, canonical};
use zeroize::Zeroizing;

use crate::ids::encode_base64url;

/// The Ed25519 key of a card. It cannot print itself and is wiped when dropped.
pub struct CardKey(SigningKey);

impl CardKey {
    /// The key of a 32-byte seed (RFC 8032, 5.1.5).
    #[must_use]
    pub fn from_seed(seed: &Zeroizing<[u8; 32]>) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// Its name: the thumbprint of the public key (RFC 7638).
    pub fn id(&self) -> String {
        encode_base64url(&Sha256::digest(canonical(&self.members())))
    }

    /// The public key as a JWK (RFC 7517, RFC 8037).
    pub fn to_jwk(&self) -> Value {
        let mut jwk = self.members();
        if let Some(members) = jwk.as_object_mut() {
            members.insert("alg".into(), ALGORITHM.into());
            members.insert("kid".into(), self.id().into());
            members.insert("use".into(), "sig".into());
        }
        jwk
    }

    /// The card with its signature, in the place of any that it has. `keys` is the address of the public key (`jku`).
    ///
    /// Readers leave out empty values before they compute what is signed, so a card must not have any: `None` for one
    /// that does, and for what is no object.
    pub fn sign(&self, card: &Value, keys: &str) -> Option<Value> {
        let mut members = card.as_object()?.clone();
        members.remove(SIGNATURES);
        if members.is_empty() || members.values().any(has_empty) {
            return None;
        }
        let payload = encode_base64url(&canonical(&Value::Object(members.clone())));
        let header = [
            ("alg", ALGORITHM),
            ("jku", keys),
            ("kid", &self.id()),
            ("typ", "JOSE"),
        ];
        let protected = encode_base64url(&canonical(&texts(&header)));
        // RFC 7515, section 5.1: the signature is made over the header and the payload, joined by a dot.
        let signature = self.0.sign(format!("{protected}.{payload}").as_bytes());
        let signature = encode_base64url(&signature.to_bytes());
        let signed = texts(&[("protected", &protected), ("signature", &signature)]);
        members.insert(SIGNATURES.into(), Value::Array(vec![signed]));
        Some(Value::Object(members))
    }

    /// The members of which the thumbprint is made.
    fn members(&self) -> Value {
        let public = encode_base64url(self.0.verifying_key().as_bytes());
        // RFC 7638 hashes exactly these members, in the order of their names: canonical form gives that order.
        texts(&[("crv", "Ed25519"), ("kty", "OKP"), ("x", &public)])
    }
}

impl fmt::Debug for CardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CardKey({})", self.id())
    }
}

fn texts(members: &[(&str, &str)]) -> Value {
    let member = |(name, text): &(&str, &str)| ((*name).to_owned(), Value::from(*text));
    Value::Object(members.iter().map(member).collect::<Map<_, _>>())
}

fn has_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty() || items.iter().any(has_empty),
        Value::Object(members) => members.is_empty() || members.values().any(has_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

const ALGORITHM: &str = "EdDSA";
const SIGNATURES: &str = "signatures";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use ed25519_dalek::{Signature, VerifyingKey};
    use serde_json::json;

    use super::*;
    use crate::ids::decode_base64url;
    use crate::keys::{Purpose, VerifyKey};

    /// RFC 8037, appendix A: the key, its thumbprint.
    fn key() -> CardKey {
        let seed = decode_base64url("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        CardKey::from_seed(&Zeroizing::new(seed.try_into().unwrap()))
    }

    const KEYS: &str = "https://a.example/.well-known/jwks.json";

    /// What a reader does who has only the RFCs: the signed card's own key, and whether its signature holds.
    fn holds(signed: &Value, key: &CardKey) -> bool {
        let jwk = key.to_jwk();
        let public = decode_base64url(jwk["x"].as_str().unwrap()).unwrap();
        let public = VerifyingKey::from_bytes(&public.try_into().unwrap()).unwrap();
        let mut card = signed.clone();
        let signatures = card.as_object_mut().unwrap().remove("signatures").unwrap();
        let part = |name: &str| signatures[0][name].as_str().unwrap().to_owned();
        let payload = encode_base64url(&canonical(&card));
        let signature = decode_base64url(&part("signature")).unwrap();
        let signature = Signature::from_bytes(&signature.try_into().unwrap());
        let input = format!("{}.{payload}", part("protected"));
        public.verify_strict(input.as_bytes(), &signature).is_ok()
    }

    #[test]
    fn the_key_is_named_as_rfc_8037_names_it() {
        assert_eq!(key().id(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        assert_eq!(
            key().to_jwk()["x"],
            "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
        );
        assert!(!format!("{:?}", key()).contains("nWGx"));
    }

    #[test]
    fn a_signed_card_holds_and_no_changed_one_does() {
        let card = json!({"name": "agent-alice", "skills": [{"id": "a", "tags": ["x"]}], "capabilities": {"streaming": true}});
        let signed = key().sign(&card, KEYS).unwrap();
        assert!(holds(&signed, &key()));
        let header = decode_base64url(signed["signatures"][0]["protected"].as_str().unwrap());
        let header: Value = serde_json::from_slice(&header.unwrap()).unwrap();
        assert_eq!(
            header,
            json!({"alg": "EdDSA", "kid": key().id(), "typ": "JOSE", "jku": KEYS})
        );
        for (place, value) in [
            ("/name", json!("agent-mallory")),
            ("/capabilities/streaming", json!(false)),
            ("/skills/0/tags/0", json!("y")),
        ] {
            let mut changed = signed.clone();
            *changed.pointer_mut(place).unwrap() = value;
            assert!(!holds(&changed, &key()), "{place}");
        }
        assert_eq!(
            key().sign(&signed, KEYS),
            Some(signed),
            "its own signature is no part of it"
        );
    }

    #[test]
    fn a_card_with_an_empty_value_is_not_signed_because_readers_leave_it_out() {
        for empty in [
            json!(null),
            json!(""),
            json!([]),
            json!({}),
            json!([{"a": [""]}]),
        ] {
            assert_eq!(
                key().sign(&json!({"name": "a", "more": empty}), KEYS),
                None,
                "{empty}"
            );
        }
        assert_eq!(key().sign(&json!({}), KEYS), None);
        assert_eq!(key().sign(&json!("a"), KEYS), None);
    }

    #[test]
    fn a_cards_signature_is_none_of_the_protocols() {
        let signed = key().sign(&json!({"name": "a"}), KEYS).unwrap();
        let part = |name: &str| signed["signatures"][0][name].as_str().unwrap().to_owned();
        let public = decode_base64url(key().to_jwk()["x"].as_str().unwrap()).unwrap();
        let public = VerifyKey::try_from(<[u8; 32]>::try_from(public).unwrap()).unwrap();
        let signature = decode_base64url(&part("signature"))
            .unwrap()
            .try_into()
            .unwrap();
        let payload = encode_base64url(&canonical(&json!({"name": "a"})));
        let input = format!("{}.{payload}", part("protected"));
        for purpose in [Purpose::Message, Purpose::Certificate, Purpose::Decision] {
            assert!(!public.verify(purpose, &[input.as_bytes()], &signature));
        }
    }
}
