//! Attacks on a person's word that a call is theirs.

use serde_json::{Value, json};
use signet_proto::certificate::CertificateError;
use signet_proto::ids::AgentId;
use signet_proto::statement::{Asked, DecisionStatement};
use signet_proto::time::Timestamp;

use crate::household::{control, key};

/// What [`word`] is about Bob's agent.
const WORD: &str = r#"{"agent-id":"agent-alice","call":"trust.approve","issued-at":"2026-02-09T12:00:00.000Z","params":"iyHu7bLhrOSbWWEI3K-lNIMKkAbhyjRn9BuHkDm0SgE","principal-id":"alice","signature":"I3u3urCWK44lwihmBJmEd620Hur9XNqmYlA5qoV27l25EZsdxQBOS5G264-4PVqP9SYWebGmWRQkld09Pz-PDg","type":"decision"}"#;

fn alice() -> AgentId {
    "agent-alice".parse().unwrap()
}

fn noon() -> Timestamp {
    "2026-02-09T12:00:00.000Z".parse().unwrap()
}

fn after(seconds: u64) -> Timestamp {
    noon().saturating_add(std::time::Duration::from_secs(seconds))
}

/// Alice's word that her agent trusts Bob's.
fn word(params: &Value) -> Value {
    let agent = alice();
    let asked = Asked {
        agent: &agent,
        call: "trust.approve",
        params,
    };
    let said = DecisionStatement::sign(asked, noon(), &control("alice"), &key("control of alice"));
    said.unwrap().to_value()
}

fn heard(
    value: &Value,
    (agent, call, params): (&str, &str, &Value),
    now: Timestamp,
) -> Result<DecisionStatement, CertificateError> {
    let agent: AgentId = agent.parse().unwrap();
    let asked = Asked {
        agent: &agent,
        call,
        params,
    };
    DecisionStatement::verify(value, asked, now, &control("alice"))
}

/// The other statements are held byte for byte by `vectors/`.
#[test]
fn the_bytes_of_a_word_are_what_they_were() {
    let word = word(&json!({"agent": "agent-bob"})).to_string();
    assert_eq!(word, WORD);
}

#[test]
fn a_word_about_one_call_stands_for_no_other() {
    let params = json!({"agent": "agent-bob"});
    let value = word(&params);
    assert!(heard(&value, ("agent-alice", "trust.approve", &params), noon()).is_ok());
    let other = json!({"agent": "agent-mallory"});
    let more = json!({"agent": "agent-bob", "root": "ed25519:x"});
    for (asked, member) in [
        (("agent-alice", "trust.replace-root", &params), "call"),
        (("agent-alice", "trust.approve", &other), "params"),
        (("agent-alice", "trust.approve", &more), "params"),
        (("agent-carol", "trust.approve", &params), "agent-id"),
    ] {
        let refused = heard(&value, asked, noon()).unwrap_err();
        assert_eq!(refused, CertificateError::Member(member));
    }
}

#[test]
fn a_word_that_was_kept_for_later_or_signed_ahead_is_worth_nothing() {
    let params = json!({"agent": "agent-bob"});
    let value = word(&params);
    let asked = ("agent-alice", "trust.approve", &params);
    assert!(heard(&value, asked, after(299)).is_ok());
    let before = noon().saturating_sub(std::time::Duration::from_secs(301));
    for now in [after(300), after(86_400), before] {
        let refused = heard(&value, asked, now).unwrap_err();
        assert_eq!(refused, CertificateError::Member("issued-at"));
    }
}

#[test]
fn a_word_that_was_changed_or_signed_by_another_key_does_not_hold() {
    let params = json!({"agent": "agent-bob"});
    let asked = ("agent-alice", "trust.approve", &params);
    let value = word(&params);
    for (member, changed) in [
        ("issued-at", json!("2026-02-09T12:00:01.000Z")),
        ("signature", json!("A".repeat(86))),
    ] {
        let mut forged = value.clone();
        forged[member] = changed;
        assert_eq!(
            heard(&forged, asked, noon()).unwrap_err(),
            CertificateError::Signature
        );
    }
    for member in [
        "type",
        "principal-id",
        "call",
        "params",
        "issued-at",
        "signature",
    ] {
        let mut bare = value.clone();
        bare.as_object_mut().unwrap().remove(member);
        assert!(heard(&bare, asked, noon()).is_err(), "{member}");
    }
    let agent = alice();
    let asked = Asked {
        agent: &agent,
        call: "trust.approve",
        params: &params,
    };
    for stranger in ["root of alice", "control of bob", "signing of agent-alice"] {
        let signed = DecisionStatement::sign(asked, noon(), &control("alice"), &key(stranger));
        assert_eq!(
            signed.unwrap_err(),
            CertificateError::Signature,
            "{stranger}"
        );
    }
}
