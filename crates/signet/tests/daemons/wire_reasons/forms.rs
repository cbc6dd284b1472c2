//! Checks V01 to V09: what stands in the bytes, the headers and the certificates.

use serde_json::{Value, json};
use signet_proto::keys::SigningKey;
use signet_proto::reject::Reason;

use super::Wire;
use crate::house::pen::{DAY, Pen, fresh_id, place, seed, time, with};

impl Wire<'_> {
    pub(super) fn bytes(&mut self) {
        let large = vec![b' '; 240 * 1024 + 1];
        self.expect_hashed(Reason::TooLarge, &large, 1024);
        let deep = "[".repeat(65) + &"]".repeat(65);
        let many = format!("[{}0]", "0,".repeat(10_000));
        let table: [(Reason, &[u8]); 10] = [
            (Reason::InvalidUtf8, b"{\"a\":\"\xc0\xaf\"}"),
            (Reason::ByteOrderMark, b"\xef\xbb\xbf{}"),
            (Reason::MalformedJson, b"{'a':1}"),
            (
                Reason::MalformedJson,
                b"{\"$serde_json::private::RawValue\":1}",
            ),
            (Reason::DuplicateName, b"{\"a\":1,\"\\u0061\":2}"),
            (Reason::LoneSurrogate, b"{\"a\":\"\\ud800\"}"),
            (Reason::NumberOutOfRange, b"{\"a\":1e999}"),
            (Reason::TooDeep, deep.as_bytes()),
            (Reason::TooManyValues, many.as_bytes()),
            (Reason::BatchUnsupported, b"[]"),
        ];
        for (reason, input) in table {
            self.expect(reason, input);
        }
    }

    pub(super) fn shape_and_headers(&mut self) {
        self.expect(Reason::InvalidShape, b"{}");
        let mut other_method = self.next();
        other_method["method"] = "agent.dance".into();
        self.signed(Reason::MethodNotFound, other_method);
        let mut less = self.next();
        place(&mut less)["headers"]
            .as_object_mut()
            .unwrap()
            .remove("agent-id");
        self.signed(Reason::HeaderMissing, less);
        for (reason, header, value) in [
            (Reason::HeaderUnknown, "x-priority", "high"),
            (Reason::HeaderInvalid, "timestamp", "yesterday"),
            (Reason::MessageTypeMismatch, "message-type", "notification"),
        ] {
            let message = with(self.next(), header, value);
            self.signed(reason, message);
        }
        let mut other_id = self.next();
        other_id["id"] = fresh_id().into();
        self.signed(Reason::IdMismatch, other_id);
    }

    pub(super) fn place(&mut self) {
        let redirected = self.mallory.notification("agent-victor", &self.session, 99);
        self.signed(Reason::WrongRecipient, redirected);
        let mine = with(self.next(), "agent-id", "agent-bob");
        self.signed(Reason::Reflected, mine);
    }

    pub(super) fn sender(&mut self, mallorys_root: &SigningKey, victors_root: &SigningKey) {
        let bob = self.bob.agent.clone();
        let stranger = Pen::made("agent-nobody", "nobody", &seed([1; 32]), |_| {});
        self.expect(
            Reason::AgentUnknown,
            &stranger.sign(stranger.request(&bob, &self.session, 1)),
        );
        for (reason, pen) in [
            (Reason::PrincipalUnknown, stranger),
            (
                Reason::AgentIdTaken,
                Pen::made("agent-mallory", "victor", victors_root, |_| {}),
            ),
            (
                Reason::RootChanged,
                Pen::made("agent-mallory", "mallory", &seed([1; 32]), |_| {}),
            ),
            (
                Reason::SerialRolledBack,
                Pen::made("agent-mallory", "mallory", mallorys_root, |request| {
                    request.serial = 1
                }),
            ),
        ] {
            self.expect(reason, &pen.sign(pen.announce(&bob)));
        }
        let mut changed = self.mallory.announce(&bob);
        changed["params"]["body"]["certificate"]["serial"] = json!(4_000_000_000_u32);
        self.signed(Reason::CertificateInvalid, changed);
        let mut foreign = self.mallory.announce(&bob);
        foreign["params"]["body"]["keys"] = self.victor.statement.clone();
        self.signed(Reason::KeysInvalid, foreign);
        for (reason, header, value) in [
            (
                Reason::CertificateExpired,
                "timestamp",
                json!("1999-12-31T23:59:59.000Z"),
            ),
            (
                Reason::KeyUnknown,
                "key-id",
                json!(self.victor.signing.public().id().to_string()),
            ),
            (Reason::PrincipalMismatch, "principal-id", json!("victor")),
            (
                Reason::LayersExceedCertificate,
                "skill-layers-loaded",
                json!([0, 1, 2, 3, 4]),
            ),
        ] {
            let message = with(self.next(), header, value);
            self.signed(reason, message);
        }
        let mut tampered: Value = serde_json::from_slice(&{
            let next = self.next();
            self.mallory.sign(next)
        })
        .unwrap();
        tampered["params"]["body"]["n"] = "another".into();
        self.expect(Reason::SignatureInvalid, &signet_json::canonical(&tampered));
    }

    pub(super) fn time(&mut self) {
        let request = self.next();
        let bytes = self.accepted(request);
        self.expect(Reason::Duplicate, &bytes);
        let early = with(
            with(self.next(), "timestamp", time(120_000)),
            "expires-at",
            time(240_000),
        );
        self.signed(Reason::TimestampInFuture, early);
        let late = with(
            with(self.next(), "timestamp", time(-20_000)),
            "expires-at",
            time(-1_000),
        );
        self.signed(Reason::Expired, late);
        let long = with(self.next(), "expires-at", time(8 * DAY));
        self.signed(Reason::LifetimeTooLong, long);
    }
}
