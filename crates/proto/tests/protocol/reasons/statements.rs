//! What people and agents sign beside messages, as files: words under a control key, mandates, invitations, each rule broken
//! alone beside what holds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use signet_json::canonical;
use signet_proto::carrier::Route;
use signet_proto::certificate::{Certificate, ControlCertificate};
use signet_proto::handoff::Chain;
use signet_proto::ids::{Digest, encode_base64url};
use signet_proto::keys::Purpose;
use signet_proto::statement::{Approval, Invitation, PauseStatement, Reached};

use super::faults::{DAY, NOW};
use super::late::time;
use crate::forge::id;
use crate::household::tasks::sign;
use crate::household::{at, control, identity, identity_with, key};

/// What is changed of a statement before it is signed again, and by which key it is.
type Change = (&'static str, &'static str, &'static str, Value);

/// The name of a key stands in the place of a member where another key signs.
const BY: &str = "by";
/// The first line under which it is signed, where it is another.
const AS: &str = "as";

fn purpose(name: &Value) -> Purpose {
    match name.as_str() {
        Some("pause") => Purpose::Pause,
        Some("approval") => Purpose::Approval,
        _ => Purpose::Keys,
    }
}

fn changed(good: &Value, owner: &str, usual: Purpose, (_, _, member, value): &Change) -> Value {
    let mut statement = good.clone();
    let (mut signer, mut label) = (owner, usual);
    match *member {
        BY => signer = value.as_str().unwrap(),
        AS => label = purpose(value),
        _ => statement[*member] = value.clone(),
    }
    sign(statement, &key(signer), label)
}

/// Bad ones of a kind, beside the good one: files by name.
fn kind(
    (name, about): (&str, &str),
    good: &Value,
    (owner, usual): (&str, Purpose),
    more: &Value,
    bad: &[Change],
) -> Vec<(String, Value)> {
    let described = |about: &str, statement: Value, expect: &str| {
        let mut value =
            json!({"about": about, "kind": name, "statement": statement, "expect": expect});
        for (member, known) in more.as_object().unwrap() {
            value[member] = known.clone();
        }
        value
    };
    let honest = described(about, sign(good.clone(), &key(owner), usual), "good");
    let bad = bad.iter().map(|change| {
        let statement = changed(good, owner, usual, change);
        (
            format!("{name}-{}", change.0),
            described(change.1, statement, "bad"),
        )
    });
    [(name.to_owned(), honest)].into_iter().chain(bad).collect()
}

pub fn files() -> BTreeMap<String, Value> {
    let control = control("alice").to_value();
    let of_person = json!({ "control": control });
    let owner = "control of alice";
    let pause = json!({
        "type": "pause", "principal-id": "alice", "paused": true, "serial": 1, "issued-at": time(0),
    });
    let early = time(-2 * 3_600_000);
    let mut all = kind(
        ("pause", "a person's word, under the control key"),
        &pause,
        (owner, Purpose::Pause),
        &of_person,
        &[
            (
                "of-another-type",
                "its type is pause",
                "type",
                "resume".into(),
            ),
            (
                "of-another-person",
                "the control certificate is Alice's",
                "principal-id",
                "bob".into(),
            ),
            ("of-serial-nought", "serials begin at 1", "serial", 0.into()),
            (
                "that-says-neither",
                "paused is true or false",
                "paused",
                "yes".into(),
            ),
            (
                "from-before-the-control-certificate",
                "it covers the moment of the word",
                "issued-at",
                early.clone().into(),
            ),
            (
                "with-a-seventh-member",
                "no member besides the six",
                "note",
                "hello".into(),
            ),
            (
                "by-the-root-key",
                "the control key signs, and no other",
                BY,
                "root of alice".into(),
            ),
            (
                "signed-as-an-approval",
                "the first line is part of what is signed",
                AS,
                "approval".into(),
            ),
        ],
    );
    let approval = json!({
        "type": "approval", "principal-id": "alice", "draft": Digest::of(&[b"draft"]).to_string(),
        "decision": "approved", "decided-at": time(0),
    });
    all.extend(kind(
        ("approval", "of a draft, under the control key"),
        &approval,
        (owner, Purpose::Approval),
        &of_person,
        &[
            (
                "of-another-person",
                "the control certificate is Alice's",
                "principal-id",
                "bob".into(),
            ),
            (
                "that-decides-nothing",
                "approved or refused",
                "decision",
                "later".into(),
            ),
            (
                "from-before-the-control-certificate",
                "it covers the moment of the word",
                "decided-at",
                early.into(),
            ),
            (
                "with-a-seventh-member",
                "no member besides the six",
                "note",
                "hello".into(),
            ),
            (
                "by-another-key",
                "the control key signs, and no other",
                BY,
                "control of bob".into(),
            ),
            (
                "signed-as-a-pause",
                "the first line is part of what is signed",
                AS,
                "pause".into(),
            ),
        ],
    ));
    let root = "root of alice";
    let bare = |value: &Value| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove("signature");
        value
    };
    let torsion = "x25519:4Ot6fDtBuK4WVuP68Z_EatoJjeucMrH9hmIFFl9JuAA";
    let neutral = format!("AQ{}", "A".repeat(41));
    // 2^255 - 18 is the number 1 in a second spelling, beyond the field of 2^255 - 19.
    let beyond = "7v_______________________________________38".to_owned();
    let controls = kind(
        ("control", "of a person's two keys"),
        &bare(&control),
        (root, Purpose::Certificate),
        &json!({}),
        &[
            (
                "of-a-control-key-of-small-order",
                "the neutral element is no key",
                "control-key",
                neutral.clone().into(),
            ),
            (
                "of-an-audit-key-of-order-eight",
                "it is what a sealing key must be",
                "audit-key",
                torsion.into(),
            ),
            (
                "that-ends-when-it-begins",
                "not-after is the later one",
                "not-after",
                control["not-before"].clone(),
            ),
            (
                "by-another-root-key",
                "its own root key signs it",
                BY,
                "root of bob".into(),
            ),
            (
                "signed-as-a-key-statement",
                "the first line is part of what is signed",
                AS,
                "keys".into(),
            ),
            (
                "with-an-eleventh-member",
                "no member besides the ten",
                "note",
                "hello".into(),
            ),
        ],
    );
    all.extend(controls.into_iter().filter(|(name, _)| name != "control"));
    let certificate = identity("agent-alice", "alice")
        .certificate
        .to_value()
        .clone();
    let certificates = kind(
        ("certificate", ""),
        &bare(&certificate),
        (root, Purpose::Certificate),
        &json!({}),
        &[
            (
                "that-ends-when-it-begins",
                "not-after is the later one",
                "not-after",
                certificate["not-before"].clone(),
            ),
            (
                "by-another-root-key",
                "its own root key signs it",
                BY,
                "root of bob".into(),
            ),
            (
                "of-a-key-beyond-the-field",
                "a key has one encoding",
                "signing-key",
                beyond.into(),
            ),
            ("of-serial-nought", "serials begin at 1", "serial", 0.into()),
            (
                "of-a-layer-twice",
                "layers are distinct",
                "layers",
                json!([0, 1, 1]),
            ),
        ],
    );
    all.extend(
        certificates
            .into_iter()
            .filter(|(name, _)| name != "certificate"),
    );
    let revocation = json!({
        "type": "revocation", "principal-id": "alice", "agent-id": "agent-alice", "serial": 1, "reason": "lost",
        "revoked-at": time(0), "root-key": key(root).public().to_string(),
    });
    let revocations = kind(
        ("revocation", ""),
        &revocation,
        (root, Purpose::Revocation),
        &json!({}),
        &[
            (
                "without-a-reason",
                "1 to 200 characters",
                "reason",
                "".into(),
            ),
            (
                "by-the-agent-s-key",
                "the root key signs, and no other",
                BY,
                "signing key 1 of agent-alice".into(),
            ),
            (
                "signed-as-a-key-statement",
                "the first line is part of what is signed",
                AS,
                "keys".into(),
            ),
            (
                "with-a-ninth-member",
                "no member besides the eight",
                "note",
                "hello".into(),
            ),
        ],
    );
    all.extend(
        revocations
            .into_iter()
            .filter(|(name, _)| name != "revocation"),
    );
    all.extend(mandates());
    all.extend(keys());
    all.into_iter().collect()
}

