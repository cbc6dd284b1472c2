//! The reader of canonical form, against the parser and the writer.

use proptest::prelude::*;
use signet_json::{CanonicalReader, Extent, Limits, canonical, parse, weight};

/// A document, if the reader takes all of it.
fn read(bytes: &[u8], limits: Limits) -> Option<Extent> {
    let mut reader = CanonicalReader::of(bytes, limits)?;
    let span = reader.value()?;
    reader.end()?;
    Some(span)
}

/// It takes exactly what the parser takes and the writer would write as it is.
fn agrees(bytes: &[u8], limits: Limits) -> bool {
    let parsed = parse(bytes, limits).ok();
    let expected = parsed.filter(|value| canonical(value) == bytes);
    let expected = expected.map(|value| Extent {
        bytes: 0..bytes.len(),
        weight: weight(&value),
    });
    let read = read(bytes, limits);
    assert_eq!(read, expected, "{}", String::from_utf8_lossy(bytes));
    read.is_some()
}

/// Pieces of documents, in their canonical spelling and in others.
const PIECES: [&str; 78] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "\t",
    "\u{feff}",
    "null",
    "true",
    "false",
    "nul",
    "True",
    "0",
    "-0",
    "-1",
    "01",
    "1.0",
    "1e0",
    "1.5",
    "1.50",
    "0.1",
    "1e-7",
    "1E-7",
    "1e21",
    "1e+21",
    "1e20",
    "100000000000000000000",
    "9007199254740991",
    "9007199254740992",
    "-9007199254740991",
    "-9007199254740992",
    "0.1000000000000000055511151231257827",
    "1e400",
    "1e-400",
    "5e-324",
    "333333333.3333333",
    "333333333.33333329",
    "+1",
    ".5",
    "1.",
    "NaN",
    "\"\"",
    "\"a\"",
    "\"b\"",
    "\"a\":",
    "\"b\":",
    "\"aa\":",
    "\"A\":",
    "\"\u{e9}\":",
    "\"e\u{301}\"",
    "\"\\u00e9\"",
    "\"\\/\"",
    "\"/\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\n\"",
    "\"\\u000a\"",
    "\"\\u001f\"",
    "\"\\u001F\"",
    "\"\u{1f}\"",
    "\"\\b\\f\\r\\t\"",
    "\"\\u0008\"",
    "\"\\u0000\"",
    "\"\u{7f}\"",
    "\"\\ud800\"",
    "\"\\ud83d\\ude00\"",
    "\"\u{1f600}\"",
    "\"\u{ffff}\":",
    "\"\u{10000}\":",
    "\"\u{2028}\"",
    "\"\\x\"",
    "\"",
    "{\"a\":1,\"b\":2}",
    "{\"b\":1,\"a\":2}",
    "[[],{}]",
];

const SMALL: Limits = Limits {
    bytes: 60,
    depth: 3,
    values: 6,
};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn it_takes_exactly_what_is_canonical(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..8)) {
        let text = pieces.concat();
        for limits in [Limits::MESSAGE, SMALL] {
            agrees(text.as_bytes(), limits);
            agrees(format!("[{}]", pieces.join(",")).as_bytes(), limits);
            agrees(format!("{{\"a\":{},\"b\":{}}}", pieces[0], text).as_bytes(), limits);
        }
    }

    #[test]
    fn it_takes_what_the_writer_writes(pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..8)) {
        if let Ok(value) = parse(format!("[{}]", pieces.join(",")).as_bytes(), Limits::MESSAGE) {
            prop_assert!(agrees(&canonical(&value), Limits::MESSAGE));
        }
    }

    #[test]
    fn any_bytes_are_taken_by_both_or_by_none(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        agrees(&bytes, Limits::MESSAGE);
    }

    #[test]
    fn any_string_is_taken_as_it_is_written(text in "\\PC{0,20}|[\\x00-\\x7f]{0,20}") {
        let bytes = canonical(&text.as_str().into());
        prop_assert!(agrees(&bytes, Limits::MESSAGE));
        let mut reader = CanonicalReader::of(&bytes, Limits::MESSAGE).unwrap();
        prop_assert_eq!(reader.string().unwrap(), text);
    }
}

#[test]
fn each_limit_is_the_parsers() {
    for size in [59, 60, 61] {
        agrees(format!("\"{}\"", "a".repeat(size - 2)).as_bytes(), SMALL);
    }
    for depth in 1..=6 {
        agrees(
            (["["; 6][..depth].concat() + &["]"; 6][..depth].concat()).as_bytes(),
            SMALL,
        );
    }
    for count in 0..8 {
        agrees(
            format!("[{}]", vec!["1"; count].join(",")).as_bytes(),
            SMALL,
        );
    }
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let many = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
    let unbounded = Limits {
        bytes: usize::MAX,
        depth: usize::MAX,
        values: usize::MAX,
    };
    for limits in [Limits::MESSAGE, Limits::LINE, unbounded] {
        for depth in [1, 63, 64, 65, 72, 73, 127, 128, 129, 10_000] {
            agrees(deep(depth).as_bytes(), limits);
        }
        for count in [9_998, 9_999, 10_000, 19_999, 20_000] {
            agrees(many(count).as_bytes(), limits);
        }
    }
}

#[test]
fn ten_thousand_doubles_are_taken_in_one_spelling_each() {
    let numbers = include_str!("../vectors/rfc8785/es6numbers_10000.txt");
    for text in numbers.lines().filter_map(|line| line.split_once(',')) {
        agrees(text.1.as_bytes(), Limits::MESSAGE);
        agrees(format!("{}0", text.1).as_bytes(), Limits::MESSAGE);
        agrees(text.1.replace('e', "E").as_bytes(), Limits::MESSAGE);
    }
}

#[test]
fn a_part_that_was_asked_for_in_another_order_is_not_there() {
    let mut reader =
        CanonicalReader::of(br#"{"a":1,"b":[2,-3],"c":"x"}"#, Limits::MESSAGE).unwrap();
    reader.enter().unwrap();
    assert!(!reader.member("b"), "not the next one");
    assert!(reader.member("a"));
    assert_eq!(reader.integer(), Some(1));
    assert!(!reader.member("a"), "only once");
    assert!(reader.member("b"));
    let mut seen = Vec::new();
    reader
        .items(|reader| {
            seen.push(reader.integer()?);
            Some(())
        })
        .unwrap();
    assert_eq!(seen, [2, -3]);
    assert!(reader.member("c"));
    assert_eq!(reader.plain_string(), Some("x"));
    reader.leave().unwrap();
    assert_eq!(reader.at(), 26);
    reader.end().unwrap();
}
