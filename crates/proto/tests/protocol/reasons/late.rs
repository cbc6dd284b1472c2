//! Faults that only what the recipient remembers shows: V08 to V12.

use serde_json::{Value, json};
use signet_proto::draft::Identity;
use signet_proto::envelope::Method;
use signet_proto::reject::Reason;

use super::faults::{DAY, Faults, NOW, body, set};
use crate::forge::{headers, id, in_session, read, sign};
use crate::household::{at, identity};

pub fn time(ms: i64) -> String {
    at(ms).now.to_string()
}

impl Faults<'_> {
    pub fn in_time(&mut self) {
        let heard = self.world.heard.clone();
        self.add(
            "v08-the-same-bytes-again",
            Reason::Duplicate,
            "session",
            heard.clone(),
            "the first verdict stands",
        );
        let spaced = serde_json::to_vec_pretty(&read(&heard)).unwrap();
        self.add(
            "v08-the-same-message-with-other-spaces",
            Reason::Duplicate,
            "session",
            spaced,
            "the hash is over the canonical form",
        );
        let mut timed = |name, reason, from: i64, until: i64, about| {
            let input = self.said(Method::Request, |value| {
                set("timestamp", time(from))(value);
                set("expires-at", time(until))(value);
            });
            self.add(name, reason, "session", input, about);
        };
        timed(
            "v09-a-minute-and-a-moment-ahead",
            Reason::TimestampInFuture,
            NOW + 60_001,
            NOW + DAY,
            "a clock that is wrong, or a message for later",
        );
        timed(
            "v09-expires-now",
            Reason::Expired,
            0,
            NOW,
            "at expires-at a message is over",
        );
        timed(
            "v09-lives-seven-days-and-a-moment",
            Reason::LifetimeTooLong,
            0,
            7 * DAY + 1,
            "the replay window need not be kept longer",
        );
        timed(
            "v09-ends-before-it-starts",
            Reason::LifetimeTooLong,
            NOW + 2,
            NOW + 1,
            "a life of less than nothing",
        );
        let input = self.announce(set("expires-at", time(300_001)));
        self.add(
            "v09-flight-of-five-minutes-and-a-moment",
            Reason::LifetimeTooLong,
            "acquainted",
            input,
            "a flight lives five minutes",
        );
    }

    pub fn in_place(&mut self) {
        let input = self.request(|_| {});
        self.add(
            "v10-without-a-session",
            Reason::HandshakeRequired,
            "acquainted",
            input,
            "nothing is taken before the handshake",
        );
        let input = self.said(Method::Request, |value| {
            set("session", "A".repeat(43))(value);
            set("timestamp", time(2 * 60_000))(value);
        });
        self.add(
            "v10-in-a-session-that-never-was",
            Reason::SessionUnknown,
            "session",
            input,
            "a restored backup, or a session that the recipient lost",
        )
        .ms = 2 * 60_000;
        let input = self.said(Method::Request, |value| {
            set("timestamp", time(31 * DAY))(value);
            set("expires-at", time(32 * DAY))(value);
        });
        self.add(
            "v10-a-day-after-the-session-s-end",
            Reason::SessionEnded,
            "session",
            input,
            "a session ends after thirty days",
        )
        .ms = 31 * DAY;
        let input = self.said(Method::Request, set("trust-layer-version", "1.1.0"));
        self.add(
            "v10-in-another-version-than-agreed",
            Reason::VersionMismatch,
            "session",
            input,
            "the version was chosen in the handshake",
        );
        let input = self.said(Method::Request, set("sequence", 5));
        self.add(
            "v10-five-long-after-ten-thousand",
            Reason::SequenceBelowWindow,
            "far-ahead",
            input,
            "what lies below the window cannot be told from a replay",
        );
        let input = self.said(Method::Request, set("sequence", 1));
        self.add(
            "v10-number-one-with-other-words",
            Reason::SequenceReuse,
            "session",
            input,
            "a restored backup, or a second copy of the agent",
        );
        let name = headers(&mut read(&self.world.heard))["message-id"].clone();
        let input = self.said(Method::Request, |value| {
            value["id"] = name.clone();
            set("message-id", name)(value);
        });
        self.add(
            "v10-a-message-id-used-before",
            Reason::MessageIdReuse,
            "session",
            input,
            "a name is used once, across sessions",
        );
        let input = self.said(Method::Request, |value| {
            drop(headers(value).remove("sequence"))
        });
        self.add(
            "v10-in-the-session-without-a-number",
            Reason::HeaderMissing,
            "session",
            input,
            "only receipts have no number",
        );
    }

    pub fn in_handshake(&mut self) {
        let carol = identity("agent-carol", "carol");
        let verify = self.world.verify.clone();
        let flight = |change: &dyn Fn(&mut Value)| {
            let mut value = verify.clone();
            change(&mut value);
            sign(value, &carol.signing)
        };
        let late = self.announce(|_| {});
        self.add(
            "v11-flight-2-that-nobody-awaits",
            Reason::HandshakeUnexpected,
            "carol-known",
            flight(&|_| {}),
            "an answer to no announce of ours",
        );
        self.add(
            "v11-both-announced-and-the-recipient-goes-on",
            Reason::HandshakeCrossed,
            "announced",
            crossing(&carol, &late),
            "the lower agent-id goes on as initiator",
        );
        let input = self.announce(|value| {
            value["params"]["headers"]["message-id"] = id("later").to_string().into();
        });
        self.add(
            "v11-another-announce-of-the-same-moment",
            Reason::AnnounceStale,
            "half-open",
            input,
            "only a later announce replaces one that is being answered",
        );
        let input = flight(&|value| body("transcript", "A".repeat(43))(value));
        self.add(
            "v11-flight-2-to-another-flight-1",
            Reason::TranscriptMismatch,
            "announced",
            input,
            "a flight from another handshake",
        );
        let input = self.announce(body("versions", json!(["1.0.0", "9.9.9"])));
        self.add(
            "v11-offers-a-version-that-was-not-certified",
            Reason::VersionUnsupported,
            "acquainted",
            input,
            "versions offered lie within the certificate's",
        );
        let input = flight(&|value| body("choice", Value::Null)(value));
        self.add(
            "v11-no-version-chosen-though-one-is-common",
            Reason::VersionDowngrade,
            "announced",
            input,
            "the choice is the best common version",
        );
    }

    pub fn in_allowance(&mut self) {
        let pause = in_session(&self.alice, "agent-bob", Method::Pause, "input", 5, None);
        self.add(
            "v12-pause",
            Reason::StatementInvalid,
            "session",
            sign(pause, &self.alice.signing),
            "Alice's control key pauses Alice's agents, not Bob's",
        );
        let answer = |faults: &Self, to: String, tier: u8| {
            faults.said(Method::Request, |value| {
                let mut envelope = value["params"].take();
                envelope["headers"]["in-reply-to"] = to.clone().into();
                envelope["headers"]["message-type"] = "response".into();
                envelope["headers"]["data-tier"] = tier.into();
                *value = json!({"jsonrpc": "2.0", "id": to, "result": envelope});
            })
        };
        let input = answer(self, id("never asked").to_string(), 1);
        self.add(
            "v12-answer-to-nothing",
            Reason::ResponseUnsolicited,
            "session",
            input,
            "only what we asked is answered",
        );
        let input = answer(self, self.world.asked.to_string(), 1);
        self.add(
            "v12-answer-in-a-lower-tier",
            Reason::TierLowered,
            "session",
            input,
            "an answer is at least as secret as its question",
        );
        let input = self.said(Method::Request, set("capability", "door.open"));
        self.add(
            "v12-asks-for-the-door",
            Reason::CapabilityNotGranted,
            "session",
            input,
            "not among the capabilities granted",
        );
        let place = Some((self.world.public_session, 2));
        let mut input = in_session(
            &self.alice,
            "agent-bob",
            Method::Request,
            "input",
            NOW,
            place,
        );
        set("data-tier", 2)(&mut input);
        self.add(
            "v12-household-matters-to-a-public-grant",
            Reason::TierNotGranted,
            "public-only",
            sign(input, &self.alice.signing),
            "the tier is above the one granted",
        );
        for (name, tier) in [
            ("v12-sensitive-in-clear", 3),
            ("v12-restricted-in-clear", 4),
        ] {
            let input = self.said(Method::Request, set("data-tier", tier));
            self.add(
                name,
                Reason::SealRequired,
                "session",
                input,
                "nothing of it is kept but its headers",
            );
        }
        let input = self.said(Method::Request, |value| {
            set("skill-layers-loaded", json!([0]))(value);
            set("data-tier", 2)(value);
        });
        self.add(
            "v12-household-matters-from-an-agent-that-has-loaded-layer-0-alone",
            Reason::LayersInsufficient,
            "session",
            input,
            "what the certificate allows counts when it is loaded",
        );
        let input = self.said(Method::Request, set("hops", 9));
        self.add(
            "v12-the-ninth-hop",
            Reason::HopsExceeded,
            "session",
            input,
            "agents that talk in a circle",
        );
    }
}

/// Carol's own flight 1, made of Alice's with her names.
pub fn crossing(carol: &Identity, announce: &[u8]) -> Vec<u8> {
    let mut value = read(announce);
    set("agent-id", "agent-carol")(&mut value);
    set("principal-id", "carol")(&mut value);
    set("key-id", carol.signing.public().id().to_string())(&mut value);
    body("certificate", carol.certificate.to_value())(&mut value);
    body("keys", carol.keys.to_value())(&mut value);
    sign(value, &carol.signing)
}
