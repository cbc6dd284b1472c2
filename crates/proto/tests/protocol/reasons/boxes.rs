//! Faults that only opening shows: the last step of V12.

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use serde_json::{Map, Value, json};
use signet_json::canonical;
use signet_proto::envelope::{Method, Unverified};
use signet_proto::headers::{Headers, Tier};
use signet_proto::keys::SealSecret;
use signet_proto::reject::Reason;
use signet_proto::seal::{Sealed, plaintext};

use super::faults::{Faults, NOW, set};
use crate::forge::{box_under, envelope, id, in_session, read, sign};
use crate::household::{identity, rng};

impl Faults<'_> {
    pub fn in_boxes(&mut self) {
        let world = self.world;
        let bob = secret("agent-bob");
        let carol = secret("agent-carol");
        let mut add = |name, reason, input: Vec<u8>, about| {
            self.add(name, reason, "private", input, about);
        };
        let alice = identity("agent-alice", "alice");
        let place = Some((world.private_session, 2));
        let sealed = |tier: u8, seal: &dyn Fn(&Headers) -> Value| {
            let mut value = in_session(&alice, "agent-bob", Method::Request, "input", NOW, place);
            set("data-tier", tier)(&mut value);
            let message = Unverified::parse(&sign(value.clone(), &alice.signing)).unwrap();
            let sealed = seal(&message.claims().headers);
            let envelope = envelope(&mut value);
            envelope.remove("summary");
            envelope.remove("body");
            envelope.insert("sealed".into(), sealed);
            sign(value, &alice.signing)
        };
        let within = |headers: &Headers, to: &SealSecret| boxed(headers, to).to_value();
        let input = sealed(3, &|headers| within(headers, &carol));
        add(
            "v12-sealed-for-carol",
            Reason::Unsealable,
            input,
            "the box names another key",
        );
        let input = sealed(3, &|headers| {
            let mut value = within(headers, &carol);
            value["to"] = bob.public().to_string().into();
            value
        });
        add(
            "v12-sealed-for-carol-in-bob-s-name",
            Reason::Unsealable,
            input,
            "the box names our key and opens with another",
        );
        let input = sealed(3, &|headers| {
            let plain = plaintext(headers, None, Some(&json!(1))).unwrap();
            let text = data_encoding::BASE64URL_NOPAD.encode(&box_under([0; 32], &bob, &plain));
            json!({"to": bob.public().to_string(), "box": text})
        });
        add(
            "v12-sealed-under-a-key-of-low-order",
            Reason::Unsealable,
            input,
            "a box that opens for anybody: its key is known to all",
        );
        let mut inner = |name, change: &dyn Fn(&mut Headers), about| {
            let input = sealed(3, &|headers| {
                let mut changed = headers.clone();
                change(&mut changed);
                within(&changed, &bob)
            });
            add(name, Reason::SealMismatch, input, about);
        };
        inner(
            "v12-sealed-by-carol-and-signed-by-alice",
            &|headers| headers.agent_id = "agent-carol".parse().unwrap(),
            "the signature was stripped off, and the box signed by another",
        );
        inner(
            "v12-sealed-for-carol-s-eyes-and-passed-on",
            &|headers| headers.recipient_id = "agent-carol".parse().unwrap(),
            "who forwards it seals it anew, and cannot change whom it was meant for",
        );
        inner(
            "v12-sealed-in-an-earlier-session",
            &|headers| headers.session = Some(world.public_session),
            "the box was cut out of another session",
        );
        inner(
            "v12-sealed-under-another-message-id",
            &|headers| headers.message_id = id("another"),
            "the box was cut out of another message",
        );
        inner(
            "v12-sealed-in-a-higher-tier",
            &|headers| headers.data_tier = Tier::Restricted,
            "the tier outside was lowered",
        );
        let input = sealed(2, &|headers| within(headers, &bob));
        add(
            "v12-sealed-in-tier-2",
            Reason::SealMismatch,
            input,
            "tiers 1 and 2 travel in clear",
        );
    }

    /// Each breaks one rule of what is sealed.
    pub fn boxes_one_by_one(&mut self) {
        let place = Some((self.world.private_session, 2));
        let (alice, bob) = (identity("agent-alice", "alice"), secret("agent-bob"));
        let sealed = |seal: &dyn Fn(&Headers) -> Value| {
            let mut value = in_session(&alice, "agent-bob", Method::Request, "input", NOW, place);
            set("data-tier", 3)(&mut value);
            let message = Unverified::parse(&sign(value.clone(), &alice.signing)).unwrap();
            let sealed = seal(&message.claims().headers);
            let envelope = envelope(&mut value);
            envelope.remove("summary");
            envelope.remove("body");
            envelope.insert("sealed".into(), sealed);
            sign(value, &alice.signing)
        };
        let input = sealed(&|headers| {
            let mut value = boxed_members(&inner_of(headers), &bob);
            value["to"] = secret("agent-carol").public().to_string().into();
            value
        });
        let about = "it opens with our key, and says that it is for another";
        self.add(
            "v12-sealed-for-bob-in-carol-s-name",
            Reason::Unsealable,
            "private",
            input,
            about,
        );
        let input = sealed(&|headers| {
            let ephemeral = ED25519_BASEPOINT_POINT + EIGHT_TORSION[1];
            let plain = plaintext(headers, None, Some(&json!(1))).unwrap();
            let bytes = box_under(ephemeral.to_montgomery().to_bytes(), &bob, &plain);
            json!({"to": bob.public().to_string(), "box": data_encoding::BASE64URL_NOPAD.encode(&bytes)})
        });
        let about = "eight keys give the same box: this one has torsion";
        self.add(
            "v12-sealed-under-a-key-with-torsion",
            Reason::Unsealable,
            "private",
            input,
            about,
        );
        let mut inner = |name, change: &dyn Fn(&mut Map<String, Value>), about| {
            let input = sealed(&|headers| {
                let mut members = inner_of(headers);
                change(&mut members);
                boxed_members(&members, &bob)
            });
            self.add(name, Reason::SealMismatch, "private", input, about);
        };
        let put = |name: &'static str, value: Value| {
            move |members: &mut Map<String, Value>| drop(members.insert(name.into(), value.clone()))
        };
        inner(
            "v12-sealed-with-a-member-too-many",
            &put("note", json!(1)),
            "exactly the members of section 4",
        );
        inner(
            "v12-sealed-without-a-body",
            &|members| drop(members.remove("body")),
            "a call has a body",
        );
        inner(
            "v12-sealed-with-a-number-for-a-summary",
            &put("summary", json!(1)),
            "a summary is a text",
        );
        let long = json!("x".repeat(501));
        inner(
            "v12-sealed-with-a-summary-of-501-characters",
            &put("summary", long),
            "it has 500 at most",
        );
        let input = sealed(&|_| {
            let sealed = Sealed::seal(bob.public(), b"[1]", &mut rng()).unwrap();
            sealed.to_value()
        });
        self.add(
            "v12-sealed-array",
            Reason::SealMismatch,
            "private",
            input,
            "what is sealed is an object",
        );
    }
}

pub fn secret(agent: &str) -> SealSecret {
    identity(agent, "anybody").secrets.remove(0)
}

fn boxed(headers: &Headers, to: &SealSecret) -> Sealed {
    let plain = plaintext(headers, None, Some(&json!({"week": "2026-W07"}))).unwrap();
    Sealed::seal(to.public(), &plain, &mut rng()).unwrap()
}

/// What is sealed in a message with these headers.
pub fn inner_of(headers: &Headers) -> Map<String, Value> {
    let plain = plaintext(headers, None, Some(&json!({"week": "2026-W07"}))).unwrap();
    read(&plain).as_object().unwrap().clone()
}

pub fn boxed_members(members: &Map<String, Value>, to: &SealSecret) -> Value {
    let plain = canonical(&Value::Object(members.clone()));
    Sealed::seal(to.public(), &plain, &mut rng())
        .unwrap()
        .to_value()
}
