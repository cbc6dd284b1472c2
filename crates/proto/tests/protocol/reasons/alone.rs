//! Faults that nothing else would refuse: each input differs in one thing from one that is accepted, so that whoever leaves
//! the check out takes it.

use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
use serde_json::{Map, Value, json};
use signet_json::canonical;
use signet_proto::certificate::KeyStatement;
use signet_proto::draft::Identity;
use signet_proto::envelope::{Method, Unverified};
use signet_proto::ids::Version;
use signet_proto::reject::Reason;
use signet_proto::seal::{Sealed, plaintext};

use super::boxes::{boxed_members, inner_of, secret};
use super::faults::{Faults, NOW, body, set};
use crate::forge::{box_shown, envelope, headers, in_session, sign};
use crate::household::people::{announce, revocation};
use crate::household::{Agent, at, identity, identity_with, rng};

impl Faults<'_> {
    pub fn alone(&mut self) {
        self.alone_in_text();
        self.alone_in_headers();
        self.alone_in_papers();
        self.alone_in_flight_1();
        self.alone_in_numbers();
        self.alone_in_orders();
        self.alone_in_permission();
    }

    fn alone_in_text(&mut self) {
        let nested = |deep: usize| {
            let text = ["[".repeat(deep), "]".repeat(deep)].concat();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        // The document and `params` stand around these 63 arrays: that makes 65 levels.
        let input = self.told(|value| envelope(value)["body"] = nested(63));
        self.add(
            "v02-a-message-that-is-sixty-five-deep",
            Reason::TooDeep,
            "private",
            input,
            "one array too deep, and nothing else is wrong",
        );
        let many = Value::from(vec![0; 9_990]);
        let input = self.told(|value| envelope(value)["body"] = many);
        self.add(
            "v02-a-message-of-over-ten-thousand-values",
            Reason::TooManyValues,
            "private",
            input,
            "nothing else is wrong",
        );
        let text = String::from_utf8(self.told(|_| {})).unwrap();
        let twice = text.replace("\"jsonrpc\":", "\"jsonrpc\":\"2.0\",\"json\\u0072pc\":");
        self.add(
            "v02-version-of-json-rpc-named-twice",
            Reason::DuplicateName,
            "private",
            twice.into(),
            "whichever of the two a reader takes, the signature holds",
        );
        self.add(
            "v03-box-with-a-bit-that-says-nothing",
            Reason::InvalidShape,
            "private",
            boxed_in_another_spelling(self),
            "the same box in another spelling, and signed so: base64url has one",
        );
        for (name, change, about) in [
            (
                "v03-receipt-with-a-member-too-many",
                json!({"through": 0, "floor": 2, "note": 1}),
                "the body of a receipt has its own schema",
            ),
            (
                "v03-receipt-without-through",
                json!({"floor": 2}),
                "through alone is mandatory",
            ),
        ] {
            let place = Some((self.world.private_session, 2));
            let method = Method::Notification;
            let mut value = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
            value["method"] = "agent.receipt".into();
            headers(&mut value).remove("sequence");
            envelope(&mut value).remove("summary");
            envelope(&mut value)["body"] = change;
            let input = sign(value, &self.alice.signing);
            self.add(name, Reason::InvalidShape, "private", input, about);
        }
        let input = self.order(body("note", json!(1)));
        self.add(
            "v03-revocation-with-a-member-too-many",
            Reason::InvalidShape,
            "acquainted",
            input,
            "the body of an order has its own schema",
        );
        let input = self.announce(body("note", json!(1)));
        self.add(
            "v03-flight-1-with-a-member-too-many",
            Reason::InvalidShape,
            "acquainted",
            input,
            "the body of a flight has its own schema",
        );
    }

    fn alone_in_headers(&mut self) {
        let place = Some((self.world.private_session, 2));
        let mut value = in_session(
            &self.alice,
            "agent-carol",
            Method::Request,
            "input",
            NOW,
            place,
        );
        set("hops", 1)(&mut value);
        self.add(
            "v05-for-carol-in-bob-s-inbox",
            Reason::WrongRecipient,
            "private",
            sign(value, &self.alice.signing),
            "signed as it is: whoever does not compare takes it",
        );
    }

    fn alone_in_papers(&mut self) {
        // Alice's first agent is certified anew under its second key; the message comes under her second agent's name.
        let newer = identity_with("agent-alice", "alice", 2, |_| {});
        let keys = keys_of(&newer, "agent-alice-2");
        let input = flight(self, &newer, |flight| {
            set("agent-id", "agent-alice-2")(flight);
            body("keys", keys)(flight);
        });
        self.add(
            "v06-announce-under-a-newer-certificate-of-another-agent",
            Reason::CertificateInvalid,
            "two-of-alice",
            input,
            "key, root and serial are good, and the certificate names Alice's first agent",
        );
        let sister = identity("agent-alice-2", "alice");
        for (name, log, reason) in [
            (
                "v06-announce-of-the-second-agent-that-was-withdrawn",
                "sister-withdrawn",
                Reason::TrustWithdrawn,
            ),
            (
                "v06-announce-of-the-second-agent-that-was-revoked",
                "sister-revoked",
                Reason::CertificateRevoked,
            ),
        ] {
            let bob = Agent::new("agent-bob", "bob");
            let input = announce(|| identity("agent-alice-2", "alice"), &bob, NOW);
            assert_eq!(sister.certificate.serial, 1);
            let about = "her first agent is as good as before, and this one is not";
            self.add(name, reason, log, input.to_vec(), about);
        }
        let input = self.announce(|flight| {
            let until = at(45 * super::faults::DAY + 2 * 3_600_000).now;
            let keys = KeyStatement::sign(
                identity("agent-alice", "alice").agent(),
                identity("agent-alice", "alice").keys.sealing_key,
                1,
                until,
                &identity("agent-alice", "alice").signing,
            );
            body("keys", keys.unwrap().to_value())(flight);
        });
        self.add(
            "v06-sealing-key-for-forty-five-days-and-two-hours",
            Reason::KeysInvalid,
            "acquainted",
            input,
            "an hour beyond the forty-five days is for clocks that differ",
        );
    }

    fn alone_in_flight_1(&mut self) {
        let newer = identity_with("agent-alice", "alice", 2, |request| {
            request.versions = Version::SPOKEN.to_vec();
        });
        let keys = keys_of(&newer, "agent-alice");
        let input = flight(self, &newer, |flight| {
            body("keys", keys)(flight);
            body("versions", json!(["1.1.0", "1.0.0"]))(flight);
            set("trust-layer-version", "1.1.0")(flight);
        });
        self.add(
            "v11-flight-1-whose-certified-versions-descend",
            Reason::InvalidShape,
            "acquainted",
            input,
            "both are certified, and the first is the header's; a list of versions ascends all the same",
        );
    }

    fn alone_in_numbers(&mut self) {
        let place = Some((self.world.session, 10_000));
        let value = in_session(
            &self.alice,
            "agent-bob",
            Method::Request,
            "input",
            NOW,
            place,
        );
        self.add(
            "v10-number-ten-thousand-with-other-words",
            Reason::SequenceReuse,
            "far-ahead",
            sign(value, &self.alice.signing),
            "it was seen, though numbers below it are missing",
        );
    }

    fn alone_in_orders(&mut self) {
        let session = self.world.session.to_string();
        for (name, header, value) in [
            ("v10-revocation-in-a-session", "session", json!(session)),
            ("v10-revocation-with-a-number", "sequence", json!(1)),
            ("v10-revocation-of-tier-3", "data-tier", json!(3)),
        ] {
            let input = self.order(set(header, value));
            let about = "an order is in no session, and in clear";
            self.add(name, Reason::HeaderInvalid, "acquainted", input, about);
        }
        let input = self.order(|order| {
            let known = headers(&mut self.world.announce.clone())["message-id"].clone();
            set("message-id", known)(order);
        });
        self.add(
            "v10-revocation-under-a-message-id-used-before",
            Reason::MessageIdReuse,
            "half-open",
            input,
            "a name is used once, also outside of sessions",
        );
        let own = revocation("alice", "agent-alice", 1).to_value();
        let input = self.order(body("revocation", own));
        self.add(
            "v12-revocation-of-the-key-that-signed-the-message",
            Reason::CertificateRevoked,
            "acquainted",
            input,
            "it is obeyed, and the message refused",
        );
    }

    fn alone_in_permission(&mut self) {
        let place = Some((self.world.lamp_session, 2));
        let method = Method::Request;
        let mut value = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
        set("capability", "lamp")(&mut value);
        set("data-tier", 2)(&mut value);
        self.add(
            "v12-lamp-above-its-own-tier",
            Reason::TierNotGranted,
            "lamp",
            sign(value, &self.alice.signing),
            "the grant takes tier 2, and the lamp tier 1",
        );
        let bob = secret("agent-bob");
        let input = sealed_with(self, &|members| {
            let honest = ED25519_BASEPOINT_POINT;
            let shown = (honest + EIGHT_TORSION[1]).to_montgomery().to_bytes();
            let plain = canonical(&Value::Object(members.clone()));
            let bytes = box_shown(shown, honest.to_montgomery().to_bytes(), &bob, &plain);
            let bytes = data_encoding::BASE64URL_NOPAD.encode(&bytes);
            json!({"to": bob.public().to_string(), "box": bytes})
        });
        self.add(
            "v12-sealed-under-a-key-whose-torsion-x25519-drops",
            Reason::Unsealable,
            "private",
            input,
            "X25519 gives the same with it and without: looked at first, it opens nothing",
        );
        let input = sealed_with(self, &|members| {
            members.insert("summary".into(), json!(["Asks for free evenings"]));
            boxed_members(members, &bob)
        });
        self.add(
            "v12-sealed-with-a-list-for-a-summary",
            Reason::SealMismatch,
            "private",
            input,
            "a summary is a text",
        );
    }
}

