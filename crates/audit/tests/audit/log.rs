//! Writing: what stands in the files, what a start makes of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use signet_audit::{LogError, Mark};
use signet_proto::entry::{
    ClockLine, Did, Direction, DraftLine, Entry, Evidence, Flood, OutcomeLine, Ruling, TrustChange,
    Verdict,
};
use signet_proto::envelope::{Claimed, Method};
use signet_proto::ids::{Digest, MessageId};
use signet_proto::reject::Reason;

use crate::common::*;

#[test]
fn a_new_log_starts_with_genesis_and_belongs_to_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("audit/agent-alice-001");
    let log = open(&inner, second(0));
    assert_eq!(kinds(&inner), ["genesis"]);
    let line = &read_all(&inner)[0];
    assert_eq!(
        (line.seq, line.prev, line.ts),
        (1, Digest([0; 32]), second(0))
    );
    assert_eq!(log.head().unwrap().hash, line.hash);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&inner), mode(&inner.join(FEBRUARY))), (0o700, 0o600));
}

#[test]
fn a_log_does_not_start_with_anything_else() {
    let dir = tempfile::tempdir().unwrap();
    let refused = signet_audit::Log::open(dir.path(), second(0), &gap("none"));
    assert!(matches!(refused, Err(LogError::NotGenesis("gap"))));
}

#[test]
fn every_kind_of_entry_comes_back_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    let entries = every_kind();
    for entry in &entries {
        log.append(second(1), entry).unwrap();
    }
    log.commit().unwrap();
    let read: Vec<Entry> = read_all(dir.path())
        .into_iter()
        .skip(1)
        .map(|line| line.entry.unwrap())
        .collect();
    assert_eq!(read, entries);
}

fn every_kind() -> Vec<Entry> {
    let id = MessageId::from_parts(1_770_570_000_000, [1; 10]);
    let peer: signet_proto::ids::AgentId = "agent-bob-001".parse().unwrap();
    let whole = message(&bob(), &alice(), 1, "Kept whole");
    let refused = |evidence, reason| {
        Entry::Message(Verdict {
            direction: Direction::In,
            ruling: Ruling::Rejected(reason),
            bytes: 99,
            hash: Digest([3; 32]),
            evidence,
            copy: None,
        })
    };
    let claimed = Claimed {
        agent: Some(peer.clone()),
        message_type: None,
    };
    let serde_json::Value::Object(headers) = whole.headers.to_value() else {
        panic!("headers are an object")
    };
    vec![
        trust_bob(),
        Entry::trust(TrustChange::Renewed, bob().certificate),
        accepted(2, "Asks for \"free\" evenings\nnext week"),
        sent(3, "Sent"),
        entry(
            Direction::In,
            Ruling::Rejected(Reason::CapabilityNotGranted),
            whole,
        ),
        refused(
            Evidence::Withheld(headers, Some(Method::Notification)),
            Reason::SealRequired,
        ),
        refused(Evidence::Copy(claimed.clone()), Reason::Duplicate),
        refused(
            Evidence::Raw(b"{\"jsonrpc\"\x00\xff".to_vec(), claimed),
            Reason::MalformedJson,
        ),
        Entry::Draft(DraftLine {
            peer: peer.clone(),
            message_id: id,
            approve: None,
            life: 60,
            message: serde_json::json!({"a": 1}),
            copy: None,
            client_key: None,
        }),
        Entry::Outcome(OutcomeLine {
            peer: peer.clone(),
            message_id: id,
            what: Did::Acknowledged,
            tries: 1,
            reason: None,
        }),
        Entry::Clock(ClockLine {
            peer,
            difference_ms: -61_000,
        }),
        Entry::Flood(Flood {
            count: 7,
            bytes: 700,
            hash: Digest([4; 32]),
        }),
        gap("the disk was full"),
    ]
}

#[test]
fn members_stand_in_the_order_of_the_protocol() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 1));
    let line = lines_of(&dir.path().join(FEBRUARY)).remove(2);
    let names = [
        "{\"v\":2,\"seq\":3,\"ts\":\"2026-02-08T17:00:01.000Z\",\"prev\":\"",
        "\",\"kind\":\"message\",\"dir\":\"in\",",
        "\"verdict\":\"accepted\",\"reason\":null,\"peer\":\"agent-bob-001\",\"principal\":\"bob\",",
        "\"class\":\"application\",\"type\":\"notification\",\"method\":\"agent.notification\",\"id\":\"",
        "\",\"tier\":2,",
        "\"summary\":\"Message 1\",\"bytes\":",
        ",\"sha256\":\"",
        "\",\"message\":{",
    ];
    let mut from = 0;
    for name in names {
        from += line[from..]
            .find(name)
            .unwrap_or_else(|| panic!("{name} is not behind the others in {line}"));
    }
}

