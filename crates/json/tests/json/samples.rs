//! The strict parser and the canonical form, against samples and oracles.

use proptest::prelude::*;
use signet_json::{
    JsonError, Limits, Map, Value, canonical, format_number, parse, parse_number, write_string,
};

const NUMBERS: &str = include_str!("../vectors/rfc8785/es6numbers_10000.txt");
const SIGNED: &str = include_str!("../../../proto/tests/vectors/pynacl/jcs_ed25519.json");
const CASES: &str = include_str!("../../../proto/tests/vectors/jsonrpc/cases.json");
const SUITE: &str = include_str!("../../../proto/tests/vectors/jsonrpc/jsonrpc20.json");

fn message(text: &str) -> Result<Value, JsonError> {
    parse(text.as_bytes(), Limits::MESSAGE)
}

fn canonical_text(text: &str) -> String {
    String::from_utf8(canonical(&message(text).unwrap())).unwrap()
}

/// The stable name of the refusal, or `accepted`.
fn verdict(bytes: &[u8]) -> &'static str {
    parse(bytes, Limits::MESSAGE).map_or_else(|error| error.name(), |_| "accepted")
}

// Samples

#[test]
fn ten_thousand_doubles_are_written_and_read_exactly() {
    let mut count = 0;
    for line in NUMBERS.lines() {
        let (hex, text) = line.split_once(',').unwrap();
        let bits = u64::from_str_radix(hex, 16).unwrap();
        assert_eq!(format_number(f64::from_bits(bits)), text, "{hex}");
        // The sign of zero has no text (RFC 8785 section 3.2.2.3).
        let expected = if bits << 1 == 0 { 0 } else { bits };
        assert_eq!(parse_number(text).unwrap().to_bits(), expected, "{hex}");
        count += 1;
    }
    assert_eq!(count, 10_000);
}

#[test]
fn samples_within_the_limits_survive_the_parser_and_the_writer() {
    let mut accepted = 0;
    for text in NUMBERS
        .lines()
        .filter_map(|line| line.split_once(','))
        .map(|(_, text)| text)
    {
        match message(text) {
            Ok(value) => {
                assert_eq!(canonical(&value), text.as_bytes());
                accepted += 1;
            }
            Err(error) => {
                assert_eq!(error, JsonError::Number, "{text}");
                assert!(!text.contains(['.', 'e']) && text.len() >= 16, "{text}");
            }
        }
    }
    assert!(accepted > 9_000, "{accepted}");
}

#[test]
fn foreign_canonical_bytes_are_reproduced() {
    let samples: Value = serde_json::from_str(SIGNED).unwrap();
    for case in samples["tests"].as_array().unwrap() {
        let value = message(case["wire_noncanonical"].as_str().unwrap()).unwrap();
        let expected = case["canonical_utf8_hex"].as_str().unwrap();
        let hex: String = canonical(&value)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(hex, expected, "{}", case["name"]);
    }
}

#[test]
fn json_rpc_cases_parse_or_fail_as_json() {
    let cases: Value = serde_json::from_str(CASES).unwrap();
    for list in ["spec_examples", "own_cases"] {
        for case in cases[list].as_array().unwrap() {
            let name = case["name"].as_str().unwrap();
            let expected = match name {
                "invalid JSON" | "batch, invalid JSON" | "trailing data" => "malformed-json",
                "duplicate id member" | "duplicate through escape" => "duplicate-name",
                "BOM" => "byte-order-mark",
                _ => "accepted",
            };
            assert_eq!(
                verdict(case["text"].as_str().unwrap().as_bytes()),
                expected,
                "{name}"
            );
        }
    }
}

