//! Days as the person has them: a day begins at midnight of the browser's zone, which its script tells in a cookie.
//!
//! A name of a zone would need tables of all zones here; so the cookie has what the browser makes of its own: the offset from UTC
//! in minutes, and before it, as far back as its script looked, each moment at which it changed (in seconds since 1970) with the
//! offset before. `120_1774746000_60` is 120 since 29 March 2026, and 60 before. Without it a day is one of UTC.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;

/// Where the days of a person begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Days {
    /// Since when which offset counts, newest first, both in milliseconds; the last counts for all time before.
    spans: Vec<(i64, i64)>,
}

impl Default for Days {
    fn default() -> Self {
        Self {
            spans: vec![(i64::MIN, 0)],
        }
    }
}

impl Days {
    /// The days that a request's cookie tells; those of UTC where it tells none.
    pub(crate) fn of(heads: &HeaderMap) -> Self {
        let lines = heads.get_all(COOKIE).into_iter();
        let pairs = lines
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        let told = { pairs }.find(|(name, _)| *name == COOKIE_NAME);
        told.and_then(|(_, told)| Self::parse(told))
            .unwrap_or_default()
    }

    /// Nothing where it is another text than the script writes: whoever else sets the cookie cuts no day in pieces.
    fn parse(told: &str) -> Option<Self> {
        let mut numbers = told.split('_').map(str::parse::<i64>);
        let mut offset = offset_of(numbers.next()?.ok()?)?;
        let (mut spans, mut before) = (Vec::new(), i64::MAX);
        while let Some(since) = numbers.next() {
            let since = since.ok()?.checked_mul(1_000)?;
            if since >= before || spans.len() >= MOST {
                return None;
            }
            spans.push((since, offset));
            offset = offset_of(numbers.next()?.ok()?)?;
            before = since;
        }
        spans.push((i64::MIN, offset));
        Some(Self { spans })
    }

    /// The number of the day in which a moment (in milliseconds since 1970) is; 0 is the first of January 1970.
    pub(crate) fn day(&self, at: i64) -> i64 {
        let span = self.spans.iter().find(|(since, _)| at >= *since);
        let offset = span.map_or(0, |(_, offset)| *offset);
        at.saturating_add(offset).div_euclid(DAY)
    }

    /// The first moment of a day, in milliseconds since 1970. A day whose midnight is left out begins where the clock goes on.
    pub(crate) fn begin(&self, day: i64) -> i64 {
        let mut begin = i64::MAX;
        for (since, offset) in &self.spans {
            let midnight = day.saturating_mul(DAY).saturating_sub(*offset);
            let first = midnight.max(*since);
            if self.day(first) >= day {
                begin = begin.min(first);
            }
        }
        begin
    }
}

/// In milliseconds; nothing where no place on earth has it, or it is no quarter of an hour, by which the index counts.
fn offset_of(minutes: i64) -> Option<i64> {
    let is_one = minutes.abs() <= 18 * 60 && minutes % 15 == 0;
    is_one.then_some(minutes * 60_000)
}

/// Milliseconds of a day that no clock is changed in.
pub(crate) const DAY: i64 = 86_400_000;
const COOKIE_NAME: &str = "days";
/// Changes of the offset that are taken: ten years of summer time have twenty.
const MOST: usize = 40;

#[cfg(test)]
mod tests {
    use signet_proto::time::Timestamp;

    use super::*;

    fn at(moment: &str) -> i64 {
        moment.parse::<Timestamp>().unwrap().as_millis()
    }

    #[test]
    fn a_day_begins_at_midnight_of_the_zone_in_summer_and_in_winter() {
        // Vienna: summer time from the last Sunday of March 2026 to that of October.
        let days = Days::parse("60_1792890000_120_1774746000_60").unwrap();
        for (day, begins) in [
            ("2026-01-15T00:00:00Z", "2026-01-14T23:00:00Z"),
            ("2026-03-29T00:00:00Z", "2026-03-28T23:00:00Z"),
            ("2026-03-30T00:00:00Z", "2026-03-29T22:00:00Z"),
            ("2026-10-25T00:00:00Z", "2026-10-24T22:00:00Z"),
            ("2026-10-26T00:00:00Z", "2026-10-25T23:00:00Z"),
        ] {
            let number = at(day) / DAY;
            assert_eq!(days.begin(number), at(begins), "{day}");
            assert_eq!(days.day(at(begins)), number, "{day}");
            assert_eq!(days.day(at(begins) - 1), number - 1, "{day}");
        }
    }

    #[test]
    fn a_day_without_a_midnight_begins_where_its_clock_goes_on() {
        // From 23:59 on the 16th to 01:00 on the 17th.
        let change = at("2026-10-17T03:00:00Z");
        let days = Days::parse(&format!("-120_{}_-180", change / 1_000)).unwrap();
        let number = at("2026-10-17T00:00:00Z") / DAY;
        assert_eq!(days.begin(number), change);
        assert_eq!(days.day(change - 1), number - 1);
        assert_eq!(days.begin(number + 1), at("2026-10-18T02:00:00Z"));
    }

    #[test]
    fn a_cookie_that_no_script_of_ours_wrote_leaves_the_days_of_utc() {
        let many = "0".to_owned() + &(0..41).rev().map(|n| format!("_{n}_0")).collect::<String>();
        for told in [
            "",
            "x",
            "7",
            "1095",
            "-1440",
            "60_5",
            "60_5_",
            "60_5_0_6_0",
            "60_5_0_5_0",
            "60_99999999999999999_0",
            "60_9223372036854775807_0",
            "60__0",
            " 60",
            "0x3c",
            &many,
        ] {
            assert_eq!(Days::parse(told), None, "{told}");
        }
        let mut heads = HeaderMap::new();
        assert_eq!(Days::of(&heads), Days::default());
        heads.insert(COOKIE, "room=1; days=345; other=2".parse().unwrap());
        assert_eq!(Days::of(&heads).begin(0), -345 * 60_000);
        heads.insert(COOKIE, "days=<script>".parse().unwrap());
        assert_eq!(Days::of(&heads), Days::default());
        assert_eq!(Days::default().begin(i64::MAX), i64::MAX);
    }
}
