//! Where a task stands: it only ever goes forward.

use std::fmt;
use std::str::FromStr;

use crate::words::words;

words! {
    /// A task between one giver and one holder.
    ///
    /// ```text
    /// offered ─▶ accepted ─▶ working ─▶ completed · failed · returned
    ///        └─▶ declined
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum TaskState {
        /// Given, and not yet answered.
        Offered "offered",
        /// The holder took it.
        Accepted "accepted",
        /// The holder is at it.
        Working "working",
        /// The holder, or its daemon, did not take it.
        Declined "declined",
        /// Done.
        Completed "completed",
        /// It could not be done.
        Failed "failed",
        /// The holder gives it back undone.
        Returned "returned",
        /// Its time ended while it was open, the offer never left, or its other side is trusted no more.
        Expired "expired",
    }
}

impl TaskState {
    /// Whether it can still change by somebody's word.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Offered | Self::Accepted | Self::Working)
    }

    /// Whether the holder has taken it and may act under it.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Accepted | Self::Working)
    }

    /// Whether a holder reports it.
    pub const fn is_report(self) -> bool {
        matches!(
            self,
            Self::Working | Self::Completed | Self::Failed | Self::Returned
        )
    }

    /// Whether `next` may follow. A report that overtakes the answer takes the task as well.
    pub const fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Offered, Self::Offered) => false,
            (Self::Offered, _) | (Self::Accepted, Self::Working) => true,
            (Self::Accepted | Self::Working, next) => {
                matches!(next, Self::Completed | Self::Failed | Self::Returned)
            }
            _ => false,
        }
    }
}

impl FromStr for TaskState {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        Self::of(text).ok_or(UnknownState)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a state of a task; a holder reports working, completed, failed or returned")]
pub struct UnknownState;
