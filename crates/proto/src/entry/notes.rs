//! Lines of one or three members: what was counted, what differs, what was lost.

use super::members::members;
use super::{LineSubject, quoted};
use crate::ids::{AgentId, Digest};
use signet_text::counted;

members! {
    /// A peer's clock and ours differ.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ClockLine {
        /// Whose; our own agent's, when its own clock was put back.
        "peer" peer: AgentId,
        /// The peer's minus ours, in milliseconds.
        "difference-ms" difference_ms: i64,
    }

    fn about(&self) -> LineSubject {
        LineSubject::peer(&self.peer)
    }

    fn describe(&self) -> String {
        format!(
            "{:<12}  {:<14}  {} ms from this log's time",
            "clock", self.peer, self.difference_ms
        )
    }
}

members! {
    /// Input over a budget that shares a line.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Flood {
        /// How many.
        "count" count: u64,
        /// Their bytes altogether.
        "bytes" bytes: u64 = integer(),
        /// SHA-256 over the running hash and each one's hash, in order of arrival, from 32 zero bytes.
        "sha256" hash: Digest,
    }

    fn describe(&self) -> String {
        format!(
            "{} of strangers, {}, counted only",
            counted(self.count, "input"),
            counted(self.bytes, "byte")
        )
    }
}

members! {
    /// A line that is known to be lost.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct LossLine {
        /// The newest one.
        "line" line: u64,
        /// SHA-256 of that line.
        "sha256" hash: Digest,
    }

    fn describe(&self) -> String {
        format!(
            "line {} ({}) was lost, and that was accepted",
            self.line,
            self.hash.to_hex()
        )
    }
}

members! {
    /// Why something had to be made good.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CauseLine {
        /// For a person.
        "cause" cause: String,
    }

    fn describe(&self) -> String {
        quoted(&self.cause)
    }
}
