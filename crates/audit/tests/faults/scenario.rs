//! A writer's life: what it writes, and what it is told meanwhile.

use std::path::Path;
use std::sync::Arc;

use signet_audit::{CheckpointKeys, Custody, Log, LogError};
use signet_proto::entry::{Alarm, AlarmLine, Entry, HoleLine};
use signet_proto::ids::{Digest, SessionId};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use super::common::*;
use super::plan::Plan;

/// What a writer does in the scenario.
pub(crate) enum Step {
    Append(Timestamp, u64),
    Commit,
    /// Signs what is durable.
    Checkpoint,
    /// Stops cleanly and starts again.
    Restart(Timestamp),
}

/// February into March and April, groups of one to nine lines, long ones among them, and two restarts.
pub(crate) fn scenario() -> Vec<Step> {
    let mut steps = Vec::new();
    for number in 0..90 {
        let now = match number {
            0..30 => second(number),
            // The clock goes ahead to March, and then back into February's last hour.
            30..32 => march(),
            32..60 => at("2026-02-28T23:00:01Z"),
            _ => at("2026-04-02T00:00:00Z"),
        };
        steps.push(Step::Append(now, number));
        if number % 10 < 5 || number % 10 == 9 {
            steps.push(Step::Commit);
        }
        if number % 15 == 4 {
            steps.push(Step::Checkpoint);
        }
        if number == 24 || number == 70 {
            steps.push(Step::Restart(now));
        }
    }
    steps.push(Step::Commit);
    steps
}

pub(crate) fn line(number: u64) -> Entry {
    let padding = if number.is_multiple_of(13) {
        20_000
    } else {
        10
    };
    gap(&format!("{number} {}", "x".repeat(padding)))
}

/// Lines that a start obeys only when they are anchored: the agent's memory, and a person's word.
fn weighty(number: u64) -> Option<Entry> {
    let peer = bob().certificate.agent;
    match number % 11 {
        3 => Some(Entry::Hole(HoleLine {
            peer,
            session: SessionId(Digest([2; 32])),
            from: number,
            to: number,
        })),
        7 => Some(Entry::Alarm(AlarmLine {
            peer,
            what: Alarm::Restored,
            cleared: true,
        })),
        _ => None,
    }
}

/// What the writer was told.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// So many lines were taken.
    pub(crate) appended: u64,
    /// So many of them were said to be durable.
    pub(crate) durable: u64,
    /// How it ended, if not well.
    pub(crate) error: Option<LogError>,
    /// How often there was no room.
    pub(crate) full: u64,
}

/// Plays the scenario and waits whenever there is no room, until anything else goes wrong.
pub(crate) fn play(dir: &Path, plan: &Arc<Plan>) -> Told {
    let mut told = Told::default();
    let mut log = None;
    for step in scenario() {
        if let Err(error) = take(dir, plan, &mut log, &step, &mut told) {
            if let Some(log) = &mut log {
                is_stopped(log);
            }
            told.error = Some(error);
            break;
        }
    }
    told
}

pub(crate) fn take(
    dir: &Path,
    plan: &Arc<Plan>,
    log: &mut Option<Log>,
    step: &Step,
    told: &mut Told,
) -> Result<(), LogError> {
    let first = second(0);
    if log.is_none() {
        *log = Some(patiently(told, || writer(plan, dir, first))?);
    }
    let open = log.as_mut().unwrap();
    match step {
        Step::Append(now, number) => {
            for entry in weighty(*number).iter().chain([&line(*number)]) {
                patiently(told, || open.append(*now, entry))?;
            }
            told.appended += 1;
        }
        Step::Commit => {
            let before = open.head();
            patiently(told, || {
                let done = open.commit();
                if done.is_err() {
                    assert_eq!(open.head(), before, "nothing is durable after an error");
                }
                done
            })?;
            told.durable = told.appended;
        }
        Step::Checkpoint => patiently(told, || open.checkpoint())?,
        Step::Restart(now) => {
            drop(log.take());
            *log = Some(patiently(told, || writer(plan, dir, *now))?);
        }
    }
    Ok(())
}

/// A writer with checkpoints and an anchor; its log is in one directory of `dir`, its keys in another.
pub(crate) fn writer(plan: &Arc<Plan>, dir: &Path, now: Timestamp) -> Result<Log, LogError> {
    let mut seed = plan.count();
    let keys = CheckpointKeys::new(dir.join("keys"), move || {
        seed += 1;
        let mut bytes = Zeroizing::new([7; 32]);
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Ok(bytes)
    });
    let faults = Arc::clone(plan) as _;
    let custody = Custody::new(keys, dir.join("anchor"));
    // By the count of operations a start either believes the tree of its anchor and leaves these lines to be read
    // later, as a daemon's does, or reads all of them itself: both ways are tested.
    let custody = match plan.count() % 2 {
        0 => custody.reading_later(),
        _ => custody,
    };
    Log::open_on(faults, &dir.join("log"), now, &genesis(), Some(custody))
}

/// Again and again while there is no room.
pub(crate) fn patiently<T>(
    told: &mut Told,
    mut attempt: impl FnMut() -> Result<T, LogError>,
) -> Result<T, LogError> {
    loop {
        match attempt() {
            Err(LogError::Full(_)) => told.full += 1,
            done => return done,
        }
    }
}

/// After an error nothing is ever said to be durable again, whatever the disk does.
pub(crate) fn is_stopped(log: &mut Log) {
    let head = log.head();
    assert!(matches!(
        log.append(march(), &line(0)),
        Err(LogError::Stopped)
    ));
    assert!(matches!(log.commit(), Err(LogError::Stopped)));
    assert_eq!(log.head(), head);
}
