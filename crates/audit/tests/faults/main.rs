//! A disk that dies, fails or fills up at every single operation of a writer's life: what was said to be
//! durable is there at the next start, nothing is said to be durable after an error, and the chain holds.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub
)]

#[path = "../common/mod.rs"]
mod common;
mod plan;
mod scenario;
#[path = "../../../testkit/src/shard.rs"]
mod shard;

use std::path::Path;

use common::*;
use plan::{Dice, Fault, Plan};
use rustix::io::Errno;
use scenario::{Told, is_stopped, line, patiently, play, writer};
use shard::Shard;
use signet_audit::{LogError, verify};
use signet_proto::entry::{CauseLine, Entry};

/// The numbers of the lines in the log, which must be the first ones, and at least `durable` of them.
fn holds(dir: &Path, durable: u64, when: &str) -> u64 {
    let dir = &dir.join("log");
    let report = verify(std::slice::from_ref(dir));
    assert!(report.holds(), "{when}: {report}");
    let number = |entry: Entry| match entry {
        Entry::Gap(CauseLine { cause }) => cause.split(' ').next().unwrap().parse::<u64>().ok(),
        _ => None,
    };
    let lines = read_all(dir);
    let times: Vec<_> = lines.iter().map(|line| line.ts).collect();
    assert!(times.is_sorted(), "{when}: time goes back");
    let entries = lines.into_iter().filter_map(|line| line.entry);
    let numbers: Vec<u64> = entries.filter_map(number).collect();
    let count = numbers.len() as u64;
    assert_eq!(numbers, (0..count).collect::<Vec<_>>(), "{when}");
    assert!(count >= durable, "{when}: {count} of {durable} lines");
    count
}

/// One fault at one operation; then a start on the same machine, and one after power went as well.
fn survives(at: u64, fault: Fault, power_goes: bool) -> Told {
    let when = format!("{fault:?} at operation {at}, power loss {power_goes}");
    let dir = in_memory();
    let plan = Plan::new(dir.path(), at);
    plan.arm(at, fault);
    let told = play(dir.path(), &plan);
    plan.heal();
    if power_goes {
        plan.power_loss();
    }
    let now = self::at("2026-04-03T00:00:00Z");
    let mut log = writer(&plan, dir.path(), now).unwrap_or_else(|error| panic!("{when}: {error}"));
    let count = holds(dir.path(), told.durable, &when);
    assert!(count <= told.appended + 1, "{when}");
    log.append(now, &line(count)).unwrap();
    let head = log.commit().unwrap();
    // Cut the power as well: lines that this start found, and did not write itself, must also be on the disk by now.
    plan.power_loss();
    drop(log);
    let again = writer(&plan, dir.path(), now).unwrap();
    assert!(again.head().unwrap().seq >= head.seq, "{when}");
    assert_eq!(holds(dir.path(), count + 1, &when), count + 1, "{when}");
    told
}

fn operations() -> u64 {
    let dir = in_memory();
    let plan = Plan::new(dir.path(), 0);
    let told = play(dir.path(), &plan);
    assert!(told.error.is_none() && told.durable == 90, "{told:?}");
    holds(dir.path(), 90, "without a fault");
    plan.count()
}

/// With `SIGNET_STEPS=all` (`make torture`) every case; else one, in turn from operation to operation.
fn of_these<T: Copy>(at: u64, cases: &[T]) -> Vec<T> {
    match std::env::var("SIGNET_STEPS").as_deref() {
        Ok("all") => cases.to_vec(),
        _ => vec![cases[at as usize % cases.len()]],
    }
}

#[test]
fn killed_at_every_operation() {
    let all = operations();
    println!("{all} operations");
    for at in 1..=all {
        for fault in of_these(at, &[Fault::Kill, Fault::Torn]) {
            survives(at, fault, false);
        }
    }
}

#[test]
fn power_lost_at_every_operation() {
    for at in 1..=operations() {
        for fault in of_these(at, &[Fault::Kill, Fault::Torn]) {
            survives(at, fault, true);
        }
    }
}

#[test]
fn an_error_at_every_operation_ends_everything_at_once() {
    for at in 1..=operations() {
        let errors = [Errno::IO, Errno::ROFS, Errno::NOSPC];
        let cases = errors.map(|errno| [(errno, false), (errno, true)]);
        for (errno, power_goes) in of_these(at, cases.as_flattened()) {
            let told = survives(at, Fault::Answer(errno), power_goes);
            match &told.error {
                Some(error) => assert!(error.is_of_the_disk(), "{errno:?} at {at}: {error}"),
                None => assert_eq!(told.durable, 90, "{errno:?} at {at} harms nothing"),
            }
        }
    }
}

#[test]
fn a_disk_that_is_full_at_any_operation_only_delays() {
    let mut delays = 0;
    for at in 1..=operations() {
        let faults = [
            Fault::NoRoom(1),
            Fault::NoRoom(7),
            Fault::ShortThenNoRoom(5),
            Fault::Short,
        ];
        for fault in of_these(at, &faults) {
            let told = survives(at, fault, at / 4 % 2 == 0);
            assert!(told.error.is_none(), "{fault:?} at {at}: {told:?}");
            assert_eq!(told.durable, 90, "{fault:?} at {at}");
            delays += told.full;
        }
    }
    assert!(delays > 250, "{delays} delays");
}

