//! Heads that peers remember, and how far verification is: which lines are missing, in words; which were written while
//! it read; and which stand before what was given.

use std::fs;
use std::path::{Path, PathBuf};

use signet_audit::{
    Depth, ProgressFn, Settings, VerifyReport, log_files, reconcile, verify, verify_with,
};
use signet_proto::entry::{Entry, TrustChange};

use crate::common::*;
use crate::pair::*;

/// Two months of both.
fn two_months() -> Pair {
    let mut pair = Pair::new();
    pair.talk(12, second(10));
    pair.talk(12, march());
    pair.stop();
    pair
}

/// A copy of a log's folder, as it is now, under a name that sorts where the caller wants it.
fn put_aside(from: &Path, to: PathBuf) -> PathBuf {
    fs::create_dir(&to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    to
}

fn bytes(dirs: &[PathBuf]) -> u64 {
    let files = dirs.iter().flat_map(|dir| log_files(dir).unwrap());
    files.map(|file| fs::metadata(file).unwrap().len()).sum()
}

#[test]
fn progress_is_told_in_bytes_from_the_first_to_the_last_of_all_logs() {
    let pair = two_months();
    let dirs = [pair.alice.dir(), pair.bob.dir()];
    let all = bytes(&dirs);
    for depth in [Depth::Links, Depth::Signatures] {
        let settings = Settings {
            depth,
            ..Settings::default()
        };
        let mut told = Vec::new();
        let mut progress = ProgressFn::new(|done, of| told.push((done, of)));
        let report = verify_with(&dirs, settings, &mut progress);
        assert!(report.holds(), "{report}");
        let unread = "contents, signatures and peers' logs were not looked at.";
        assert_eq!(report.headline().ends_with(unread), depth == Depth::Links);
        assert_eq!(format!("{progress:?}"), format!("Progress({all} of {all})"));
        drop(progress);
        assert!(told.is_sorted() && told[0].0 > 0, "{told:?}");
        assert!(told.iter().all(|(_, of)| *of == all), "{told:?}");
        assert_eq!(told.last(), Some(&(all, all)), "{depth:?}");
    }
}

/// What is found of Alice's log as it was and Bob's as it is, where hers becomes what it is while it is read.
fn verify_while_it_grows(early: &Path, pair: &Pair, grows: bool) -> VerifyReport {
    let home = tempfile::tempdir().unwrap();
    let alice = put_aside(early, home.path().join("a"));
    let bob = put_aside(&pair.bob.dir(), home.path().join("b"));
    let now = fs::read(pair.alice.file(MARCH)).unwrap();
    let hers = bytes(std::slice::from_ref(&alice));
    let mut progress = ProgressFn::new(|done, _| {
        // Alice's log grows once its last line was read, and before any line of Bob's is.
        if grows && done == hers {
            fs::write(alice.join(MARCH), &now).unwrap();
        }
    });
    verify_with(&[alice.clone(), bob], Settings::default(), &mut progress)
}

#[test]
fn a_line_that_a_peer_remembers_and_that_was_written_while_the_logs_were_read_is_not_missing() {
    let mut pair = Pair::new();
    pair.talk(6, second(10));
    pair.talk(6, march());
    let early = pair.alice.copy();
    pair.talk(6, march());
    pair.stop();
    let early = early.path().join("audit");
    let report = verify_while_it_grows(&early, &pair, true);
    assert!(report.holds(), "{report}");
    let alice = &report.logs[0];
    assert_eq!(alice.lines, 16, "what stood there when it was read");
    assert_eq!(alice.witnesses[0].head.seq, 16, "{report}");
    let report = verify_while_it_grows(&early, &pair, false);
    assert!(
        report.to_string().contains("name no line of this log"),
        "{report}"
    );
}

#[test]
fn how_many_heads_have_no_line_is_told_with_the_lines_that_remember_them() {
    for count in [1, 2, 5, 6] {
        let mut pair = Pair::new();
        pair.talk(2, second(10));
        let old = pair.alice.copy();
        // The first of these messages names as its head a line that the restored log has, so it is not counted.
        pair.talk(2 + 2 * count, second(20));
        pair.stop();
        pair.alice.restore(&old);
        let found = pair.against_alice();
        let [told] = found.as_slice() else {
            panic!("{found:#?}");
        };
        let (before, rest) = told.split_once(" (its seq ").unwrap();
        let (lines, behind) = rest.split_once(") ").unwrap();
        let counted = if count == 1 {
            "1 head".to_owned()
        } else {
            format!("{count} heads")
        };
        assert_eq!(
            before,
            format!("{counted} that this agent signed and agent-bob-001 logged")
        );
        let name = if count == 1 { "names" } else { "name" };
        assert_eq!(
            behind,
            format!(
                "{name} no line of this log: lines were cut off or written anew, or this is an older copy or another version"
            )
        );
        let all: Vec<String> = (0..count).map(|at| (7 + 2 * at).to_string()).collect();
        let few = lines.strip_suffix(" and more").unwrap_or(lines);
        let few: Vec<&str> = few.split(", ").collect();
        assert_eq!(few.len() as u64, count.min(5), "{told}");
        assert!(
            few.iter().all(|line| all.contains(&(*line).to_owned())),
            "{told}"
        );
        assert_eq!(lines.ends_with(" and more"), count > 5, "{told}");
    }
}

#[test]
fn a_head_may_stand_in_a_month_that_was_not_given_and_not_in_one_that_was() {
    let mut pair = Pair::new();
    pair.talk(12, second(10));
    // This line certifies Bob's key within March: Bob's messages can be proven there, and show whose log the part is.
    pair.alice.write(march(), &trust_bob());
    let later = march().saturating_add(std::time::Duration::from_secs(10));
    pair.talk(12, later);
    pair.stop();
    let report = verify(&[pair.alice.file(MARCH), pair.bob.dir()]);
    assert!(report.holds(), "{report}");
    let alice = report
        .logs
        .iter()
        .find(|log| log.name == pair.alice.dir())
        .unwrap();
    assert!(alice.is_partial() && alice.agent.is_none(), "{report}");
    let head = alice.witnesses[0].head;
    assert!(alice.first.unwrap() < head.seq, "{report}");
    // Cut March behind its sixth line: Bob remembers later lines, and they are missing, since March was given.
    let lines = pair.alice.lines(MARCH);
    write_lines(&pair.alice.file(MARCH), &lines[..6]);
    fs::remove_file(pair.alice.file(MARCH_NOTES)).unwrap();
    let report = verify(&[pair.alice.file(MARCH), pair.bob.dir()]);
    assert!(
        report.to_string().contains("no line of this log"),
        "{report}"
    );
}

#[test]
fn of_two_versions_each_names_the_first_line_that_is_another_one_in_the_other() {
    let mut pair = Pair::new();
    pair.talk(4, second(10));
    let old = pair.alice.copy();
    pair.talk(4, second(20));
    pair.stop();
    let home = tempfile::tempdir().unwrap();
    let one = put_aside(&pair.alice.dir(), home.path().join("one"));
    pair.alice.restore(&old);
    pair.alice.start(second(20));
    pair.alice.write(second(20), &gap("another story"));
    pair.alice.stop();
    let other = put_aside(&pair.alice.dir(), home.path().join("other"));
    let report = verify(&[one.clone(), other.clone()]);
    for (log, its, others) in [(0, &one, &other), (1, &other, &one)] {
        let told: Vec<String> = report.logs[log]
            .faults
            .iter()
            .map(ToString::to_string)
            .collect();
        let expected = format!(
            "{}, seq 7: the line is another one in {}, which is a log of the same agent: there are two versions",
            its.join(FEBRUARY).display(),
            others.join(FEBRUARY).display()
        );
        assert_eq!(told, [expected]);
    }
}

/// What a log names as its head is a number of the whole log, also where its first month was not given.
#[test]
fn of_a_part_of_a_log_the_same_is_proven_beside_another_as_alone() {
    let mut pair = Pair::new();
    let (alice, bob) = (alice(), bob());
    for number in 1..=3 {
        let message = pair.alice.send(&bob, number, second(number), "In february");
        pair.bob.take(second(number), message);
    }
    let known = Entry::trust(TrustChange::Renewed, alice.certificate.clone());
    pair.bob.write(march(), &known);
    let message = pair.alice.send(&bob, 4, march(), "In march");
    pair.bob.take(march(), message);
    for number in 5..=6 {
        let message = pair.bob.send(&alice, number, march(), "And back");
        pair.alice.take(march(), message);
    }
    pair.stop();
    let (hers, his) = (pair.alice.dir(), pair.bob.file(MARCH));
    let found = reconcile(&hers, &his).unwrap();
    assert!(found.agrees() && found.open.is_empty(), "{found}");
    assert_eq!((found.agreed, found.not_compared), (3, 3), "{found}");
    let alone = verify(&[hers, his]);
    assert_eq!(found.verification.to_json(), alone.to_json());
    let of_bob = alone
        .logs
        .iter()
        .find(|log| log.name == pair.bob.dir())
        .unwrap();
    let last = of_bob.head.unwrap().seq;
    assert_eq!(of_bob.witnesses[0].head.seq, last - 1, "{alone}");
}
