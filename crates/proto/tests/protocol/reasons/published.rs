//! The folder `vectors/`, for implementations in other languages: the inputs of these tests with what their recipient
//! knows, and besides them what is accepted, certificates, and handshakes. An ignored test writes it:
//! `cargo test --workspace --test protocol write_the_published -- --ignored`.

use std::collections::BTreeMap;

use data_encoding::BASE64;
use serde_json::{Value, json};
use signet_proto::certificate::{Certificate, ControlCertificate, KeyStatement};
use signet_proto::envelope::{Method, Unverified};
use signet_proto::headers::Layers;
use signet_proto::ids::{Digest, SessionId, encode_base64url};
use signet_proto::keys::{Purpose, SigningKey};
use signet_proto::reject::PeerReason;
use signet_proto::seal::{Sealed, plaintext};
use signet_proto::statement::Revocation;

use super::faults::{self, Fault, Faults, NOW, set};
use super::stages::{self, Log, World};
use super::{chains, http, openings, statements as words, taken, vector};
use crate::forge::{envelope, headers, in_session, read, reason, sign};
use crate::household::{at, control, identity, identity_with, key, people, rng};

/// Every file that is written, by its path in the folder.
fn files() -> BTreeMap<String, Value> {
    let world = stages::build();
    let mut files = BTreeMap::from([("recipient".to_owned(), recipient())]);
    for (name, log) in &world.logs {
        files.insert(format!("knowledge/{name}"), knowledge(log));
    }
    for fault in faults::all(&world) {
        files.insert(
            format!("refused/{}", fault.name),
            refused(&fault, &world.logs[fault.log]),
        );
    }
    for input in all_accepted(&world) {
        let described = input.described(&world.logs[input.log]);
        files.insert(format!("accepted/{}", input.name), described);
    }
    for (name, exchange) in http::exchanges(&world) {
        files.insert(format!("http/{name}"), exchange);
    }
    for (name, log) in [("1.0.0", "session"), ("1.1.0", "newer")] {
        files.insert(format!("handshakes/{name}"), handshake(&world.logs[log]));
    }
    for (name, statement) in all_statements() {
        files.insert(format!("statements/{name}"), statement);
    }
    for (name, invitation) in words::invitations() {
        files.insert(format!("invitations/{name}"), invitation);
    }
    files
}

/// Bob's agent, whose keys everybody knows.
fn recipient() -> Value {
    let bob = identity("agent-bob", "bob");
    let seed = Digest::of(&[b"signing key 1 of agent-bob"]).0;
    json!({
        "about": "TEST KEYS, made from published words: no agent may ever use or trust them",
        "certificate": bob.certificate.to_value(),
        "keys": bob.keys.to_value(),
        "signing": encode_base64url(&seed),
        "sealing": encode_base64url(bob.secrets[0].expose()),
    })
}

/// What a log comes to for who keeps none.
pub fn knowledge(log: &Log) -> Value {
    let text = String::from_utf8(vector::write_log(log)).unwrap();
    let mut known: BTreeMap<&str, Vec<Value>> = [
        "certificates",
        "withdrawn",
        "refused",
        "revocations",
        "orders",
        "history",
    ]
    .into_iter()
    .map(|name| (name, Vec::new()))
    .collect();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let (name, item) = match (line["kind"].as_str(), line["change"].as_str()) {
            (Some("message"), _) if line.get("message").is_some() => {
                let way = if line["dir"] == "in" { "came" } else { "sent" };
                ("history", json!({"at": line["ts"], way: line["message"]}))
            }
            (Some("trust"), Some("bound")) => ("certificates", line["certificate"].clone()),
            (Some("trust"), Some("withdrawn")) => ("withdrawn", line["peer"].clone()),
            (Some("trust"), Some("refused")) => ("refused", line["certificate"].clone()),
            (Some("trust"), Some("revoked")) => ("revocations", line["revocation"].clone()),
            (Some("pause"), _) => (
                "orders",
                json!({"statement": line["statement"], "control": line["control"]}),
            ),
            _ => continue,
        };
        known.get_mut(name).unwrap().push(item);
    }
    json!(known)
}