fn keys() -> Vec<(String, Value)> {
    let alice = identity("agent-alice", "alice");
    let mut good = alice.keys.to_value();
    good.as_object_mut().unwrap().remove("signature");
    let owner = ("signing key 1 of agent-alice", Purpose::Keys);
    let more = json!({"signing-key": alice.signing.public().to_string()});
    // 2^255 - 10 is the base point, 9, in a second spelling, beyond the field of 2^255 - 19.
    let beyond = "x25519:9v_______________________________________38";
    let bad = [
        (
            "beyond-the-field",
            "a key has one encoding",
            "sealing-key",
            beyond.into(),
        ),
        (
            "signed-as-a-pause",
            "the first line is part of what is signed",
            AS,
            "pause".into(),
        ),
    ];
    let files = kind(("keys", ""), &good, owner, &more, &bad);
    files
        .into_iter()
        .filter(|(name, _)| name != "keys")
        .collect()
}

fn mandates() -> Vec<(String, Value)> {
    let signing = key("signing key 1 of agent-alice").public().to_string();
    let mandate = json!({
        "type": "handoff", "task": id("task").to_string(), "from": "agent-alice", "to": "agent-bob",
        "capabilities": ["calendar.read"], "tier": 2, "depth": 1, "not-after": time(DAY), "issued-at": time(NOW),
    });
    let owner = ("signing key 1 of agent-alice", Purpose::Handoff);
    kind(
        (
            "mandate",
            "of a task that begins, under the signing key of who gives it",
        ),
        &mandate,
        owner,
        &json!({"signing-key": signing}),
        &[
            (
                "of-thirty-days-and-a-moment",
                "thirty days at most",
                "not-after",
                time(NOW + 30 * DAY + 1).into(),
            ),
            (
                "that-ends-when-it-begins",
                "not-after is the later one",
                "not-after",
                time(NOW).into(),
            ),
            ("of-tier-5", "tiers are 1 to 4", "tier", 5.into()),
            ("of-depth-8", "depths are 0 to 7", "depth", 8.into()),
            (
                "that-names-a-capability-twice",
                "each once",
                "capabilities",
                json!(["calendar.read", "calendar.read"]),
            ),
            (
                "with-a-member-too-many",
                "exactly its members",
                "note",
                "hello".into(),
            ),
            (
                "by-another-key",
                "the signature is of the key of `from`",
                BY,
                "signing key 1 of agent-bob".into(),
            ),
            (
                "signed-as-a-key-statement",
                "the first line is part of what is signed",
                AS,
                "keys".into(),
            ),
        ],
    )
}

