//! Which lines somebody wants to see: each wish alone, and wishes together.

use signet_audit::{Filter, LogLine, VerdictName};
use signet_proto::entry::{Direction, DraftLine, Entry, Ruling};
use signet_proto::headers::MessageType;
use signet_proto::ids::MessageId;
use signet_proto::reject::Reason;

use crate::common::*;

const NONE: [u64; 0] = [];

fn carol() -> Party {
    Party::new("agent-carol-001", "carol", 3)
}

fn id(number: u64) -> MessageId {
    MessageId::from_parts(1_770_570_000_000 + number, [number as u8; 10])
}

/// A log of nine lines, each a second after the one before: genesis, trust in Bob, a request of Bob's (3) and the answer
/// to it (4), a refused word of Carol's (5), a receipt that was taken (6) and one that was not (7), a draft for Carol
/// (8), and a gap (9).
fn log() -> Vec<LogLine> {
    let (alice, bob, carol) = (alice(), bob(), carol());
    let mut asks = request_draft(&bob, &alice, 3, "Dinner on Friday?");
    asks["params"]["headers"]["conversation-id"] = "dinner-1".into();
    let receipt = |number| receipt(&bob, &alice, number, serde_json::json!({"through": 3}));
    let mut waits = draft(&alice, &carol, 8, "For later");
    waits["params"]["headers"]["data-tier"] = 3.into();
    waits["params"]["body"] = serde_json::json!({"day": "Sunday"});
    let refused = message(&carol, &alice, 5, "Let me in");
    let entries = [
        entry(Direction::In, Ruling::Accepted, sign(asks, &bob.key)),
        entry(Direction::Out, Ruling::Sent, answer(&alice, &bob, 4, 3)),
        entry(
            Direction::In,
            Ruling::Rejected(Reason::CapabilityNotGranted),
            refused,
        ),
        entry(Direction::In, Ruling::Accepted, receipt(6)),
        entry(
            Direction::In,
            Ruling::Rejected(Reason::Duplicate),
            receipt(7),
        ),
        Entry::Draft(DraftLine {
            peer: carol.certificate.agent,
            message_id: id(8),
            life: 3600,
            approve: None,
            message: waits,
            copy: None,
            client_key: None,
        }),
        gap("the disk was full"),
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(1));
    log.append(second(2), &trust_bob()).unwrap();
    for (number, entry) in (3..).zip(&entries) {
        log.append(second(number), entry).unwrap();
    }
    log.commit().unwrap();
    read_all(dir.path())
}

fn admitted(lines: &[LogLine], wish: impl FnOnce(&mut Filter)) -> Vec<u64> {
    let mut filter = Filter::default();
    wish(&mut filter);
    let admitted = lines.iter().filter(|line| filter.admits(line));
    admitted.map(|line| line.seq).collect()
}

#[test]
fn a_filter_leaves_out_every_line_that_was_not_asked_for_and_no_other() {
    let lines = log();
    let of = |wish: &dyn Fn(&mut Filter)| admitted(&lines, wish);
    let peer = |party: Party| of(&|it| it.peer = Some(party.certificate.agent.clone()));
    let kind = |kind| of(&|it| it.message_type = Some(kind));
    let verdict = |name| of(&|it| it.verdict = Some(name));
    let tier = |tier| of(&|it| it.tier = Some(tier));
    assert_eq!(of(&|_| ()), [1, 2, 3, 4, 5, 6, 7, 8, 9], "nothing asked");
    assert_eq!(peer(bob()), [2, 3, 4, 6, 7]);
    assert_eq!(peer(carol()), [5, 8]);
    let conversation = of(&|it| it.conversation = "dinner-1".parse().ok());
    assert_eq!(conversation, [3]);
    assert_eq!(kind(MessageType::Request), [3]);
    assert_eq!(kind(MessageType::Response), [4]);
    assert_eq!(kind(MessageType::Handoff), NONE);
    assert_eq!(verdict(VerdictName::Accepted), [3, 6]);
    assert_eq!(verdict(VerdictName::Rejected), [5, 7]);
    assert_eq!(verdict(VerdictName::Sent), [4]);
    assert_eq!((tier(2), tier(3)), (vec![3, 4, 5, 6, 7], vec![8]));
    let kinds = of(&|it| it.kinds = ["draft", "gap"].map(str::to_owned).to_vec());
    assert_eq!(kinds, [8, 9]);
    assert_eq!(of(&|it| it.kinds = vec!["alarm".into()]), NONE);
    let quiet = of(&|it| it.without_control = true);
    assert_eq!(
        quiet,
        [1, 2, 3, 4, 5, 7, 8, 9],
        "a refused receipt is of interest"
    );
}