fn refused(fault: &Fault, log: &Log) -> Value {
    let mut described = described(fault.about, fault.log, fault.ms, &fault.input);
    if fault.pad > 0 {
        described["pad"] = fault.pad.into();
    }
    if let Some(subject) = fault.subject {
        described["subject"] = subject.into();
    }
    if let Some(also) = fault.also {
        described["also"] = also.into();
    }
    if let Some(need) = need(fault.name, fault.log) {
        described["needs"] = json!([need]);
    }
    let mut expect = json!({"verdict": "rejected", "check": fault.expect.check(), "reason": fault.expect.name()});
    let mut input = fault.input.clone();
    input.resize(input.len() + fault.pad, b' ');
    if fault.subject.is_none() {
        taken::note_receipt(&mut expect, log, fault.ms, &input);
    }
    described["expect"] = expect;
    described["effects"] = effects(log, fault.ms, &input, fault.subject);
    described
}

/// What the recipient does about it, in words.
fn effects(log: &Log, ms: i64, input: &[u8], subject: Option<&str>) -> Value {
    let effects = vector::hear(&mut stages::bob(log), at(ms), input, subject);
    json!(vector::names_of(&effects))
}

/// What the least agent may leave out, and this input is about.
fn need(name: &str, log: &str) -> Option<&'static str> {
    match log {
        "newer" | "newer-offered" | "announced-in-both-versions" | "once-of-1.1.0-alone" => {
            Some("1.1.0")
        }
        "paused" | "household" | "paused-under-the-second-control" => Some("pause"),
        "task-begun" | "task-ended" | "task-begun-beside-carol" => Some("handoff"),
        _ if name.contains("handoff") => Some("handoff"),
        "withdrawn" | "refused" | "sister-withdrawn" => Some("withdrawing"),
        _ => None,
    }
}

pub fn described(about: &str, log: &str, ms: i64, input: &[u8]) -> Value {
    let (name, input) = match std::str::from_utf8(input) {
        Ok(text) => ("input", text.to_owned()),
        Err(_) => ("input-base64", BASE64.encode(input)),
    };
    json!({"about": about, "knowledge": log, "now": at(ms).now.to_string(), name: input})
}