#[test]
fn one_fault_after_another_by_chance() {
    for seed in seeds() {
        let dir = in_memory();
        let (plan, mut dice) = (Plan::new(dir.path(), seed), Dice(seed));
        let now = at("2026-04-03T00:00:00Z");
        let mut durable = 0;
        for round in 0..6 {
            let faults = [
                Fault::Kill,
                Fault::Torn,
                Fault::Answer(Errno::IO),
                Fault::Answer(Errno::ROFS),
                Fault::ShortThenNoRoom(3),
            ];
            plan.arm(dice.below(25) as u64 + 1, faults[dice.below(faults.len())]);
            let mut told = Told::default();
            let opened = patiently(&mut told, || writer(&plan, dir.path(), now));
            if let Ok(mut log) = opened {
                let mut next = holds(dir.path(), durable, &format!("seed {seed}, round {round}"));
                durable = next;
                let limit = next + 12;
                while next < limit && patiently(&mut told, || log.append(now, &line(next))).is_ok()
                {
                    next += 1;
                    if dice.below(2) == 0 {
                        if patiently(&mut told, || log.commit()).is_err() {
                            break;
                        }
                        durable = next;
                    }
                }
            }
            plan.heal();
            if dice.below(3) == 0 {
                plan.power_loss();
            }
        }
        drop(writer(&plan, dir.path(), now).unwrap());
        holds(dir.path(), durable, &format!("seed {seed} at the end"));
    }
}

#[test]
fn a_full_disk_tells_of_itself_before_it_tears_a_line() {
    let dir = in_memory();
    let plan = Plan::new(dir.path(), 1);
    let mut log = writer(&plan, dir.path(), second(0)).unwrap();
    let before = std::fs::read(dir.path().join("log").join(FEBRUARY)).unwrap();
    log.append(second(1), &gap(&"x".repeat(1_000_000))).unwrap();
    log.commit().unwrap();
    for _ in 0..4 {
        log.append(second(1), &gap(&"x".repeat(1_000_000))).unwrap();
    }
    plan.arm(1, Fault::NoRoom(1));
    let error = log.commit().unwrap_err();
    assert!(matches!(error, LogError::Full(_)), "{error}");
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(
        log.head().unwrap().seq,
        2,
        "nothing of the group is durable"
    );
    assert!(
        std::fs::read(dir.path().join("log").join(FEBRUARY))
            .unwrap()
            .starts_with(&before)
    );
    assert_eq!(log.commit().unwrap().seq, 6, "and nothing of it is lost");
}

#[test]
fn a_read_only_file_system_is_named_at_the_start_and_later() {
    let dir = in_memory();
    let plan = Plan::new(dir.path(), 1);
    let open = || writer(&plan, dir.path(), second(0));
    let mut log = open().unwrap();
    log.append(second(1), &gap("x")).unwrap();
    plan.arm(2, Fault::Answer(Errno::ROFS));
    let error = log.commit().unwrap_err();
    assert!(matches!(error, LogError::ReadOnly(_)), "{error}");
    assert!(error.to_string().contains("read-only"), "{error}");
    is_stopped(&mut log);
    drop(log);
    for at in 2..8 {
        plan.heal();
        plan.arm(at, Fault::Answer(Errno::ROFS));
        if let Err(error) = open() {
            assert!(matches!(error, LogError::ReadOnly(_)), "{error}");
        }
    }
}

#[test]
fn after_a_failed_fsync_the_next_start_writes_the_file_anew() {
    use std::os::unix::fs::MetadataExt as _;
    let dir = in_memory();
    let inode = || {
        std::fs::metadata(dir.path().join("log").join(FEBRUARY))
            .unwrap()
            .ino()
    };
    let plan = Plan::new(dir.path(), 1);
    let mut log = writer(&plan, dir.path(), second(0)).unwrap();
    log.append(second(1), &gap("x")).unwrap();
    plan.arm(2, Fault::Answer(Errno::IO));
    assert!(matches!(log.commit(), Err(LogError::Io { .. })));
    drop(log);
    plan.heal();
    let before = inode();
    let log = writer(&plan, dir.path(), second(0)).unwrap();
    assert_ne!(inode(), before, "a fresh copy");
    assert_eq!(log.head().unwrap().seq, 2);
    drop(log);
    let before = inode();
    drop(writer(&plan, dir.path(), second(2)).unwrap());
    assert_eq!(inode(), before, "a clean stop costs nothing");
}

#[test]
fn a_reader_follows_into_the_fresh_copy() {
    let dir = in_memory();
    let mut log = open(dir.path(), second(0));
    log.append(second(1), &gap("one")).unwrap();
    log.commit().unwrap();
    let mut lines = signet_audit::read_file(&dir.path().join(FEBRUARY)).unwrap();
    assert_eq!(lines.by_ref().count(), 2);
    drop(log);
    // Without an anchor every start writes the file anew: the reader has to go on in the new file.
    let mut log = open(dir.path(), second(1));
    log.append(second(2), &gap("two")).unwrap();
    log.commit().unwrap();
    assert_eq!(lines.next().unwrap().unwrap().seq, 3);
    assert!(lines.next().is_none());
}

/// `SIGNET_SEEDS` makes it longer, `SIGNET_SHARD=2/4` takes the second of every four; the seed of a failure
/// is in its text.
fn seeds() -> impl Iterator<Item = u64> {
    let seeds = std::env::var("SIGNET_SEEDS").map_or(300, |text| text.parse().unwrap());
    Shard::asked().of(0..seeds)
}

/// Thousands of fsyncs: in memory they cost nothing, and the plan knows what they mean.
fn in_memory() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    match tempfile::tempdir_in(shared) {
        Ok(dir) => dir,
        Err(_) => tempfile::tempdir().unwrap(),
    }
}