#[test]
fn json_rpc_suite_parses_or_fails_as_json() {
    let suite: Value = serde_json::from_str(SUITE).unwrap();
    for case in suite.as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let expected = match id {
            "s7-08" | "s7-10" | "x-21" | "x-22" | "x-23" => "malformed-json",
            "x-03" => "number-out-of-range",
            "x-28" => "duplicate-name",
            "x-33" => "invalid-utf8",
            "x-34" => "byte-order-mark",
            "x-35" => "lone-surrogate",
            "x-36" => "too-deep",
            _ => "accepted",
        };
        assert_eq!(
            verdict(&suite_input(case["input"].as_str().unwrap())),
            expected,
            "{id}"
        );
        if case["expect"]["error"]["code"] == -32700 {
            assert_ne!(expected, "accepted", "{id} is a parse error");
        }
    }
}

/// `hex:` and `rep:<text>*<count>` stand for bytes that a JSON string cannot hold well.
fn suite_input(input: &str) -> Vec<u8> {
    if let Some(hex) = input.strip_prefix("hex:") {
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        return (0..hex.len()).step_by(2).map(byte).collect();
    }
    match input
        .strip_prefix("rep:")
        .and_then(|rest| rest.rsplit_once('*'))
    {
        Some((text, count)) => text.repeat(count.parse().unwrap()).into_bytes(),
        None => input.into(),
    }
}

// Canonical form

#[test]
fn equal_numbers_give_equal_values_and_bytes() {
    for (spellings, expected) in [
        (["1", "1.0", "1e0", "0.1e1", "100e-2"], "1"),
        (["0", "-0", "0.0", "-0e5", "0e99999999999999999999"], "0"),
        (["0.1", "0.10", "1e-1", "1E-1", "0.01e+1"], "0.1"),
        (["-100", "-1e2", "-1E+2", "-100.000", "-0.1e3"], "-100"),
        (["1e21", "1.0e21", "10e20", "0.1e22", "1E+21"], "1e+21"),
    ] {
        for text in spellings {
            assert_eq!(message(text), message(spellings[0]), "{text}");
            assert_eq!(canonical_text(text), expected, "{text}");
        }
    }
    let long_one = format!("1{}e-3000", "0".repeat(3000));
    assert_eq!(canonical_text(&long_one), "1");
}

#[test]
fn names_are_sorted_by_utf16_units_whatever_order_the_map_keeps() {
    let text = r#"{"\uffff":1,"\ud83d\ude00":2,"b":3,"":4,"a":5,"\ue000":6,"aa":7,"\u00e9":8}"#;
    let expected =
        "{\"\":4,\"a\":5,\"aa\":7,\"b\":3,\"é\":8,\"😀\":2,\"\u{e000}\":6,\"\u{ffff}\":1}";
    assert_eq!(canonical_text(text), expected);
}

