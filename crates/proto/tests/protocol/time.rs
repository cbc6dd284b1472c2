//! Times: a strict form of RFC 3339, held against chrono's own reader.

use std::time::Duration;

use chrono::DateTime;
use proptest::prelude::*;
use signet_proto::time::{TimeError, Timestamp};

const LAST_MILLI: i64 = 9_214_646_399_999;

fn parse(text: &str) -> Result<Timestamp, TimeError> {
    text.parse()
}

#[test]
fn none_to_nine_fraction_digits_are_read_and_three_written() {
    for (text, written) in [
        ("2026-02-08T17:00:00Z", "2026-02-08T17:00:00.000Z"),
        ("2026-02-08T17:00:00.5Z", "2026-02-08T17:00:00.500Z"),
        ("2026-02-08T17:00:00.123456789Z", "2026-02-08T17:00:00.123Z"),
        ("2024-02-29T23:59:59.999999999Z", "2024-02-29T23:59:59.999Z"),
        ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ("2261-12-31T23:59:59.999999999Z", "2261-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), written);
    }
    assert_eq!(
        parse("2026-02-08T17:00:00Z").unwrap().as_millis(),
        1_770_570_000_000
    );
    let nano = parse("2026-02-08T17:00:00.000000001Z").unwrap();
    assert!(nano > parse("2026-02-08T17:00:00Z").unwrap());
}

#[test]
fn other_forms_of_rfc_3339_and_near_misses_are_refused() {
    for text in [
        "",
        "Z",
        "2026-02-08",
        "2026-02-08T17:00:00",
        "2026-02-08T17:00Z",
        "2026-02-08t17:00:00Z",
        "2026-02-08T17:00:00z",
        "2026-02-08 17:00:00Z",
        "2026-02-08T17:00:00+00:00",
        "2026-02-08T17:00:00-00:00",
        "2026-02-08T17:00:00.Z",
        "2026-02-08T17:00:00,5Z",
        "2026-02-08T17:00:00.1234567890Z",
        "2026-02-08T17:00:00.-1Z",
        "2026-02-08T17:00:00.5 Z",
        " 2026-02-08T17:00:00Z",
        "2026-02-08T17:00:00Z\n",
        "2026-02-08T17:00:00ZZ",
        "+026-02-08T17:00:00Z",
        "12026-02-08T17:00:00Z",
        "2026-2-08T17:00:00Z",
        "2026-02-08T1７:00:0Z",
        "２026-02-08T17:00:00Z",
    ] {
        assert_eq!(parse(text), Err(TimeError::Form), "{text:?}");
    }
}

#[test]
fn moments_that_do_not_exist_are_refused() {
    for text in [
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2016-12-31T23:59:60Z",
    ] {
        assert_eq!(parse(text), Err(TimeError::NoSuchMoment), "{text:?}");
    }
}

#[test]
fn years_that_do_not_fit_are_refused() {
    for text in [
        "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2262-01-01T00:00:00Z",
    ] {
        assert_eq!(parse(text), Err(TimeError::Year), "{text:?}");
    }
}

#[test]
fn arithmetic_stops_at_both_ends() {
    let (first, last) = (
        Timestamp::from_millis(0),
        parse("2261-12-31T23:59:59.999999999Z").unwrap(),
    );
    assert_eq!(Timestamp::from_millis(-1), first);
    assert_eq!(Timestamp::from_millis(i64::MIN), first);
    assert_eq!(Timestamp::from_millis(i64::MAX), last);
    assert_eq!(Timestamp::from_millis(LAST_MILLI + 1), last);
    assert_eq!(first.saturating_add(Duration::MAX), last);
    assert_eq!(last.saturating_add(Duration::from_nanos(1)), last);
    assert_eq!(last.saturating_sub(Duration::MAX), first);
    assert_eq!(first.since(last), Duration::ZERO);
}

#[test]
fn a_month_names_an_audit_file() {
    assert_eq!(
        parse("2026-02-28T23:59:59.999Z").unwrap().month(),
        "2026-02"
    );
    assert_eq!(parse("2026-03-01T00:00:00Z").unwrap().month(), "2026-03");
}

proptest! {
    #[test]
    fn chrono_reads_the_same_moment(ms in 0..=LAST_MILLI) {
        let time = Timestamp::from_millis(ms);
        prop_assert_eq!(time.as_millis(), ms);
        prop_assert_eq!(parse(&time.to_string()), Ok(time));
        let oracle = DateTime::parse_from_rfc3339(&time.to_string()).unwrap();
        prop_assert_eq!(oracle.timestamp_millis(), ms);
        prop_assert_eq!(oracle.format("%Y-%m").to_string(), time.month());
    }

    #[test]
    fn what_is_accepted_chrono_accepts_too(
        date in "(19[67][0-9]|20[0-9]{2}|226[0-2])-[01][0-9]-[0-3][0-9]",
        time in "[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{1,10})?",
    ) {
        let text = format!("{date}T{time}Z");
        if let Ok(parsed) = parse(&text) {
            let oracle = DateTime::parse_from_rfc3339(&text).unwrap();
            let since_epoch = parsed.since(Timestamp::from_millis(0)).as_nanos();
            prop_assert_eq!(u128::try_from(oracle.timestamp_nanos_opt().unwrap()).unwrap(), since_epoch);
        }
    }

    #[test]
    fn spans_add_and_subtract(ms in 0..LAST_MILLI, span in 0..u64::from(u32::MAX)) {
        let (start, span) = (Timestamp::from_millis(ms / 2), Duration::from_nanos(span));
        let end = start.saturating_add(span);
        prop_assert_eq!(end.since(start), span);
        prop_assert_eq!(end.saturating_sub(span), start);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}", cut in 0..20_usize) {
        let _ = parse(&text);
        let _ = parse(&format!("{}{text}Z", &"2026-02-08T17:00:00"[..cut.min(19)]));
    }
}
