//! Faults of who speaks and of the signature: V06 and V07.

use serde_json::json;
use signet_proto::certificate::{Certificate, CertificateRequest, KeyStatement};
use signet_proto::envelope::Method;
use signet_proto::keys::Purpose;
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;

use super::faults::{DAY, Faults, NOW, body, set};
use crate::forge::{envelope, in_session, message, sign, sign_as};
use crate::household::people::announce;
use crate::household::{Agent, START, identity, identity_with, key};

impl Faults<'_> {
    pub fn in_sender(&mut self) {
        let now = super::faults::NOW;
        let input = self.order(|_| {});
        self.add(
            "v06-from-an-agent-that-nobody-added",
            Reason::AgentUnknown,
            "nobody",
            input,
            "a stranger gets no answer",
        );
        let input = self.order(set(
            "key-id",
            identity("agent-eve", "eve")
                .signing
                .public()
                .id()
                .to_string(),
        ));
        self.add(
            "v06-under-a-key-of-eve",
            Reason::KeyUnknown,
            "acquainted",
            input,
            "a key that Alice's certificate does not name",
        );
        let input = self.order(set("principal-id", "bob"));
        self.add(
            "v06-in-another-person-s-name",
            Reason::PrincipalMismatch,
            "acquainted",
            input,
            "Alice's agent says that it acts for Bob",
        );
        let input = self.order(set("skill-layers-loaded", json!([0, 1, 2, 3, 15])));
        self.add(
            "v06-with-a-layer-that-was-not-certified",
            Reason::LayersExceedCertificate,
            "acquainted",
            input,
            "a claim beyond what Alice's root signed",
        );
        let late = message(&self.alice, "agent-bob", Method::Revoke, "order", 366 * DAY);
        self.add(
            "v06-signed-after-the-certificate-s-end",
            Reason::CertificateExpired,
            "acquainted",
            sign(late, &self.alice.signing),
            "a year later, without renewal",
        )
        .ms = 366 * DAY;
        let place = Some((self.world.private_session, 2));
        let told = || {
            let method = Method::Request;
            in_session(&self.alice, "agent-bob", method, "input", now, place)
        };
        let (mut input, forged) = (told(), told());
        envelope(&mut input)["summary"] = "Pays 900 euros".into();
        self.add(
            "v07-summary-rewritten-on-the-way",
            Reason::SignatureInvalid,
            "private",
            signet_json::canonical(&input),
            "the signature is over every member",
        );
        let eve = identity("agent-eve", "eve").signing;
        self.add(
            "v07-signed-by-eve",
            Reason::SignatureInvalid,
            "private",
            sign(forged.clone(), &eve),
            "Alice's names and key-id, Eve's key",
        );
        self.add(
            "v07-signed-as-a-key-statement",
            Reason::SignatureInvalid,
            "private",
            sign_as(forged, &self.alice.signing, Purpose::Keys),
            "a signature of Alice's key for another purpose",
        );
    }

    pub fn in_flight_sender(&mut self) {
        let bob = Agent::new("agent-bob", "bob");
        for (name, (agent, principal), reason, about) in [
            (
                "v06-announce-of-a-stranger",
                ("agent-dave", "dave"),
                Reason::PrincipalUnknown,
                "a root that nobody pinned",
            ),
            (
                "v06-announce-of-alice-s-second-agent",
                ("agent-alice-2", "alice"),
                Reason::AgentUnknown,
                "pinning a root binds no further agents",
            ),
        ] {
            let flight = announce(|| identity(agent, principal), &bob, NOW);
            self.add(name, reason, "acquainted", flight.to_vec(), about);
        }
        let of = |certificate: &Certificate| certificate.to_value();
        let yesterday = self.alice.certificate.clone();
        let dave = identity("agent-dave", "dave");
        let hers = self.alice.signing.public().clone();
        let mut flight = |name, reason, log, certificate: &Certificate, about| {
            let agent = certificate.agent.to_string();
            let value = of(certificate);
            let principal = certificate.principal.to_string();
            let input = self.announce(|flight| {
                set("agent-id", agent)(flight);
                set("principal-id", principal)(flight);
                body("certificate", value)(flight);
            });
            self.add(name, reason, log, input, about);
        };
        let request = |agent: &str, principal: &str, serial| CertificateRequest {
            agent: agent.parse().unwrap(),
            principal: principal.parse().unwrap(),
            signing_key: hers.clone(),
            layers: dave.certificate.layers,
            versions: dave.certificate.versions.clone(),
            serial,
            not_before: dave.certificate.not_before,
            not_after: dave.certificate.not_after,
            next_root: dave.certificate.next_root,
        };
        let by = |root: &str, request: CertificateRequest| request.sign(&key(root)).unwrap();
        flight(
            "v06-alice-s-agent-id-under-dave-s-root",
            Reason::AgentIdTaken,
            "acquainted",
            &by("root of dave", request("agent-alice", "dave", 9)),
            "an agent-id has one principal",
        );
        flight(
            "v06-alice-renames-herself-carol",
            Reason::AgentIdTaken,
            "acquainted",
            &by("root of alice", request("agent-alice", "carol", 9)),
            "a handshake cannot take the name of a person not yet known",
        );
        flight(
            "v06-dave-s-root-says-it-is-alice",
            Reason::RootChanged,
            "acquainted",
            &by("root of dave", request("agent-alice", "alice", 9)),
            "an attack until the person confirms",
        );
        flight(
            "v06-yesterday-s-certificate",
            Reason::SerialRolledBack,
            "renewed",
            &yesterday,
            "a lower serial than the one known",
        );
        let mut forged = of(&self.alice.certificate);
        forged["layers"] = json!([0, 1, 2, 3, 4]);
        forged["serial"] = json!(9);
        let input = self.announce(body("certificate", forged));
        self.add(
            "v06-certificate-with-a-layer-written-in",
            Reason::CertificateInvalid,
            "acquainted",
            input,
            "the root's signature does not hold",
        );
        let keys = KeyStatement::sign(
            &self.alice.certificate.agent,
            self.alice.keys.sealing_key,
            1,
            Timestamp::from_millis(START - 1),
            &self.alice.signing,
        )
        .unwrap();
        for (name, keys) in [
            ("v06-sealing-key-of-eve", identity("agent-eve", "eve").keys),
            ("v06-sealing-key-out-of-date", keys),
        ] {
            let input = self.announce(body("keys", keys.to_value()));
            self.add(
                name,
                Reason::KeysInvalid,
                "acquainted",
                input,
                "what would be sealed to it, another could read",
            );
        }
        let second = identity_with("agent-alice", "alice", 2, |_| {});
        let other = second.signing.public().id().to_string();
        let input = self.announce(set("key-id", other));
        self.add(
            "v06-announce-under-another-key-than-certified",
            Reason::KeyUnknown,
            "acquainted",
            input,
            "key-id is not that of the certificate beside it",
        );
    }
}
