//! A message of ours is written once, in canonical form: what is signed and sent is the canonical form of its tree.

use serde_json::{Map, Value, json};
use signet_json::canonical;
use signet_proto::draft::{Draft, Stamp};
use signet_proto::envelope::{Form, Method, Unverified};
use signet_proto::headers::{Headers, Layers, Tier};
use signet_proto::ids::{Digest, SessionId, Version, encode_base64url};
use signet_proto::keys::Purpose;
use signet_proto::reject::Reason;

use crate::forge::{id, recipient};
use crate::household::{at, identity, rng};
use crate::two_readers::same;

/// A draft in which each optional member is there when its bit is set.
fn draft(form: Form, bits: u32) -> (Draft, Stamp) {
    let has = |bit: u32| bits >> bit & 1 == 1;
    let bodies = [
        json!({"b": [1, 1.5, 1e21, null, true], "a": {"\u{10000}": 1, "\u{e000}": "\u{1}"}}),
        json!("\u{7f}\u{2028}\"\\\n"),
    ];
    let body = bodies[bits as usize % 2].clone();
    let draft = Draft {
        form,
        summary: has(0).then(|| "\u{1f}\"Wie geht's?\" \u{1f600}".to_owned()),
        body: has(1).then_some(body),
        data_tier: if has(2) {
            Tier::Household
        } else {
            Tier::Public
        },
        capability: has(3).then(|| "lamp.on".parse().unwrap()),
        conversation_id: has(4).then(|| "A:b_c-9".parse().unwrap()),
        in_reply_to: has(5).then(|| id("asked")),
        hops: if has(6) { 255 } else { 1 },
        ..Draft::call(
            Method::Request,
            recipient("agent-bob"),
            id("a"),
            Value::Null,
        )
    };
    let stamp = Stamp {
        now: at(5).now,
        session: has(7).then_some(SessionId(Digest([8; 32]))),
        sequence: has(8).then_some((1 << 53) - 1),
        audit_head: has(9).then_some(Digest([9; 32])),
        version: if has(10) {
            Version::PROGRESS
        } else {
            Version::CURRENT
        },
    };
    (draft, stamp)
}

/// The tree of what a draft says, as `docs/protocol.md` draws it.
fn tree(draft: &Draft, stamp: Stamp, layers: Layers, sealed: Option<Value>) -> Value {
    let alice = identity("agent-alice", "alice");
    let headers = Headers {
        agent_id: "agent-alice".parse().unwrap(),
        principal_id: "alice".parse().unwrap(),
        timestamp: stamp.now,
        message_type: draft.form.message_type(),
        version: stamp.version,
        layers,
        recipient_id: draft.recipient.clone(),
        message_id: draft.message_id,
        expires_at: stamp.now.saturating_add(draft.life),
        key_id: alice.signing.public().id(),
        session: stamp.session,
        sequence: stamp.sequence,
        data_tier: draft.data_tier,
        capability: draft.capability.clone(),
        conversation_id: draft.conversation_id.clone(),
        in_reply_to: draft.in_reply_to,
        audit_head: stamp.audit_head,
        hops: draft.hops,
    };
    let mut envelope = Map::new();
    envelope.insert("headers".into(), headers.to_value());
    match sealed {
        Some(sealed) => drop(envelope.insert("sealed".into(), sealed)),
        None => {
            let summary = draft.summary.as_deref();
            summary.map(|summary| envelope.insert("summary".into(), summary.into()));
            let body = draft.body.as_ref();
            body.map(|body| envelope.insert("body".into(), body.clone()));
        }
    }
    let answered = draft.in_reply_to.map(|id| id.to_string());
    match &draft.form {
        Form::Call(method) if method.is_call() => {
            json!({"jsonrpc": "2.0", "method": method.as_str(), "id": draft.message_id.to_string(), "params": envelope})
        }
        Form::Call(method) => {
            json!({"jsonrpc": "2.0", "method": method.as_str(), "params": envelope})
        }
        Form::Success => {
            json!({"jsonrpc": "2.0", "id": answered.unwrap_or_default(), "result": envelope})
        }
        Form::Failure {
            code,
            message,
            reason,
        } => {
            envelope.insert("reason".into(), reason.as_str().into());
            json!({"jsonrpc": "2.0", "id": answered.unwrap_or_default(), "error": {"code": code, "message": message, "data": envelope}})
        }
    }
}

/// The tree with its signature, written and signed as a whole.
fn signed(mut tree: Value) -> Vec<u8> {
    let alice = identity("agent-alice", "alice");
    let signature = alice.signing.sign(Purpose::Message, &[&canonical(&tree)]);
    let envelope = crate::forge::envelope(&mut tree);
    envelope.insert("signature".into(), encode_base64url(&signature).into());
    canonical(&tree)
}

fn forms() -> Vec<Form> {
    let calls = Method::ALL.iter().map(|method| Form::Call(*method));
    let failure = |message: &str| Form::Failure {
        code: -32_001,
        message: message.to_owned(),
        reason: "declined".to_owned(),
    };
    let others = [
        Form::Success,
        failure("no \u{7f}\"\\\n"),
        failure(&"x".repeat(501)),
    ];
    calls.chain(others).collect()
}

#[test]
fn what_is_written_once_is_the_canonical_form_of_the_tree() {
    let alice = identity("agent-alice", "alice");
    let (mut taken, mut refused) = (0, 0);
    for form in forms() {
        for bits in (0..1 << 11).step_by(5) {
            let (draft, stamp) = draft(form.clone(), bits);
            let expected = signed(tree(&draft, stamp, alice.layers, None));
            let judged = Unverified::parse_any(&expected);
            let judged = judged.map(|unverified| unverified.claims().clone());
            match (draft.sign(&alice, stamp), judged) {
                (Ok(signed), Ok(message)) => {
                    assert_eq!(signed.bytes()[..], expected);
                    assert!(same(signed.message(), &message));
                    taken += 1;
                }
                (Err(reason), Err(unparsed)) => {
                    assert_eq!(reason, unparsed.reason);
                    refused += 1;
                }
                (signed, judged) => panic!("{form:?} {bits}: {signed:?}, {judged:?}"),
            }
        }
    }
    assert!(taken > 1_000 && refused > 1_000, "{taken} {refused}");
}

#[test]
fn what_is_sealed_is_written_once_as_well() {
    let (alice, bob) = (
        identity("agent-alice", "alice"),
        identity("agent-bob", "bob"),
    );
    for form in [Form::Call(Method::Request), Form::Success] {
        let (mut draft, stamp) = draft(form, 0b10_1011_1111);
        draft.data_tier = Tier::Sensitive;
        let copy = draft.clone();
        let (sealed, _) = draft
            .seal_and_sign(&alice, stamp, bob.keys.sealing_key, &mut rng())
            .unwrap();
        let sealed_value = sealed.message().sealed.as_ref().unwrap().to_value();
        let expected = signed(tree(&copy, stamp, alice.layers, Some(sealed_value)));
        assert_eq!(sealed.bytes()[..], expected);
    }
}

#[test]
fn a_body_that_is_too_long_is_refused_before_it_is_sent() {
    let alice = identity("agent-alice", "alice");
    let (mut draft, stamp) = draft(Form::Call(Method::Request), 0b10_1011_1111);
    draft.body = Some("x".repeat(240 * 1024).into());
    assert_eq!(draft.sign(&alice, stamp).unwrap_err(), Reason::TooLarge);
}
