//! Attacks with schemas, the peer's and on our own: each test is named after one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use signet_proto::draft::{Draft, Stamp};
use signet_proto::envelope::{Form, Message, Method};
use signet_proto::handshake::Offer;
use signet_proto::headers::Tier;
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::node::{Content, Sending};
use signet_proto::policy::{BodySchema, Capability, Policy};

use crate::household::forger::{call, name, refusal};
use crate::household::net::{Net, message_of};
use crate::household::{self, Agent, identity, published};

/// Alice (0) with a policy, and Bob (1), who has met her.
fn alice_with(policy: Policy) -> Net {
    let alice = move || (identity("agent-alice", "alice"), policy.clone());
    met(Agent::with(alice), Agent::new("agent-bob", "bob"))
}

fn met(mut alice: Agent, mut bob: Agent) -> Net {
    alice.knows(&bob);
    bob.knows(&alice);
    let mut net = Net::new(vec![alice, bob], 1);
    net.ask(0, 1);
    net.run_for(10_000);
    net
}

/// What Alice makes of Bob's flight 3.
#[derive(Debug, Default)]
struct Kept {
    refused: Vec<&'static str>,
    offered: Vec<Offer>,
    received: Vec<String>,
}

/// Bob's flight 3 with other capabilities and another grant: what Alice refuses, and what she keeps.
fn offered(change: impl FnOnce(&mut Value)) -> Result<Kept, &'static str> {
    let (mut alice, mut bob) = household::alice_and_bob();
    let sending = Sending::Notification(Content::default());
    let at = household::at(0);
    let outcome = bob
        .node
        .turn(at)
        .sent()
        .send(&alice.id(), sending)
        .unwrap()
        .outcome;
    let announce = published(&bob.keep(at, outcome)).remove(0).1;
    let verify = published(&alice.hear(at, &announce)).remove(0).1;
    let capability = published(&bob.hear(at, &verify)).remove(0).1;
    let message = message_of(&capability);
    let mut body = message.body().cloned().unwrap();
    change(&mut body);
    let bytes = sign_flight(&message, body)?;
    let trust = published(&alice.hear(at, &bytes));
    let Some((_, trust)) = trust.into_iter().next() else {
        return Ok(Kept {
            refused: alice.refusals(),
            ..Kept::default()
        });
    };
    assert_eq!(message_of(&trust).form, Form::Call(Method::Trust));
    // Flight 4 is Alice's; Bob's first message confirms the session.
    let id = session_after(&capability, &bytes, &trust, &announce, &verify);
    let stamp = Stamp {
        now: at.now,
        session: Some(id),
        sequence: Some(1),
        audit_head: None,
        version: Version::CURRENT,
    };
    let draft = Draft::call(Method::Notification, alice.id(), name(7), json!({}));
    let hello = draft.sign(&identity("agent-bob", "bob"), stamp).unwrap();
    alice.hear(at, hello.bytes());
    let session = alice.node.peers().session(&bob.id(), at.now).unwrap();
    let received = session
        .received
        .capabilities
        .iter()
        .map(|name| name.to_string());
    Ok(Kept {
        refused: alice.refusals(),
        offered: session.offered.clone(),
        received: received.collect(),
    })
}

fn sign_flight(message: &Message, body: Value) -> Result<Arc<[u8]>, &'static str> {
    let headers = &message.headers;
    let draft = Draft {
        life: Duration::from_secs(300),
        ..Draft::call(
            Method::Capability,
            headers.recipient_id.clone(),
            headers.message_id,
            body,
        )
    };
    let stamp = Stamp {
        now: headers.timestamp,
        session: None,
        sequence: None,
        audit_head: headers.audit_head,
        version: headers.version,
    };
    let signed = draft.sign(&identity("agent-bob", "bob"), stamp);
    signed
        .map(|signed| Arc::clone(signed.bytes()))
        .map_err(|reason| reason.name())
}