#[test]
fn nothing_is_durable_before_commit() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(second(1), &gap("a")).unwrap();
    assert_eq!((log.head().unwrap().seq, kinds(dir.path()).len()), (1, 1));
    let head = log.commit().unwrap();
    assert_eq!((head.seq, Some(head)), (2, log.head()));
    assert_eq!(read_all(dir.path())[1].hash, head.hash);
    assert_eq!(
        log.commit().unwrap(),
        head,
        "a commit of nothing changes nothing"
    );
}

#[test]
fn time_never_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(10));
    log.append(second(5), &gap("clock went back")).unwrap();
    log.commit().unwrap();
    drop(log);
    drop(open(dir.path(), second(1)));
    let mut log = open(dir.path(), second(2));
    log.append(second(2), &gap("again")).unwrap();
    log.commit().unwrap();
    let times: Vec<_> = read_all(dir.path()).iter().map(|line| line.ts).collect();
    assert_eq!(times, [second(10); 3]);
}

#[test]
fn a_line_over_two_mebibytes_is_refused_and_the_log_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    let huge = gap(&"\u{7f}".repeat(400 * 1024));
    assert!(matches!(
        log.append(second(1), &huge),
        Err(LogError::TooLong(_))
    ));
    log.append(second(1), &gap("small")).unwrap();
    assert_eq!(log.commit().unwrap().seq, 2);
    assert_eq!(read_all(dir.path()).len(), 2);
}

#[test]
fn a_new_month_closes_the_file_and_opens_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(second(1), &gap("february")).unwrap();
    log.append(march(), &gap("march")).unwrap();
    assert_eq!(
        log.head().unwrap().seq,
        3,
        "the group is cut and `close` is durable"
    );
    assert_eq!(log.commit().unwrap().seq, 5);
    assert_eq!(
        kinds(dir.path()),
        ["genesis", "gap", "close", "open", "gap"]
    );
    let lines = read_all(dir.path());
    let open = Mark::Open {
        previous: FEBRUARY.into(),
        hash: lines[2].hash,
    };
    assert_eq!(
        (lines[3].mark.clone(), lines[3].prev),
        (Some(open), lines[2].hash)
    );
    assert_eq!(
        (
            lines_of(&dir.path().join(FEBRUARY)).len(),
            lines_of(&dir.path().join(MARCH)).len()
        ),
        (3, 2)
    );
}

#[test]
fn a_start_after_a_quiet_new_year_goes_on_in_the_new_month() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), second(0)));
    let mut log = open(dir.path(), at("2027-01-05T00:00:00Z"));
    assert_eq!(
        kinds(dir.path()),
        ["genesis"],
        "nothing is written before there is something to say"
    );
    log.append(at("2027-01-05T00:00:00Z"), &gap("new year"))
        .unwrap();
    log.commit().unwrap();
    assert_eq!(kinds(dir.path()), ["genesis", "close", "open", "gap"]);
    assert!(dir.path().join("inter-agent-2027-01.jsonl").exists());
}

#[test]
fn after_a_failed_write_the_log_refuses_everything() {
    let dir = tempfile::tempdir().unwrap();
    let mut log = open(dir.path(), second(0));
    log.append(second(1), &gap("a")).unwrap();
    // The next month's file exists already, so it cannot be created. Unlike a full disk, this error stops the log.
    fs::write(dir.path().join(MARCH), b"").unwrap();
    assert!(matches!(
        log.append(march(), &gap("b")),
        Err(LogError::Io { .. })
    ));
    assert!(matches!(
        log.append(march(), &gap("c")),
        Err(LogError::Stopped)
    ));
    assert!(matches!(log.commit(), Err(LogError::Stopped)));
    drop(log);
    drop(open(dir.path(), march()));
    assert_eq!(kinds(dir.path()), ["genesis", "gap", "close", "open"]);
}

#[test]
fn a_second_writer_is_refused_until_the_first_has_gone() {
    let dir = tempfile::tempdir().unwrap();
    let first = open(dir.path(), second(0));
    let refused = signet_audit::Log::open(dir.path(), second(1), &genesis());
    assert!(matches!(refused, Err(LogError::Held(_))));
    drop(first);
    let again = open(dir.path(), second(2));
    assert!(again.head().is_some());
}
