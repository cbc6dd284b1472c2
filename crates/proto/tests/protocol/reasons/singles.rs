//! Faults of one rule each, found by removing the rules of another implementation one after another.

use serde_json::{Value, json};
use signet_json::canonical;
use signet_proto::certificate::KeyStatement;
use signet_proto::envelope::Method;
use signet_proto::ids::encode_base64url;
use signet_proto::keys::Purpose;
use signet_proto::reject::Reason;

use super::faults::{DAY, Faults, NOW, body, set};
use super::histories::{More, alice_under, carol_of_another_version};
use super::late::time;
use crate::forge::{envelope, headers, in_session, read, sign};
use crate::household::people::{revocation, revocation_by};
use crate::household::{at, identity};

const HOUR: i64 = 3_600_000;

impl Faults<'_> {
    pub fn of_histories(&mut self) {
        self.of_numbers();
        self.of_spelling();
        self.of_shape();
        self.of_papers();
        self.of_keys_and_sessions();
        self.of_flights_out_of_place();
        self.of_permission();
    }

    fn more(&self) -> &More {
        &self.world.more
    }

    fn of_numbers(&mut self) {
        let (long, most) = ("0.1000000000000000055511151231257827", "9007199254740992.5");
        for (name, number, written, reason, about) in [
            (
                "v02-more-digits-than-a-double-has",
                long,
                "0.1",
                Reason::NumberOutOfRange,
                "readers that keep decimals would take another number from it",
            ),
            (
                "v02-a-number-without-end",
                "1e400",
                "1e400",
                Reason::NumberOutOfRange,
                "it is infinite as a double",
            ),
            (
                "v02-a-number-too-small-for-a-double",
                "1e-400",
                "0",
                Reason::NumberOutOfRange,
                "it is nought as a double",
            ),
            (
                "v02-a-fraction-beyond-2-53",
                most,
                "9007199254740992",
                Reason::NumberOutOfRange,
                "a double has no such fraction",
            ),
            (
                "v02-one-and-twenty-noughts",
                "1e20",
                "100000000000000000000",
                Reason::NumberOutOfRange,
                "its canonical form would be an integer that no reader takes",
            ),
            (
                "v02-not-a-number",
                "NaN",
                "null",
                Reason::MalformedJson,
                "some parsers take it, and RFC 8259 does not have it",
            ),
            (
                "v02-an-integer-beyond-2-53",
                "9007199254740993",
                "9007199254740993",
                Reason::NumberOutOfRange,
                "readers that keep doubles would take another number from it",
            ),
        ] {
            let input = self.with_number(number, written);
            self.add(name, reason, "private", input, about);
        }
    }

    /// [`Faults::told`] with a number for its body, spelt like this, and signed over its canonical form, which is that.
    fn with_number(&self, literal: &str, written: &str) -> Vec<u8> {
        const PLACE: &str = "\"@\"";
        let mut value = read(&self.told(|value| envelope(value)["body"] = "@".into()));
        envelope(&mut value).remove("signature");
        let text = |value: &Value| String::from_utf8(canonical(value)).unwrap();
        let signed = text(&value).replace(PLACE, written);
        let signature = self
            .alice
            .signing
            .sign(Purpose::Message, &[signed.as_bytes()]);
        let signature = encode_base64url(&signature);
        envelope(&mut value).insert("signature".into(), signature.into());
        text(&value).replace(PLACE, literal).into_bytes()
    }

    fn of_spelling(&mut self) {
        // Each of the 9,000 numbers takes five bytes as it is sent, and seventeen in canonical form: so the canonical
        // form alone is too large.
        let numbers = format!("[{}9e15]", "9e15,".repeat(8_999));
        let filled = format!(
            "{{\"filled\":\"{}\",\"numbers\":{numbers}}}",
            "x".repeat(95_000)
        );
        let value: Value = serde_json::from_str(&filled).unwrap();
        let place = Some((self.world.private_session, 2));
        let method = Method::Request;
        let mut input = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
        envelope(&mut input)["body"] = value;
        let long = String::from_utf8(sign(input, &self.alice.signing)).unwrap();
        let short = long.replace("9000000000000000", "9e15").into_bytes();
        assert!(short.len() < 245_760 && long.len() > 245_760);
        self.add(
            "v01-canonical-form-of-over-240-kib",
            Reason::TooLarge,
            "private",
            short,
            "what is hashed and sent on is the canonical form; it is looked at after all other faults",
        );
        let place = Some((self.world.private_session, 2));
        let method = Method::Notification;
        let mut sealed = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
        set("data-tier", 3)(&mut sealed);
        let inner = envelope(&mut sealed);
        inner.remove("summary");
        inner.remove("body");
        let to = identity("agent-bob", "bob").keys.sealing_key.to_string();
        // 64 bytes are 86 characters, of which the last has four bits that say nothing.
        let sealed_box = format!("{}B", "A".repeat(85));
        inner.insert("sealed".into(), json!({"to": to, "box": sealed_box}));
        self.add(
            "v03-box-in-another-spelling",
            Reason::InvalidShape,
            "private",
            sign(sealed, &self.alice.signing),
            "base64url has one spelling: unused bits are zero",
        );
    }

    fn of_shape(&mut self) {
        let input = self.announce(|flight| {
            drop(
                envelope(flight)["body"]
                    .as_object_mut()
                    .unwrap()
                    .remove("nonce"),
            );
        });
        self.add(
            "v03-flight-1-without-a-nonce",
            Reason::InvalidShape,
            "acquainted",
            input,
            "the body of a flight has its own schema",
        );
        let input = self.announce(|flight| {
            let versions = json!(["1.1.0", "1.0.0"]);
            body("versions", versions)(flight);
        });
        self.add(
            "v03-flight-1-whose-versions-descend",
            Reason::InvalidShape,
            "acquainted",
            input,
            "a list of versions ascends",
        );
        let place = Some((self.world.private_session, 2));
        let method = Method::Notification;
        let mut input = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
        input["id"] = headers(&mut input)["message-id"].clone();
        let input = sign(input, &self.alice.signing);
        self.add(
            "v04-notification-with-an-id",
            Reason::MessageTypeMismatch,
            "private",
            input,
            "a notification is not answered",
        );
        let input = self.told(|value| drop(value.as_object_mut().unwrap().remove("id")));
        self.add(
            "v04-request-without-an-id",
            Reason::MessageTypeMismatch,
            "private",
            input,
            "a request is answered",
        );
    }

    fn of_papers(&mut self) {
        let input = self.order(|value| {
            set("timestamp", time(-2 * HOUR))(value);
            set("expires-at", time(DAY))(value);
        });
        self.add(
            "v06-signed-before-the-certificate-s-beginning",
            Reason::CertificateExpired,
            "acquainted",
            input,
            "not-before and not-after are both included, and nothing outside of them",
        );
        let alice = &self.alice;
        let until = at(46 * DAY).now;
        let keys = KeyStatement::sign(
            alice.agent(),
            alice.keys.sealing_key,
            1,
            until,
            &alice.signing,
        );
        let keys = keys.unwrap().to_value();
        let input = self.announce(body("keys", keys));
        self.add(
            "v06-sealing-key-for-longer-than-forty-five-days",
            Reason::KeysInvalid,
            "acquainted",
            input,
            "what is sealed stays readable for as long as the key lives",
        );
        let input = self.announce(|flight| {
            set("message-id", crate::forge::id("later").to_string())(flight);
            set("timestamp", time(NOW))(flight);
        });
        self.add(
            "v06-yesterday-s-sealing-key",
            Reason::SerialRolledBack,
            "later-keys",
            input,
            "a handshake with a key statement of a higher serial under this signing key has ended well",
        );
    }

    fn of_keys_and_sessions(&mut self) {
        let (first, second) = (self.more().of_first_key, self.more().of_second_key);
        let (old, new) = (alice_under(1, 1), alice_under(2, 2));
        for (name, alice, session, about) in [
            (
                "v06-under-a-key-certified-since-the-handshake",
                &new,
                first,
                "a session goes on under the key that opened it",
            ),
            (
                "v06-under-the-key-of-the-session-before",
                &old,
                second,
                "an older key is good for the sessions that it opened, and for no later one",
            ),
        ] {
            let place = Some((session, 7));
            let value = in_session(alice, "agent-bob", Method::Request, "input", NOW, place);
            let input = sign(value, &alice.signing);
            self.add(name, Reason::KeyUnknown, "two-keys", input, about);
        }
        let said = json!({"through": 0, "floor": 1});
        let mut late = super::histories::receipt(second, NOW, &said);
        set("key-id", old.signing.public().id().to_string())(&mut late);
        let about =
            "a receipt is taken under the session's key and under the newest, and under no other";
        self.add(
            "v06-receipt-under-the-key-of-the-session-before",
            Reason::KeyUnknown,
            "two-keys",
            sign(late, &old.signing),
            about,
        );
        let place = Some((self.more().spoken, 3));
        let value = in_session(
            &self.alice,
            "agent-bob",
            Method::Request,
            "input",
            NOW,
            place,
        );
        self.add(
            "v09-a-number-that-its-sender-gave-up",
            Reason::Expired,
            "skipped",
            sign(value, &self.alice.signing),
            "its sender was told that it never came, and it is not taken any more",
        );
        let carol = identity("agent-carol", "carol");
        let place = Some((self.more().with_alice, 2));
        let value = in_session(
            &carol,
            "agent-bob",
            Method::Request,
            "input",
            2 * 60_000,
            place,
        );
        self.add(
            "v10-in-another-agent-s-session",
            Reason::SessionUnknown,
            "two-peers",
            sign(value, &carol.signing),
            "a session is of two agents",
        )
        .ms = 2 * 60_000;
        let asked = self.more().asked_alice.to_string();
        let place = Some((self.more().with_carol, 2));
        let mut value = in_session(&carol, "agent-bob", Method::Request, "input", NOW, place);
        set("in-reply-to", asked.clone())(&mut value);
        set("message-type", "response")(&mut value);
        let inner = value["params"].take();
        let value = json!({"jsonrpc": "2.0", "id": asked, "result": inner});
        self.add(
            "v12-answer-by-somebody-else",
            Reason::ResponseUnsolicited,
            "two-peers",
            sign(value, &carol.signing),
            "Alice was asked, and Carol answers",
        );
    }

    fn of_flights_out_of_place(&mut self) {
        let carol = identity("agent-carol", "carol");
        let flight = sign(self.more().trust.clone(), &carol.signing);
        self.add(
            "v11-flight-4-where-flight-2-is-awaited",
            Reason::HandshakeUnexpected,
            "announced",
            flight,
            "flights come in their order",
        );
        let announce = super::late::crossing(&carol, &self.announce(|_| {}));
        let about = "not later than its flight 2, which was taken: it was under way, and its sender has not lost its half";
        self.add(
            "v11-announce-from-before-the-flight-2-that-was-taken",
            Reason::HandshakeCrossed,
            "flight-3-sent",
            announce,
            about,
        );
        let lower = self.announce(|_| {});
        self.add(
            "v11-announce-of-the-lower-id-from-before-the-flight-2-that-was-taken",
            Reason::HandshakeCrossed,
            "flight-3-sent-to-a-lower-id",
            lower,
            "the lower agent-id goes on where both have begun, and not behind flight 2",
        );
        let newer = carol_of_another_version();
        let mut flight = flight_of_another_version(&self.more().verify);
        body("choice", "1.0.0")(&mut flight);
        self.add(
            "v11-a-version-chosen-where-none-is-common",
            Reason::VersionUnsupported,
            "announced-to-a-newer-agent",
            sign(flight, &newer.signing),
            "the choice stands in both lists",
        );
        let foreign = revocation("alice", "agent-alice", 1).to_value();
        let input = self.announce(body("revocations", json!([foreign])));
        self.add(
            "v12-flight-1-that-revokes-its-own-certificate",
            Reason::CertificateRevoked,
            "acquainted",
            input,
            "the revocation is obeyed, and the flight refused",
        );
    }

    fn of_permission(&mut self) {
        let input = self.said(Method::Request, set("capability", "signet.task"));
        self.add(
            "v12-a-request-of-what-tasks-are-told-by",
            Reason::CapabilityNotGranted,
            "session",
            input,
            "signet.task needs no grant in a notification, and is none elsewhere",
        );
    }
}

/// Carol's flight 2 of an agent that speaks 2.0.0 alone.
pub fn flight_of_another_version(verify: &Value) -> Value {
    let mut flight = verify.clone();
    let newer = carol_of_another_version();
    set("trust-layer-version", "2.0.0")(&mut flight);
    body("certificate", newer.certificate.to_value())(&mut flight);
    body("versions", json!(["2.0.0"]))(&mut flight);
    body("choice", Value::Null)(&mut flight);
    flight
}

/// A revocation of Alice's agent that another root key signed.
pub fn revocation_of_alice_by_eve() -> Value {
    let word = revocation_by("root of eve", "alice", "agent-alice", 1);
    word.to_value()
}