#[test]
fn strings_carry_only_the_escapes_of_the_rule() {
    let mut out = Vec::new();
    write_string(
        "\0\u{8}\t\n\u{b}\u{c}\r\u{1f}\"\\/\u{7f}é\u{2028}😀",
        &mut out,
    );
    let expected = "\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\/\u{7f}é\u{2028}😀\"";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn unicode_is_not_normalised() {
    assert_eq!(
        canonical_text(r#"["e\u0301","\u00e9"]"#),
        "[\"e\u{301}\",\"é\"]"
    );
    assert_eq!(
        verdict(r#"{"e\u0301":1,"\u00e9":2}"#.as_bytes()),
        "accepted"
    );
}

// Comparison with other implementations (oracles)

/// Numbers, not spellings, are compared: serde_json's features keep different ones.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,12}",
        "\\PC{0,12}",
        "[\u{0}-\u{1f}\"\\\\/a\u{7f}é\u{2028}]{0,12}",
        "[ab\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}]{0,3}",
    ]
}

/// Doubles that the parser accepts: what it refuses has tests of its own.
fn any_number() -> impl Strategy<Value = Value> {
    let safe = -9_007_199_254_740_991..=9_007_199_254_740_991_i64;
    let double = any::<f64>().prop_filter("finite, and no large integer", |double| {
        let is_integer = double.fract() == 0.0 && double.abs() > 9_007_199_254_740_991.0;
        double.is_finite() && !(is_integer && double.abs() < 1e21)
    });
    prop_oneof![
        safe.prop_map(Value::from),
        (-100..100_i64).prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        double.prop_map(Value::from),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let members = proptest::collection::vec((any_text(), inner.clone()), 0..6);
        prop_oneof![
            proptest::collection::vec(inner, 0..6).prop_map(Value::from),
            members.prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Text that is JSON or nearly so.
fn almost_json() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\"a\""),
        Just("\"b\":"),
        Just("\"\\u0061\""),
        Just("\\"),
        Just("\""),
        Just("1"),
        Just("-0"),
        Just("1e"),
        Just(".5"),
        Just("0"),
        Just("true"),
        Just("null"),
        Just(" "),
        Just("\n"),
        Just("\\ud800"),
        Just("\\udc00"),
        Just("é"),
        Just("[1,"),
        Just("{\"c\":"),
    ];
    proptest::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

proptest! {
    #[test]
    fn canonical_bytes_equal_those_of_another_canonicaliser(value in any_value()) {
        let oracle = serde_json_canonicalizer::to_vec(&value).unwrap();
        prop_assert_eq!(canonical(&value), oracle);
    }

    #[test]
    fn canonical_bytes_parse_to_the_same_value_and_bytes(value in any_value()) {
        let bytes = canonical(&value);
        let parsed = parse(&bytes, Limits::MESSAGE).unwrap();
        prop_assert!(same(&parsed, &value));
        prop_assert_eq!(canonical(&parsed), bytes);
    }

    #[test]
    fn what_serde_json_writes_is_accepted_with_an_equal_value(value in any_value()) {
        for text in [serde_json::to_string(&value), serde_json::to_string_pretty(&value)] {
            let text = text.unwrap();
            // From 10^16 on serde_json may spell a double as digits and ".0" or with an exponent: the parser has to
            // take both.
            let parsed = message(&text).unwrap();
            prop_assert!(same(&parsed, &serde_json::from_str(&text).unwrap()));
        }
    }

    #[test]
    fn what_is_accepted_serde_json_accepts_with_an_equal_value(text in almost_json()) {
        if let Ok(value) = message(&text) {
            prop_assert!(same(&value, &serde_json::from_str(&text).unwrap()));
        }
    }

    #[test]
    fn one_changed_byte_never_panics_nor_widens_the_language(
        value in any_value(), place: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = canonical(&value);
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(value) = parse(&bytes, Limits::MESSAGE) {
            prop_assert!(same(&value, &serde_json::from_slice(&bytes).unwrap()));
        }
    }

    #[test]
    fn number_literals_agree_with_exact_decimal_arithmetic(
        digits in "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?", exponent in "([eE][+-]?[0-9]{1,2})?",
    ) {
        let text = format!("{digits}{exponent}");
        if let Ok(value) = message(&text) {
            let written = String::from_utf8(canonical(&value)).unwrap();
            prop_assert_eq!(exact(&written), exact(&text), "{}", text);
        }
    }

    #[test]
    fn short_decimals_are_accepted(whole in -99_999..99_999_i64, fraction in 0..1_000_000_u32, exponent in -300..=9_i32) {
        prop_assert_eq!(verdict(format!("{whole}.{fraction:06}e{exponent}").as_bytes()), "accepted");
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes, Limits::MESSAGE);
        let _ = parse(String::from_utf8_lossy(&bytes).as_bytes(), Limits::LINE);
    }
}

/// Sign, significant digits and the place of the last one, by text alone.
fn exact(literal: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
    let magnitude = mantissa.trim_start_matches('-');
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0').trim_end_matches('0');
    if digits.is_empty() {
        return (false, String::new(), 0);
    }
    let zeros = all.len() - all.trim_end_matches('0').len();
    let place = exponent.parse::<i64>().unwrap() - fraction.len() as i64 + zeros as i64;
    (mantissa.starts_with('-'), digits.to_owned(), place)
}
