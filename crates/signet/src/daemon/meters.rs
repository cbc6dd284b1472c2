//! Counters for whoever keeps the machine: how many messages, for which reasons, and how long steps took.
//!
//! Event loop, workers and journal count here side by side. There is one counter for each direction, verdict and reason of the
//! protocol's table, made at the start: whatever peers and strangers send, no counter is added.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use signet_api::{MessageCounts, ReasonCount, StepTimes, TimeHistogram};
use signet_audit::LogPosition;
use signet_proto::entry::{Direction, Entry, Ruling, Verdict};
use signet_proto::ids::MessageId;
use signet_proto::node::{Disposition, Effect, Outcome, State};
use signet_proto::reject::Reason;
use signet_proto::time::Timestamp;

use crate::attention::made_at;
use crate::clock;

/// The counters of a daemon, from its start on.
#[derive(Debug)]
pub(super) struct Meters {
    started: Timestamp,
    accepted: AtomicU64,
    refused: AtomicU64,
    counted: AtomicU64,
    sent: AtomicU64,
    /// In the order of [`Reason::ALL`].
    rejections: Vec<AtomicU64>,
    pub(super) verify: StepMeter,
    pub(super) judge: StepMeter,
    append: StepMeter,
    receipt: StepMeter,
    answer: StepMeter,
    log_bytes: AtomicU64,
    clock_warnings: AtomicU64,
    /// The clocks that were found apart last: by how many milliseconds, and when.
    apart_by: AtomicI64,
    apart_at: AtomicI64,
}

impl Default for Meters {
    fn default() -> Self {
        Self {
            started: clock::now(),
            accepted: AtomicU64::default(),
            refused: AtomicU64::default(),
            counted: AtomicU64::default(),
            sent: AtomicU64::default(),
            rejections: Reason::ALL.iter().map(|_| AtomicU64::default()).collect(),
            verify: StepMeter::of(&STEP_BOUNDS),
            judge: StepMeter::of(&STEP_BOUNDS),
            append: StepMeter::of(&STEP_BOUNDS),
            receipt: StepMeter::of(&PEER_BOUNDS),
            answer: StepMeter::of(&PEER_BOUNDS),
            log_bytes: AtomicU64::default(),
            clock_warnings: AtomicU64::default(),
            apart_by: AtomicI64::default(),
            apart_at: AtomicI64::new(i64::MIN),
        }
    }
}

impl Meters {
    /// Counts what the node made of an input at `now`: the lines, and the waits that it ends.
    pub(super) fn note_outcome(&self, now: Timestamp, outcome: &Outcome) {
        if outcome.ruled == Some(Disposition::Counted) {
            add(&self.counted, 1);
        }
        for entry in &outcome.entries {
            match entry {
                Entry::Message(verdict) => self.note_verdict(verdict),
                Entry::Clock(line) => {
                    add(&self.clock_warnings, 1);
                    self.apart_by.store(line.difference_ms, Ordering::Relaxed);
                    self.apart_at.store(now.as_millis(), Ordering::Relaxed);
                }
                // All other lines say what became of messages or tasks, which the standing numbers show.
                _ => {}
            }
        }
        for effect in &outcome.effects {
            match effect {
                Effect::Settle {
                    message_id,
                    state: State::Received,
                    ..
                } => self.receipt.note(age(now, *message_id)),
                Effect::Answer(answer) | Effect::Pong(answer) => {
                    let request = answer.message().headers.in_reply_to;
                    if let Some(request) = request {
                        self.answer.note(age(now, request));
                    }
                }
                // All other effects end no wait of ours for a peer.
                _ => {}
            }
        }
    }

    fn note_verdict(&self, verdict: &Verdict) {
        match (verdict.direction, verdict.ruling) {
            (Direction::Out, _) => add(&self.sent, 1),
            (Direction::In, Ruling::Rejected(reason)) => {
                add(&self.refused, 1);
                if let Some(count) = self.rejections.get(reason as usize) {
                    add(count, 1);
                }
            }
            (Direction::In, Ruling::Accepted | Ruling::Sent) => add(&self.accepted, 1),
        }
    }

    /// A group of lines became durable: its work began at `began`, and it reaches in the log from `before` to `after`.
    pub(super) fn note_append(&self, began: Duration, before: &LogPosition, after: &LogPosition) {
        // A group without a line, which only answers calls, waits for no disk.
        if before.head.seq == after.head.seq {
            return;
        }
        self.append.note(clock::elapsed().saturating_sub(began));
        // In a new month's file the offset begins anew. The lines that ended the old month are not counted then: they are few.
        let from = if before.file == after.file {
            before.offset
        } else {
            0
        };
        add(&self.log_bytes, after.offset.saturating_sub(from));
    }

    /// When the daemon began, in seconds since 1970.
    pub(super) fn started(&self) -> u64 {
        u64::try_from(self.started.as_millis() / 1000).unwrap_or_default()
    }

