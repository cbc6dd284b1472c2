//! Numbers of the daemon, for whoever keeps the machine: what it counted, how long steps took, and what stands now.
//!
//! No number names a peer, a person, a conversation or a capability, and nothing that anybody wrote is among them: reasons are
//! those of the protocol's table, and carriers those of the configuration.

use serde::{Deserialize, Serialize};

/// The numbers of the daemon.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShowMetrics {}

/// The numbers of the daemon. Counts and times begin at its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Metrics {
    /// The release of the daemon.
    pub version: String,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// Messages by what was decided about them.
    pub messages: MessageCounts,
    /// How often each reason of the protocol's table was given to a message that came; those that never were, too.
    pub rejections: Vec<ReasonCount>,
    /// How long steps took.
    pub times: StepTimes,
    /// How often a peer's clock was found to be more than a minute apart from ours.
    pub clock_warnings: u64,
    /// The number of the newest durable line of the log.
    pub log_lines: u64,
    /// Bytes that were written to the log since the start.
    pub log_bytes: u64,
    /// The carriers that the configuration names.
    pub carriers: Vec<CarrierState>,
    /// The numbers that rise and fall, as they stand now.
    pub standing: StandingNumbers,
}

/// Messages by what was decided about them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct MessageCounts {
    /// Messages that came and were accepted.
    pub accepted: u64,
    /// Messages that came and were refused, each with a line of its own, copies among them.
    pub refused: u64,
    /// Messages that came over a budget: a line of the log counts them together.
    pub counted: u64,
    /// Messages of ours, each when it was signed.
    pub sent: u64,
}

/// How often a reason was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ReasonCount {
    /// Its name in the protocol's table.
    pub reason: String,
    /// How often.
    pub count: u64,
}

/// How long steps took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct StepTimes {
    /// To read and verify a message that came (checks V01 to V07).
    pub verify: TimeHistogram,
    /// To rule on it (checks V08 to V12).
    pub judge: TimeHistogram,
    /// To append a group of lines to the log, with the wait for the disk.
    pub append: TimeHistogram,
    /// From when a message of ours was made until its receipt, the wait for a person among it.
    pub receipt: TimeHistogram,
    /// From when a request of ours was made until its answer, likewise.
    pub answer: TimeHistogram,
}

/// How many times were how long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct TimeHistogram {
    /// The longest time of each range, in microseconds, from the shortest on. The last range has no end, and stands not here.
    pub bounds_us: Vec<u64>,
    /// How many times fell into each range: one more than there are bounds.
    pub counts: Vec<u64>,
    /// All times together, in microseconds.
    pub sum_us: u64,
}

/// A carrier of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct CarrierState {
    /// Its name.
    pub carrier: String,
    /// Whether it is up.
    pub up: bool,
}

/// The numbers that rise and fall: what waits, rings or holds at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct StandingNumbers {
    /// Messages of ours that no receipt has settled, without those that wait for a person's word.
    pub outbox: u64,
    /// How long the oldest of these has stood, in seconds; 0 where there is none.
    pub outbox_oldest: u64,
    /// Messages in the inbox.
    pub inbox: u64,
    /// Messages whose handling failed five times.
    pub quarantine: u64,
    /// Messages of ours that wait for the person's approval.
    pub drafts: u64,
    /// Strangers that wait for an introduction.
    pub introductions: u64,
    /// Alarms that ring, and root keys under which somebody uses the name of a known person.
    pub alarms: u64,
    /// Whether the disk is full, so that nothing is taken in or sent.
    pub disk_full: bool,
    /// Whether the agents of this person pause.
    pub paused: bool,
    /// Whether the person took the agent's certificate back.
    pub revoked: bool,
    /// When the agent's certificate ends, in seconds since 1970.
    pub certificate_ends: i64,
    /// Whether our clock stands outside the dates of the certificate.
    pub clock_outside: bool,
    /// A peer's clock minus ours, in milliseconds, as it was last found to be more than a minute apart; 0 where none was within
    /// the last hour.
    pub clock_offset_ms: i64,
}

quiet!(ShowMetrics);