/// Alice's flight 1 under another certificate of hers, changed and signed by its key.
pub fn flight(faults: &Faults<'_>, of: &Identity, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = faults.world.announce.clone();
    set("key-id", of.signing.public().id().to_string())(&mut value);
    body("certificate", of.certificate.to_value())(&mut value);
    change(&mut value);
    sign(value, &of.signing)
}

/// A statement of that agent's sealing key, under the signing key of `of`.
pub fn keys_of(of: &Identity, agent: &str) -> Value {
    let keys = KeyStatement::sign(
        &agent.parse().unwrap(),
        of.keys.sealing_key,
        of.keys.serial,
        of.keys.not_after,
        &of.signing,
    );
    keys.unwrap().to_value()
}

/// Alice's sealed request, with the box that is made of its inner members.
fn sealed_with(faults: &Faults<'_>, seal: &dyn Fn(&mut Map<String, Value>) -> Value) -> Vec<u8> {
    let message = Unverified::parse(&faults.told(set("data-tier", 3))).unwrap();
    let mut members = inner_of(&message.claims().headers);
    let sealed = seal(&mut members);
    faults.told(|value| {
        set("data-tier", 3)(value);
        let envelope = envelope(value);
        envelope.remove("summary");
        envelope.remove("body");
        envelope.insert("sealed".into(), sealed);
    })
}

/// Alice's sealed request whose box ends in a character with an unused bit set.
fn boxed_in_another_spelling(faults: &Faults<'_>) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let to = secret("agent-bob").public();
    let message = Unverified::parse(&faults.told(set("data-tier", 3))).unwrap();
    let headers = message.claims().headers.clone();
    let mut coded = (0..3).map(|more| {
        let plain = plaintext(&headers, None, Some(&json!("x".repeat(more)))).unwrap();
        Sealed::seal(to, &plain, &mut rng()).unwrap().to_value()
    });
    let has_unused = |value: &Value| !value["box"].as_str().unwrap().len().is_multiple_of(4);
    let mut sealed = coded.find(has_unused).unwrap();
    let mut text = sealed["box"].as_str().unwrap().as_bytes().to_vec();
    let last = text.pop().unwrap();
    let place = ALPHABET.iter().position(|byte| *byte == last).unwrap();
    text.push(ALPHABET[place + 1]);
    sealed["box"] = String::from_utf8(text).unwrap().into();
    faults.told(|value| {
        set("data-tier", 3)(value);
        let envelope = envelope(value);
        envelope.remove("summary");
        envelope.remove("body");
        envelope.insert("sealed".into(), sealed);
    })
}
