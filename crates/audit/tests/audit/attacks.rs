//! Ten attacks on the log of an agent that talked with another, each made here and each found. A chain
//! alone finds three of them, checkpoints two more, and what the peer remembers all.

use std::fs;

use signet_audit::{Log, verify};
use signet_proto::entry::{Direction, Entry, Ruling};
use signet_proto::time::Timestamp;

use crate::common::*;
use crate::pair::*;
use crate::tlog;

// The text of the fault without its verb: one head "names" no line of this log, several heads "name" none.
const NO_SUCH_LINE: &str = "no line of this log";
const OTHER_LINES: &str = "is of other lines";

/// What an attacker does to Alice's February.
fn change(pair: &Pair, change: impl FnOnce(&mut Vec<String>)) {
    let mut lines = pair.alice.lines(FEBRUARY);
    change(&mut lines);
    write_lines(&pair.alice.file(FEBRUARY), &lines);
}

/// A line that is not a message of Alice's own: her signature would not show the change.
fn edit(lines: &mut [String]) {
    assert!(lines[1].contains("\"kind\":\"trust\""));
    lines[1] = lines[1].replacen("17:00:00.000Z", "17:00:00.001Z", 1);
}

#[test]
fn without_an_attack_both_logs_hold_and_each_is_the_others_witness() {
    let pair = Pair::talked();
    let report = pair.together();
    assert!(report.holds(), "{report}");
    let alice = &report
        .logs
        .iter()
        .find(|log| log.name == pair.alice.dir())
        .unwrap();
    assert_eq!((alice.lines, alice.proven.unwrap().seq), (32, 32));
    let witness = &alice.witnesses[0];
    assert_eq!(
        (witness.agent.as_str(), witness.head.seq),
        ("agent-bob-001", 30)
    );
    let sentence = alice.sentence();
    assert!(
        sentence.ends_with("; proven by its own checkpoints up to seq 32, and by the heads that agent-bob-001 logged up to seq 30."),
        "{sentence}"
    );
    let alone = pair.alone().sentence();
    assert!(
        alone.contains("up to seq 32, and by no peer's head: an older state of it"),
        "{alone}"
    );
}

#[test]
fn attack_1_an_edit_is_found_by_the_chain() {
    let pair = Pair::talked();
    change(&pair, |lines| edit(lines));
    assert!(!chain_holds(&pair.alice.dir()));
    finds(&pair.alone(), "`prev` is not the SHA-256");
}

#[test]
fn attack_2_a_deletion_is_found_by_the_chain() {
    let pair = Pair::talked();
    change(&pair, |lines| drop(lines.remove(9)));
    assert!(!chain_holds(&pair.alice.dir()));
    finds(&pair.alone(), "`seq` is not one more");
}

#[test]
fn attack_3_a_swap_is_found_by_the_chain() {
    let pair = Pair::talked();
    change(&pair, |lines| lines.swap(9, 10));
    assert!(!chain_holds(&pair.alice.dir()));
    finds(&pair.alone(), "`seq` is not one more");
}

#[test]
fn attack_4_a_tail_cut_off_is_found_by_the_checkpoints() {
    let pair = Pair::talked();
    change(&pair, |lines| lines.truncate(31));
    assert!(chain_holds(&pair.alice.dir()), "the chain does not see it");
    finds(&pair.alone(), "covers 32 lines, and the file has 31");
}

#[test]
fn attack_4_a_tail_that_no_checkpoint_covers_is_found_by_the_peer() {
    let mut pair = Pair::new();
    pair.talk(30, second(10));
    pair.alice.crash();
    pair.bob.stop();
    let covered = pair.alone().proven.unwrap().seq as usize;
    assert!(covered < 29);
    change(&pair, |lines| lines.truncate(covered));
    holds(&pair.alone());
    assert!(pair.against_alice()[0].contains(NO_SUCH_LINE));
}

#[test]
fn attack_5_cut_back_with_the_checkpoints_is_found_by_the_peer() {
    let pair = Pair::talked();
    let notes = tlog::split(&fs::read_to_string(pair.alice.file(FEBRUARY_NOTES)).unwrap());
    let kept = &notes[..notes.len() - 2];
    let size = kept
        .last()
        .unwrap()
        .lines()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    let text: String = kept.iter().map(|note| format!("{note}\n")).collect();
    fs::write(pair.alice.file(FEBRUARY_NOTES), text).unwrap();
    change(&pair, |lines| lines.truncate(size));
    holds(&pair.alone());
    assert!(pair.against_alice()[0].contains(NO_SUCH_LINE));
    fs::remove_file(pair.alice.file(FEBRUARY_NOTES)).unwrap();
    finds(&pair.alone(), "they were taken away");
}

