//! Faults that only opening shows: the last step of V12.

use serde_json::{Value, json};
use signet_proto::envelope::{Method, Unverified};
use signet_proto::headers::Headers;
use signet_proto::keys::SealSecret;
use signet_proto::reject::Reason;
use signet_proto::seal::{Sealed, plaintext};

use super::faults::{Faults, NOW, set};
use crate::forge::{box_under, envelope, id, in_session, sign};
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
            &|headers| headers.data_tier = 4,
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
}

fn secret(agent: &str) -> SealSecret {
    identity(agent, "anybody").secrets.remove(0)
}

fn boxed(headers: &Headers, to: &SealSecret) -> Sealed {
    let plain = plaintext(headers, None, Some(&json!({"week": "2026-W07"}))).unwrap();
    Sealed::seal(to.public(), &plain, &mut rng()).unwrap()
}