/// H4 over the flights as they came.
fn session_after(
    _: &[u8],
    capability: &[u8],
    trust: &[u8],
    announce: &[u8],
    verify: &[u8],
) -> SessionId {
    let start = Digest::of(&[b"signet/1 handshake"]);
    let with = |so_far: Digest, flight: &[u8]| {
        Digest::of(&[so_far.as_bytes(), message_of(flight).hash().as_bytes()])
    };
    let flights = [announce, verify, capability, trust];
    SessionId(flights.into_iter().fold(start, with))
}

fn offer(name: &str, schema: &Value) -> Value {
    json!({"name": name, "tier": 2, "schema": schema})
}

#[test]
fn a_schema_bomb_in_the_capability_flight_is_text() {
    // `laughs` would grow to 2^60 parts if its references were followed; `evil` has a costly pattern, and names a page
    // elsewhere.
    let defs = (0..60).map(|n| {
        let next = format!("#/$defs/d{}", n + 1);
        (
            format!("d{n}"),
            json!({"allOf": [{"$ref": next}, {"$ref": next}]}),
        )
    });
    let laughs = json!({"$ref": "#/$defs/d0", "$defs": defs.collect::<serde_json::Map<_, _>>()});
    let evil = json!({"pattern": "^(a|a)*(b|b)*((c+)+)+$", "$ref": "https://example.org/fetch-me", "type": 7});
    let start = Instant::now();
    let kept = offered(|body| {
        body["capabilities"] = json!([
            offer("laughs", &laughs),
            offer("evil", &evil),
            offer("false", &json!(false))
        ]);
    })
    .unwrap();
    assert_eq!(kept.refused, Vec::<&str>::new());
    let kept = kept.offered;
    assert_eq!(kept.len(), 3);
    assert!(
        kept[1].schema.as_ref().unwrap().contains("fetch-me"),
        "a person reads it as it is"
    );
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "nothing was compiled or fetched"
    );
}

#[test]
fn sixty_four_huge_or_bottomless_schemas_do_not_fit_into_a_flight() {
    let huge = json!({"description": "x".repeat(8_000)});
    let all = |schema: &Value| {
        let offers = (0..64).map(|n| offer(&format!("c{n}"), schema));
        offers.collect::<Value>()
    };
    assert_eq!(
        offered(|body| body["capabilities"] = all(&huge)).unwrap_err(),
        "too-large"
    );
    let many = json!({"enum": (0..1_000).collect::<Vec<_>>()});
    let bytes = |schema: &Value| {
        let body = json!({"capabilities": all(schema)});
        signet_json::parse(&signet_json::canonical(&body), signet_json::Limits::MESSAGE)
    };
    assert!(
        bytes(&many).is_err(),
        "64,000 values are more than a message has"
    );
    let deep = (0..70).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(
        bytes(&deep).is_err(),
        "and 70 levels are more than it nests"
    );
    let names = (0..65).map(|n| json!({"name": format!("c{n}"), "tier": 1}));
    let names: Value = names.collect();
    let error = offered(|body| body["capabilities"] = names).unwrap_err();
    assert_eq!(error, "invalid-shape");
}

#[test]
fn a_capability_named_twice_is_refused() {
    let kept = offered(|body| {
        body["capabilities"] = json!([{"name": "a", "tier": 1}, {"name": "a", "tier": 4}]);
    })
    .unwrap();
    assert_eq!(kept.refused, ["invalid-shape"]);
    assert!(kept.offered.is_empty());
}

#[test]
fn a_grant_of_what_was_never_offered_grants_nothing() {
    let kept = offered(|body| {
        body["capabilities"] = json!([{"name": "a", "tier": 1}]);
        body["grant"] = json!({"capabilities": ["a", "a", "door.open", "signet.ping"], "tier": 4});
    })
    .unwrap();
    assert_eq!(kept.refused, Vec::<&str>::new());
    assert_eq!(kept.received, ["a", "a"]);
}

