//! Flights of several versions, flights 3 and 4 of another handshake, offers beside what a handshake settled, and pauses: each
//! rule broken alone, beside what is taken.

use serde_json::{Value, json};
use signet_proto::certificate::{ControlCertificate, ControlRequest};
use signet_proto::draft::Identity;
use signet_proto::envelope::Method;
use signet_proto::headers::Tier;
use signet_proto::ids::{SessionId, Version};
use signet_proto::keys::Purpose;
use signet_proto::node::Sending;
use signet_proto::policy::{Capability, Policy};
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;

use super::alone::{flight, keys_of};
use super::faults::{Faults, NOW, body, set};
use super::late::time;
use super::newer::offer;
use super::published::Input;
use super::rules::flight_3;
use super::stages::{self, Log, World, conversation_with, then};
use crate::forge::{decree, envelope, headers, id, in_session, message, read, recipient, sign};
use crate::household::people::pause_under;
use crate::household::tasks::sign as sign_statement;
use crate::household::{Agent, at, audit_secret, control, identity, identity_with, key, published};

/// What inputs need to know of these pasts.
pub struct Opened {
    /// Where Alice's flight offered one capability, in a session of 1.1.0.
    pub offering: SessionId,
    /// Carol's flight 2, where both speak 1.0.0 and 1.1.0.
    pub verify: Value,
}

