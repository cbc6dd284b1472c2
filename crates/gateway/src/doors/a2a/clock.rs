//! The present, and names that nobody has used before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};
use uuid::Builder;

use crate::random::random;

/// One moment, as it is written and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(i64);

impl Moment {
    /// The present.
    pub(crate) fn read() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since.map_or(0, |since| since.as_millis());
        Self(i64::try_from(millis).unwrap_or(i64::MAX))
    }

    #[cfg(test)]
    pub(crate) const fn at_start() -> Self {
        Self(0)
    }

    /// Milliseconds since 1970.
    pub(crate) const fn millis(self) -> i64 {
        self.0
    }

    /// RFC 3339 in UTC, with milliseconds.
    pub(crate) fn text(self) -> String {
        let moment = DateTime::<Utc>::from_timestamp_millis(self.0).unwrap_or_default();
        moment.to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    /// As HTTP writes a date (RFC 9110, section 5.6.7).
    pub(crate) fn http(self) -> String {
        let moment = DateTime::<Utc>::from_timestamp_millis(self.0).unwrap_or_default();
        moment.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }

    /// A name for what is made now: a random UUID.
    pub(crate) fn id(self) -> String {
        let bytes = random().unwrap_or_else(|| {
            // The kernel gives no random bytes: make the id from the time and a counter. Ids then still differ,
            // and a guessed id gives no access to a task.
            let count = MADE.fetch_add(1, Ordering::Relaxed);
            (u128::from(self.0.unsigned_abs()) << 64 | u128::from(count)).to_be_bytes()
        });
        Builder::from_random_bytes(bytes).into_uuid().to_string()
    }
}

/// Reads RFC 3339 as milliseconds since 1970.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let moment = DateTime::parse_from_rfc3339(text).ok()?;
    Some(moment.timestamp_millis())
}

static MADE: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_with_z_and_read_again() {
        let now = Moment(1_767_225_600_123);
        assert_eq!(now.text(), "2026-01-01T00:00:00.123Z");
        assert_eq!(now.http(), "Thu, 01 Jan 2026 00:00:00 GMT");
        assert_eq!(parse(&now.text()), Some(now.millis()));
        assert_eq!(parse("2026-01-01T01:00:00+01:00"), Some(1_767_225_600_000));
        assert_eq!(parse("yesterday"), None);
        assert_ne!(now.id(), now.id());
        assert!(Moment::read().millis() > 0);
    }
}