/// An input that is taken.
pub struct Input {
    pub name: &'static str,
    pub about: &'static str,
    pub log: &'static str,
    pub bytes: Vec<u8>,
    /// What was sealed in it.
    pub opened: Option<Value>,
    /// What else comes of it, by name.
    pub follows: Vec<(&'static str, Value)>,
}

impl Input {
    fn described(&self, log: &Log) -> Value {
        let mut described = described(self.about, self.log, NOW, &self.bytes);
        let mut expect = json!({"verdict": "accepted", "hash": hash_of(&self.bytes).to_string()});
        if let Some(opened) = &self.opened {
            expect["opened"] = opened.clone();
        }
        for (name, value) in &self.follows {
            expect[*name] = value.clone();
        }
        taken::note_receipt(&mut expect, log, NOW, &self.bytes);
        described["expect"] = expect;
        described["effects"] = effects(log, NOW, &self.bytes, None);
        if let Some(need) = need(self.name, self.log) {
            described["needs"] = json!([need]);
        }
        described
    }
}

fn all_accepted(world: &World) -> Vec<Input> {
    let mut all = accepted(world);
    all.extend(taken::all(world));
    all.extend(chains::accepted(world));
    all.extend(openings::accepted(world));
    all
}

pub fn hash_of(bytes: &[u8]) -> Digest {
    Unverified::parse(bytes).unwrap().claims().hash()
}

/// Alice's message of that tier to Bob, sealed where it has to be.
pub fn said(
    session: SessionId,
    method: Method,
    tier: u8,
    change: impl FnOnce(&mut Value),
) -> Input {
    let alice = identity("agent-alice", "alice");
    let place = Some((session, 2));
    let mut value = in_session(&alice, "agent-bob", method, "input", NOW, place);
    set("data-tier", tier)(&mut value);
    change(&mut value);
    let mut opened = None;
    if tier > 2 {
        let bob = identity("agent-bob", "bob");
        let message = Unverified::parse(&sign(value.clone(), &alice.signing)).unwrap();
        let claims = message.claims();
        let plain = plaintext(&claims.headers, claims.summary.as_deref(), claims.body());
        let sealed = Sealed::seal(bob.secrets[0].public(), &plain.unwrap(), &mut rng()).unwrap();
        let envelope = envelope(&mut value);
        let (summary, body) = (envelope.remove("summary"), envelope.remove("body"));
        envelope.insert("sealed".into(), sealed.to_value());
        opened = Some(json!({"summary": summary, "body": body}));
    }
    Input {
        name: "",
        about: "",
        log: "private",
        bytes: sign(value, &alice.signing),
        opened,
        follows: Vec::new(),
    }
}

fn accepted(world: &World) -> Vec<Input> {
    let session = world.private_session;
    let named = |name, about, input: Input| Input {
        name,
        about,
        ..input
    };
    let mut all = vec![
        named(
            "tier-1-request",
            "public",
            said(session, Method::Request, 1, |_| {}),
        ),
        named(
            "tier-2-notification",
            "household",
            said(session, Method::Notification, 2, |_| {}),
        ),
        named(
            "tier-3-request",
            "sensitive: sealed",
            said(session, Method::Request, 3, |_| {}),
        ),
        named(
            "tier-4-notification",
            "restricted: sealed",
            said(session, Method::Notification, 4, |_| {}),
        ),
    ];
    let asked = asked_in(&world.logs["private"]);
    for tier in [2, 3] {
        let name = if tier == 2 { "answer" } else { "answer-sealed" };
        let input = said(session, Method::Request, tier, |value| {
            set("message-type", "response")(value);
            set("in-reply-to", asked.clone())(value);
            set("hops", 2)(value);
            let envelope = value.as_object_mut().unwrap().remove("params").unwrap();
            *value = json!({"jsonrpc": "2.0", "id": asked, "result": envelope});
        });
        all.push(named(name, "to what the recipient asked in tier 2", input));
    }
    all.push(named(
        "answer-declined",
        "a failure in the peer's own words",
        said(session, Method::Request, 2, |value| {
            set("message-type", "response")(value);
            set("in-reply-to", asked.clone())(value);
            let mut envelope = value.as_object_mut().unwrap().remove("params").unwrap();
            let members = envelope.as_object_mut().unwrap();
            members.retain(|name, _| !matches!(name.as_str(), "body" | "summary"));
            members.insert("reason".into(), "declined".into());
            let error = json!({"code": -32091, "message": "Not today.", "data": envelope});
            *value = json!({"jsonrpc": "2.0", "id": asked, "error": error});
        }),
    ));
    all.push(named(
        "receipt",
        "it has a session and no number",
        said(session, Method::Notification, 1, |value| {
            value["method"] = "agent.receipt".into();
            headers(value).remove("sequence");
            envelope(value).remove("summary");
            envelope(value)["body"] = json!({"through": 0, "floor": 2});
        }),
    ));
    let text = String::from_utf8(all[0].bytes.clone()).unwrap();
    let text = text.replacen("\"sequence\":2", "\"sequence\" : 2.0e0", 1);
    all.push(Input {
        name: "spelt-otherwise",
        about: "spaces, an escape and an exponent: the canonical form is the same, and so are hash and signature",
        log: "private",
        bytes: text.replacen("2026-W07", "2026-\\u005707", 1).into_bytes(),
        opened: None,
        follows: Vec::new(),
    });
    all.push(Input {
        name: "flight-1",
        about: "a known agent begins",
        log: "acquainted",
        bytes: Faults::of(world).announce(|_| {}),
        opened: None,
        follows: Vec::new(),
    });
    all
}

/// The message-id of Bob's open request.
pub fn asked_in(log: &Log) -> String {
    let known = knowledge(log);
    let mut sent = known["history"].as_array().unwrap().iter();
    let request = sent.find(|item| item["sent"]["method"] == "agent.request");
    request.unwrap()["sent"]["id"].as_str().unwrap().to_owned()
}

/// The four flights, with the hashes that they carry and make.
fn handshake(log: &Log) -> Value {
    let known = knowledge(log);
    let items = known["history"].as_array().unwrap().iter();
    let flights: Vec<Value> = items
        .filter_map(|item| item.get("came").or(item.get("sent")).cloned())
        .take(4)
        .collect();
    let mut running = Digest::of(&[b"signet/1 handshake"]);
    let mut transcripts = vec![running.to_string()];
    let mut hashes = Vec::new();
    for flight in &flights {
        let hash = hash_of(flight.to_string().as_bytes());
        running = Digest::of(&[running.as_bytes(), hash.as_bytes()]);
        hashes.push(hash.to_string());
        transcripts.push(running.to_string());
    }
    json!({
        "about": "four flights; transcripts are H0 to H4, and H4 is the session",
        "version": flights[1]["params"]["body"]["choice"],
        "flights": flights, "hashes": hashes, "transcripts": transcripts, "session": running.to_string(),
    })
}

fn all_statements() -> BTreeMap<String, Value> {
    let certified = statements().into_iter();
    let mut all: BTreeMap<String, Value> = certified
        .map(|(name, file)| (name.to_owned(), file))
        .collect();
    for (name, file) in words::files() {
        assert!(
            all.insert(name.clone(), file).is_none(),
            "{name} is there twice"
        );
    }
    all
}

/// Certificates, key statements and revocations, good ones and bad ones.
fn statements() -> BTreeMap<&'static str, Value> {
    let alice = identity("agent-alice", "alice");
    let root = key("root of alice");
    let good = alice.certificate.to_value();
    let changed =
        |change: &dyn Fn(&mut Value)| resigned(&good, &root, Purpose::Certificate, change);
    let of = |about: &str, kind: &str, value: Value, is_good: bool| json!({"about": about, "kind": kind, "statement": value, "expect": if is_good { "good" } else { "bad" }});
    let mut forged = good.clone();
    forged["layers"] = json!([0, 1, 2, 3, 4]);
    let mut keys = of(
        "of an agent, under its signing key",
        "keys",
        alice.keys.to_value(),
        true,
    );
    keys["signing-key"] = alice.signing.public().to_string().into();
    let keys_of = |about: &str, value: Value| {
        let mut bad = of(about, "keys", value, false);
        bad["signing-key"] = alice.signing.public().to_string().into();
        bad
    };
    let torsion = |name: &str| {
        let change = |keys: &mut Value| keys["sealing-key"] = name.into();
        let value = resigned(
            &alice.keys.to_value(),
            &alice.signing,
            Purpose::Keys,
            &change,
        );
        keys_of("X25519: of order 8, or with torsion", value)
    };
    let lost = people::revocation("alice", "agent-alice", 1);
    let mut rewritten = lost.to_value();
    rewritten["serial"] = 2.into();
    let second = identity_with("agent-alice", "alice", 2, |request| {
        request.layers = Layers::of(&[0, 1]);
    });
    BTreeMap::from([
        (
            "certificate",
            of("of an agent", "certificate", good.clone(), true),
        ),
        (
            "certificate-second",
            of(
                "renewed, with fewer layers",
                "certificate",
                second.certificate.to_value(),
                true,
            ),
        ),
        (
            "certificate-a-layer-written-in",
            of("the signature does not hold", "certificate", forged, false),
        ),
        (
            "certificate-that-ends-before-it-begins",
            of(
                "the times are the wrong way round",
                "certificate",
                changed(&|value| value["not-after"] = "2020-01-01T00:00:00Z".into()),
                false,
            ),
        ),
        (
            "certificate-whose-versions-descend",
            of(
                "a list of versions ascends",
                "certificate",
                changed(&|value| value["versions"] = json!(["1.1.0", "1.0.0"])),
                false,
            ),
        ),
        (
            "certificate-with-a-thirteenth-member",
            of(
                "no member besides the twelve",
                "certificate",
                changed(&|value| value["note"] = "hello".into()),
                false,
            ),
        ),
        (
            "certificate-of-a-key-of-small-order",
            of(
                "the neutral element is no key",
                "certificate",
                changed(&|value| value["signing-key"] = format!("AQ{}", "A".repeat(41)).into()),
                false,
            ),
        ),
        (
            "certificate-signed-as-a-key-statement",
            of(
                "the first line is part of what is signed",
                "certificate",
                resigned(&good, &root, Purpose::Keys, &|_| {}),
                false,
            ),
        ),
        (
            "control",
            of(
                "of a person's two keys",
                "control",
                control("alice").to_value(),
                true,
            ),
        ),
        ("keys", keys),
        (
            "keys-of-nought",
            torsion(&format!("x25519:{}", "A".repeat(43))),
        ),
        (
            "keys-of-order-eight",
            torsion("x25519:4Ot6fDtBuK4WVuP68Z_EatoJjeucMrH9hmIFFl9JuAA"),
        ),
        ("keys-with-a-seventh-member", {
            let change = |keys: &mut Value| keys["note"] = "hello".into();
            let more = resigned(
                &alice.keys.to_value(),
                &alice.signing,
                Purpose::Keys,
                &change,
            );
            keys_of("no member besides the six", more)
        }),
        ("keys-signed-by-another", {
            let eve = identity("agent-eve", "eve").signing;
            let foreign = resigned(&alice.keys.to_value(), &eve, Purpose::Keys, &|_| {});
            keys_of("the signature is not of the agent's signing key", foreign)
        }),
        (
            "revocation-of-higher-serials-written-in",
            of(
                "the signature does not hold",
                "revocation",
                rewritten,
                false,
            ),
        ),
        (
            "revocation",
            of(
                "of an agent's certificates up to a serial",
                "revocation",
                lost.to_value(),
                true,
            ),
        ),
    ])
}

