//! The one place where the clocks are read: the one that people set, and the one that nobody does.

use std::sync::LazyLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use signet_proto::node::At;
use signet_proto::time::Timestamp;

/// The present, in whole milliseconds, as the log writes it.
pub fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The present for a node that this process asks itself: no line of a log is written with it.
pub fn at() -> At {
    At {
        now: now(),
        elapsed: elapsed(),
        head: None,
    }
}

/// How long this process has asked, by a clock that only goes on.
pub fn elapsed() -> Duration {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    FIRST.elapsed()
}
