//! The span of time that a digest is about: a day, a week, a month, in UTC as every date of the command line is.

use std::time::Duration;

use signet_proto::time::Timestamp;

use super::words::DigestText;
use crate::cli::audit::export::day;

/// A day as a person names it.
#[derive(Clone, Copy, Debug)]
pub(super) enum NamedDay {
    /// So many days before the present one.
    Ago(u64),
    /// The day that begins then.
    On(Timestamp),
}

/// A month as a person names it.
#[derive(Clone, Debug)]
pub(super) enum NamedMonth {
    /// The present one.
    This,
    /// The one before it.
    Last,
    /// The one that begins then.
    Of(Timestamp),
}

/// From a moment on, and before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DigestSpan {
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

impl DigestSpan {
    /// A whole day.
    pub(super) fn of_day(named: NamedDay, now: Timestamp) -> Self {
        let since = named.begin(now);
        Self {
            since,
            until: since.saturating_add(DAY),
        }
    }

    /// The week, from Monday on, that holds the day.
    pub(super) fn of_week(named: NamedDay, now: Timestamp) -> Self {
        let day = named.begin(now);
        let since = day.saturating_sub(DAY * u32::from(weekday(day)));
        Self {
            since,
            until: since.saturating_add(DAY * 7),
        }
    }

    /// A whole month.
    pub(super) fn of_month(named: &NamedMonth, now: Timestamp) -> Self {
        let since = match named {
            NamedMonth::This => month_of(now),
            NamedMonth::Last => month_of(month_of(now).saturating_sub(DAY)),
            NamedMonth::Of(month) => *month,
        };
        Self {
            since,
            // No month is longer than 31 days, and none is shorter than 28: so this day is in the next one.
            until: month_of(since.saturating_add(DAY * 31)),
        }
    }

    /// The days, in words.
    pub(super) fn title(self, text: &DigestText) -> String {
        let (first, last) = (
            self.since,
            self.until.saturating_sub(Duration::from_nanos(1)),
        );
        if !is_midnight(self.since) || !is_midnight(self.until) {
            return format!("{} – {}", minute(self.since), minute(self.until));
        }
        match self.is_one_day() {
            true => format!("{}, {}", text.weekday(weekday(first)), date(first)),
            false => format!("{} – {}", date(first), date(last)),
        }
    }

    /// A moment in it, as briefly as it is told from every other.
    pub(super) fn moment(self, at: Timestamp) -> String {
        let whole = minute(at);
        match self.is_one_day() && self.since <= at && at < self.until {
            true => whole.get(DATE + 1..).unwrap_or_default().to_owned(),
            false => whole,
        }
    }

    fn is_one_day(self) -> bool {
        is_midnight(self.since) && self.until == self.since.saturating_add(DAY)
    }
}

impl NamedDay {
    /// Reads `today`, `yesterday`, or `YYYY-MM-DD`.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "today" => Ok(Self::Ago(0)),
            "yesterday" => Ok(Self::Ago(1)),
            date => day(date)
                .map(Self::On)
                .ok_or("not a day; use today, yesterday, or a date such as 2026-02-01"),
        }
    }

    /// Reads `this` or `last` for a week, or a day in it.
    pub(super) fn parse_week(text: &str) -> Result<Self, &'static str> {
        match text {
            "this" => Ok(Self::Ago(0)),
            "last" => Ok(Self::Ago(7)),
            date => day(date)
                .map(Self::On)
                .ok_or("not a week; use this, last, or a day in it such as 2026-02-01"),
        }
    }

    fn begin(self, now: Timestamp) -> Timestamp {
        match self {
            Self::On(day) => day,
            Self::Ago(days) => {
                let then =
                    now.saturating_sub(Duration::from_secs(days.saturating_mul(DAY.as_secs())));
                day(&date(then)).unwrap_or(then)
            }
        }
    }
}

