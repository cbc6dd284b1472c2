//! The one place where the clock is read.

use std::time::{SystemTime, UNIX_EPOCH};

use signet_proto::time::Timestamp;

/// The present, in whole milliseconds, as the log writes it.
pub fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