#[test]
fn a_span_begins_with_its_first_moment_and_ends_before_its_last() {
    let lines = log();
    assert_eq!(admitted(&lines, |it| it.since = Some(second(8))), [8, 9]);
    assert_eq!(admitted(&lines, |it| it.until = Some(second(3))), [1, 2]);
    let span = |it: &mut Filter| (it.since, it.until) = (Some(second(4)), Some(second(6)));
    assert_eq!(admitted(&lines, span), [4, 5]);
}

#[test]
fn an_id_finds_its_message_with_the_answer_and_the_conversation_it_is_of() {
    let lines = log();
    let by = |begun: &str| admitted(&lines, |it| it.id = Some(begun.to_owned()));
    let whole = id(3).to_string();
    assert_eq!(by(&whole), [3, 4]);
    assert_eq!(by(&whole[..20]), [3, 4]);
    assert_eq!(by(&id(8).to_string()), [8]);
    assert_eq!(by(&whole[1..]), NONE, "no id begins so");
    assert_eq!(by("dinner-1"), [3]);
    assert_eq!(by("dinner"), NONE, "a conversation is named as a whole");
}

#[test]
fn a_word_is_found_in_whatever_case_in_what_is_shown_and_in_what_is_carried() {
    let lines = log();
    let with = |text: &str| admitted(&lines, |it| it.text = Some(text.to_owned()));
    assert_eq!(with("dinner on FRIDAY"), [3], "its summary");
    assert_eq!(with("DISK was full"), [9], "a cause");
    assert_eq!(with("sunday"), [8], "what a draft carries");
    assert_eq!(with("\"number\":5"), [5], "what a message carries");
    assert_eq!(with("nobody said this"), NONE);
}

#[test]
fn of_several_wishes_each_has_to_be_fulfilled() {
    let lines = log();
    let agent = |party: Party| Some(party.certificate.agent);
    let rejected_of = |party| {
        let peer = agent(party);
        admitted(&lines, |it| {
            (it.peer, it.verdict) = (peer, Some(VerdictName::Rejected))
        })
    };
    assert_eq!(
        (rejected_of(bob()), rejected_of(carol())),
        (vec![7], vec![5])
    );
    let all = |it: &mut Filter| {
        *it = Filter {
            peer: agent(bob()),
            conversation: "dinner-1".parse().ok(),
            message_type: Some(MessageType::Request),
            verdict: Some(VerdictName::Accepted),
            tier: Some(2),
            kinds: vec!["message".into()],
            id: Some(id(3).to_string()),
            text: Some("friday".into()),
            since: Some(second(3)),
            until: Some(second(4)),
            without_control: true,
        };
    };
    assert_eq!(admitted(&lines, all), [3]);
}

#[test]
fn a_verdict_is_named_as_lines_name_it() {
    let named = ["accepted", "rejected", "sent"].map(|name| name.parse().ok());
    let verdicts = [
        VerdictName::Accepted,
        VerdictName::Rejected,
        VerdictName::Sent,
    ];
    assert_eq!(named, verdicts.map(Some));
    for other in ["", "Accepted", "refused"] {
        assert!(other.parse::<VerdictName>().is_err(), "{other}");
    }
}
