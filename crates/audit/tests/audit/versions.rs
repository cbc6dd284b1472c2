//! Lines of version 1 and 2: the old are read and continued, the new say at their top what their message
//! says and nothing else, and those of a newer signet are called that.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use signet_audit::{
    Log, LogError, LogLine, LogReport, RecordError, describe, read, read_file, verify,
};
use signet_json::canonical;
use signet_proto::entry::{
    Did, Direction, DraftLine, Entry, Evidence, LineVersion, OutcomeLine, Ruling, Verdict,
};
use signet_proto::envelope::{Claimed, Message};
use signet_proto::ids::{Digest, MessageId, encode_base64url};
use signet_proto::keys::{Purpose, SigningKey};
use signet_proto::reject::Reason;

use crate::common::*;

const NOVEMBER: &str = "inter-agent-2026-11.jsonl";
const FIRST: &str = "019c3e32-2681-7101-8101-010101010101";
const SECOND: &str = "019c3e32-2682-7202-8202-020202020202";
const SEVENTH: &str = "019c3e32-2687-7707-8707-070707070707";
/// What the answers answer.
const ASKED: &str = "019c3e32-2680-7101-8101-010101010101";

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/v1")
}

/// The log of a release that wrote version 1, alone in a directory.
fn old_log() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(vectors().join(NOVEMBER), dir.path().join(NOVEMBER)).unwrap();
    dir
}

fn report_on(dir: &Path) -> LogReport {
    let mut report = verify(&[dir.to_owned()]);
    assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
    report.logs.remove(0)
}

fn says(report: &LogReport, what: &str) {
    let found = report.faults.iter().any(|fault| fault.what.contains(what));
    assert!(found, "{what} is not among {:#?}", report.faults);
}

/// What `verify` says when an attacker changed lines and made the chain anew.
fn forged(lines: &[String], change: impl FnOnce(&mut Vec<String>)) -> LogReport {
    let dir = tempfile::tempdir().unwrap();
    let mut lines = lines.to_vec();
    change(&mut lines);
    relink_all(&mut lines);
    write_lines(&dir.path().join(FEBRUARY), &lines);
    report_on(dir.path())
}

fn value(line: &LogLine) -> Value {
    serde_json::from_slice(&line.raw).unwrap()
}

#[test]
fn every_kind_of_line_of_version_1_is_read_and_rebuilt_byte_for_byte() {
    let lines: Vec<LogLine> = read_file(&vectors().join("kinds.jsonl"))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(lines.len(), 88);
    for line in &lines {
        let text = String::from_utf8_lossy(&line.raw);
        assert_eq!(line.version, LineVersion::V1, "{text}");
        assert_eq!(line.rewrite(), line.raw, "{text}");
        assert!(
            describe(line).contains(&line.kind) || line.kind == "message",
            "{text}"
        );
    }
}

#[test]
fn a_log_of_version_1_still_holds() {
    let dir = old_log();
    let report = report_on(dir.path());
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    assert_eq!((report.lines, report.signed), (55, 37));
}

#[test]
fn a_log_of_version_1_goes_on_in_version_2_within_a_month() {
    let dir = old_log();
    let genesis = read_all(dir.path()).remove(0).entry.unwrap();
    let now = at("2026-11-22T10:00:00.000Z");
    let mut log = Log::open(dir.path(), now, &genesis).unwrap();
    log.append(now, &gap("the first of version 2")).unwrap();
    log.append(now, &gap("the second")).unwrap();
    log.commit().unwrap();
    drop(log);
    // Start once more, now behind a line of version 2: the start writes no line, and the log stays whole.
    drop(Log::open(dir.path(), now, &genesis).unwrap());
    let lines = read_all(dir.path());
    let versions: Vec<_> = lines.iter().map(|line| line.version.number()).collect();
    assert_eq!(versions[..55], [1; 55]);
    assert_eq!(versions[55..], [2; 2]);
    let report = report_on(dir.path());
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    assert_eq!(report.lines, 57);
}

