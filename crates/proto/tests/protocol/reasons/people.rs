//! What people took back or said before: the rest of V06, and of V12.

use signet_proto::envelope::Method;
use signet_proto::reject::Reason;

use super::faults::{Faults, NOW, body};
use crate::forge::{message, read, sign};
use crate::household::people::announce;
use crate::household::{Agent, identity, key};

impl Faults<'_> {
    pub fn taken_back(&mut self) {
        for (name, log, reason, about) in [
            (
                "v06-under-a-revoked-key",
                "revoked",
                Reason::CertificateRevoked,
                "Alice's root took the key back; when the message was signed does not matter",
            ),
            (
                "v06-from-whom-the-person-trusts-no-more",
                "withdrawn",
                Reason::TrustWithdrawn,
                "Bob's person withdrew Alice's agent",
            ),
        ] {
            let input = self.order(|_| {});
            self.add(name, reason, log, input, about);
        }
        for (name, log, reason, about) in [
            (
                "v06-announce-under-a-revoked-certificate",
                "revoked",
                Reason::CertificateRevoked,
                "no new session either",
            ),
            (
                "v06-announce-of-whom-the-person-trusts-no-more",
                "withdrawn",
                Reason::TrustWithdrawn,
                "an announce changes nobody's mind",
            ),
        ] {
            let input = self.announce(|_| {});
            self.add(name, reason, log, input, about);
        }
        let bob = Agent::new("agent-bob", "bob");
        let refused = announce(|| identity("agent-dave", "dave"), &bob, NOW);
        self.add(
            "v06-announce-of-a-stranger-that-was-refused",
            Reason::TrustWithdrawn,
            "refused",
            refused.to_vec(),
            "the person is not asked again",
        );
        let forged = self.announce(|flight| {
            let mut certificate = flight["params"]["body"]["certificate"].clone();
            certificate["layers"] = serde_json::json!([0]);
            body("certificate", certificate)(flight);
        });
        self.add(
            "v06-announce-under-a-revoked-certificate-that-was-forged-as-well",
            Reason::CertificateRevoked,
            "revoked",
            forged,
            "who is bound is looked up first: a signature is not verified for the revoked",
        );
        let resigned = sign(read(&self.order(|_| {})), &key("root of eve"));
        self.add(
            "v06-under-a-revoked-key-by-another-hand",
            Reason::CertificateRevoked,
            "revoked",
            resigned,
            "revoked comes before the message's signature",
        )
        .also = Some("V07");
    }

    pub fn in_decrees(&mut self) {
        let sister = identity("agent-bob-2", "bob");
        let again = message(&sister, "agent-bob", Method::Resume, "input", NOW);
        self.add(
            "v12-a-resume-under-the-number-of-the-pause",
            Reason::StatementStale,
            "paused",
            sign(again, &sister.signing),
            "the numbers of a person's words only rise",
        );
    }
}