    pub(super) fn messages(&self) -> MessageCounts {
        MessageCounts {
            accepted: read(&self.accepted),
            refused: read(&self.refused),
            counted: read(&self.counted),
            sent: read(&self.sent),
        }
    }

    /// Every reason of the table, those that were never given, too.
    pub(super) fn rejections(&self) -> Vec<ReasonCount> {
        let all = Reason::ALL.iter().zip(&self.rejections);
        let named = all.map(|(reason, count)| ReasonCount {
            reason: reason.name().to_owned(),
            count: read(count),
        });
        named.collect()
    }

    pub(super) fn times(&self) -> StepTimes {
        StepTimes {
            verify: self.verify.times(),
            judge: self.judge.times(),
            append: self.append.times(),
            receipt: self.receipt.times(),
            answer: self.answer.times(),
        }
    }

    /// Bytes that were written to the log since the start.
    pub(super) fn log_bytes(&self) -> u64 {
        read(&self.log_bytes)
    }

    /// How often clocks were found to be apart.
    pub(super) fn clock_warnings(&self) -> u64 {
        read(&self.clock_warnings)
    }

    /// By how many milliseconds they were, where that was found within the last hour; else 0.
    pub(super) fn clock_offset(&self, now: Timestamp) -> i64 {
        let found = self.apart_at.load(Ordering::Relaxed);
        let is_recent = now.as_millis().saturating_sub(found) <= APART_FOR;
        match is_recent {
            true => self.apart_by.load(Ordering::Relaxed),
            false => 0,
        }
    }
}

/// How many times were how long.
#[derive(Debug)]
pub(super) struct StepMeter {
    /// The longest time of each range, in microseconds; the last range has no end.
    bounds: &'static [u64],
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

impl StepMeter {
    fn of(bounds: &'static [u64]) -> Self {
        let ranges = 0..=bounds.len();
        Self {
            bounds,
            counts: ranges.map(|_| AtomicU64::default()).collect(),
            sum: AtomicU64::default(),
        }
    }

    /// Counts one time.
    pub(super) fn note(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let range = self.bounds.partition_point(|bound| *bound < micros);
        if let Some(count) = self.counts.get(range) {
            add(count, 1);
        }
        add(&self.sum, micros);
    }

    fn times(&self) -> TimeHistogram {
        TimeHistogram {
            bounds_us: self.bounds.to_vec(),
            counts: self.counts.iter().map(read).collect(),
            sum_us: read(&self.sum),
        }
    }
}

/// How long ago a message of ours was made.
fn age(now: Timestamp, message_id: MessageId) -> Duration {
    now.since(made_at(message_id))
}

// Each number is read by itself, and none decides anything: no order between them is needed.
fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// The ranges of steps within the daemon, in microseconds: from 10 µs to 10 s.
const STEP_BOUNDS: [u64; 16] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 100_000, 250_000, 1_000_000,
    2_500_000, 10_000_000,
];
/// The ranges of waits for a peer, in microseconds: from 2.5 ms to a day.
const PEER_BOUNDS: [u64; 16] = [
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    10_000_000,
    60_000_000,
    300_000_000,
    3_600_000_000,
    21_600_000_000,
    86_400_000_000,
];
/// For how long a difference of clocks is shown after it was found, in milliseconds: the node notes one every five minutes while
/// it lasts and something is signed.
const APART_FOR: i64 = 3_600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_counts_in_the_range_whose_end_it_does_not_pass() {
        let meter = StepMeter::of(&[10, 20]);
        for micros in [0, 10, 11, 20, 21, 1_000] {
            meter.note(Duration::from_micros(micros));
        }
        let times = meter.times();
        assert_eq!((times.counts, times.sum_us), (vec![2, 2, 2], 1_062));
        meter.note(Duration::MAX);
        assert_eq!(meter.times().counts, [2, 2, 3]);
    }

    #[test]
    fn the_ranges_rise() {
        for bounds in [STEP_BOUNDS, PEER_BOUNDS] {
            assert!(bounds.windows(2).all(|two| two[0] < two[1]), "{bounds:?}");
        }
    }

    #[test]
    fn each_reason_has_the_counter_of_its_place_in_the_table() {
        for (place, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, place, "{reason}");
        }
        let names = Meters::default().rejections();
        assert_eq!(names.len(), Reason::ALL.len());
    }

    #[test]
    fn clocks_that_were_apart_an_hour_ago_are_not_shown_as_apart() {
        let (meters, now) = (Meters::default(), clock::now());
        assert_eq!(meters.clock_offset(now), 0, "nothing was found yet");
        meters.apart_by.store(-90_000, Ordering::Relaxed);
        meters.apart_at.store(now.as_millis(), Ordering::Relaxed);
        assert_eq!(meters.clock_offset(now), -90_000);
        let later = now.saturating_add(Duration::from_secs(3_601));
        assert_eq!(meters.clock_offset(later), 0);
    }
}
