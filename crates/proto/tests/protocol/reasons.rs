//! The acceptance order as files: one input for every fault, with the reason that must be given.
//!
//! `vectors/refused/NAME.json` holds the input, the time, and what the recipient knows, of which `stages` builds the
//! log. `published` writes them. Bob's sealing secret is the SHA-256 of `sealingagent-bob`.

mod accepted;
mod alone;
mod boxes;
mod chains;
mod early;
mod faults;
mod handoff;
mod histories;
mod http;
mod late;
mod newer;
mod openings;
mod people;
mod published;
mod readers;
mod rules;
mod sender;
mod singles;
mod stages;
mod statements;
mod taken;
mod two;
mod vector;

use std::collections::BTreeSet;

use serde_json::json;
use signet_proto::entry::{Direction, Entry, Evidence};
use signet_proto::envelope::{Method, Unverified};
use signet_proto::node::{Content, Effect, Sending};
use signet_proto::reject::Reason;
use signet_proto::trust::TrustView;
use signet_proto::verify::Proven;
use vector::Vector;

use crate::forge::{self, reason};
use crate::household::{self, Agent, at};

/// Reasons that no file can show, and why.
const WITHOUT_VECTOR: [(Reason, &str); 5] = [
    (
        Reason::BudgetExceeded,
        "it takes more calls than a minute's: protocol/attacks_policy.rs makes them",
    ),
    (
        Reason::HandshakeBusy,
        "it takes 64 half-open handshakes: a test below makes them",
    ),
    (
        Reason::InboxFull,
        "it takes 10,000 waiting messages: a test below makes them",
    ),
    (
        Reason::PeerRefused,
        "the state of our own message, never the verdict on one that came",
    ),
    (
        Reason::Declined,
        "what the recipient's agent answers, after its daemon accepted",
    ),
];

