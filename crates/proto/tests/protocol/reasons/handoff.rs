//! Faults in handoffs and in reports on them (V12).

use serde_json::{Value, json};
use signet_json::canonical;
use signet_proto::envelope::Method;
use signet_proto::ids::Digest;
use signet_proto::keys::{Purpose, SigningKey};
use signet_proto::reject::Reason;

use super::faults::{DAY, Faults, NOW, set};
use super::late::time;
use crate::forge::{envelope, id};
use crate::household::tasks::sign;
use crate::household::{identity, identity_with};

/// What Alice's second agent gives her first, and her first gives Bob's.
struct Story {
    first: Value,
    second: Value,
}

impl Story {
    fn new(change: impl FnOnce(&mut Value)) -> Self {
        let first = mandate("agent-alice-2", "agent-alice", &second_key(), |_| {});
        let hash = Digest::of(&[&canonical(&first)]).to_string();
        let key = identity("agent-alice", "alice").signing;
        let second = mandate("agent-alice", "agent-bob", &key, |mandate| {
            mandate["parent"] = hash.into();
            mandate["depth"] = 1.into();
            change(mandate);
        });
        Self { first, second }
    }

    fn chain(&self) -> Value {
        let second_agent = identity_with("agent-alice-2", "alice", 1, |_| {});
        let alice = identity("agent-alice", "alice");
        json!([
            {"mandate": self.first, "certificate": second_agent.certificate.to_value()},
            {"mandate": self.second, "certificate": alice.certificate.to_value()},
        ])
    }
}

fn second_key() -> SigningKey {
    identity("agent-alice-2", "alice").signing
}

fn mandate(from: &str, to: &str, key: &SigningKey, change: impl FnOnce(&mut Value)) -> Value {
    let mut value = json!({
        "type": "handoff", "task": id("task").to_string(), "from": from, "to": to,
        "capabilities": ["calendar.read"], "tier": 2, "depth": 2,
        "not-after": time(DAY), "issued-at": time(NOW),
    });
    change(&mut value);
    sign(value, key, Purpose::Handoff)
}

impl Faults<'_> {
    fn handed(&self, chain: Value) -> Vec<u8> {
        self.said(Method::Handoff, |value| {
            let task = id("task").to_string();
            set("conversation-id", task.clone())(value);
            set("expires-at", time(DAY))(value);
            let body = json!({"task": task, "goal": "Find an evening", "chain": chain});
            envelope(value).insert("body".into(), body);
        })
    }

    pub fn in_handoff(&mut self) {
        let input = self.said(Method::Handoff, |_| {});
        let (invalid, widened) = (Reason::MandateInvalid, Reason::AuthorityWidened);
        self.add(
            "v12-handoff-without-a-mandate",
            invalid,
            "session",
            input,
            "work without a word of who gives it, and within which limits",
        );
        let mut told = |name, reason, about, change: &dyn Fn(&mut Value)| {
            let input = self.handed(Story::new(change).chain());
            self.add(name, reason, "session", input, about);
        };
        told(
            "v12-handoff-to-a-third-agent",
            invalid,
            "the last mandate is from the sender to the recipient, nobody else",
            &|mandate| mandate["to"] = "agent-carol".into(),
        );
        told(
            "v12-handoff-with-a-forged-parent",
            invalid,
            "each mandate names the hash of the one before",
            &|mandate| mandate["parent"] = "A".repeat(43).into(),
        );
        told(
            "v12-handoff-spliced-from-two-tasks",
            invalid,
            "all mandates of a chain are of one task",
            &|mandate| mandate["task"] = id("another task").to_string().into(),
        );
        told(
            "v12-handoff-of-thirty-one-days",
            invalid,
            "a mandate lasts thirty days at most",
            &|mandate| mandate["not-after"] = time(31 * DAY).into(),
        );
        told(
            "v12-handoff-with-one-capability-more",
            widened,
            "the holder may not do it either",
            &|mandate| mandate["capabilities"] = json!(["calendar.read", "mail.send"]),
        );
        told(
            "v12-handoff-of-a-higher-tier",
            widened,
            "the holder may not say it either",
            &|mandate| mandate["tier"] = 3.into(),
        );
        told(
            "v12-handoff-handed-on-for-ever",
            widened,
            "the depth falls with every step",
            &|mandate| mandate["depth"] = 2.into(),
        );
        told(
            "v12-handoff-that-outlasts-its-parent",
            widened,
            "what comes from an authority ends with it",
            &|mandate| mandate["not-after"] = time(DAY + 1).into(),
        );
        let story = Story::new(|_| {});
        let rewritten = Story {
            first: {
                let mut first = story.first.clone();
                first["tier"] = 4.into();
                first
            },
            second: story.second.clone(),
        };
        let input = self.handed(rewritten.chain());
        self.add(
            "v12-handoff-whose-first-mandate-was-rewritten",
            invalid,
            "session",
            input,
            "every signature of the chain is verified",
        );
        let input = self.said(Method::Notification, |value| {
            set("capability", "signet.task")(value);
            let body = json!({"task": id("task").to_string(), "state": "completed"});
            envelope(value).insert("body".into(), body);
        });
        self.add(
            "v12-report-on-a-task-never-given",
            Reason::TaskUnknown,
            "session",
            input,
            "only whoever holds a task says how it goes",
        );
    }
}