#[test]
fn attack_6_an_old_copy_restored_is_found_by_the_peer() {
    let mut pair = Pair::new();
    pair.talk(10, second(10));
    let old = pair.alice.copy();
    pair.talk(20, second(20));
    pair.stop();
    pair.alice.restore(&old);
    holds(&pair.alone());
    assert!(pair.against_alice()[0].contains(NO_SUCH_LINE));
    // Bob's log also shows the old copy when the restored agent goes on and signs new lines.
    pair.alice.start(second(30));
    let bob = Party::new("agent-bob-001", "bob", 2);
    pair.alice.send(&bob, 50, second(30), "After the backup");
    pair.alice.stop();
    holds(&pair.alone());
    assert!(pair.against_alice()[0].contains(NO_SUCH_LINE));
}

#[test]
fn attack_7_a_chain_made_anew_is_found_by_the_checkpoints() {
    let pair = Pair::talked();
    change(&pair, |lines| {
        edit(lines);
        relink_all(lines);
    });
    assert!(chain_holds(&pair.alice.dir()), "the chain does not see it");
    finds(&pair.alone(), OTHER_LINES);
}

#[test]
fn attack_7_a_chain_made_anew_is_found_by_the_heads_in_its_own_messages() {
    let pair = Pair::talked();
    change(&pair, |lines| {
        edit(lines);
        relink_all(lines);
    });
    resign(
        &pair,
        FEBRUARY,
        FEBRUARY_NOTES,
        &tlog::seed(&pair.alice.key(FEBRUARY_KEY)),
    );
    let report = pair.alone();
    finds(
        &report,
        "names as head of this log a line that is not there before it",
    );
    assert!(
        !report
            .faults
            .iter()
            .any(|fault| fault.what.contains("checkpoint"))
    );
}

/// Every checkpoint made anew with the stolen key.
fn resign(pair: &Pair, file: &str, notes: &str, seed: &[u8; 32]) {
    let lines = pair.alice.lines(file);
    let mut text = String::new();
    for note in tlog::split(&fs::read_to_string(pair.alice.file(notes)).unwrap()) {
        let (origin, size) = (note.lines().next().unwrap(), note.lines().nth(1).unwrap());
        let size: usize = size.parse().unwrap();
        text += &tlog::sign(origin, size as u64, &tlog::root(&lines[..size]), seed);
        text += "\n";
    }
    fs::write(pair.alice.file(notes), text).unwrap();
}

/// Alice herself, with all her keys, writes her log anew: every message of hers signed again.
fn write_anew(pair: &mut Pair, change: impl Fn(usize, Entry) -> Option<Entry>) {
    let old: Vec<(Timestamp, Option<Entry>)> = read_all(&pair.alice.dir())
        .into_iter()
        .map(|line| (line.ts, line.entry))
        .collect();
    pair.alice.crash();
    fs::remove_dir_all(pair.alice.dir()).unwrap();
    pair.alice.start(old[0].0);
    let bob = bob();
    for (index, (ts, entry)) in old.into_iter().enumerate().skip(1) {
        let Some(entry) = entry.and_then(|entry| change(index, entry)) else {
            continue;
        };
        match &entry {
            Entry::Message(verdict) if verdict.direction == Direction::Out => {
                let message = verdict.message().unwrap();
                let (number, summary) = (
                    message.headers.sequence.unwrap(),
                    message.summary.clone().unwrap(),
                );
                pair.alice.send(&bob, number, ts, &summary);
            }
            entry => pair.alice.write(ts, entry),
        }
    }
    pair.alice.stop();
}

#[test]
fn attack_8_a_chain_made_anew_and_signed_anew_with_the_stolen_key_is_found_by_the_peer() {
    let mut pair = Pair::talked();
    let stolen = tlog::seed(&pair.alice.key(FEBRUARY_KEY));
    write_anew(&mut pair, |index, entry| (index != 5).then_some(entry));
    assert_eq!(
        tlog::seed(&pair.alice.key(FEBRUARY_KEY)),
        stolen,
        "the same key"
    );
    holds(&pair.alone());
    let found = pair.against_alice();
    assert!(found[0].contains(NO_SUCH_LINE), "{found:?}");
}

/// Two months, and the key of the first destroyed.
fn two_months() -> Pair {
    let mut pair = Pair::new();
    pair.talk(12, second(10));
    pair.talk(12, march());
    pair.stop();
    pair
}

#[test]
fn attack_9_a_month_written_anew_is_found_by_the_chain_or_the_peer() {
    let mut pair = two_months();
    assert!(pair.together().holds(), "{}", pair.together());
    let march_file = pair.alice.lines(MARCH);
    let march_notes = fs::read(pair.alice.file(MARCH_NOTES)).unwrap();
    let february = pair.alice.lines(FEBRUARY);
    // Both months are written anew, with new keys: Alice's log holds by itself, and only Bob's shows that lines are
    // gone.
    write_anew(&mut pair, |index, entry| (index != 5).then_some(entry));
    holds(&pair.alone());
    let found = pair.against_alice();
    assert!(found[0].contains(NO_SUCH_LINE), "{found:?}");
    assert_ne!(
        pair.alice.lines(FEBRUARY)[0],
        february[0],
        "the key of the month is another one"
    );
    // Only February is written anew: the old March does not fit behind it, so the chain shows the change.
    write_lines(&pair.alice.file(MARCH), &march_file);
    fs::write(pair.alice.file(MARCH_NOTES), march_notes).unwrap();
    finds(&pair.alone(), "`seq` is not one more");
}