#[test]
fn a_regex_bomb_in_a_body_costs_a_moment() {
    let schema = r#"{"properties": {"t": {"pattern": "^(([a-z])+.)+[A-Z]([a-z])+$"}, "u": {"pattern": "(x+x+)+y"}}}"#;
    let mut capability = Capability::new("text".parse().unwrap(), Tier::Household);
    capability.schema = Some(BodySchema::compile(schema.as_bytes()).unwrap());
    let mut net = alice_with(Policy {
        capabilities: vec![capability],
        ..Policy::default()
    });
    let start = Instant::now();
    for (n, body) in [
        json!({"t": "a".repeat(200_000)}),
        json!({"u": "x".repeat(200_000)}),
    ]
    .into_iter()
    .enumerate()
    {
        let bytes = call(&net, Method::Request, n as u64 + 1, |draft, _| {
            draft.body = Some(body);
            draft.capability = "text".parse().ok();
        });
        assert_eq!(refusal(&mut net, &bytes), Some("body-unfit"));
    }
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_body_of_ten_thousand_values_is_fitted_in_linear_time() {
    let level = |inner: Value| json!({"anyOf": [{"type": "array", "items": inner}, {"items": inner, "type": "array"}]});
    let schema = (0..6).fold(json!({"type": "integer"}), |inner, _| level(inner));
    let schema = BodySchema::compile(schema.to_string().as_bytes()).unwrap();
    let body: Value = (0..3_000).map(|_| json!([[[["x"]]]])).collect();
    let start = Instant::now();
    assert!(schema.misfit(&body).is_some());
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_schema_of_our_own_that_a_body_could_make_work_without_end_is_refused() {
    let chain = (0..2_000).map(|n| {
        (
            format!("d{n}"),
            json!({"$ref": format!("#/$defs/d{}", n + 1)}),
        )
    });
    let chain = json!({"$ref": "#/$defs/d0", "$defs": chain.collect::<serde_json::Map<_, _>>()});
    let laughs = (0..15).map(|n| {
        let next = format!("#/$defs/d{}", n + 1);
        (
            format!("d{n}"),
            json!({"anyOf": [{"$ref": next}, {"$ref": next}]}),
        )
    });
    let mut laughs: serde_json::Map<_, _> = laughs.collect();
    laughs.insert("d15".into(), json!({"type": "string"}));
    let laughs = json!({"$ref": "#/$defs/d0", "$defs": laughs});
    let unevaluated = (0..10).fold(
        json!({"type": "object"}),
        |inner, _| json!({"properties": {"a": inner}, "unevaluatedProperties": false}),
    );
    for (schema, words) in [
        (
            json!({"$defs": {"t": {"properties": {"next": {"$ref": "#/$defs/t"}}}}}),
            "leads back to itself",
        ),
        (json!({"items": {"$ref": "#"}}), "leads back to itself"),
        (json!({"$dynamicRef": "#meta"}), "leave it out"),
        (
            json!({"$schema": "https://example.org/own-dialect"}),
            "only \"https://json-schema.org",
        ),
        (
            json!({"items": {"$id": "https://example.org/other"}}),
            "only the whole schema",
        ),
        (
            json!({"$ref": "file:///etc/passwd"}),
            "refers to nothing outside",
        ),
        (chain, "more than 16 deep"),
        (laughs, "too much work"),
        (unevaluated, "too much work"),
        (json!({"pattern": "(a)\\1"}), "#/pattern"),
        (
            json!({"pattern": "(((a{100}){100}){100}){100}"}),
            "#/pattern",
        ),
        (
            json!({"patternProperties": {"(?<=x)y": true}}),
            "patternProperties",
        ),
    ] {
        let error = BodySchema::compile(schema.to_string().as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(words), "{error}");
    }
    let deep = (0..40).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(BodySchema::compile(deep.to_string().as_bytes()).is_err());
    // Under `properties` and in `const`, `$ref` and `$id` are names and no keywords: a schema with them is taken.
    let names =
        json!({"properties": {"$ref": {"type": "string"}, "$id": true}, "const": {"$ref": "x"}});
    assert!(BodySchema::compile(names.to_string().as_bytes()).is_ok());
}
