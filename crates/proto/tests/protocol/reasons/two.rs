//! Inputs that fail two checks: the earlier one names its reason.

use signet_proto::envelope::Method;
use signet_proto::reject::Reason;

use super::faults::{DAY, Faults, NOW, set};
use super::late::time;
use crate::forge::{headers, read};

impl Faults<'_> {
    /// Inputs with two faults: the earlier check names its own.
    pub fn of_two_checks(&mut self) {
        let twice = b"{\"a\":1,\"a\":2}".to_vec();
        let both = self.request(|value| {
            value["jsonrpc"] = "1.0".into();
            set("hops", 0)(value);
        });
        let headers_first = self.request(|value| {
            set("recipient-id", "agent-eve")(value);
            set("hops", 0)(value);
        });
        let recipient_first = self.request(|value| {
            set("recipient-id", "agent-eve")(value);
            set("agent-id", "agent-nobody")(value);
        });
        let mut unsigned = read(&self.request(set("agent-id", "agent-nobody")));
        unsigned["params"]["body"] = "changed".into();
        let mut copy = read(&self.world.heard);
        copy["params"]["signature"] = format!("{}A", "A".repeat(85)).into();
        let heard = self.world.heard.clone();
        let ended = self.said(Method::Request, |value| {
            set("session", "A".repeat(43))(value);
            set("expires-at", time(NOW))(value);
        });
        let sealed = self.said(Method::Request, |value| {
            set("sequence", 1)(value);
            set("data-tier", 3)(value);
        });
        let reused = headers(&mut self.world.announce.clone())["message-id"].clone();
        let flight = self.announce(|value| {
            set("message-id", reused)(value);
            set("audit-head", "ab".repeat(32))(value);
        });
        let canonical = signet_json::canonical;
        for (name, also, reason, log, input) in [
            (
                "v01-before-v02",
                "V02",
                Reason::TooLarge,
                "acquainted",
                b"{".to_vec(),
            ),
            (
                "v02-before-v03",
                "V03",
                Reason::DuplicateName,
                "acquainted",
                twice,
            ),
            (
                "v03-before-v04",
                "V04",
                Reason::InvalidShape,
                "acquainted",
                both,
            ),
            (
                "v04-before-v05",
                "V05",
                Reason::HeaderInvalid,
                "acquainted",
                headers_first,
            ),
            (
                "v05-before-v06",
                "V06",
                Reason::WrongRecipient,
                "acquainted",
                recipient_first,
            ),
            (
                "v06-before-v07",
                "V07",
                Reason::AgentUnknown,
                "acquainted",
                canonical(&unsigned),
            ),
            (
                "v07-before-v08",
                "V08",
                Reason::SignatureInvalid,
                "session",
                canonical(&copy),
            ),
            ("v09-before-v10", "V10", Reason::Expired, "session", ended),
            (
                "v10-before-v11",
                "V11",
                Reason::MessageIdReuse,
                "half-open",
                flight,
            ),
            (
                "v10-before-v12",
                "V12",
                Reason::SequenceReuse,
                "session",
                sealed,
            ),
        ] {
            self.add(
                name,
                reason,
                log,
                input,
                "two faults: the earlier check speaks",
            )
            .also = Some(also);
            if reason == Reason::TooLarge {
                self.all.last_mut().unwrap().pad = 240 * 1024;
            }
        }
        self.add(
            "v08-before-v09",
            Reason::Duplicate,
            "session",
            heard,
            "a copy that has expired since is still a copy",
        )
        .also = Some("V09");
        self.all.last_mut().unwrap().ms = 10 * DAY;
    }
}
