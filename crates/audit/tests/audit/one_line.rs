//! One line by itself: how people are shown it, what is wrong with it, what a key opens in it, and whether it lacks an
//! answer.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use serde_json::{Value, json};
use signet_audit::{AnsweredRequests, LogLine, Sight, body, describe, glimpse, is_without_words};
use signet_proto::entry::{Direction, DraftLine, Entry, Ruling, Verdict};
use signet_proto::envelope::Message;
use signet_proto::ids::{MessageId, decode_base64url};
use signet_proto::keys::SealSecret;
use signet_proto::reject::Reason;
use signet_proto::seal::Sealed;

use crate::common::*;
use crate::forgeries::story;

/// The lines that a log has of these entries, genesis aside.
fn written(entries: &[Entry]) -> Vec<LogLine> {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    for entry in entries {
        log.append(second(1), entry).unwrap();
    }
    log.commit().unwrap();
    read_all(dir.path()).split_off(1)
}

fn line(entry: Entry) -> LogLine {
    written(&[entry]).remove(0)
}

fn waits(message: Value) -> Entry {
    Entry::Draft(DraftLine {
        peer: bob().certificate.agent,
        message_id: MessageId::from_parts(1_770_570_000_003, [3; 10]),
        life: 60,
        approve: None,
        message,
        copy: None,
        client_key: None,
    })
}

#[test]
fn what_a_line_carries_in_clear_is_shown_and_nothing_that_cannot_be() {
    let of = |entry| body(&line(entry));
    assert_eq!(of(accepted(3, "Asks")).unwrap(), "{\"number\":3}");
    assert_eq!(of(sent(4, "Says")).unwrap(), "{\"number\":4}");
    let mut draft = draft(&alice(), &bob(), 3, "For later");
    assert_eq!(of(waits(draft.clone())).unwrap(), "{\"number\":3}");
    draft["params"]["body"] = json!({"hidden": "\u{202e}"});
    let shown = of(waits(draft)).unwrap();
    assert!(shown.is_ascii(), "{shown}");
    for entry in [trust_bob(), gap("the disk was full")] {
        assert_eq!(of(entry), None);
    }
    assert_eq!(of(arrived(Ruling::Accepted, None)), None, "it is sealed");
}

#[test]
fn of_what_is_long_as_much_is_shown_as_fits_and_how_much_more_there_is() {
    for (text, shown) in [
        ("", ""),
        ("\u{e4}bc", "\u{e4}bc"),
        ("\u{e4}bcd", "\u{e4}bc… (1 more character)"),
        ("\u{e4}bcd\u{e9}f", "\u{e4}bc… (3 more characters)"),
    ] {
        assert_eq!(glimpse(text, 3), shown);
    }
    let receipt = receipt(&bob(), &alice(), 5, json!({"through": 4}));
    let bare = entry(Direction::In, Ruling::Accepted, receipt);
    let lines = written(&[accepted(3, "In words"), bare, gap("no message")]);
    let found: Vec<_> = lines.iter().map(is_without_words).collect();
    assert_eq!(found, [false, true, false]);
}

#[test]
fn the_chain_s_own_lines_say_what_happened() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(march(), &gap("in march")).unwrap();
    log.commit().unwrap();
    drop(log);
    let mut file = OpenOptions::new()
        .append(true)
        .open(dir.path().join(MARCH))
        .unwrap();
    file.write_all(b"{\"v\"").unwrap();
    drop(open(dir.path(), march()));
    let shown: Vec<String> = read_all(dir.path()).iter().map(describe).collect();
    let mark = |text: &str| shown.iter().any(|line| line == text);
    for text in [
        "2026-02-08 17:00:00.000  -   close     the month is over",
        "2026-03-01 00:00:00.500  -   open      after inter-agent-2026-02.jsonl",
        "2026-03-01 00:00:00.500  -   recovery  4 torn bytes set aside in inter-agent-2026-03.torn-5",
    ] {
        assert!(mark(text), "no {text} in {shown:#?}");
    }
    let dressed = shown.iter().find(|line| line.contains("in march")).unwrap();
    assert!(dressed.starts_with("2026-03-01 00:00:00.500  -   gap"));
}