/// The same members but for the change, signed again.
fn resigned(
    value: &Value,
    key: &SigningKey,
    purpose: Purpose,
    change: &dyn Fn(&mut Value),
) -> Value {
    let mut value = value.clone();
    value.as_object_mut().unwrap().remove("signature");
    change(&mut value);
    let signature = key.sign(purpose, &[&signet_json::canonical(&value)]);
    value["signature"] = encode_base64url(&signature).into();
    value
}

/// Text of a file: pretty, for people who compare.
fn written(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap() + "\n"
}

#[test]
#[ignore = "writes vectors/ anew, after a change that means to"]
fn write_the_published_vectors() {
    for (name, value) in files() {
        let path = vector::folder().join(format!("{name}.json"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, written(&value)).unwrap();
    }
}

#[test]
fn the_published_vectors_are_those_of_the_code() {
    for (name, value) in files() {
        let text = std::fs::read_to_string(vector::folder().join(format!("{name}.json")));
        assert!(
            text.is_ok_and(|text| text == written(&value)),
            "vectors/{name}.json is not what the code says; where that is meant, this writes it anew: \
             cargo test --workspace --test protocol write_the_published -- --ignored"
        );
    }
}

#[test]
fn the_published_messages_are_taken_and_the_statements_are_what_they_are_called() {
    let world = stages::build();
    for input in all_accepted(&world) {
        let log = &world.logs[input.log];
        let mut bob = stages::bob(log);
        let before = bob.log.len();
        bob.hear(at(NOW), &input.bytes);
        let new: Vec<_> = bob.log[before..]
            .iter()
            .map(|(_, entry)| entry.clone())
            .collect();
        assert_eq!(reason(&new), None, "{}", input.name);
        for (name, expected) in &input.follows {
            let follows = taken::what_follows(name, log, &bob);
            assert_eq!(follows, *expected, "{}: {name}", input.name);
        }
    }
    for (name, value) in all_statements() {
        let statement = &value["statement"];
        let is_good = match value["kind"].as_str().unwrap() {
            "certificate" => Certificate::parse(statement).is_ok(),
            "control" => ControlCertificate::parse(statement).is_ok(),
            "keys" => {
                let key = value["signing-key"].as_str().unwrap().parse().unwrap();
                KeyStatement::parse(statement, &key).is_ok()
            }
            "revocation" => Revocation::parse(statement).is_ok(),
            _ => words::holds(&value).unwrap(),
        };
        assert_eq!(is_good, value["expect"] == "good", "{name}");
    }
    assert!(read(&accepted(&world)[0].bytes).is_object());
}

/// A reason that our receipts name and no peer believes would leave the sender without one.
#[test]
fn every_reason_that_a_receipt_of_ours_names_is_believed() {
    let mut named = 0;
    for file in files().values() {
        let refused = &file["expect"]["receipt"]["except"];
        for exception in refused.as_array().into_iter().flatten() {
            let reason = exception["reason"].as_str().unwrap();
            let heard = PeerReason::in_receipt(reason);
            let fits = reason == "missing" || matches!(heard, PeerReason::Known(_));
            assert!(fits, "{reason}");
            named += 1;
        }
    }
    assert!(named >= 60, "{named}");
}