impl NamedMonth {
    /// Reads `this`, `last`, or `YYYY-MM`.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "this" => Ok(Self::This),
            "last" => Ok(Self::Last),
            month => day(&format!("{month}-01"))
                .map(Self::Of)
                .ok_or("not a month; use this, last, or a month such as 2026-02"),
        }
    }
}

/// The beginning of the month that holds the moment.
fn month_of(at: Timestamp) -> Timestamp {
    day(&format!("{}-01", at.month())).unwrap_or(at)
}

/// 0 for Monday. 1970 began with a Thursday.
fn weekday(at: Timestamp) -> u8 {
    let days = Duration::from(at).as_secs() / DAY.as_secs();
    u8::try_from((days + 3) % 7).unwrap_or_default()
}

fn is_midnight(at: Timestamp) -> bool {
    day(&date(at)) == Some(at)
}

fn date(at: Timestamp) -> String {
    at.to_string().get(..DATE).unwrap_or_default().to_owned()
}

/// `YYYY-MM-DD HH:MM`.
fn minute(at: Timestamp) -> String {
    let text = at.to_string().replace('T', " ");
    text.get(..DATE + 6).unwrap_or_default().to_owned()
}

/// The length of `YYYY-MM-DD`.
const DATE: usize = 10;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn days(span: DigestSpan) -> (String, String) {
        (date(span.since), date(span.until))
    }

    #[test]
    fn days_weeks_and_months_begin_and_end_as_the_calendar_says() {
        let now = at("2028-03-01T00:00:00.000Z");
        for (span, since, until) in [
            (
                DigestSpan::of_day(NamedDay::Ago(0), now),
                "2028-03-01",
                "2028-03-02",
            ),
            (
                DigestSpan::of_day(NamedDay::Ago(1), now),
                "2028-02-29",
                "2028-03-01",
            ),
            // 2028-03-01 is a Wednesday.
            (
                DigestSpan::of_week(NamedDay::Ago(0), now),
                "2028-02-28",
                "2028-03-06",
            ),
            (
                DigestSpan::of_week(NamedDay::Ago(7), now),
                "2028-02-21",
                "2028-02-28",
            ),
            (
                DigestSpan::of_month(&NamedMonth::This, now),
                "2028-03-01",
                "2028-04-01",
            ),
            (
                DigestSpan::of_month(&NamedMonth::Last, now),
                "2028-02-01",
                "2028-03-01",
            ),
            (
                DigestSpan::of_month(&NamedMonth::parse("2026-12").unwrap(), now),
                "2026-12-01",
                "2027-01-01",
            ),
        ] {
            assert_eq!(days(span), (since.to_owned(), until.to_owned()));
        }
    }

    #[test]
    fn a_moment_bears_its_date_only_where_it_needs_one() {
        let day = DigestSpan::of_day(
            NamedDay::On(at("2026-11-23T00:00:00.000Z")),
            Timestamp::EPOCH,
        );
        assert_eq!(day.moment(at("2026-11-23T23:01:30.123Z")), "23:01");
        assert_eq!(
            day.moment(at("2026-11-22T23:01:30.123Z")),
            "2026-11-22 23:01"
        );
        assert_eq!(
            day.title(DigestText::of(signet_audit::Language::English)),
            "Monday, 2026-11-23"
        );
        let hours = DigestSpan {
            since: at("2026-11-23T08:00:00.000Z"),
            until: at("2026-11-23T12:00:00.000Z"),
        };
        assert_eq!(
            hours.title(DigestText::of(signet_audit::Language::German)),
            "2026-11-23 08:00 – 2026-11-23 12:00"
        );
    }

    #[test]
    fn no_day_is_read_from_a_text_that_names_none() {
        for text in [
            "",
            "2026-02-30",
            "2026-2-1",
            "tomorrow",
            "2026-02-01T00:00:00Z",
            "\u{202e}today",
        ] {
            assert!(NamedDay::parse(text).is_err(), "{text}");
            assert!(NamedMonth::parse(text).is_err(), "{text}");
        }
    }
}
