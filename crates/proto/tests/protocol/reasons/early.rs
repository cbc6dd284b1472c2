//! Faults that bytes show by themselves: V01 to V05.

use serde_json::{Value, json};
use signet_proto::envelope::Method;
use signet_proto::reject::Reason;

use super::faults::{Faults, set};
use crate::forge::{envelope, headers, in_session, sign};
use crate::household::identity;

impl Faults<'_> {
    pub fn in_text(&mut self) {
        let log = "private";
        let good = self.told(|_| {});
        let text = String::from_utf8(good.clone()).unwrap();
        self.add(
            "v01-a-good-message-in-240-kib-of-spaces",
            Reason::TooLarge,
            log,
            good.clone(),
            "the size counts before anything is read",
        )
        .pad = 240 * 1024;
        let mut faulty = |name, reason, input: Vec<u8>, about| {
            self.add(name, reason, log, input, about);
        };
        faulty(
            "v02-latin-1-umlaut",
            Reason::InvalidUtf8,
            b"{\"a\":\"\xfc\"}".to_vec(),
            "bytes that are not UTF-8",
        );
        faulty(
            "v02-byte-order-mark",
            Reason::ByteOrderMark,
            [b"\xef\xbb\xbf", &good[..]].concat(),
            "a good message after a byte order mark",
        );
        faulty(
            "v02-trailing-comma",
            Reason::MalformedJson,
            format!("{},}}", &text[..text.len() - 1]).into(),
            "a comma too many is not repaired",
        );
        faulty(
            "v02-two-messages-in-one",
            Reason::MalformedJson,
            [&good[..], &good].concat(),
            "a second text after the first",
        );
        faulty(
            "v02-recipient-named-twice",
            Reason::DuplicateName,
            text.replace(
                "\"recipient-id\":",
                "\"recipient-id\":\"agent-eve\",\"recipient-\\u0069d\":",
            )
            .into(),
            "two readers could take two recipients from it",
        );
        faulty(
            "v02-half-a-surrogate-pair",
            Reason::LoneSurrogate,
            text.replace("2026-W07", "\\ud83d").into(),
            "half a character",
        );
        faulty(
            "v02-sequence-beyond-2-53",
            Reason::NumberOutOfRange,
            text.replace("\"sequence\":2", "\"sequence\":9007199254740992")
                .into(),
            "a number that readers round differently",
        );
        faulty(
            "v02-sixty-five-deep",
            Reason::TooDeep,
            ["[".repeat(65), "]".repeat(65)].concat().into(),
            "one array too deep",
        );
        faulty(
            "v02-ten-thousand-and-one-values",
            Reason::TooManyValues,
            format!("[{}0]", "0,".repeat(9_999)).into(),
            "many small values cost much memory",
        );
        faulty(
            "v02-batch-of-one",
            Reason::BatchUnsupported,
            [b"[", &good[..], b"]"].concat(),
            "one message, one signature; no batches",
        );
        let (call, success) = (
            self.told(|_| {}),
            self.told(|value| {
                value["result"] = value["params"].clone();
            }),
        );
        assert_ne!(call, success);
        self.add(
            "v03-a-call-with-a-result",
            Reason::InvalidShape,
            log,
            success,
            "a message with two envelopes says two things",
        );
        let input = self.told(|value| drop(envelope(value).insert("note".into(), 1.into())));
        self.add(
            "v03-a-note-beside-the-headers",
            Reason::InvalidShape,
            log,
            input,
            "what an application adds belongs into body",
        );
        let input = self.told(|value| {
            value["method"] = "tools/call".into();
            value.as_object_mut().unwrap().remove("id");
            set("message-type", "notification")(value);
        });
        self.add(
            "v03-a-method-of-mcp",
            Reason::MethodNotFound,
            log,
            input,
            "another protocol's method",
        );
    }

    pub fn in_headers(&mut self) {
        let log = "private";
        let input = self.told(|value| drop(headers(value).remove("principal-id")));
        self.add(
            "v04-without-principal",
            Reason::HeaderMissing,
            log,
            input,
            "no message without its six headers of identity",
        );
        let input = self.told(set("x-priority", "urgent"));
        self.add(
            "v04-with-a-header-of-its-own",
            Reason::HeaderUnknown,
            log,
            input,
            "no header beside those of signet/1",
        );
        let odd: [(&'static str, &'static str, Value); 8] = [
            (
                "v04-time-with-a-small-z",
                "timestamp",
                "2026-02-08T17:00:00z".into(),
            ),
            (
                "v04-leap-second",
                "timestamp",
                "2026-06-30T23:59:60Z".into(),
            ),
            (
                "v04-twenty-four-o-clock",
                "expires-at",
                "2026-02-08T24:00:00Z".into(),
            ),
            (
                "v04-thirtieth-of-february",
                "expires-at",
                "2026-02-30T00:00:00Z".into(),
            ),
            (
                "v04-agent-id-that-climbs",
                "agent-id",
                "../agent-alice".into(),
            ),
            ("v04-hops-of-nought", "hops", 0.into()),
            ("v04-sequence-of-nought", "sequence", 0.into()),
            (
                "v04-layer-loaded-twice",
                "skill-layers-loaded",
                json!([0, 1, 1]),
            ),
        ];
        for (name, header, value) in odd {
            let input = self.told(set(header, value));
            self.add(
                name,
                Reason::HeaderInvalid,
                log,
                input,
                "a header has one spelling and a range",
            );
        }
        let input = self.told(set("message-type", "notification"));
        self.add(
            "v04-request-that-says-notification",
            Reason::MessageTypeMismatch,
            log,
            input,
            "a reader of the log must see from the headers that an answer is due",
        );
        let input = self.told(|value| value["id"] = crate::forge::id("other").to_string().into());
        self.add(
            "v04-id-of-another-message",
            Reason::IdMismatch,
            log,
            input,
            "the JSON-RPC id is the message-id",
        );
        let input = self.told(set("recipient-id", "agent-eve"));
        self.add(
            "v05-redirected-to-a-third-agent",
            Reason::WrongRecipient,
            log,
            input,
            "a broker delivers Alice's letter to Eve into Bob's inbox",
        );
        let good = self.told(|_| {});
        self.add(
            "v05-on-another-agents-subject",
            Reason::WrongSubject,
            log,
            good,
            "a good message for Bob that the server delivers by Eve's subject",
        )
        .subject = Some("agent.agent-eve.inbox");
        let bob = identity("agent-bob", "bob");
        let place = Some((self.world.private_session, 2));
        let now = super::faults::NOW;
        let own = in_session(&bob, "agent-bob", Method::Request, "input", now, place);
        self.add(
            "v05-our-own-words-come-back",
            Reason::Reflected,
            log,
            sign(own, &bob.signing),
            "a message of ours comes back, well signed by ourselves",
        );
    }
}