#[test]
fn attack_9_a_past_month_cannot_be_signed_anew_for_its_key_is_gone() {
    let pair = two_months();
    assert!(!pair.alice.key(FEBRUARY_KEY).exists());
    change(&pair, |lines| {
        edit(lines);
        relink_all(lines);
    });
    resign(&pair, FEBRUARY, FEBRUARY_NOTES, &[66; 32]);
    finds(
        &pair.alone(),
        "is not signed by the key that the first line names",
    );
}

#[test]
fn attack_10_two_versions_for_two_readers_are_found_by_either_and_by_holding_them_together() {
    let mut pair = Pair::new();
    let mut carol = Side::new(Party::new("agent-carol-001", "carol", 3));
    pair.alice.trust(&carol.party);
    carol.trust(&pair.alice.party);
    pair.talk(6, second(10));
    let common = pair.alice.copy();
    // The version of Alice's log that Bob is shown goes on with more messages between the two.
    pair.talk(4, second(20));
    pair.stop();
    let shown_to_bob = pair.alice.copy();
    // The version that Carol is shown goes on from the same lines with messages to Carol instead.
    pair.alice.restore(&common);
    pair.alice.start(second(20));
    for number in 100..104 {
        let message = pair
            .alice
            .send(&carol.party, number, second(20), "Never said to Bob");
        carol.take(second(20), message);
    }
    pair.alice.stop();
    carol.stop();
    let (for_bob, for_carol) = (shown_to_bob.path().join("audit"), pair.alice.dir());
    for version in [&for_bob, &for_carol] {
        let report = verify(std::slice::from_ref(version));
        assert!(report.holds(), "each alone holds: {report}");
    }
    assert!(
        verify(&[for_bob.clone(), pair.bob.dir()]).holds(),
        "and before its own reader"
    );
    assert!(verify(&[for_carol.clone(), carol.dir()]).holds());
    for (version, reader) in [(&for_bob, carol.dir()), (&for_carol, pair.bob.dir())] {
        let report = verify(&[version.clone(), reader]);
        assert!(report.to_string().contains(NO_SUCH_LINE), "{report}");
    }
    let report = verify(&[for_bob, for_carol]);
    assert!(
        report.to_string().contains("there are two versions"),
        "{report}"
    );
}

#[test]
fn a_start_does_not_sign_what_was_made_anew() {
    let mut pair = Pair::talked();
    change(&pair, |lines| {
        edit(lines);
        relink_all(lines);
    });
    for notes in [true, false] {
        if !notes {
            fs::remove_file(pair.alice.file(FEBRUARY_NOTES)).unwrap();
        }
        let refused = pair.alice.try_start(second(30)).unwrap_err().to_string();
        assert!(refused.contains("checkpoints"), "{refused}");
    }
}

#[test]
fn a_log_taken_away_whole_is_not_begun_anew_beside_its_checkpoints() {
    let mut pair = Pair::talked();
    fs::remove_file(pair.alice.file(FEBRUARY)).unwrap();
    let refused = pair.alice.try_start(second(30)).unwrap_err().to_string();
    assert!(refused.contains("lines that are gone"), "{refused}");
}

#[test]
fn lines_of_an_older_log_are_proven_by_its_chain_alone_and_it_says_so() {
    let dir = tempfile::tempdir().unwrap();
    drop(conversation(dir.path(), 4));
    let report = verify(&[dir.path().to_owned()]);
    assert!(report.holds());
    let sentence = report.logs[0].sentence();
    assert!(
        sentence.contains("by its chain alone, without checkpoints"),
        "{sentence}"
    );
    // The next month has checkpoints: the sentence then names February, where there are none.
    let keys_dir = tempfile::tempdir().unwrap();
    let mut log = Log::open_with(dir.path(), second(9), &genesis(), keys(keys_dir.path())).unwrap();
    log.append(
        march(),
        &entry(
            Direction::In,
            Ruling::Accepted,
            message(&bob(), &alice(), 5, "x"),
        ),
    )
    .unwrap();
    log.commit().unwrap();
    log.checkpoint().unwrap();
    let report = verify(&[dir.path().to_owned()]);
    let sentence = report.logs[0].sentence();
    assert!(
        sentence.contains("but for 2026-02, where there are none"),
        "{sentence}"
    );
    assert!(report.logs[0].faults.len() <= 1, "{report}");
}
