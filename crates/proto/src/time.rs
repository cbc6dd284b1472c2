//! Points in time: RFC 3339 in UTC. There is no clock here; the present is an argument.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use chrono::{DateTime, Datelike, NaiveDate, Timelike, Utc};

/// A moment from 1970-01-01 to the end of 2261, in UTC, to the nanosecond.
///
/// It is written with exactly three fraction digits; arithmetic stops at the two ends, so what is
/// written can always be read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(i64);

/// How far a sender's clock may be ahead of the recipient's (check V09).
pub(crate) const CLOCK_TOLERANCE: Duration = Duration::from_secs(60);

/// Why a text is not a time. It does not repeat the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Not of the form that the protocol reads.
    #[error("not a UTC time: use RFC 3339 with 'T' and 'Z', such as 2026-02-08T17:00:00.000Z")]
    Form,
    /// Of the right form, but no such moment (30 February, 24:00, second 60).
    #[error("no such date or time: use an existing day, hours to 23, minutes and seconds to 59")]
    NoSuchMoment,
    /// A year that a timestamp cannot hold.
    #[error("year out of range: use a year from 1970 to 2261")]
    Year,
}

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The moment `millis` milliseconds after 1970-01-01T00:00:00Z, or the nearest that exists.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self::clamped(millis.saturating_mul(NANOS_PER_MILLI))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0 / NANOS_PER_MILLI
    }

    /// The moment `span` later, or the last one.
    #[must_use]
    pub fn saturating_add(self, span: Duration) -> Self {
        Self::clamped(self.0.saturating_add(nanos(span)))
    }

    /// The moment `span` earlier, or the first one.
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        Self::clamped(self.0.saturating_sub(nanos(span)))
    }

    /// The time that has passed since `earlier`; zero if `earlier` is the later one.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        let nanos = self.0.saturating_sub(earlier.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
    }

    /// Whether `earlier` lies less than `span` back. What lies ahead, because a clock was set back, does
    /// not.
    #[must_use]
    pub fn is_within(self, span: Duration, earlier: Self) -> bool {
        earlier <= self && self.since(earlier) < span
    }

    /// The month as `YYYY-MM`, the name of an audit file.
    #[must_use]
    pub fn month(self) -> String {
        let date = self.to_date_time();
        format!("{:04}-{:02}", date.year(), date.month())
    }

    /// The nanoseconds since 1970-01-01T00:00:00Z, big-endian: bytes that are ordered as the times are.
    pub(crate) const fn to_be_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }

    /// Reads what [`Timestamp::to_be_bytes`] gives, and nothing else.
    pub(crate) fn from_be_bytes(bytes: [u8; 8]) -> Option<Self> {
        let nanos = i64::from_be_bytes(bytes);
        (0..=LAST).contains(&nanos).then_some(Self(nanos))
    }

    const fn clamped(nanos: i64) -> Self {
        match nanos {
            i64::MIN..0 => Self(0),
            0..=LAST => Self(nanos),
            _ => Self(LAST),
        }
    }

    fn to_date_time(self) -> DateTime<Utc> {
        DateTime::from_timestamp_nanos(self.0)
    }
}

impl From<Timestamp> for Duration {
    /// Since 1970.
    fn from(time: Timestamp) -> Self {
        time.since(Timestamp::EPOCH)
    }
}

impl FromStr for Timestamp {
    type Err = TimeError;

    /// Reads `YYYY-MM-DDTHH:MM:SS[.f]Z` with one to nine fraction digits.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let text = text.strip_suffix('Z').ok_or(TimeError::Form)?;
        let (moment, fraction) = text
            .as_bytes()
            .split_at_checked(MOMENT.len())
            .ok_or(TimeError::Form)?;
        let nanos = fraction_nanos(fraction).ok_or(TimeError::Form)?;
        if !has_moment_shape(moment) {
            return Err(TimeError::Form);
        }
        let seconds = moment_seconds(moment)?;
        Ok(Self(seconds * NANOS_PER_SECOND + nanos))
    }
}

fn has_moment_shape(moment: &[u8]) -> bool {
    moment.iter().zip(MOMENT).all(|(byte, model)| match model {
        b'0' => byte.is_ascii_digit(),
        mark => byte == mark,
    })
}

/// Seconds since 1970 of a text of the right shape.
fn moment_seconds(moment: &[u8]) -> Result<i64, TimeError> {
    let (year, month, day) = (
        number(moment, 0, 4),
        number(moment, 5, 2),
        number(moment, 8, 2),
    );
    let (hour, minute, second) = (
        number(moment, 11, 2),
        number(moment, 14, 2),
        number(moment, 17, 2),
    );
    // Nanoseconds in an i64 end in April 2262: the last whole year before that keeps all sums here in range.
    if !(1970..=2261).contains(&year) {
        return Err(TimeError::Year);
    }
    i32::try_from(year)
        .ok()
        .and_then(|year| NaiveDate::from_ymd_opt(year, month, day))
        .and_then(|date| date.and_hms_opt(hour, minute, second))
        .map(|moment| moment.and_utc().timestamp())
        .ok_or(TimeError::NoSuchMoment)
}

/// The digits at `start..start + len`, already known to be digits.
fn number(moment: &[u8], start: usize, len: usize) -> u32 {
    let digits = moment.iter().skip(start).take(len);
    digits.fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
}

/// Nanoseconds of an empty text, or of a point and one to nine digits.
fn fraction_nanos(fraction: &[u8]) -> Option<i64> {
    let digits = match fraction {
        [] => return Some(0),
        [b'.', digits @ ..] => digits,
        _ => return None,
    };
    if !matches!(digits.len(), 1..=9) || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let places = digits.iter().chain(std::iter::repeat(&b'0')).take(9);
    Some(places.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

fn nanos(span: Duration) -> i64 {
    // A span that is too long for i64 becomes i64::MAX, which is 292 years. A sum with it lies after the last year, a
    // difference before the first: `clamped`, which the callers call, gives the last or the first moment.
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

impl Timestamp {
    /// As [`Display`](fmt::Display) writes it, for a caller that appends the bytes to others: `2026-02-08T17:00:00.000Z`.
    #[must_use]
    pub fn to_text(self) -> [u8; 24] {
        let date = self.to_date_time();
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // Put the digits in place: formatting seven numbers is slower, and a reader of a log does this for every line,
        // which it writes anew to compare it.
        let mut put = |from: usize, to: usize, mut number: u32| {
            for digit in text.iter_mut().take(to).skip(from).rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        };
        put(0, 4, date.year().unsigned_abs());
        put(5, 7, date.month());
        put(8, 10, date.day());
        put(11, 13, date.hour());
        put(14, 16, date.minute());
        put(17, 19, date.second());
        put(20, 23, date.timestamp_subsec_millis());
        text
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.to_text()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Timestamp({self})")
    }
}

/// The shape of a moment: `0` stands for any digit.
const MOMENT: &[u8] = b"0000-00-00T00:00:00";
const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// 2261-12-31T23:59:59.999999999Z.
const LAST: i64 = 9_214_646_400_000_000_000 - 1;
