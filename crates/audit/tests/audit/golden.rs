//! One line of each kind, and of each thing that a kind may say, byte for byte in both versions: what no home of
//! `signet`'s golden homes happened to write stands here. `tests/vectors/golden.txt` is made anew, by a change that means
//! to, with `SIGNET_WRITE_GOLDEN=1 cargo test --workspace --test audit golden`.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use signet_audit::read_file;
use signet_proto::entry::{
    Alarm, AlarmLine, AttemptLine, CauseLine, ClientKey, ClockLine, Did, DraftLine, Entry, Flood,
    HoleLine, LineVersion, LossLine, OutcomeLine, Tried, TrustChange,
};
use signet_proto::headers::MessageType;
use signet_proto::ids::{AgentId, Digest, MessageId, SessionId};

use crate::common::*;

fn id() -> MessageId {
    MessageId::from_parts(1_770_570_000_000, [1; 10])
}

fn peer() -> AgentId {
    "agent-bob-001".parse().unwrap()
}

fn outcome(what: Did, tries: u8, reason: Option<&str>) -> Entry {
    Entry::Outcome(OutcomeLine {
        peer: peer(),
        message_id: id(),
        what,
        tries,
        reason: reason.map(str::to_owned),
    })
}

fn entries() -> Vec<Entry> {
    let certificate = bob().certificate;
    let trust = [
        TrustChange::Bound,
        TrustChange::Renewed,
        TrustChange::Pending,
        TrustChange::Refused,
        TrustChange::Withdrawn,
        TrustChange::RootChanged,
        TrustChange::RootSucceeded,
        TrustChange::RootReplaced,
    ];
    let trust = trust.map(|change| Entry::trust(change, certificate.clone()));
    let alarms = [
        Alarm::SecondCopy,
        Alarm::Restored,
        Alarm::PeerRestored,
        Alarm::SequenceReuse,
        Alarm::LogLost,
        Alarm::LogChanged,
    ];
    let alarms = alarms.into_iter().flat_map(|what| {
        [false, true].map(|cleared| {
            let peer = peer();
            Entry::Alarm(AlarmLine {
                peer,
                what,
                cleared,
            })
        })
    });
    let attempt = |peer, reason: &str, count, tried, call: Option<&str>| {
        Entry::Attempt(AttemptLine {
            peer,
            reason: reason.to_owned(),
            count,
            tried,
            call: call.map(str::to_owned),
        })
    };
    let tried = Tried {
        message_type: MessageType::Request,
        tier: 2,
        capability: Some("door.open".parse().unwrap()),
        conversation: Some("dinner".parse().unwrap()),
    };
    let draft = |approve, client_key| {
        Entry::Draft(DraftLine {
            peer: peer(),
            message_id: id(),
            approve,
            life: 60,
            message: json!({"method": "agent.request", "params": {"body": {"z": 1, "a": "\u{202e}é"}}}),
            copy: None,
            client_key,
        })
    };
    let mut all = vec![Entry::Genesis(certificate.clone())];
    all.extend(trust);
    all.extend(alarms);
    all.extend([
        draft(None, None),
        draft(
            Some(certificate.root.id()),
            Some(ClientKey(Digest([9; 32]))),
        ),
        outcome(Did::Acknowledged, 1, None),
        outcome(Did::AnswerFailed, 1, Some("expired")),
        outcome(Did::DraftExpired, 1, None),
        outcome(Did::DraftRefused, 1, Some("withdrawn")),
        outcome(Did::Expired, 1, None),
        outcome(Did::Started, 2, None),
        outcome(Did::Failed, 2, Some("exit status 1")),
        outcome(Did::SetAside, 5, None),
        outcome(Did::Kept, 1, None),
        outcome(Did::Retried, 1, None),
        outcome(Did::Dropped, 1, None),
        attempt(Some(peer()), "no-permission", 1, Some(tried), None),
        attempt(Some(peer()), "budget-exceeded", 7, None, None),
        attempt(None, "not-for-this-socket", 1, None, Some("alarms.clear")),
        Entry::Hole(HoleLine {
            peer: peer(),
            session: SessionId(Digest([7; 32])),
            from: 5,
            to: 7,
        }),
        Entry::Clock(ClockLine {
            peer: peer(),
            difference_ms: -61_000,
        }),
        Entry::Flood(Flood {
            count: 7,
            bytes: 700,
            hash: Digest([4; 32]),
        }),
        Entry::Rebuilt(CauseLine {
            cause: "there is no state yet".to_owned(),
        }),
        Entry::Loss(LossLine {
            line: 12,
            hash: Digest([6; 32]),
        }),
        gap("the disk was \"full\"\n"),
    ]);
    all
}

fn members(entry: &Entry, version: LineVersion) -> String {
    let mut members = Vec::new();
    entry.write_as(version, &mut members);
    String::from_utf8(members).unwrap()
}

#[test]
fn golden_lines_of_every_kind_are_what_they_were() {
    let mut now = String::new();
    for entry in entries() {
        for version in [LineVersion::V1, LineVersion::V2] {
            let line = members(&entry, version);
            writeln!(now, "v{} {line}", version.number()).unwrap();
        }
        let line = members(&entry, LineVersion::V2);
        let Value::Object(line) = serde_json::from_str(&format!("{{{line}}}")).unwrap() else {
            panic!("a line is an object")
        };
        assert_eq!(Entry::parse(line).unwrap(), Some(entry));
    }
    // Messages, decisions and tasks in lines that an older release wrote as version 1: written as version 2, their
    // members keep the same hashes.
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    for line in read_file(&vectors.join("v1/kinds.jsonl")).unwrap() {
        let line = line.unwrap();
        let Some(entry) = &line.entry else { continue };
        let members = members(entry, LineVersion::V2);
        let hash = Digest::of(&[members.as_bytes()]).to_hex();
        writeln!(
            now,
            "line {} of v1/kinds.jsonl, {}: {hash}",
            line.seq, line.kind
        )
        .unwrap();
    }
    let file = vectors.join("golden.txt");
    if std::env::var_os("SIGNET_WRITE_GOLDEN").is_some() {
        std::fs::write(&file, now).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&file).unwrap();
    let differ = kept.lines().zip(now.lines());
    let differ: Vec<_> = differ.filter(|(kept, now)| kept != now).collect();
    assert!(kept == now, "kept, and now: {differ:#?}");
}