#[test]
fn every_vector_gets_its_reason_and_no_effect_but_those_allowed() {
    let mut wrong = Vec::new();
    for vector in vector::all() {
        let name = &vector.name;
        let mut bob = stages::bob(&vector.log);
        let before = bob.node.inbox().len();
        let entries = bob.log.len();
        let subject = vector.subject.as_deref();
        let effects = vector::hear(&mut bob, vector.at, &vector.input, subject);
        let new: Vec<Entry> = bob.log[entries..]
            .iter()
            .map(|(_, entry)| entry.clone())
            .collect();
        if reason(&new) != Some(vector.expect) {
            wrong.push(format!("{name}: {:?}", reason(&new)));
            continue;
        }
        assert_eq!(vector.expect.check(), vector.check, "{name}");
        assert_eq!(vector::names_of(&effects), vector.effects, "{name}");
        assert_eq!(
            bob.node.inbox().len(),
            before,
            "{name}: nothing comes or goes"
        );
        judge_effects(&vector, &effects);
        judge_line(&vector, &new);
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// No answer to a stranger; to a peer nothing but words for itself.
fn judge_effects(vector: &Vector, effects: &[Effect]) {
    let name = &vector.name;
    let early = vector.is_unproven();
    let is_told = |effect: &Effect| matches!(effect, Effect::Notice(_));
    assert!(
        !early || effects.iter().all(is_told),
        "{name}: a stranger gets no answer, and at most its person hears of it"
    );
    let sender = vector.sender();
    for effect in effects {
        let signed = match effect {
            Effect::Publish(signed) => signed,
            // A notice tells the person of a clock or an alarm, and holds no words of the message: nothing has to be
            // looked for in it.
            Effect::Notice(_) => continue,
            // The message carried a revocation, which is obeyed: workers get the new trust store, and messages that
            // waited end. None of this goes to the sender.
            Effect::Trust(_) | Effect::Settle { .. } => continue,
            _ => panic!("{name}: {effect:?}"),
        };
        assert_eq!(Some(signed.recipient()), sender.as_ref(), "{name}");
        let text = String::from_utf8(signed.bytes().to_vec()).unwrap();
        assert!(
            !text.contains("2026-W07"),
            "{name}: an error repeats nothing of the body"
        );
        assert!(
            !text.contains("free evenings"),
            "{name}: nor of the summary"
        );
    }
}

fn judge_line(vector: &Vector, entries: &[Entry]) {
    let name = &vector.name;
    let verdicts = entries.iter().filter(
        |entry| matches!(entry, Entry::Message(verdict) if verdict.direction == Direction::In),
    );
    assert_eq!(verdicts.count(), 1, "{name}: one input, one line");
    let verdict = forge::verdict(entries).unwrap();
    assert_eq!(verdict.bytes, vector.input.len() as u64, "{name}");
    match &verdict.evidence {
        Evidence::Raw(head, _) => {
            assert!(vector.is_unproven() && head.len() <= 1024, "{name}");
            assert!(vector.input.starts_with(head), "{name}");
        }
        Evidence::Copy(_) => assert_eq!(vector.expect, Reason::Duplicate, "{name}"),
        Evidence::Headers(_) => {
            let mut line = Vec::new();
            Entry::Message(verdict.clone()).write(&mut line);
            let line = String::from_utf8(line).unwrap();
            assert!(
                !line.contains("2026-W07") && !line.contains("free evenings"),
                "{name}"
            );
        }
        _ => assert!(!vector.is_unproven(), "{name}: proven input is kept whole"),
    }
}

#[test]
fn every_reason_has_a_vector_or_a_sentence_why_not() {
    let shown: BTreeSet<Reason> = vector::all().map(|vector| vector.expect).collect();
    for reason in Reason::ALL {
        let excused = WITHOUT_VECTOR.iter().any(|(known, _)| known == reason);
        assert_ne!(
            shown.contains(reason),
            excused,
            "{reason}: give it an input in crates/proto/tests/protocol/reasons, which write_the_published writes to \
             vectors/refused, or a sentence in WITHOUT_VECTOR; never both"
        );
    }
}

/// Whoever holds a program against the vectors has to know which reasons they do not show.
#[test]
fn the_page_of_the_vectors_names_every_reason_that_no_file_shows() {
    let page = include_str!("../../../../vectors/README.md");
    let (_, behind) = page.split_once("\n## What no file shows\n").unwrap();
    let section = behind.split("\n## ").next().unwrap();
    let named: BTreeSet<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.split('`').next())
        .collect();
    let meant: BTreeSet<&str> = WITHOUT_VECTOR.iter().map(|(r, _)| r.name()).collect();
    assert_eq!(named, meant);
}

#[test]
fn every_check_is_shown_to_speak_before_the_next() {
    let pairs: BTreeSet<(String, String)> = vector::all()
        .filter_map(|vector| Some((vector.check.clone(), vector.also?)))
        .collect();
    // No input fails both V11 and V12: V11 judges flights alone, and V12 everything but flights.
    for (first, second) in (1..=10).map(|check| (check, check + 1)) {
        let pair = (format!("V{first:02}"), format!("V{second:02}"));
        assert!(pairs.contains(&pair), "{pair:?}");
    }
    assert!(pairs.contains(&("V10".into(), "V12".into())));
}

#[test]
fn the_sixty_fifth_half_open_handshake_is_refused() {
    let mut bob = Agent::new("agent-bob", "bob");
    for number in 0..65 {
        let mut peer = Agent::new(&format!("agent-{number}"), &format!("person-{number}"));
        peer.knows(&bob);
        bob.knows(&peer);
        let sending = Sending::Notification(Content::default());
        let outcome = peer
            .node
            .turn(at(0))
            .sent()
            .send(&bob.id(), sending)
            .unwrap()
            .outcome;
        let effects = peer.keep(at(0), outcome);
        let (_, announce) = household::published(&effects).remove(0);
        let answers = bob.hear(at(0), &announce).len();
        assert_eq!(answers, usize::from(number < 64), "handshake {number}");
    }
    assert_eq!(bob.refusals(), [Reason::HandshakeBusy.name()]);
}

#[test]
fn the_inbox_takes_ten_thousand_and_says_so_to_the_next() {
    let world = stages::build();
    let mut bob = stages::bob(&world.logs["session"]);
    let alice = household::identity("agent-alice", "alice");
    for sequence in 2..=10_001 {
        let place = Some((world.session, sequence));
        let name = sequence.to_string();
        let mut value = forge::in_session(&alice, "agent-bob", Method::Request, &name, 5, place);
        value["params"]["body"] = json!(sequence);
        let effects = bob.hear(at(5), &forge::sign(value, &alice.signing));
        if sequence == 10_001 {
            assert_eq!(bob.refusals(), [Reason::InboxFull.name()]);
            let names = vector::names_of(&effects);
            assert_eq!(names, ["publish inbox-full to agent-alice"]);
        }
    }
    assert_eq!(bob.node.inbox().len(), 10_000);
}

/// Whoever verifies in another process, by a snapshot of the trust store, comes to the same verdict.
#[test]
fn a_snapshot_of_the_trust_store_judges_every_vector_as_the_store_itself() {
    let mut proven = 0;
    for vector in vector::all() {
        let bob = stages::bob(&vector.log);
        let view = bob.node.trust();
        let text = view.to_snapshot().to_string();
        let again = TrustView::from_snapshot(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(again.to_snapshot(), view.to_snapshot(), "{}", vector.name);
        let Ok(unverified) = Unverified::parse(&vector.input) else {
            continue;
        };
        let verdict = |view: &TrustView| {
            let proven = unverified.clone().verify(view);
            let is_theirs = matches!(proven, Proven::Verified(_) | Proven::Beyond(_));
            let verified = proven.verified();
            let said = verified.map(|it| (it.epoch(), it.credentials().cloned()));
            said.map_err(|reason| (reason, is_theirs))
        };
        assert_eq!(verdict(&again), verdict(view), "{}", vector.name);
        proven += usize::from(verdict(view).is_ok());
    }
    assert!(proven >= 20, "{proven} vectors are proven");
}

/// Whoever hands the snapshot on may not put somebody else's key into it unnoticed.
#[test]
fn a_snapshot_with_a_forged_certificate_is_none() {
    let (_, bob) = household::alice_and_bob();
    let snapshot = bob.node.trust().to_snapshot();
    let place = "/peers/agent-alice/certificates/0/signing-key";
    let mut forged = snapshot.clone();
    *forged
        .pointer_mut(place)
        .expect("alice's certificate is in it") =
        household::key("mallory").public().to_string().into();
    assert!(TrustView::from_snapshot(&forged).is_err());
    for wrong in [
        json!(null),
        json!({}),
        json!({"agent": "agent-bob"}),
        json!([snapshot.clone()]),
    ] {
        assert!(TrustView::from_snapshot(&wrong).is_err(), "{wrong}");
    }
    let mut more = snapshot;
    more["secret"] = json!("x");
    assert!(TrustView::from_snapshot(&more).is_err());
}