/// The logs by name, and what inputs need to know of them.
pub fn build() -> (Vec<(&'static str, Log)>, Opened) {
    let hers = Policy {
        capabilities: vec![Capability::new(
            "calendar.read".parse().unwrap(),
            Tier::Household,
        )],
        ..Policy::default()
    };
    let (offered, offering, _) = conversation_with(hers, Policy::default(), &Version::SPOKEN);
    let (announced, verify) = announced_in_both();
    let sister = stages::knows(&identity("agent-bob-2", "bob").certificate);
    let household = then(sister.clone(), |bob| {
        let alice = identity("agent-alice", "alice").certificate;
        bob.node.turn(at(0)).people().bind(&alice).unwrap()
    });
    let paused_anew = then(sister, |bob| {
        let word = pause_under(&second_control(), "bob", true, 1);
        bob.node.turn(at(0)).people().pause(&word).unwrap()
    });
    let logs = vec![
        ("newer-offered", offered.log),
        ("announced-in-both-versions", announced),
        ("once-of-1.1.0-alone", of_1_1_0_alone()),
        ("household", household),
        ("paused-under-the-second-control", paused_anew),
    ];
    (logs, Opened { offering, verify })
}

fn in_both(agent: &'static str, principal: &'static str) -> Agent {
    Agent::with(move || {
        let identity = identity_with(agent, principal, 1, |request| {
            request.versions = Version::SPOKEN.to_vec();
        });
        (identity, Policy::default())
    })
}

fn announced_in_both() -> (Log, Value) {
    let mut bob = in_both("agent-bob", "bob");
    let mut carol = in_both("agent-carol", "carol");
    bob.knows(&carol);
    carol.knows(&bob);
    let outcome = bob
        .node
        .turn(at(0))
        .sent()
        .send(&recipient("agent-carol"), Sending::Ping);
    let effects = bob.keep(at(0), outcome.unwrap().outcome);
    let (_, announce) = published(&effects).remove(0);
    let (_, verify) = published(&carol.hear(at(0), &announce)).remove(0);
    (bob.log, read(&verify))
}

/// A session with Alice while her certificate listed 1.1.0 alone.
fn of_1_1_0_alone() -> Log {
    let mut alice = Agent::with(|| (alice_of_1_1_0(), Policy::default()));
    let mut bob = in_both("agent-bob", "bob");
    alice.knows(&bob);
    bob.knows(&alice);
    let outcome = alice
        .node
        .turn(at(0))
        .sent()
        .send(&bob.id(), Sending::Ping)
        .unwrap()
        .outcome;
    let effects = alice.keep(at(0), outcome);
    crate::household::settle(at(0), &mut [&mut alice, &mut bob], effects);
    assert!(alice.refusals().is_empty() && bob.refusals().is_empty());
    bob.log
}

fn alice_of_1_1_0() -> Identity {
    identity_with("agent-alice", "alice", 1, |request| {
        request.versions = vec![Version::PROGRESS];
    })
}

/// Alice's flight 1 after that, under a certificate that lists both versions.
fn later_flight(faults: &Faults<'_>, versions: Value, header: &str) -> Vec<u8> {
    let renewed = identity_with("agent-alice", "alice", 2, |request| {
        request.versions = Version::SPOKEN.to_vec();
    });
    let keys = keys_of(&renewed, "agent-alice");
    flight(faults, &renewed, |flight| {
        body("keys", keys)(flight);
        body("versions", versions)(flight);
        set("trust-layer-version", header)(flight);
        set("timestamp", time(NOW))(flight);
        set("message-id", id("later").to_string())(flight);
    })
}

/// Bob's person's next control certificate, as `change` would have it.
fn control_with(root: &str, change: impl FnOnce(&mut ControlRequest)) -> ControlCertificate {
    let first = control("bob");
    let mut request = ControlRequest {
        principal: "bob".parse().unwrap(),
        control_key: key("control of bob").public().clone(),
        audit_key: audit_secret("bob").public(),
        serial: 1,
        not_before: first.not_before,
        not_after: first.not_after,
        next_root: signet_proto::ids::Digest::of(&[key("next root of bob").public().as_bytes()]),
    };
    change(&mut request);
    request.sign(&key(root)).unwrap()
}

fn second_control() -> ControlCertificate {
    control_with("root of bob", |request| request.serial = 2)
}

/// A word about pause, changed and signed by that key.
fn word(by: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut word = json!({
        "type": "pause", "principal-id": "bob", "paused": true, "serial": 1, "issued-at": time(0),
    });
    change(&mut word);
    sign_statement(word, &key(by), Purpose::Pause)
}

fn bob_s_sister() -> Identity {
    identity("agent-bob-2", "bob")
}

/// The order that carries a word about pause to Bob's agent.
fn order(from: &Identity, method: Method, word: Value, control: &Value) -> Vec<u8> {
    let mut value = message(from, "agent-bob", method, "pause", NOW);
    envelope(&mut value)["body"] = json!({"statement": word, "control": control});
    sign(value, &from.signing)
}

/// An offer of Alice's, where her flight offered calendar.read.
fn offer_of(world: &World, capabilities: Value, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let alice = identity("agent-alice", "alice");
    let place = Some((world.opened.offering, 2));
    let method = Method::Notification;
    let mut value = in_session(&alice, "agent-bob", method, "input", NOW, place);
    set("trust-layer-version", "1.1.0")(&mut value);
    offer(json!({ "capabilities": capabilities }))(&mut value);
    change(&mut value);
    sign(value, &alice.signing)
}

fn lamps(count: usize) -> Value {
    let lamp = |n| json!({"name": format!("lamp.{n}"), "tier": 1});
    (0..count).map(lamp).collect()
}

pub fn accepted(world: &World) -> Vec<Input> {
    let faults = Faults::of(world);
    let lamp = {
        let (alice, place) = (identity("agent-alice", "alice"), (world.lamp_session, 2));
        let method = Method::Request;
        let mut value = in_session(&alice, "agent-bob", method, "input", NOW, Some(place));
        set("capability", "lamp")(&mut value);
        sign(value, &alice.signing)
    };
    let of = |(name, about): (&'static str, &'static str), log, bytes| Input {
        name,
        about,
        log,
        bytes,
        opened: None,
        follows: Vec::new(),
    };
    let alice = identity("agent-alice", "alice");
    let carol = identity("agent-carol", "carol");
    let ours = control("bob").to_value();
    let sister = bob_s_sister();
    let pause = |method, word, control: &Value| order(&sister, method, word, control);
    let said = |change: &dyn Fn(&mut Value)| word("control of bob", |word| change(word));
    let told = |body: Value| {
        faults.said_newer(super::newer::progress(body, |value| {
            set("in-reply-to", world.newer_asked.to_string())(value);
            set("data-tier", 2)(value);
        }))
    };
    let progress = |state: &str| told(json!({ "state": state }));
    let part = json!({"index": 3, "last": false, "name": "evenings", "body": ["Tue"]});
    let offered =
        |capabilities: Value| faults.said_newer(offer(json!({ "capabilities": capabilities })));
    let switch = json!({"name": "lamp.switch", "tier": 2, "description": "Switches the lamp",
                        "schema": {"required": ["on"]}});
    vec![
        of(("lamp", "it is offered, and granted"), "lamp", lamp),
        of(
            ("flight-3", "its transcript is H2"),
            "half-open",
            sign(flight_3(), &alice.signing),
        ),
        of(
            ("flight-2-of-1.1.0", "the best version of both lists"),
            "announced-in-both-versions",
            sign(world.opened.verify.clone(), &carol.signing),
        ),
        of(
            (
                "flight-1-of-a-peer-that-once-spoke-1.1.0-alone",
                "its header is not below what its certificate once began with",
            ),
            "once-of-1.1.0-alone",
            later_flight(&faults, json!(["1.1.0"]), "1.1.0"),
        ),
        of(
            ("progress", "the least that can be said"),
            "newer",
            progress("working"),
        ),
        of(
            ("progress-that-asks-for-more", "it cannot go on without"),
            "newer",
            progress("input-required"),
        ),
        of(
            (
                "progress-with-a-note-and-a-part",
                "a part of what the answer will be",
            ),
            "newer",
            told(json!({"state": "input-required", "note": "Which week?", "part": part})),
        ),
        of(
            (
                "offer-with-a-schema",
                "a program of the sender's has come, and its handshake offered nothing",
            ),
            "newer",
            offered(json!([switch])),
        ),
        of(
            (
                "offer-of-nothing-beside-nothing",
                "no program is there, and its handshake offered nothing",
            ),
            "newer",
            offered(json!([])),
        ),
        of(
            ("offer", "a program of the sender's has come"),
            "newer-offered",
            offer_of(world, lamps(1), |_| {}),
        ),
        of(
            ("offer-of-nothing", "no program is there any more"),
            "newer-offered",
            offer_of(world, json!([]), |_| {}),
        ),
        of(
            (
                "offer-of-sixty-three",
                "with the one of the handshake there are 64",
            ),
            "newer-offered",
            offer_of(world, lamps(63), |_| {}),
        ),
        of(
            (
                "offer-with-headers-that-say-nothing",
                "in-reply-to, conversation-id and summary are part of the hash",
            ),
            "newer-offered",
            offer_of(world, lamps(1), |value| {
                set("in-reply-to", id("nothing").to_string())(value);
                set("conversation-id", "dinner-1")(value);
                envelope(value).insert("summary".into(), "A lamp".into());
            }),
        ),
        of(
            ("pause", "the person's other agent carries it"),
            "household",
            pause(Method::Pause, said(&|_| {}), &ours),
        ),
        of(
            ("resume", "the next number"),
            "paused",
            pause(
                Method::Resume,
                said(&|word| {
                    word["paused"] = false.into();
                    word["serial"] = 2.into();
                }),
                &ours,
            ),
        ),
        of(
            (
                "pause-by-the-very-same-word",
                "it is no fault, and changes nothing",
            ),
            "paused",
            pause(
                Method::Pause,
                decree("bob", Method::Pause).unwrap()["statement"].clone(),
                &ours,
            ),
        ),
        of(
            (
                "pause-under-a-newer-control-certificate",
                "its numbers begin anew",
            ),
            "paused",
            pause(Method::Pause, said(&|_| {}), &second_control().to_value()),
        ),
    ]
}

impl Faults<'_> {
    pub fn in_openings(&mut self) {
        let wrong = "A".repeat(43);
        for (name, log, mut value, of) in [
            (
                "v11-flight-3-to-other-flights",
                "half-open",
                flight_3(),
                identity("agent-alice", "alice"),
            ),
            (
                "v11-flight-4-to-other-flights",
                "flight-3-sent",
                self.world.more.trust.clone(),
                identity("agent-carol", "carol"),
            ),
        ] {
            body("transcript", wrong.clone())(&mut value);
            let about = "a flight was changed or mixed up";
            self.add(
                name,
                Reason::TranscriptMismatch,
                log,
                sign(value, &of.signing),
                about,
            );
        }
        let carol = identity("agent-carol", "carol");
        let later = signet_proto::certificate::KeyStatement::sign(
            carol.agent(),
            carol.keys.sealing_key,
            carol.keys.serial + 1,
            carol.keys.not_after,
            &carol.signing,
        );
        let mut value = self.world.more.trust.clone();
        body("keys", later.unwrap().to_value())(&mut value);
        self.add(
            "v11-flight-4-with-other-keys-than-flight-2",
            Reason::TranscriptMismatch,
            "flight-3-sent",
            sign(value, &carol.signing),
            "the key to seal to was exchanged after the second flight",
        );
        let mut value = flight_3();
        body(
            "capabilities",
            json!([{"name": "lamp", "tier": 1}, {"name": "lamp", "tier": 2}]),
        )(&mut value);
        let input = sign(value, &self.alice.signing);
        self.add(
            "v11-flight-3-that-offers-a-lamp-twice",
            Reason::InvalidShape,
            "half-open",
            input,
            "a name that is offered twice would mean two things",
        );
        let mut value = self.world.opened.verify.clone();
        body("choice", "1.0.0")(&mut value);
        self.add(
            "v11-flight-2-that-chooses-1.0.0-where-both-speak-1.1.0",
            Reason::VersionDowngrade,
            "announced-in-both-versions",
            sign(value, &carol.signing),
            "the choice is the best common version",
        );
        let input = later_flight(self, json!(["1.0.0", "1.1.0"]), "1.0.0");
        self.add(
            "v11-flight-1-in-a-version-below-those-it-once-began-with",
            Reason::VersionDowngrade,
            "once-of-1.1.0-alone",
            input,
            "its certificate began with 1.1.0 in a handshake that ended well",
        );
        self.in_live_offers();
    }

    fn in_live_offers(&mut self) {
        let settled = json!([{"name": "calendar.read", "tier": 1}]);
        let long =
            json!([{"name": "lamp.0", "tier": 1, "schema": {"const": "x".repeat(160 * 1024)}}]);
        for (name, list, about) in [
            (
                "v12-offer-of-what-the-handshake-settled",
                settled,
                "what the handshake settled stays as it is",
            ),
            (
                "v12-offer-of-sixty-four-beside-the-handshake-s",
                lamps(64),
                "with the one of the handshake there are 65",
            ),
            (
                "v12-offer-of-over-160-kib",
                long,
                "its canonical form counts",
            ),
        ] {
            let input = offer_of(self.world, list, |_| {});
            self.add(name, Reason::OfferInvalid, "newer-offered", input, about);
        }
        for (name, header, value, reason) in [
            (
                "v12-offer-that-names-a-capability",
                "capability",
                json!("door.open"),
                Reason::CapabilityNotGranted,
            ),
            (
                "v12-offer-of-the-ninth-hop",
                "hops",
                json!(9),
                Reason::HopsExceeded,
            ),
            (
                "v10-offer-of-tier-3",
                "data-tier",
                json!(3),
                Reason::HeaderInvalid,
            ),
        ] {
            let input = offer_of(self.world, lamps(1), set(header, value));
            self.add(
                name,
                reason,
                "newer-offered",
                input,
                "an offer is a call, and its headers are judged as a call's",
            );
        }
        let input = offer_of(self.world, lamps(1), |value| {
            envelope(value)["body"]["note"] = 1.into()
        });
        self.add(
            "v03-offer-with-a-member-too-many",
            Reason::InvalidShape,
            "newer-offered",
            input,
            "the body of an offer has its own schema",
        );
    }

    pub fn in_pauses(&mut self) {
        let invalid = Reason::StatementInvalid;
        let ours = control("bob").to_value();
        let said = |change: &dyn Fn(&mut Value)| word("control of bob", |word| change(word));
        let (sister, alice) = (bob_s_sister(), identity("agent-alice", "alice"));
        let mut add = |name,
                       (from, method): (&Identity, Method),
                       (word, control): (Value, &Value),
                       log,
                       about| {
            let input = order(from, method, word, control);
            self.add(name, invalid, log, input, about);
        };
        let pause = (&sister, Method::Pause);
        add(
            "v12-pause-that-another-person-s-agent-carries",
            (&alice, Method::Pause),
            (said(&|_| {}), &ours),
            "household",
            "the word is good, and its carrier is not of the person",
        );
        add(
            "v12-pause-that-says-resume",
            pause,
            (said(&|word| word["paused"] = false.into()), &ours),
            "household",
            "the method says one thing, and the word another",
        );
        add(
            "v12-resume-that-says-pause",
            (&sister, Method::Resume),
            (said(&|_| {}), &ours),
            "household",
            "the method says one thing, and the word another",
        );
        let mut forged = ours.clone();
        forged["control-key"] = key("control of eve").public().to_string().into();
        add(
            "v12-pause-under-a-forged-control-certificate",
            pause,
            (word("control of eve", |_| {}), &forged),
            "household",
            "Eve's key was written in, and Bob's root key did not sign that",
        );
        let foreign = control_with("root of eve", |_| {});
        add(
            "v12-pause-under-a-control-certificate-of-another-root",
            pause,
            (said(&|_| {}), &foreign.to_value()),
            "household",
            "Eve's root key certifies a control key for Bob",
        );
        let of_carol = control_with("root of bob", |request| {
            request.principal = "carol".parse().unwrap()
        });
        let for_carol = said(&|word| word["principal-id"] = "carol".into());
        add(
            "v12-pause-of-another-person",
            pause,
            (for_carol.clone(), &of_carol.to_value()),
            "household",
            "Bob's root key certifies a control key for Carol",
        );
        add(
            "v12-pause-in-another-person-s-name",
            pause,
            (for_carol, &ours),
            "household",
            "the control certificate is Bob's, and the word Carol's",
        );
        let higher = said(&|word| word["serial"] = 9.into());
        add(
            "v12-pause-under-an-older-control-certificate",
            pause,
            (higher, &ours),
            "paused-under-the-second-control",
            "a newer one puts it out of force, whatever number the word has",
        );
        let over = control_with("root of bob", |request| {
            request.not_after = Timestamp::from_millis(moment(5_000))
        });
        add(
            "v12-pause-under-a-control-certificate-that-is-over",
            pause,
            (said(&|_| {}), &over.to_value()),
            "household",
            "it covers the word, and not the clock",
        );
        let early = said(&|word| word["issued-at"] = time(-2 * 3_600_000).into());
        add(
            "v12-pause-from-before-its-control-certificate",
            pause,
            (early, &ours),
            "household",
            "it covers the clock, and not the word",
        );
        add(
            "v12-pause-that-another-key-signed",
            pause,
            (word("control of eve", |_| {}), &ours),
            "household",
            "the signature is not of the control key",
        );
        let later = said(&|word| word["issued-at"] = time(1).into());
        let input = order(&sister, Method::Pause, later, &ours);
        self.add(
            "v12-pause-under-the-number-of-another-word",
            Reason::StatementStale,
            "paused",
            input,
            "the numbers of a person's words only rise",
        );
        let mut value = message(&sister, "agent-bob", Method::Pause, "pause", NOW);
        body("note", 1)(&mut value);
        headers(&mut value).remove("audit-head");
        let input = sign(value, &sister.signing);
        self.add(
            "v03-pause-with-a-member-too-many",
            Reason::InvalidShape,
            "household",
            input,
            "the body of a pause has its own schema",
        );
    }
}

fn moment(ms: i64) -> i64 {
    crate::household::START + ms
}
