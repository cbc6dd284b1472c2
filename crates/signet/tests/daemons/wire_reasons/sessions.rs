//! Checks V10 to V12: sessions, the handshake, and what is allowed.

use std::time::Duration;

use serde_json::{Value, json};
use signet_proto::certificate::CertificateRequest;
use signet_proto::ids::{Digest, Version};
use signet_proto::keys::SigningKey;
use signet_proto::reject::Reason;
use signet_proto::statement::Revocation;

use super::{BRIEF, Wire};
use crate::house::pen::{Pen, fresh_id, in_session, seed, time, transcript, with};
use crate::house::{House, eventually};

impl Wire<'_> {
    pub(super) fn session(&mut self) {
        let bob = self.bob.agent.clone();
        self.signed(
            Reason::HandshakeRequired,
            self.mallory.call("agent.request", &bob, json!({})),
        );
        self.signed(
            Reason::SessionUnknown,
            self.mallory.request(&bob, &Digest([3; 32]).to_string(), 1),
        );
        let newer = with(self.next(), "trust-layer-version", "1.0.1");
        self.signed(Reason::VersionMismatch, newer);
        self.sequence += 1;
        let offer = self
            .mallory
            .call("agent.offer", &bob, json!({"capabilities": []}));
        let offer = in_session(offer, &self.session, self.sequence);
        self.signed(Reason::VersionInsufficient, offer);
        self.newer_version();
        let request = self.next();
        self.accepted(request.clone());
        self.signed(
            Reason::SequenceReuse,
            self.mallory.request(&bob, &self.session, self.sequence),
        );
        let mut again = with(self.next(), "message-id", request["id"].clone());
        again["id"] = request["id"].clone();
        self.signed(Reason::MessageIdReuse, again);

        let mut brief = Pen::made("agent-brief", "brief", &seed(BRIEF), |_| {});
        brief.state(Duration::from_secs(8));
        let end = signet::clock::now().saturating_add(Duration::from_secs(8));
        brief.introduced_to(self.bob);
        let session = brief.meet(&mut self.sender, &self.watch, self.bob);
        eventually("the session ends", || {
            (signet::clock::now() > end).then_some(())
        });
        self.expect(
            Reason::SessionEnded,
            &brief.sign(brief.request(&bob, &session, 2)),
        );
    }

    /// Somebody whose certificate lists 1.1.0, as Bob's does, offers what means two things.
    fn newer_version(&mut self) {
        let bob = self.bob.agent.clone();
        let speaks = |request: &mut CertificateRequest| request.versions = Version::SPOKEN.to_vec();
        let newer = Pen::made("agent-newer", "newer", &seed([5; 32]), speaks);
        newer.introduced_to(self.bob);
        let mark = self.watch.mark();
        let mut announce = newer.announce(&bob);
        announce["params"]["body"]["versions"] = json!(["1.0.0", "1.1.0"]);
        let first = newer.sign(announce);
        self.sender.send(&self.bob.subject(), &first);
        let (_, second) = newer.flight(&self.watch, mark, self.bob, "agent.verify");
        let third = newer.sign(newer.capability(&bob, &transcript(&[&first, &second])));
        self.sender.send(&self.bob.subject(), &third);
        let (_, fourth) = newer.flight(&self.watch, mark, self.bob, "agent.trust");
        let session = transcript(&[&first, &second, &third, &fourth]).to_string();
        let twice = json!([{"name": "lamp", "tier": 1}, {"name": "lamp", "tier": 2}]);
        let offer = newer.call("agent.offer", &bob, json!({ "capabilities": twice }));
        let offer = with(
            in_session(offer, &session, 1),
            "trust-layer-version",
            "1.1.0",
        );
        self.expect(Reason::OfferInvalid, &newer.sign(offer));
    }

    pub(super) fn handshake(&mut self, root: &SigningKey) {
        let bob = self.bob.agent.clone();
        let wrong = self
            .victor
            .sign(self.victor.capability(&bob, &Digest([4; 32])));
        self.expect(Reason::HandshakeUnexpected, &wrong);
        let mut unoffered = self.victor.announce(&bob);
        unoffered["params"]["body"]["versions"] = json!(["1.0.0", "9.9.9"]);
        let unoffered = self.victor.sign(unoffered);
        self.expect(Reason::VersionUnsupported, &unoffered);
        let announced = self.victor.sign(self.victor.announce(&bob));
        assert_eq!(
            self.bob.hears(&mut self.sender, &announced)["verdict"],
            "accepted"
        );
        let mixed_up = self
            .victor
            .sign(self.victor.capability(&bob, &Digest([5; 32])));
        self.expect(Reason::TranscriptMismatch, &mixed_up);
        let older = self
            .victor
            .sign(with(self.victor.announce(&bob), "timestamp", time(-5_000)));
        self.expect(Reason::AnnounceStale, &older);

        let versions = ["0.9.0", "1.0.0"].map(|version| version.parse::<Version>().unwrap());
        let lower = |request: &mut CertificateRequest| {
            (request.serial, request.versions) = (2, versions.to_vec())
        };
        let weaker = Pen::made("agent-brief", "brief", &seed(BRIEF), lower);
        let mut offer = with(weaker.announce(&bob), "trust-layer-version", "0.9.0");
        offer["params"]["body"]["versions"] = json!(["0.9.0", "1.0.0"]);
        self.expect(Reason::VersionDowngrade, &weaker.sign(offer));

        // Two announces cross. Bob's id comes before that of Yves, so Bob's announce stands and Yves's is refused.
        let yves = Pen::made("agent-yves", "mallory", root, |_| {});
        yves.introduced_to(self.bob);
        let mark = self.watch.mark();
        self.bob
            .call(
                "send",
                &json!({"peer": "agent-yves", "kind": "notification", "body": {}}),
            )
            .unwrap();
        yves.flight(&self.watch, mark, self.bob, "agent.announce");
        self.expect(Reason::HandshakeCrossed, &yves.sign(yves.announce(&bob)));

        // Victor's handshake is half open already. Bob has room for 64: 63 more fit, and the 64th of this crowd finds
        // none.
        for number in 0..64 {
            let pen = Pen::made(&format!("agent-crowd-{number}"), "mallory", root, |_| {});
            pen.introduced_to(self.bob);
            let announced = pen.sign(pen.announce(&bob));
            if number == 63 {
                self.expect(Reason::HandshakeBusy, &announced);
            } else {
                assert_eq!(
                    self.bob.hears(&mut self.sender, &announced)["verdict"],
                    "accepted"
                );
            }
        }
    }

    pub(super) fn content(&mut self) {
        let bob = self.bob.agent.clone();
        self.handoffs(&bob);
        let (person, agent) = ("nobody".parse().unwrap(), bob.parse().unwrap());
        let nobody = seed([9; 32]);
        let now = signet::clock::now();
        let forged = Revocation::sign(&person, &agent, 9, "because", now, &nobody).unwrap();
        let body = json!({"revocation": forged.to_value()});
        let revoke = self.mallory.call("agent.revoke", &bob, body);
        self.signed(Reason::StatementInvalid, revoke);
        self.sequence += 1;
        let nothing = self
            .mallory
            .answer(&bob, &fresh_id(), &self.session, self.sequence);
        self.signed(Reason::ResponseUnsolicited, nothing);
        for (reason, header, value) in [
            (Reason::TierNotGranted, "data-tier", json!(2)),
            (Reason::SealRequired, "data-tier", json!(3)),
            (
                Reason::LayersInsufficient,
                "skill-layers-loaded",
                json!([1, 2, 3]),
            ),
            (Reason::BodyUnfit, "capability", json!("doors.list")),
        ] {
            let message = with(self.next(), header, value);
            self.signed(reason, message);
        }
        self.as_the_vectors_say();
        // A sealed body in an unsealed tier is refused, whatever is in it.
        let boxed = sealed(self.next());
        self.signed(Reason::SealMismatch, boxed);
        for _ in 0..2 {
            let message = with(self.next(), "conversation-id", json!("chatter"));
            self.accepted(message);
        }
        let chatter = with(self.next(), "conversation-id", json!("chatter"));
        self.signed(Reason::BudgetExceeded, chatter);
        let asked = json!({"peer": "agent-mallory", "kind": "request", "body": {}, "data-tier": 2});
        let id = self.bob.call("send", &asked).unwrap()["message-id"]
            .as_str()
            .unwrap()
            .to_owned();
        self.sequence += 1;
        let lowered = self.mallory.answer(&bob, &id, &self.session, self.sequence);
        self.signed(Reason::TierLowered, lowered);
        // The last in this session: the window moves far ahead.
        let ahead = self.mallory.request(&bob, &self.session, 20_000);
        self.accepted(ahead);
        let behind = self.next();
        self.signed(Reason::SequenceBelowWindow, behind);
    }

    /// A request of `vectors/refused` that says more than a plain one: what mallory says so is refused for the same.
    fn as_the_vectors_say(&mut self) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/refused");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
        files.sort_by_key(std::fs::DirEntry::path);
        for file in files {
            let vector: Value =
                serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap();
            let is_in_session =
                vector["knowledge"] == "session" && vector["expect"]["check"] == "V12";
            let reason: Reason = vector["expect"]["reason"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap();
            if !is_in_session || self.reached.contains(&reason) {
                continue;
            }
            let said: Value = serde_json::from_str(vector["input"].as_str().unwrap()).unwrap();
            let plain = self.next();
            let headers = said["params"]["headers"].as_object().into_iter().flatten();
            let more = headers.filter(|(name, _)| plain["params"]["headers"].get(name).is_none());
            let more: Vec<_> = more.collect();
            if said["method"] == "agent.request" && !more.is_empty() {
                let message = more
                    .into_iter()
                    .fold(plain.clone(), |message, (name, value)| {
                        with(message, name, value.clone())
                    });
                self.signed(reason, message);
            }
        }
    }

    /// Mallory holds a task of Victor's, and hands it on as if it were more.
    fn handoffs(&mut self, bob: &str) {
        let task = fresh_id();
        let first = self.victor.mandate(&task, &self.mallory.agent, None, 1);
        let parent = Some(&first["mandate"]);
        let honest = self.mallory.mandate(&task, bob, parent, 1);
        let wider = self.mallory.mandate(&task, bob, parent, 2);
        for (reason, chain) in [
            (Reason::MandateInvalid, json!([honest])),
            (Reason::AuthorityWidened, json!([first, wider])),
        ] {
            self.sequence += 1;
            let (session, sequence) = (self.session.clone(), self.sequence);
            let handoff = self.mallory.handoff(bob, &session, sequence, &chain);
            self.signed(reason, handoff);
        }
        self.sequence += 1;
        let told = self.mallory.notification(bob, &self.session, self.sequence);
        let mut told = with(told, "capability", "signet.task");
        told["params"]["body"] = json!({"task": task, "state": "completed"});
        self.signed(Reason::TaskUnknown, told);
    }

    /// 10,000 messages wait for an agent that takes none.
    pub(super) fn full_inbox(&mut self, house: &House) {
        let mut carol = house.home("carol");
        carol.configure("# tier = 2", "tier = 4");
        carol.start();
        self.mallory.introduced_to(&carol);
        let session = self.mallory.meet(&mut self.sender, &self.watch, &carol);
        let limit = 10_000;
        let request = self.mallory.request(&carol.agent, &session, 2);
        let garbage = sealed(with(request, "data-tier", json!(3)));
        let line = carol.hears(&mut self.sender, &self.mallory.sign(garbage));
        assert_eq!(line["reason"], "unsealable");
        self.reached.insert(Reason::Unsealable);
        for chunk in 0..limit / 100 {
            for number in 0..100 {
                let message =
                    self.mallory
                        .notification(&carol.agent, &session, chunk * 100 + number + 3);
                self.sender
                    .put(&carol.subject(), &self.mallory.sign(message));
            }
            self.sender.flush();
            eventually("they are in the inbox", || {
                (carol.call("status", &json!({})).unwrap()["inbox"] == (chunk + 1) * 100)
                    .then_some(())
            });
        }
        let one_more = self
            .mallory
            .sign(self.mallory.request(&carol.agent, &session, limit + 3));
        assert_eq!(
            carol.hears(&mut self.sender, &one_more)["reason"],
            "inbox-full"
        );
        self.reached.insert(Reason::InboxFull);
    }
}

/// The same message with a box of zeros for nobody in the place of its content.
fn sealed(mut message: Value) -> Value {
    let envelope = message["params"].as_object_mut().unwrap();
    envelope.remove("summary");
    envelope.remove("body");
    let nobody = format!("x25519:{}", "A".repeat(43));
    envelope.insert(
        "sealed".into(),
        json!({"to": nobody, "box": "A".repeat(64)}),
    );
    message
}
