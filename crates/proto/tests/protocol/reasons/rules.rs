//! Faults of one rule each that no other input breaks: who leaves out the rule takes them.

use serde_json::{Value, json};
use signet_proto::certificate::KeyStatement;
use signet_proto::draft::Identity;
use signet_proto::envelope::Method;
use signet_proto::headers::Tier;
use signet_proto::node::{Content, Sending};
use signet_proto::reject::Reason;

use super::boxes::secret;
use super::faults::{DAY, Faults, NOW, body, set};
use super::late::time;
use crate::forge::{envelope, headers, in_session, message, read, sign};
use crate::household::people::{revocation, revocation_by};
use crate::household::{alice_and_bob, at, published};

impl Faults<'_> {
    pub fn of_single_rules(&mut self) {
        self.numbered_and_beyond_the_certificate();
        self.flights_with_papers_of_others();
        self.flights_and_receipts_with_headers_of_others();
        self.flights_that_say_too_much();
        self.orders_of_another_root();
        self.capabilities_one_by_one();
        self.boxes_one_by_one();
    }

    fn numbered_and_beyond_the_certificate(&mut self) {
        let input = self.said(Method::Request, |value| {
            set("timestamp", time(366 * DAY))(value);
            set("expires-at", time(367 * DAY))(value);
        });
        let about = "the number is used up: the signature holds, and a clock was wrong";
        self.add(
            "v06-numbered-after-the-certificate-s-end",
            Reason::CertificateExpired,
            "session",
            input,
            about,
        )
        .ms = 366 * DAY;
        let input = self.said(
            Method::Request,
            set("skill-layers-loaded", json!([0, 1, 2, 3, 15])),
        );
        let about = "the number is used up: the signature holds";
        let name = "v06-numbered-with-a-layer-that-was-not-certified";
        self.add(
            name,
            Reason::LayersExceedCertificate,
            "session",
            input,
            about,
        );
    }

    fn flights_with_papers_of_others(&mut self) {
        let input = self.announce(set("agent-id", "agent-alice-2"));
        let about = "the certificate is Alice's first agent's";
        self.add(
            "v06-announce-under-the-certificate-of-another-agent",
            Reason::CertificateInvalid,
            "acquainted",
            input,
            about,
        );
        let input = self.announce(body("keys", other_keys(&self.alice, "agent-carol")));
        let about = "Alice's key signed it, and it names Carol's agent";
        self.add(
            "v06-keys-that-name-another-agent",
            Reason::KeysInvalid,
            "acquainted",
            input,
            about,
        );
    }

    fn flights_and_receipts_with_headers_of_others(&mut self) {
        let session = self.world.session.to_string();
        for (name, header, value) in [
            ("v10-flight-in-a-session", "session", json!(session)),
            ("v10-flight-with-a-number", "sequence", json!(1)),
            ("v10-flight-of-tier-3", "data-tier", json!(3)),
        ] {
            let input = self.announce(set(header, value));
            self.add(
                name,
                Reason::HeaderInvalid,
                "acquainted",
                input,
                "a flight is in no session, and in clear",
            );
        }
        let receipt = |faults: &Self, change: &dyn Fn(&mut Value)| {
            faults.said(Method::Notification, |value| {
                value["method"] = "agent.receipt".into();
                headers(value).remove("sequence");
                envelope(value).remove("summary");
                envelope(value)["body"] = json!({"through": 0, "floor": 2});
                change(value);
            })
        };
        let input = receipt(self, &|value| set("sequence", 2)(value));
        self.add(
            "v10-receipt-with-a-number",
            Reason::HeaderInvalid,
            "session",
            input,
            "what is receipted has a number",
        );
        let input = receipt(self, &|value| set("data-tier", 3)(value));
        self.add(
            "v10-receipt-of-tier-3",
            Reason::HeaderInvalid,
            "session",
            input,
            "a receipt is in clear",
        );
    }

    fn flights_that_say_too_much(&mut self) {
        let input = self.announce(set("trust-layer-version", "1.1.0"));
        let about = "the first version offered is the header's";
        self.add(
            "v11-header-of-another-version-than-offered",
            Reason::VersionMismatch,
            "acquainted",
            input,
            about,
        );
        let input = self.announce(body("layers", json!([0, 1, 2, 3, 15])));
        let about = "layers for the session lie within the certificate's";
        self.add(
            "v11-layers-beyond-the-certificate",
            Reason::LayersExceedCertificate,
            "acquainted",
            input,
            about,
        );
        let mut other = flight_3();
        body("keys", other_keys(&self.alice, "agent-alice"))(&mut other);
        let input = sign(other, &self.alice.signing);
        let about = "the key to seal to was exchanged after the first flight";
        self.add(
            "v11-flight-3-with-other-keys-than-flight-1",
            Reason::TranscriptMismatch,
            "half-open",
            input,
            about,
        );
    }

    fn orders_of_another_root(&mut self) {
        let mut rewritten = revocation("alice", "agent-lost", 7).to_value();
        rewritten["serial"] = json!(8);
        let foreign = revocation_by("root of eve", "alice", "agent-lost", 7)
            .to_value()
            .clone();
        for (name, word, about) in [
            (
                "v12-revocation-of-higher-serials-written-in",
                rewritten,
                "the root's signature does not hold",
            ),
            (
                "v12-revocation-by-another-root",
                foreign,
                "only the person's own root takes a certificate back",
            ),
        ] {
            let mut order = message(&self.alice, "agent-bob", Method::Revoke, "input", NOW);
            body("revocation", word)(&mut order);
            let input = sign(order, &self.alice.signing);
            self.add(name, Reason::StatementInvalid, "acquainted", input, about);
        }
    }

    fn capabilities_one_by_one(&mut self) {
        let place = Some((self.world.lamp_session, 2));
        let mut value = in_session(
            &self.alice,
            "agent-bob",
            Method::Request,
            "input",
            NOW,
            place,
        );
        set("capability", "door")(&mut value);
        let input = sign(value, &self.alice.signing);
        let about = "it is offered, and not granted to this peer";
        self.add(
            "v12-door-that-is-offered-and-not-granted",
            Reason::CapabilityNotGranted,
            "lamp",
            input,
            about,
        );
    }
}

/// Alice's flight 3 of the handshake that is half open.
pub fn flight_3() -> Value {
    let (mut alice, mut bob) = alice_and_bob();
    let sending = Sending::Notification(Content {
        body: json!({"week": "2026-W07"}),
        data_tier: Some(Tier::Public),
        ..Content::default()
    });
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), sending)
        .unwrap()
        .outcome;
    let (_, announce) = published(&alice.keep(at(0), outcome)).remove(0);
    let (_, verify) = published(&bob.hear(at(0), &announce)).remove(0);
    let (_, trust) = published(&alice.hear(at(0), &verify)).remove(0);
    read(&trust)
}

/// Another statement under Alice's signing key, of Carol's sealing key.
fn other_keys(alice: &Identity, agent: &str) -> Value {
    let keys = KeyStatement::sign(
        &agent.parse().unwrap(),
        secret("agent-carol").public(),
        alice.keys.serial + 1,
        alice.keys.not_after,
        &alice.signing,
    );
    keys.unwrap().to_value()
}