/// Whether our own code takes a statement; `None` for kinds that are not of this file.
pub fn holds(file: &Value) -> Option<bool> {
    let statement = &file["statement"];
    let control = || ControlCertificate::parse(&file["control"]).unwrap();
    Some(match file["kind"].as_str().unwrap() {
        "pause" => PauseStatement::parse(statement, &control()).is_ok(),
        "approval" => Approval::parse(statement, &control()).is_ok(),
        "mandate" => {
            let certificate = identity("agent-alice", "alice").certificate;
            let chain = json!([{"mandate": statement, "certificate": certificate.to_value()}]);
            Chain::read(&chain).and_then(|chain| chain.prove()).is_ok()
        }
        _ => return None,
    })
}

/// Lines that a person gives to another: files by name.
pub fn invitations() -> BTreeMap<&'static str, Value> {
    let alice = identity("agent-alice", "alice");
    let reached = [
        Reached {
            carrier: "nats".into(),
            addresses: vec!["nats://house.example:4222".into()],
        },
        Reached {
            carrier: "http".into(),
            addresses: vec!["https://house.example/agent/agent-alice/inbox".into()],
        },
    ];
    let life = Duration::from_secs(7 * 24 * 3600);
    let good = Invitation::sign(
        &alice.certificate,
        &alice.signing,
        &reached,
        at(NOW).now,
        life,
    )
    .unwrap();
    let line = good.to_line();
    let value = of_line(&line);
    let file = |about: &str, line: String, expect: &str| json!({"about": about, "now": at(NOW).now.to_string(), "line": line, "expect": expect});
    let long: Vec<Value> = (0..8)
        .map(|n| json!({"carrier": format!("c{n}"), "addresses": vec!["x".repeat(256); 8]}))
        .collect();
    let with = |about: &str, change: &dyn Fn(&mut Value)| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove("signature");
        change(&mut value);
        let value = sign(value, &alice.signing, Purpose::Invitation);
        file(about, to_line(&value), "bad")
    };
    let good_with = |about: &str, change: &dyn Fn(&mut Value)| {
        let mut file = with(about, change);
        file["expect"] = "good".into();
        file
    };
    let carriers = |carriers: Value| move |value: &mut Value| value["carriers"] = carriers.clone();
    let addresses = |addresses: Value| json!([{"carrier": "http", "addresses": addresses}]);
    let mut forged = value.clone();
    forged["carriers"][0]["addresses"][0] = "nats://eve.example:4222".into();
    let mut other = value.clone();
    other.as_object_mut().unwrap().remove("signature");
    let as_keys = sign(other.clone(), &alice.signing, Purpose::Keys);
    let by_eve = sign(
        other,
        &key("signing key 1 of agent-eve"),
        Purpose::Invitation,
    );
    let short = identity_with("agent-alice", "alice", 1, |request| {
        request.not_after = at(2 * DAY).now;
    });
    let over = identity_with("agent-alice", "alice", 1, |request| {
        request.not_after = at(NOW - 1).now;
    });
    let later = identity_with("agent-alice", "alice", 1, |request| {
        request.not_before = at(DAY).now;
    });
    let of = |certificate: &Certificate| {
        let certificate = certificate.to_value();
        move |value: &mut Value| value["certificate"] = certificate.clone()
    };
    let mut uncertified = alice.certificate.to_value();
    uncertified["layers"] = json!([0]);
    let spelt = |change: &str| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove("signature");
        value["carriers"][0]["addresses"][0] = format!("nats://house.example:4222{change}").into();
        to_line(&sign(value, &alice.signing, Purpose::Invitation))
    };
    let bare = ["", "/", "/a"].map(spelt);
    // Find a line whose last character has unused bits (base64url): changed there, the line means the same in another
    // spelling.
    let open = bare.iter().find(|line| (line.len() - 9) % 4 != 0).unwrap();
    let mut otherwise = open.clone();
    let last = otherwise.pop().unwrap();
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let place = alphabet.find(last).unwrap();
    otherwise.push(alphabet.as_bytes()[place + 1].into());
    BTreeMap::from([
        (
            "good",
            file(
                "who an agent is, and where it is reached",
                line.clone(),
                "good",
            ),
        ),
        (
            "good-with-spaces-around",
            file(
                "white space around the line is nothing",
                format!("  {line}\n"),
                "good",
            ),
        ),
        (
            "good-that-outlasts-its-certificate",
            good_with("it ends with the certificate", &of(&short.certificate)),
        ),
        (
            "good-of-a-carrier-that-nobody-knows",
            good_with(
                "it is passed over",
                &carriers(json!([{"carrier": "pigeon", "addresses": ["loft-7"]}])),
            ),
        ),
        (
            "good-of-an-agent-that-dials-out",
            good_with(
                "it fetches what is kept for it",
                &carriers(addresses(json!(["poll"]))),
            ),
        ),
        ("good-with-http-addresses-that-are-none", {
            let taken = "https://house.example/inbox";
            let texts = ["http:127.0.0.1:1", "https://", "house.example", taken];
            let mut file = good_with(
                "an address that is none is passed over, and not mended",
                &carriers(addresses(json!(texts))),
            );
            file["http"] = json!([taken]);
            file
        }),
        (
            "of-over-8192-characters",
            with("8,192 at most", &carriers(long.into())),
        ),
        (
            "in-another-spelling",
            file(
                "base64url has one spelling: unused bits are zero",
                otherwise,
                "bad",
            ),
        ),
        (
            "of-a-later-form",
            file(
                "signet:1: is this form",
                line.replacen("signet:1:", "signet:2:", 1),
                "bad",
            ),
        ),
        (
            "cut-off",
            file(
                "it is whole or none",
                line[..line.len() - 8].to_owned(),
                "bad",
            ),
        ),
        (
            "rewritten",
            file("the signature does not hold", to_line(&forged), "bad"),
        ),
        (
            "signed-by-another-key",
            file(
                "the certificate's signing key signs",
                to_line(&by_eve),
                "bad",
            ),
        ),
        (
            "signed-as-a-key-statement",
            file(
                "the first line is part of what is signed",
                to_line(&as_keys),
                "bad",
            ),
        ),
        (
            "with-a-sixth-member",
            with("no member besides the five", &|value| {
                value["note"] = 1.into()
            }),
        ),
        (
            "of-another-type",
            with("its type is invitation", &|value| {
                value["type"] = "card".into()
            }),
        ),
        (
            "under-a-forged-certificate",
            with("the root key did not sign that", &|value| {
                value["certificate"] = uncertified.clone()
            }),
        ),
        (
            "under-a-certificate-that-is-over",
            with("both last", &of(&over.certificate)),
        ),
        (
            "under-a-certificate-that-begins-later",
            with("both have begun", &of(&later.certificate)),
        ),
        (
            "that-is-over",
            with("its own time has ended", &|value| {
                value["not-after"] = time(NOW - 1).into()
            }),
        ),
        (
            "of-thirty-one-days-and-a-moment",
            with("thirty-one days at most", &|value| {
                value["not-after"] = time(NOW + 31 * DAY + 1).into()
            }),
        ),
        (
            "without-carriers",
            with("one at least", &carriers(json!([]))),
        ),
        (
            "of-nine-carriers",
            with(
                "eight at most",
                &carriers(
                    (0..9)
                        .map(|n| json!({"carrier": format!("c{n}"), "addresses": ["x"]}))
                        .collect(),
                ),
            ),
        ),
        (
            "of-a-carrier-in-capitals",
            with(
                "a-z, 0-9 and -",
                &carriers(json!([{"carrier": "NATS", "addresses": ["nats://h.example"]}])),
            ),
        ),
        (
            "of-a-carrier-without-an-address",
            with("one at least", &carriers(addresses(json!([])))),
        ),
        (
            "with-a-login",
            with(
                "no address holds one",
                &carriers(addresses(json!([
                    "https://alice:secret@house.example/inbox"
                ]))),
            ),
        ),
        (
            "with-a-space-in-an-address",
            with(
                "visible characters alone",
                &carriers(addresses(json!(["https://house.example/ inbox"]))),
            ),
        ),
        (
            "with-an-address-of-257-characters",
            with(
                "256 at most",
                &carriers(addresses(json!(["x".repeat(257)]))),
            ),
        ),
        (
            "with-a-member-too-many-in-a-carrier",
            with(
                "carrier and addresses",
                &carriers(json!([{"carrier": "nats", "addresses": ["x"], "port": 1}])),
            ),
        ),
    ])
}

