//! What people took back: the rest of V06, and of V12.

use serde_json::json;
use signet_proto::certificate::ControlCertificate;
use signet_proto::keys::SigningKey;
use signet_proto::reject::Reason;
use signet_proto::statement::{PauseStatement, Revocation};

use super::Wire;
use crate::house::pen::{Pen, key, seed};

impl Wire<'_> {
    pub(super) fn taken_back(&mut self) {
        let bob = self.bob.agent.clone();
        let root = seed([21; 32]);
        let (lost, left) = (
            Pen::made("agent-lost", "forgetful", &root, |_| {}),
            Pen::made("agent-left", "former", &seed([22; 32]), |_| {}),
        );
        for pen in [&lost, &left] {
            pen.introduced_to(self.bob);
        }
        let (person, agent) = ("forgetful".parse().unwrap(), "agent-lost".parse().unwrap());
        let now = signet::clock::now();
        let taken = Revocation::sign(&person, &agent, 1, "lost", now, &root).unwrap();
        let body = json!({"revocation": taken.to_value()});
        // The person's root key signed the revocation, so it counts although Mallory brings it.
        self.accepted(self.mallory.call("agent.revoke", &bob, body));
        self.expect(Reason::CertificateRevoked, &lost.sign(lost.announce(&bob)));
        self.bob.done(&["trust", "revoke", "agent-left"]);
        for message in [left.announce(&bob), left.request(&bob, &self.session, 1)] {
            self.expect(Reason::TrustWithdrawn, &left.sign(message));
        }
    }

    /// Bob's person has a second agent, which tells an older word after a newer one.
    pub(super) fn said_before(&mut self) {
        let bob = self.bob.agent.clone();
        let root = key(self.bob, "root");
        let second = Pen::made("agent-second", &self.bob.principal, &root, |_| {});
        second.introduced_to(self.bob);
        let control = self.bob.call("pause.show", &json!({})).unwrap()["control"].clone();
        let control = ControlCertificate::parse(&control).unwrap();
        let signing: SigningKey = key(self.bob, "control");
        let now = signet::clock::now();
        let told = |serial| {
            let word = PauseStatement::sign(false, serial, now, &control, &signing).unwrap();
            let body = json!({"statement": word.to_value(), "control": control.to_value()});
            second.call("agent.resume", &bob, body)
        };
        let bytes = second.sign(told(7));
        let line = self.bob.hears(&mut self.sender, &bytes);
        assert_eq!(line["verdict"], "accepted", "{line}");
        self.expect(Reason::StatementStale, &second.sign(told(6)));
    }
}
