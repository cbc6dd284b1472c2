//! Nothing about a signed message can be changed on the way without being noticed.

use serde_json::{Value, json};
use signet_json::{Limits, canonical, parse};
use signet_proto::certificate::{Certificate, KeyStatement};
use signet_proto::draft::{Draft, Identity, Stamp};
use signet_proto::envelope::{Form, Method, Unverified};
use signet_proto::headers::Tier;
use signet_proto::ids::{Digest, SessionId, Version};
use signet_proto::keys::Purpose;
use signet_proto::reject::Reason;
use signet_proto::trust::{TrustStore, TrustView};

use crate::forge::{self, envelope, id, leaves, objects, read, sign_as};
use crate::household::{at, identity, key};

/// Bob's agent, who knows Alice's.
fn bob() -> TrustView {
    let mut store = TrustStore::new(&identity("agent-bob", "bob").certificate);
    store
        .bind(&identity("agent-alice", "alice").certificate)
        .unwrap();
    store.view().clone()
}

fn alice() -> Identity {
    identity("agent-alice", "alice")
}

fn stamp() -> Stamp {
    Stamp {
        now: at(0).now,
        session: Some(SessionId(Digest([3; 32]))),
        sequence: Some(4711),
        audit_head: Some(Digest([9; 32])),
        version: Version::CURRENT,
    }
}

/// Every header, a summary, and a body with a value of each kind.
fn full(form: Form) -> Vec<u8> {
    let body = json!({
        "signature": "inside the body",
        "headers": {"signature": "deeper"},
        "list": [1, -2.5, true, null, "text", {}, []],
        "week": "2026-W07"
    });
    let mut draft = Draft::call(
        Method::Request,
        forge::recipient("agent-bob"),
        id("full"),
        body,
    );
    draft.summary = Some("Asks for free evenings next week".into());
    draft.data_tier = Tier::Household;
    draft.capability = Some("calendar.free-busy".parse().unwrap());
    draft.conversation_id = Some("talk:1".parse().unwrap());
    draft.in_reply_to = Some(id("an earlier request"));
    draft.hops = 3;
    draft.form = form;
    draft.sign(&alice(), stamp()).unwrap().bytes().to_vec()
}

fn forms() -> [Vec<u8>; 3] {
    let failure = Form::Failure {
        code: Reason::Declined.code(),
        message: "not on a Sunday".into(),
        reason: Reason::Declined.name().into(),
    };
    [Form::Call(Method::Request), Form::Success, failure].map(full)
}

/// The hash of the message that was verified, or why it was not.
fn judge(bytes: &[u8], view: &TrustView) -> Result<Digest, Reason> {
    let unverified = Unverified::parse(bytes).map_err(|unparsed| unparsed.reason)?;
    let verified = unverified.verify(view).verified()?;
    Ok(verified.message().hash())
}

#[test]
fn the_untouched_message_is_verified_in_all_three_forms() {
    for bytes in forms() {
        assert_eq!(judge(&bytes, &bob()), Ok(Digest::of(&[&bytes])));
    }
}

#[test]
fn no_single_bit_of_a_message_can_be_flipped() {
    let view = bob();
    for bytes in forms() {
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let verdict = judge(&flipped, &view);
            assert!(
                verdict.is_err(),
                "bit {bit}: {}",
                String::from_utf8_lossy(&flipped)
            );
        }
    }
}

/// A spelling that means the same is the same message, not a new one: the duplicate check sees it.
#[test]
fn another_spelling_of_an_escape_is_the_same_message() {
    let mut draft = Draft::call(
        Method::Request,
        forge::recipient("agent-bob"),
        id("escape"),
        json!({"bell": "\u{1f}", "big": 1e30}),
    );
    draft.summary = Some("a tab\tand a bell\u{7}".into());
    let bytes = draft.sign(&alice(), stamp()).unwrap().bytes().to_vec();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let other = text
        .replace("\\u001f", "\\u001F")
        .replace("1e+30", "1E30")
        .replace("\\t", "\\u0009");
    assert_ne!(text, other);
    assert_eq!(judge(other.as_bytes(), &bob()), Ok(Digest::of(&[&bytes])));
}

#[test]
fn no_leaf_of_a_message_can_be_changed() {
    let view = bob();
    for bytes in forms() {
        let message = read(&bytes);
        for path in leaves(&message) {
            for change in changes(message.pointer(&path).unwrap()) {
                let mut changed = message.clone();
                *changed.pointer_mut(&path).unwrap() = change.clone();
                let verdict = judge(&canonical(&changed), &view);
                assert!(verdict.is_err(), "{path} became {change}");
            }
        }
    }
}

/// Values of the same and of other kinds that are not `leaf`.
fn changes(leaf: &Value) -> Vec<Value> {
    let near = match leaf {
        Value::String(text) => {
            let mut swapped: Vec<char> = text.chars().collect();
            swapped.reverse();
            let swapped: String = swapped.into_iter().collect();
            vec![
                json!(format!("{text}x")),
                json!(swapped),
                json!(text.to_uppercase()),
            ]
        }
        Value::Number(number) => vec![json!(number.as_f64().unwrap() + 1.0)],
        Value::Bool(value) => vec![json!(!value)],
        _ => Vec::new(),
    };
    let far = [
        json!(null),
        json!(""),
        json!(0),
        json!([]),
        json!({}),
        json!(false),
    ];
    let all = near.into_iter().chain(far);
    all.filter(|value| value != leaf).collect()
}