#[test]
fn a_line_that_nobody_vouches_for_is_held_against_itself() {
    let me = alice().certificate.agent;
    let another = bob().certificate.agent;
    let honest = [
        trust_bob(),
        accepted(3, "Asks"),
        sent(4, "Says"),
        story::handoff(&alice().key),
        gap("the disk was full"),
    ];
    for line in written(&honest) {
        assert_eq!(line.fault(&me), None, "{}", describe(&line));
    }
    let whose = "the message inside is not between this agent and the line's peer";
    assert_eq!(
        line(accepted(3, "Asks")).fault(&another).as_deref(),
        Some(whose)
    );
    let handed = "the last mandate is not between this agent and the line's peer";
    let line_of_task = line(story::handoff(&alice().key));
    assert_eq!(line_of_task.fault(&another).as_deref(), Some(handed));
    let ours = message(&alice(), &bob(), 3, "Ours");
    let taken = line(entry(Direction::Out, Ruling::Accepted, ours));
    let taken = taken.fault(&me);
    assert_eq!(
        taken.as_deref(),
        Some("`accepted` is only for what came in")
    );
    let text = String::from_utf8(line(accepted(3, "Asks")).raw).unwrap();
    let forged = text.replacen("\"tier\":2", "\"tier\":1", 1);
    let forged = LogLine::parse(forged.into_bytes()).unwrap().fault(&me);
    assert_eq!(
        forged.as_deref(),
        Some("`tier` is not what the rest of the line says")
    );
}

fn vectors(name: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors");
    serde_json::from_slice(&fs::read(root.join(name)).unwrap()).unwrap()
}

/// An answer to `agent-bob` that is sealed for him.
fn sealed() -> Message {
    let vector = vectors("accepted/answer-sealed.json");
    let input = vector["input"].as_str().unwrap();
    Message::from_value(serde_json::from_str(input).unwrap()).unwrap()
}

fn secret_of_bob() -> SealSecret {
    let secret = vectors("recipient.json")["sealing"].clone();
    let bytes = decode_base64url(secret.as_str().unwrap()).unwrap();
    SealSecret::of(zeroize::Zeroizing::new(bytes.try_into().unwrap()))
}

fn another_secret() -> SealSecret {
    SealSecret::of(zeroize::Zeroizing::new([81; 32]))
}

fn with_copy(direction: Direction, ruling: Ruling, message: Message, copy: &Sealed) -> Entry {
    match entry(direction, ruling, message) {
        Entry::Message(verdict) => Entry::Message(Verdict {
            copy: Some(copy.clone()),
            ..verdict
        }),
        other => other,
    }
}

/// The sealed answer as it arrived, with or without a copy for the person.
fn arrived(ruling: Ruling, copy: Option<&Sealed>) -> Entry {
    match copy {
        Some(copy) => with_copy(Direction::In, ruling, sealed(), copy),
        None => entry(Direction::In, ruling, sealed()),
    }
}

/// A box for that key which nobody can open.
fn shut_box(secret: &SealSecret) -> Sealed {
    let mut value = sealed().sealed.unwrap().to_value();
    value["to"] = secret.public().to_string().into();
    Sealed::parse(&value).unwrap()
}

