//! Faults of what version 1.1.0 brought: progress and offers.

use serde_json::{Value, json};
use signet_proto::envelope::Method;
use signet_proto::reject::Reason;

use super::faults::{Faults, NOW, set};
use crate::forge::{headers, id, in_session, sign};

impl Faults<'_> {
    /// Alice's message in the session of version 1.1.0, under the number 2, changed and signed again.
    pub fn said_newer(&self, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let place = Some((self.world.newer_session, 2));
        let method = Method::Notification;
        let mut value = in_session(&self.alice, "agent-bob", method, "input", NOW, place);
        set("trust-layer-version", "1.1.0")(&mut value);
        change(&mut value);
        sign(value, &self.alice.signing)
    }

    pub fn in_newer_version(&mut self) {
        let input = self.said_newer(progress(json!({"state": "working"}), |_| {}));
        self.add(
            "v04-progress-without-what-it-is-about",
            Reason::HeaderMissing,
            "newer",
            input,
            "progress names the request that it is about, as an answer does",
        );
        let offers = |list: Value| offer(json!({ "capabilities": list }));
        let input = self.said_newer(offers(json!([{"name": "lamp.switch", "tier": 3}])));
        self.add(
            "v03-offer-of-tier-3",
            Reason::InvalidShape,
            "newer",
            input,
            "what programs offer takes nothing that travels sealed",
        );
        let asked = self.world.asked.to_string();
        let input = self.said(Method::Notification, |value| {
            progress(json!({"state": "working"}), set("in-reply-to", asked))(value);
        });
        self.add(
            "v10-progress-in-a-session-of-1-0-0",
            Reason::VersionInsufficient,
            "session",
            input,
            "the handshake agreed on a version that knows no progress",
        );
        let input = self.said(Method::Notification, offers(json!([])));
        self.add(
            "v10-offer-in-a-session-of-1-0-0",
            Reason::VersionInsufficient,
            "session",
            input,
            "the handshake agreed on a version that knows no offers",
        );
        self.in_progress();
        let twice = json!([
            {"name": "lamp.switch", "tier": 1},
            {"name": "lamp.switch", "tier": 2},
        ]);
        let input = self.said_newer(offers(twice));
        self.add(
            "v12-offer-that-names-a-lamp-twice",
            Reason::OfferInvalid,
            "newer",
            input,
            "which of the two would hold?",
        );
    }

    fn in_progress(&mut self) {
        let asked = self.world.newer_asked.to_string();
        let told = |faults: &Self, about: String, tier: u8, body: Value| {
            faults.said_newer(progress(body, |value| {
                set("in-reply-to", about)(value);
                set("data-tier", tier)(value);
            }))
        };
        let nothing = id("never asked").to_string();
        let input = told(self, nothing, 2, json!({"state": "working"}));
        self.add(
            "v12-progress-on-what-nobody-asked",
            Reason::ResponseUnsolicited,
            "newer",
            input,
            "only what is open has progress",
        );
        let input = told(self, asked.clone(), 1, json!({"state": "working"}));
        self.add(
            "v12-progress-in-a-lower-tier",
            Reason::TierLowered,
            "newer",
            input,
            "progress is at least as secret as what was asked",
        );
        for (name, body, about) in [
            (
                "v12-progress-that-says-it-is-done",
                json!({"state": "completed"}),
                "only an answer ends a request",
            ),
            (
                "v12-progress-with-a-part-that-has-no-number",
                json!({"state": "working", "part": {"last": true}}),
                "parts come in any order",
            ),
        ] {
            let input = told(self, asked.clone(), 2, body);
            self.add(name, Reason::BodyUnfit, "newer", input, about);
        }
    }
}

/// Makes progress of a notification.
pub fn progress(body: Value, change: impl FnOnce(&mut Value)) -> impl FnOnce(&mut Value) {
    move |value| {
        value["method"] = "agent.progress".into();
        value["params"]["body"] = body;
        change(value);
    }
}

/// Makes an offer of a notification.
pub fn offer(body: Value) -> impl FnOnce(&mut Value) {
    move |value| {
        value["method"] = "agent.offer".into();
        value["params"]["body"] = body;
        headers(value).remove("capability");
    }
}