#[test]
fn no_member_can_be_removed_or_added() {
    let view = bob();
    for bytes in forms() {
        let message = read(&bytes);
        for path in objects(&message) {
            let object = message.pointer(&path).unwrap().as_object().unwrap();
            for name in object.keys() {
                let mut changed = message.clone();
                let members = changed.pointer_mut(&path).unwrap();
                members.as_object_mut().unwrap().remove(name);
                let verdict = judge(&canonical(&changed), &view);
                assert!(verdict.is_err(), "{path} without {name}");
            }
            let mut changed = message.clone();
            changed.pointer_mut(&path).unwrap()["x-added"] = json!(1);
            assert!(
                judge(&canonical(&changed), &view).is_err(),
                "{path} with one more"
            );
        }
    }
}

/// The shape itself keeps them out, so that even their owner's signature does not let them in.
#[test]
fn unknown_members_are_refused_even_when_they_are_signed() {
    for bytes in forms() {
        let message = read(&bytes);
        for path in objects(&message)
            .iter()
            .filter(|path| !path.contains("/body"))
        {
            let mut changed = message.clone();
            changed.pointer_mut(path).unwrap()["x-added"] = json!(1);
            let bytes = forge::sign(changed, &alice().signing);
            let expected = if path.ends_with("/headers") {
                Reason::HeaderUnknown
            } else {
                Reason::InvalidShape
            };
            assert_eq!(judge(&bytes, &bob()), Err(expected), "in {path}");
        }
    }
}

#[test]
fn order_and_white_space_change_nothing() {
    for bytes in forms() {
        let spaced = serde_json::to_string_pretty(&read(&bytes)).unwrap();
        let mut reversed = Vec::new();
        write_reversed(&read(&bytes), &mut reversed);
        assert_ne!(reversed, bytes);
        for same in [spaced.into_bytes(), reversed] {
            assert_eq!(judge(&same, &bob()), Ok(Digest::of(&[&bytes])));
        }
    }
}

fn write_reversed(value: &Value, out: &mut Vec<u8>) {
    let Value::Object(members) = value else {
        return out.extend(canonical(value));
    };
    out.extend(b" {\t");
    for (index, (name, member)) in members.iter().rev().enumerate() {
        if index > 0 {
            out.extend(b"\r\n,");
        }
        out.extend(canonical(&json!(name)));
        out.extend(b" : ");
        write_reversed(member, out);
    }
    out.extend(b"\n} ");
}

#[test]
fn a_signature_made_for_another_purpose_is_refused() {
    let message = read(&full(Form::Call(Method::Request)));
    for purpose in [Purpose::Certificate, Purpose::Keys] {
        let bytes = sign_as(message.clone(), &alice().signing, purpose);
        assert_eq!(judge(&bytes, &bob()), Err(Reason::SignatureInvalid));
    }
    let root = sign_as(message, &key("root of alice"), Purpose::Message);
    let verdict = judge(&root, &bob());
    assert_eq!(
        verdict,
        Err(Reason::SignatureInvalid),
        "a root signs no messages"
    );
}

#[test]
fn the_signature_of_the_body_is_not_the_envelope_s() {
    let mut message = read(&full(Form::Call(Method::Request)));
    let good = envelope(&mut message)["signature"].clone();
    let inner = envelope(&mut message)["body"].as_object_mut().unwrap();
    inner.insert("signature".into(), good);
    assert_eq!(
        judge(&canonical(&message), &bob()),
        Err(Reason::SignatureInvalid)
    );
}

#[test]
fn no_single_bit_of_a_certificate_or_key_statement_can_be_flipped() {
    let alice = alice();
    let public = alice.signing.public();
    let read = |bytes: &[u8]| parse(bytes, Limits::MESSAGE).ok();
    let is_certificate =
        |bytes: &[u8]| read(bytes).is_some_and(|value| Certificate::parse(&value).is_ok());
    let is_statement =
        |bytes: &[u8]| read(bytes).is_some_and(|value| KeyStatement::parse(&value, public).is_ok());
    type Accepts<'a> = &'a dyn Fn(&[u8]) -> bool;
    let all: [(Vec<u8>, Accepts<'_>); 2] = [
        (canonical(&alice.certificate.to_value()), &is_certificate),
        (canonical(&alice.keys.to_value()), &is_statement),
    ];
    for (bytes, accepts) in all {
        assert!(accepts(&bytes));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!accepts(&flipped), "{}", String::from_utf8_lossy(&flipped));
        }
    }
}

#[test]
fn members_of_certificates_and_key_statements_cannot_be_removed_or_added() {
    let alice = alice();
    let fails = |value: &Value, statement: bool| {
        if statement {
            KeyStatement::parse(value, alice.signing.public()).is_err()
        } else {
            Certificate::parse(value).is_err()
        }
    };
    for (value, statement) in [
        (alice.certificate.to_value(), false),
        (alice.keys.to_value(), true),
    ] {
        for name in value.as_object().unwrap().keys() {
            let mut changed = value.clone();
            changed.as_object_mut().unwrap().remove(name);
            assert!(fails(&changed, statement), "without {name}");
        }
        let mut changed = value.clone();
        changed["x-added"] = json!(1);
        assert!(fails(&changed, statement), "with one more");
        assert!(!fails(&value, statement));
    }
}