#[test]
fn a_key_opens_what_is_sealed_for_it_and_is_told_why_it_does_not_open_the_rest() {
    let (bob, other) = (secret_of_bob(), another_secret());
    let (theirs, damaged) = (shut_box(&another_secret()), shut_box(&other));
    let accepted_with = |copy| line(arrived(Ruling::Accepted, copy));
    let message = sealed();
    match accepted_with(None).open(&bob) {
        Sight::Opened(id, opened) => {
            assert_eq!(id, message.headers.message_id);
            assert_eq!(opened.summary.as_deref(), Some("Asks for free evenings"));
            assert_eq!(opened.body, Some(json!({"week": "2026-W07"})));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(accepted_with(None).open(&other), Sight::NoCopy);
    let for_bob = message.sealed.as_ref();
    assert_eq!(accepted_with(for_bob).open(&other), Sight::OtherKey);
    assert!(matches!(
        accepted_with(Some(&theirs)).open(&bob),
        Sight::Opened(..)
    ));
    let found = accepted_with(Some(&damaged)).open(&other);
    assert_eq!(found, Sight::Damaged(Reason::Unsealable));
    for plain in [accepted(3, "Asks"), gap("nothing"), trust_bob()] {
        assert_eq!(line(plain).open(&bob), Sight::Plain);
    }
}

#[test]
fn a_draft_that_waits_sealed_is_for_its_person_and_one_in_clear_for_everybody() {
    let mut value = draft(&alice(), &bob(), 3, "For later");
    let clear = line(waits(value.clone()));
    assert_eq!(clear.open(&another_secret()), Sight::Plain);
    let envelope = value["params"].as_object_mut().unwrap();
    envelope.remove("summary");
    envelope.remove("body");
    envelope.insert("sealed".into(), sealed().sealed.unwrap().to_value());
    value["params"]["headers"]["data-tier"] = 3.into();
    let line = line(waits(value));
    assert_eq!(line.open(&another_secret()), Sight::NoCopy);
    let foreign = line.open(&secret_of_bob());
    assert_eq!(
        foreign,
        Sight::Damaged(Reason::SealMismatch),
        "made for another message"
    );
}

#[test]
fn a_copy_stands_only_beside_a_sealed_message_that_was_accepted_or_sent() {
    let me = "agent-bob".parse().unwrap();
    let copy = shut_box(&another_secret());
    let refused = Ruling::Rejected(Reason::CapabilityNotGranted);
    let fault = |entry| line(entry).fault(&me);
    assert_eq!(fault(arrived(Ruling::Accepted, Some(&copy))), None);
    assert_eq!(fault(arrived(Ruling::Accepted, None)), None);
    let what = "a `copy` stands only beside a sealed message that was accepted or sent";
    assert_eq!(fault(arrived(refused, Some(&copy))).as_deref(), Some(what));
    let clear = message(&bob(), &alice(), 3, "In clear");
    let clear = with_copy(Direction::In, Ruling::Accepted, clear, &copy);
    let found = line(clear).fault(&alice().certificate.agent);
    assert_eq!(found.as_deref(), Some(what));
}

#[test]
fn a_request_lacks_an_answer_until_one_was_taken_or_sent() {
    let (alice, bob) = (alice(), bob());
    let asks = |from, to, number| request(from, to, number, "Asks");
    let refused = Ruling::Rejected(Reason::CapabilityNotGranted);
    let incoming = |ruling, message| entry(Direction::In, ruling, message);
    let outgoing = |message| entry(Direction::Out, Ruling::Sent, message);
    let lines = written(&[
        incoming(Ruling::Accepted, asks(&bob, &alice, 1)),
        outgoing(answer(&alice, &bob, 2, 1)),
        outgoing(asks(&alice, &bob, 3)),
        incoming(refused, answer(&bob, &alice, 4, 3)),
        incoming(refused, asks(&bob, &alice, 5)),
        incoming(Ruling::Accepted, asks(&bob, &alice, 6)),
        accepted(7, "Wants none"),
        gap("nor does this"),
    ]);
    let mut answered = AnsweredRequests::default();
    lines.iter().for_each(|line| answered.take(line));
    let lack: Vec<_> = lines.iter().map(|line| answered.lacks(line)).collect();
    let expected = [false, false, true, false, false, true, false, false];
    assert_eq!(lack, expected);
}
