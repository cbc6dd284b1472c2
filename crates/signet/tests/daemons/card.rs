//! The signed card, as a gateway asks for it at `agent.sock`.

use std::os::unix::fs::PermissionsExt as _;

use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Value, json};
use signet::control::{Client, ClientError};
use signet_api::Reason;
use signet_json::canonical;
use signet_proto::ids::{decode_base64url, encode_base64url};

use crate::house::{Home, House, PATIENCE, eventually};

fn ask(home: &Home, params: Value) -> Result<Value, Reason> {
    let mut agent = Client::connect(&home.dir.join("agent.sock"), PATIENCE).unwrap();
    agent
        .raw("card.show", &params)
        .map_err(|error| match error {
            ClientError::Refused(error) => error.refusal().expect("a refusal").reason.clone(),
            other => panic!("{other}"),
        })
}

/// Whether the card's signature holds by the key that it names: what any reader of JWS (RFC 7515) does.
fn holds(shown: &Value) -> bool {
    let mut card = shown["card"].clone();
    let signatures = card.as_object_mut().unwrap().remove("signatures").unwrap();
    let part = |name: &str| signatures[0][name].as_str().unwrap().to_owned();
    let header: Value =
        serde_json::from_slice(&decode_base64url(&part("protected")).unwrap()).unwrap();
    let mut keys = shown["keys"]["keys"].as_array().unwrap().iter();
    let key = keys.find(|key| key["kid"] == header["kid"]).unwrap();
    let public = decode_base64url(key["x"].as_str().unwrap()).unwrap();
    let public = VerifyingKey::from_bytes(&public.try_into().unwrap()).unwrap();
    let signature = decode_base64url(&part("signature")).unwrap();
    let signature = Signature::from_bytes(&signature.try_into().unwrap());
    let payload = encode_base64url(&canonical(&card));
    let input = format!("{}.{payload}", part("protected"));
    public.verify_strict(input.as_bytes(), &signature).is_ok()
}

#[test]
fn the_card_is_signed_by_a_key_of_its_own_and_tells_of_a_peer_what_it_offers() {
    let house = House::new();
    let (mut alice, mut bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    let offer = "[[capability]]\nname = \"calendar.free-busy\"\ndescription = \"Tells when \\u202e there is time\"\n\n[offer]";
    bob.configure("[offer]", offer);
    alice.start();
    bob.start();
    alice.ping(&bob);

    // Without an address there is nothing to sign, and no key is made.
    assert_eq!(ask(&alice, json!({})), Err(Reason::NoCard));
    let key = alice.dir.join("keys/card.pem");
    assert!(!key.exists());
    alice.configure("[card]", "[card]\nurl = \"https://agents.example/\"");
    alice.done(&["reload"]);

    let own = ask(&alice, json!({})).unwrap();
    assert!(holds(&own));
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let signing = std::fs::read(alice.dir.join("keys/signing.pem")).unwrap();
    assert_ne!(std::fs::read(&key).unwrap(), signing);
    assert_eq!(own["card"]["name"], "agent-alice");
    let can = &own["card"]["capabilities"];
    assert_eq!(can["extendedAgentCard"], true);
    assert_eq!(can["extensions"][0]["uri"], signet_api::A2A_EXTENSION);
    assert!(
        !own["card"].to_string().contains("bob"),
        "whom one trusts is not told"
    );
    assert_eq!(
        own["card"]["supportedInterfaces"][0]["url"],
        "https://agents.example/a2a"
    );

    let of_bob = eventually("bob tells what it offers", || {
        let shown = ask(&alice, json!({"peer": "agent-bob"})).unwrap();
        (shown["card"]["skills"][0]["id"] == "calendar.free-busy").then_some(shown)
    });
    assert!(holds(&of_bob));
    let about = of_bob["card"]["skills"][0]["description"].as_str().unwrap();
    assert!(
        about.contains("there is time") && !about.contains('\u{202e}'),
        "{about}"
    );
    assert_eq!(
        of_bob["card"]["supportedInterfaces"][0]["url"],
        "https://agents.example/a2a/agent-bob"
    );

    // The card's key is kept over a restart: otherwise clients that remember it could not verify later cards.
    alice.stop();
    alice.start();
    assert_eq!(ask(&alice, json!({})).unwrap()["keys"], own["keys"]);
}

#[test]
fn a_gateway_in_other_hands_gets_no_signature_under_words_of_its_own() {
    let house = House::new();
    let (mut alice, bob) = (house.home("alice"), house.home("bob"));
    house.acquaint(&[&alice, &bob]);
    alice.configure("[card]", "[card]\nurl = \"https://agents.example\"");
    alice.configure("# peers = [\"agent-bob-001\"]", "peers = [\"agent-carol\"]");
    alice.start();
    let mut agent = Client::connect(&alice.dir.join("agent.sock"), PATIENCE).unwrap();
    for params in [
        json!({"card": {"name": "agent-mallory"}}),
        json!({"url": "https://mallory.example"}),
        json!({"bytes": "c2lnbmV0"}),
    ] {
        let said = agent.raw("card.show", &params);
        assert!(
            matches!(said, Err(ClientError::Refused(ref error)) if error.is_of_params()),
            "{said:?}"
        );
    }
    assert_eq!(
        ask(&alice, json!({"peer": "agent-bob"})),
        Err(Reason::BeyondCeiling)
    );
    assert_eq!(
        ask(&alice, json!({"peer": "agent-carol"})),
        Err(Reason::PeerUnknown)
    );
}