#[test]
fn a_line_of_version_1_behind_version_2_is_found() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 4));
    let path = dir.path().join(FEBRUARY);
    let mut lines = lines_of(&path);
    let entry = read_all(dir.path()).remove(4).entry.unwrap();
    let mut old = b"{\"v\":1,\"seq\":5,\"ts\":\"2026-02-08T17:00:03.000Z\",\"prev\":\"\",".to_vec();
    entry.write_as(LineVersion::V1, &mut old);
    old.push(b'}');
    lines[4] = String::from_utf8(old).unwrap();
    relink_all(&mut lines);
    write_lines(&path, &lines);
    let report = report_on(dir.path());
    says(&report, "`v` is lower than the line before has");
    assert_eq!(report.faults.len(), 1, "{:#?}", report.faults);
    let error = read(dir.path()).unwrap().find_map(Result::err).unwrap();
    assert!(error.to_string().contains("`v` is lower"), "{error}");
    // Make the line of version 1 the last one: a start looks there, and is refused.
    write_lines(&path, &lines[..5]);
    let refused = Log::open(dir.path(), second(9), &genesis());
    assert!(
        matches!(refused, Err(LogError::Broken { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_line_of_a_newer_signet_is_called_that_and_never_cut_off() {
    for newer in ["{\"v\":3,", "{\"v\":18446744073709551615,"] {
        let dir = tempfile::tempdir().unwrap();
        drop(conversation(dir.path(), 4));
        let path = dir.path().join(FEBRUARY);
        let mut lines = lines_of(&path);
        lines[5] = lines[5].replacen("{\"v\":2,", newer, 1);
        write_lines(&path, &lines);
        let before = fs::read(&path).unwrap();
        let refused = Log::open(dir.path(), second(9), &genesis()).unwrap_err();
        assert!(matches!(refused, LogError::Newer { .. }), "{refused}");
        assert!(
            refused.to_string().contains("from a newer signet"),
            "{refused}"
        );
        assert_eq!(
            fs::read(&path).unwrap(),
            before,
            "nothing was set aside as torn"
        );
        let read = read(dir.path()).unwrap().find_map(Result::err).unwrap();
        assert!(read.to_string().contains("from a newer signet"), "{read}");
        let report = verify(&[dir.path().to_owned()]);
        assert!(!report.holds() && !report.is_tampered(), "{report}");
        assert!(report.unreadable[0].to_string().contains("newer signet"));
        // A fault before the line of a newer version is reported all the same.
        lines[3] = lines[3].replacen("Message 2", "Message 3", 1);
        write_lines(&path, &lines);
        let report = verify(&[dir.path().to_owned()]);
        assert!(report.is_tampered(), "{report}");
        says(&report.logs[0], "from a newer signet");
    }
    let unreadable = LogLine::parse(b"{\"v\":3,what a later release writes".to_vec());
    assert_eq!(unreadable, Err(RecordError::Newer(3)));
    for garbage in ["{\"v\":03,", "{\"v\":-3,", "{\"v\":\"3\",", "{\"v\":3x,"] {
        let read = LogLine::parse(garbage.as_bytes().to_vec());
        assert!(!matches!(read, Err(RecordError::Newer(_))), "{garbage}");
    }
}

/// A response of Bob's or Alice's to the message that [`draft`] makes of `number`.
fn answer(from: &Party, to: &Party, number: u64, content: (&str, Value)) -> Message {
    let mut value = draft(from, to, number, "x");
    let mut envelope = value["params"].take();
    envelope["headers"]["message-type"] = "response".into();
    envelope["headers"]["in-reply-to"] = ASKED.into();
    envelope["headers"]["conversation-id"] = "talk:1".into();
    envelope.as_object_mut().unwrap().remove("summary");
    let (name, with) = content;
    let mut value = json!({"jsonrpc": "2.0", "id": ASKED});
    if name == "error" {
        envelope.as_object_mut().unwrap().remove("body");
        envelope["reason"] = with;
        let error = json!({"code": -32000, "message": "No.", "data": envelope});
        value["error"] = error;
    } else {
        value["result"] = envelope;
    }
    sign_at(value, &["/result", "/error/data"], &from.key)
}

fn sign_at(mut value: Value, places: &[&str], key: &SigningKey) -> Message {
    let signature = key.sign(Purpose::Message, &[&canonical(&value)]);
    let place = places.iter().find(|place| value.pointer(place).is_some());
    value.pointer_mut(place.unwrap()).unwrap()["signature"] = encode_base64url(&signature).into();
    Message::from_value(value).unwrap()
}

/// A log with a notification, both forms of an answer in both directions, a receipt, a copy, raw input,
/// and headers alone.
fn all_forms() -> Vec<Entry> {
    let (alice, bob) = (alice(), bob());
    let success =
        |from: &Party, to: &Party, number| answer(from, to, number, ("result", Value::Null));
    let failure =
        |from: &Party, to: &Party, number| answer(from, to, number, ("error", "no-thanks".into()));
    let mut receipt = draft(&bob, &alice, 6, "x");
    receipt["method"] = "agent.receipt".into();
    let receipt = sign(receipt, &bob.key);
    let mut bare = draft(&bob, &alice, 7, "in clear");
    bare["params"]["headers"]["data-tier"] = 3.into();
    let bare = Arc::new(sign(bare, &bob.key));
    let refused = |reason, evidence, hash| {
        Entry::Message(Verdict {
            direction: Direction::In,
            ruling: Ruling::Rejected(reason),
            bytes: 700,
            hash,
            evidence,
            copy: None,
        })
    };
    let claimed = Claimed {
        agent: Some(bob.certificate.agent.clone()),
        message_type: None,
    };
    let sent = |message| entry(Direction::Out, Ruling::Sent, message);
    let accepted = |message| entry(Direction::In, Ruling::Accepted, message);
    vec![
        accepted(message(&bob, &alice, 1, "Hello")),
        accepted(success(&bob, &alice, 2)),
        accepted(failure(&bob, &alice, 3)),
        sent(success(&alice, &bob, 4)),
        sent(failure(&alice, &bob, 5)),
        accepted(receipt),
        refused(
            Reason::SealRequired,
            Evidence::Headers(Arc::clone(&bare)),
            bare.hash(),
        ),
        refused(
            Reason::Duplicate,
            Evidence::Copy(claimed.clone()),
            bare.hash(),
        ),
        refused(
            Reason::SignatureInvalid,
            Evidence::Raw(b"{\"id\":\"x\"}".to_vec(), claimed),
            Digest([3; 32]),
        ),
    ]
}

fn all_forms_logged(dir: &Path) -> Vec<Value> {
    let mut log = open(dir, second(0));
    log.append(second(0), &trust_bob()).unwrap();
    for entry in all_forms() {
        log.append(second(9), &entry).unwrap();
    }
    log.commit().unwrap();
    let lines = read_all(dir);
    lines[2..].iter().map(value).collect()
}

#[test]
fn what_a_message_says_stands_at_the_top_of_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let lines = all_forms_logged(dir.path());
    let report = report_on(dir.path());
    assert!(report.faults.is_empty(), "{:#?}", report.faults);
    let names = [
        "peer-reason",
        "principal",
        "class",
        "method",
        "id",
        "conversation",
        "in-reply-to",
        "tier",
    ];
    let said: Vec<Value> = lines
        .iter()
        .map(|line| {
            let members = names
                .iter()
                .filter(|name| **name != "id" && !line[**name].is_null());
            Value::Object(
                members
                    .map(|name| ((*name).to_owned(), line[*name].clone()))
                    .collect(),
            )
        })
        .collect();
    let answered = |principal: &str| {
        json!({"principal": principal, "class": "application", "conversation": "talk:1",
            "in-reply-to": ASKED, "tier": 2})
    };
    let mut refused_by_bob = answered("bob");
    refused_by_bob["peer-reason"] = "no-thanks".into();
    let notification = json!({"principal": "bob", "class": "application", "method": "agent.notification", "tier": 2});
    let mut in_clear = notification.clone();
    in_clear["tier"] = 3.into();
    assert_eq!(
        said,
        [
            notification,
            answered("bob"),
            refused_by_bob,
            answered("alice"),
            answered("alice"),
            json!({"principal": "bob", "class": "control", "method": "agent.receipt", "tier": 2}),
            in_clear,
            json!({}),
            json!({}),
        ]
    );
    for (line, number) in lines[..7].iter().zip(1..) {
        let id = MessageId::from_parts(1_770_570_000_000 + number, [number as u8; 10]);
        assert_eq!(line["id"], id.to_string());
    }
    for line in &lines[7..] {
        assert!(
            line.get("id").is_none(),
            "nothing was proved, or it stands elsewhere: {line}"
        );
    }
}

#[test]
fn a_member_that_says_other_than_its_message_is_found() {
    let dir = tempfile::tempdir().unwrap();
    all_forms_logged(dir.path());
    let lines = lines_of(&dir.path().join(FEBRUARY));
    let clean = forged(&lines, |_| {});
    assert!(clean.faults.is_empty(), "{:#?}", clean.faults);
    let changes = [
        (5, "peer-reason", "no-thanks", "not-today"),
        (3, "principal", "bob", "carol"),
        (3, "class", "application", "control"),
        (8, "class", "control", "application"),
        (3, "method", "agent.notification", "agent.receipt"),
        (3, "id", FIRST, SECOND),
        (4, "conversation", "talk:1", "talk:2"),
        (4, "in-reply-to", ASKED, SECOND),
        (9, "id", SEVENTH, SECOND),
        (9, "class", "application", "control"),
    ];
    for (number, name, value, other) in changes {
        let change = |to: &str| {
            forged(&lines, |lines| {
                let (line, from) = (&mut lines[number - 1], format!(",\"{name}\":\"{value}\""));
                assert!(line.contains(&from), "{from} is not in {line}");
                *line = line.replacen(&from, to, 1);
            })
        };
        let wrong = format!("`{name}` is not what the rest");
        says(&change(&format!(",\"{name}\":\"{other}\"")), &wrong);
        says(&change(""), &wrong);
    }
    // A log writes `class` and `principal` only where the message was proven, and `peer-reason` only where the peer
    // refused: added to another line, they are a fault.
    for (number, member) in [
        (10, "\"class\":\"application\""),
        (11, "\"class\":\"application\""),
        (11, "\"principal\":\"bob\""),
        (7, "\"peer-reason\":\"no-thanks\""),
        (4, "\"peer-reason\":\"no-thanks\""),
    ] {
        let report = forged(&lines, |lines| {
            let line = &mut lines[number - 1];
            *line = line.replacen("\"peer\":", &format!("{member},\"peer\":"), 1);
        });
        says(&report, "is a member that no log writes");
    }
}

#[test]
fn a_line_of_version_1_has_no_member_of_version_2() {
    let lines = lines_of(&vectors().join(NOVEMBER));
    for member in [
        "\"class\":\"application\"",
        "\"id\":\"01a1fed2-44f9-7017-8375-d725f9d36545\"",
        "\"carrier\":\"nats\"",
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut lines = lines.clone();
        lines[9] = lines[9].replacen("\"bytes\":", &format!("{member},\"bytes\":"), 1);
        relink_all(&mut lines);
        write_lines(&dir.path().join(NOVEMBER), &lines);
        says(&report_on(dir.path()), "is a member that no log writes");
    }
}

#[test]
fn whatever_is_about_a_message_names_it_by_the_same_member() {
    let message_id = MessageId::from_parts(1_770_570_000_001, [1; 10]);
    let peer = bob().certificate.agent;
    let waits = |tier: u8| {
        let mut message = draft(&alice(), &bob(), 1, "For later");
        message["params"]["headers"]["data-tier"] = tier.into();
        message["params"]["headers"]["conversation-id"] = "talk:1".into();
        Entry::Draft(DraftLine {
            peer: peer.clone(),
            message_id,
            life: 60,
            approve: None,
            message,
            copy: None,
            client_key: None,
        })
    };
    let outcome = Entry::Outcome(OutcomeLine {
        peer: peer.clone(),
        message_id,
        what: Did::Expired,
        tries: 1,
        reason: None,
    });
    // Write each group of entries into a log of its own: a second draft with the same id would be reported as a forged
    // copy.
    let written = |entries: Vec<Entry>| {
        let dir = tempfile::tempdir().unwrap();
        let mut log = open(dir.path(), second(0));
        for entry in entries {
            log.append(second(1), &entry).unwrap();
        }
        log.commit().unwrap();
        let report = report_on(dir.path());
        assert!(report.faults.is_empty(), "{:#?}", report.faults);
        read_all(dir.path())[1..]
            .iter()
            .map(value)
            .collect::<Vec<_>>()
    };
    let lines = [written(vec![waits(3)]), written(vec![waits(2), outcome])].concat();
    for line in &lines {
        assert_eq!(line["id"], message_id.to_string(), "{line}");
        assert!(line.get("message-id").is_none(), "{line}");
    }
    let top = |line: &Value| {
        ["class", "method", "conversation", "tier", "summary"].map(|name| line[name].clone())
    };
    let said = |tier: u8, summary: Value| {
        let names = ["application", "agent.notification", "talk:1"].map(Value::from);
        let [class, method, conversation] = names;
        [class, method, conversation, tier.into(), summary]
    };
    assert_eq!(top(&lines[1]), said(2, "For later".into()));
    assert_eq!(
        top(&lines[0]),
        said(3, Value::Null),
        "what is to be sealed has no summary"
    );
}

#[test]
fn what_a_later_release_adds_to_version_2_is_read_and_proven() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 2));
    let lines = lines_of(&dir.path().join(FEBRUARY));
    let key = alice().key.public().id().to_string();
    let with = |number: usize, members: &str| {
        forged(&lines, |lines| {
            let line = &mut lines[number - 1];
            line.pop();
            *line = format!("{line},{members}}}");
        })
    };
    let (client_key, carrier) = (format!("\"client-key\":\"{key}\""), "\"carrier\":\"nats\"");
    for members in [
        client_key.clone(),
        carrier.to_owned(),
        format!("{client_key},{carrier}"),
    ] {
        let report = with(3, &members);
        assert!(report.faults.is_empty(), "{members}: {:#?}", report.faults);
    }
    let report = with(2, &client_key);
    assert!(
        report.faults.is_empty(),
        "on lines of any kind: {:#?}",
        report.faults
    );
    says(
        &with(3, &format!("{carrier},{client_key}")),
        "spelt otherwise",
    );
    says(
        &with(3, "\"another\":\"member\""),
        "`another` is a member that no log writes",
    );
    for malformed in [
        "\"carrier\":\"\"",
        "\"carrier\":\"N\u{61}TS\"",
        "\"carrier\":\"a b\"",
        "\"carrier\":\"\\u202egnp\"",
        "\"carrier\":7",
        "\"carrier\":\"abcdefghijklmnopqrstuvwxyz1234567\"",
        "\"client-key\":null",
        "\"client-key\":\"ed25519:short\"",
    ] {
        assert!(!with(3, malformed).faults.is_empty(), "{malformed}");
    }
}