fn of_line(line: &str) -> Value {
    let coded = line.strip_prefix("signet:1:").unwrap();
    serde_json::from_slice(
        &data_encoding::BASE64URL_NOPAD
            .decode(coded.as_bytes())
            .unwrap(),
    )
    .unwrap()
}

fn to_line(value: &Value) -> String {
    format!("signet:1:{}", encode_base64url(&canonical(value)))
}

#[test]
fn the_published_invitations_are_taken_or_not_as_they_say() {
    for (name, file) in invitations() {
        let line = file["line"].as_str().unwrap();
        let read = Invitation::parse_line(line, at(NOW).now);
        assert_eq!(read.is_ok(), file["expect"] == "good", "{name}: {read:?}");
        let Some(expected) = file.get("http") else {
            continue;
        };
        let invitation = read.unwrap();
        let is_one = |text: &&String| Route::parse(text, &invitation.certificate.agent).is_ok();
        let of_http = |way: &&Reached| way.carrier == "http";
        let ways = invitation.reached.iter().filter(of_http);
        let texts: Vec<&String> = ways.flat_map(|way| &way.addresses).filter(is_one).collect();
        assert_eq!(json!(texts), *expected, "{name}");
    }
}

/// Whoever writes a reader of invitations in another language has a schema to begin with.
#[test]
fn the_schema_of_invitations_takes_what_the_code_takes() {
    let source = |name: &str| -> Value {
        serde_json::from_str(signet_proto::schema::text(name).unwrap()).unwrap()
    };
    let common = source("common");
    let registry = jsonschema::Registry::new();
    let registry = registry.add("urn:signet:1:common", &common).unwrap();
    let registry = registry.prepare().unwrap();
    let options = jsonschema::options().with_registry(&registry);
    let schema = options.build(&source("invitation")).unwrap();
    let mut judged = [0, 0];
    for (name, file) in invitations() {
        let Some(line) = file["line"]
            .as_str()
            .unwrap()
            .trim()
            .strip_prefix("signet:1:")
        else {
            continue;
        };
        let Ok(bytes) = data_encoding::BASE64URL_NOPAD.decode(line.as_bytes()) else {
            continue;
        };
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else {
            continue;
        };
        let fits = schema.is_valid(&value);
        assert!(fits || file["expect"] == "bad", "{name}");
        judged[usize::from(fits)] += 1;
    }
    assert!(judged[0] >= 9 && judged[1] >= 9, "{judged:?}");
}
