//! Hostile documents, each test named after the attack; the parser repairs nothing.

use signet_json::{JsonError, Limits, Value, canonical, parse, parse_foreign, parse_number};

fn message(text: &str) -> Result<Value, JsonError> {
    parse(text.as_bytes(), Limits::MESSAGE)
}

fn canonical_text(text: &str) -> String {
    canonical_text_of(&message(text).unwrap())
}

fn canonical_text_of(value: &Value) -> String {
    String::from_utf8(canonical(value)).unwrap()
}

/// The stable name of the refusal, or `accepted`.
fn verdict(bytes: &[u8]) -> &'static str {
    parse(bytes, Limits::MESSAGE).map_or_else(|error| error.name(), |_| "accepted")
}

/// What the refused and accepted lists below have in common.
fn assert_verdicts(texts: &[&str], expected: &str) {
    for text in texts {
        assert_eq!(verdict(text.as_bytes()), expected, "{text:?}");
        assert_eq!(
            verdict(format!("[{text}]").as_bytes()),
            expected,
            "[{text:?}]"
        );
    }
}

#[test]
fn duplicate_name_plain_and_through_an_escape() {
    assert_verdicts(
        &[
            r#"{"id":1,"id":1}"#,
            r#"{"id":1,"\u0069d":2}"#,
            r#"{"\u0069\u0064":1,"a":{},"i\u0064":2}"#,
            r#"{"a":{"\ud83d\ude00":1,"😀":2}}"#,
            r#"{"/":1,"\/":2}"#,
            r#"{"":1,"":2}"#,
        ],
        "duplicate-name",
    );
    assert_eq!(verdict(br#"{"a":{"a":1},"b":{"a":1}}"#), "accepted");
}

/// serde_json, where a program reads raw values, takes such an object for the document in its text: a peer's words would be others
/// than those that were signed, or would make a listing and a row of the state unreadable.
#[test]
fn a_name_by_which_a_library_marks_an_object_is_refused_at_every_depth() {
    assert_verdicts(
        &[
            r#"{"$serde_json::private::RawValue":"{\"a\":1,\"a\":2}"}"#,
            r#"{"a":[{"$serde_json::private::Number":1}]}"#,
            r#"{"\u0024serde_json::private::RawValue":1}"#,
            r#"{"a":1,"$serde_json::private::":1}"#,
        ],
        "malformed-json",
    );
    assert_eq!(
        verdict(br#"{"$serde_json":1,"a":"$serde_json::private::RawValue"}"#),
        "accepted"
    );
}

/// The first fault in the text names the refusal: a name that stands twice comes before its colon, its
/// value, and whatever is wrong with them.
#[test]
fn a_second_name_is_noticed_before_what_stands_behind_it() {
    assert_verdicts(
        &[
            r#"{"a":1,"a":tru}"#,
            r#"{"a":1,"a" 2}"#,
            r#"{"a":1,"a":1e400}"#,
            r#"{"a":1,"a":{"b":1,"b":2}"#,
        ],
        "duplicate-name",
    );
    assert_verdicts(
        &[r#"{"a":tru,"a":1}"#, r#"{"a" 1,"a":1}"#],
        "malformed-json",
    );
}

#[test]
fn lone_surrogates() {
    assert_verdicts(
        &[
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\udfff\ud800""#,
            r#""\ud800\ud800""#,
            r#""\ud800\u0041""#,
            r#""\ud800x""#,
            r#""\udbff\ue000""#,
            r#""\ud800\ue000""#,
            r#""\uD800\n""#,
            r#"{"\ud800":1}"#,
        ],
        "lone-surrogate",
    );
    assert_eq!(
        canonical_text(r#""\ud800\udc00\uDBFF\uDFFF\ud7ff\ue000""#),
        "\"\u{10000}\u{10ffff}\u{d7ff}\u{e000}\""
    );
}

#[test]
fn byte_order_mark() {
    assert_eq!(verdict(b"\xef\xbb\xbf{}"), "byte-order-mark");
    assert_eq!(verdict(b"\xef\xbb\xbf"), "byte-order-mark");
    assert_eq!(verdict(b" \xef\xbb\xbf{}"), "malformed-json");
    assert_eq!(verdict("\"\u{feff}\"".as_bytes()), "accepted");
}

#[test]
fn bytes_that_are_not_utf8() {
    for bytes in [
        &b"\"\xff\""[..],
        b"\"\xc0\xaf\"",
        b"\"\xed\xa0\x80\"",
        b"\"\xf4\x90\x80\x80\"",
        b"\"\xe2\x82\"",
        b"{} \x80",
        b"\xff\xfe{\x00}\x00",
    ] {
        assert_eq!(verdict(bytes), "invalid-utf8", "{bytes:?}");
    }
}

#[test]
fn one_level_too_deep() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
        let levels = open.matches(['[', '{']).count();
        let nested = |depth: usize| {
            let times = depth / levels;
            format!("{}0{}", open.repeat(times), close.repeat(times))
        };
        assert_eq!(verdict(nested(64).as_bytes()), "accepted");
        assert_eq!(verdict(nested(64 + levels).as_bytes()), "too-deep");
        assert!(parse(nested(72).as_bytes(), Limits::LINE).is_ok());
    }
    let siblings = format!("[{}[]]", "[[]],".repeat(100));
    assert_eq!(verdict(siblings.as_bytes()), "accepted");
}

#[test]
fn deep_nesting_overflows_no_stack_whatever_the_limits() {
    let limits = Limits {
        bytes: usize::MAX,
        depth: usize::MAX,
        values: usize::MAX,
    };
    for open in ["[", "{\"a\":", "[{\"a\":"] {
        let text = open.repeat((1 << 20) / open.len());
        assert_eq!(parse(text.as_bytes(), limits), Err(JsonError::TooDeep));
        assert_eq!(
            parse(text.as_bytes(), Limits::LINE),
            Err(JsonError::TooDeep)
        );
        assert_eq!(
            parse(text.as_bytes(), Limits::MESSAGE),
            Err(JsonError::TooLarge)
        );
    }
}

#[test]
fn one_value_too_many() {
    let array = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
    assert_eq!(verdict(array(10_000).as_bytes()), "accepted");
    assert_eq!(verdict(array(10_001).as_bytes()), "too-many-values");
    let members: Vec<_> = (0..9_999).map(|index| format!("\"{index}\":[]")).collect();
    assert_eq!(
        verdict(format!("{{{}}}", members.join(",")).as_bytes()),
        "accepted"
    );
    assert_eq!(
        verdict(format!("[{{{}}}]", members.join(",")).as_bytes()),
        "too-many-values"
    );
}

#[test]
fn one_byte_too_many() {
    let padded = |bytes: usize| format!("{}1", " ".repeat(bytes - 1));
    assert_eq!(verdict(padded(240 * 1024).as_bytes()), "accepted");
    assert_eq!(verdict(padded(240 * 1024 + 1).as_bytes()), "too-large");
    assert!(parse(padded(2 << 20).as_bytes(), Limits::LINE).is_ok());
    assert_eq!(
        parse(&[0xff; (2 << 20) + 1], Limits::LINE),
        Err(JsonError::TooLarge)
    );
}

/// `9e15` has 4 bytes and 16 in canonical form, which is what logs and peers keep: what nobody could read
/// back is not taken.
#[test]
fn a_text_within_the_limit_whose_canonical_form_is_beyond_it() {
    let length = |value: &Value| canonical(value).len();
    let spelt = |count: usize, rest: usize| {
        format!(
            "[{},\"{}\"]",
            vec!["9e15"; count].join(","),
            "a".repeat(rest)
        )
    };
    let (count, limit) = (9_000, Limits::MESSAGE.bytes);
    let empty = length(&parse(spelt(count, 0).as_bytes(), Limits::MESSAGE).unwrap());
    let fitting = spelt(count, limit - empty);
    let value = parse(fitting.as_bytes(), Limits::MESSAGE).unwrap();
    assert_eq!(length(&value), limit);
    assert_eq!(parse(&canonical(&value), Limits::MESSAGE), Ok(value));
    let beyond = spelt(count, limit - empty + 1);
    assert!(beyond.len() < limit / 2 + limit / 4);
    assert_eq!(verdict(beyond.as_bytes()), "too-large");
}

#[test]
fn not_a_number_and_infinity() {
    let texts = [
        "NaN",
        "nan",
        "Infinity",
        "-Infinity",
        "inf",
        "-inf",
        "+1",
        "-",
        "-a",
        "--1",
    ];
    assert_verdicts(&texts, "malformed-json");
}

#[test]
fn numbers_against_the_grammar() {
    let texts = [
        "00", "01", "-01", "00.5", "1.", "-.5", ".5", "1.e1", "1e", "1e+", "1.5E-", "0x10",
        "1_000", "1e1.5", "1 2", "１",
    ];
    assert_verdicts(&texts, "malformed-json");
    for text in texts.iter().chain(&["", " 1", "1 ", "NaN", "1e400"]) {
        assert_eq!(parse_number(text), None, "{text:?}");
    }
}

#[test]
fn integers_beyond_the_safe_range() {
    assert_verdicts(
        &[
            "9007199254740991",
            "-9007199254740991",
            "9007199254740991.0",
        ],
        "accepted",
    );
    let (long, zeros) = ("9".repeat(400), format!("1{}", "0".repeat(21)));
    assert_verdicts(
        &[
            "9007199254740992",
            "-9007199254740992",
            "9007199254740993",
            "9223372036854775807",
            "18446744073709551616",
            &long,
            &zeros,
        ],
        "number-out-of-range",
    );
}

#[test]
fn decimals_whose_canonical_form_would_be_an_integer_beyond_the_safe_range() {
    assert_verdicts(
        &[
            "9007199254740992.0",
            "1e16",
            "1e20",
            "-1e20",
            "1.5e17",
            "999999999999999900000.0",
        ],
        "number-out-of-range",
    );
    assert_verdicts(
        &["9e15", "1e21", "-1e21", "1.7976931348623157e308"],
        "accepted",
    );
}

#[test]
fn decimals_that_do_not_survive_the_double() {
    assert_verdicts(
        &[
            "0.1234567890123456789",
            "0.10000000000000001",
            "0.1000000000000000055511151231257827",
            "9007199254740991.5",
            "1.0000000000000000000000001",
            "1e-400",
            "-1e-400",
            "1E400",
            "-1e400",
            "1e309",
            "4e-324",
            "1e-99999999999999999999",
            "1e99999999999999999999",
        ],
        "number-out-of-range",
    );
    assert_verdicts(
        &["5e-324", "2.2250738585072014e-308", "0.30000000000000004"],
        "accepted",
    );
}

#[test]
fn commas_and_brackets_out_of_place() {
    assert_verdicts(
        &[
            "[1,]",
            "[,1]",
            "[1,,2]",
            "[1 2]",
            "[",
            "]",
            "[1}",
            r#"{"a":1,}"#,
            r#"{,"a":1}"#,
            "{",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a" 1}"#,
            r#"{"a":1 "b":2}"#,
            "{a:1}",
            "{1:1}",
            "{'a':1}",
            "{null:1}",
            r#"{"a":1]"#,
        ],
        "malformed-json",
    );
}

#[test]
fn words_comments_and_space_of_other_languages() {
    assert_verdicts(
        &[
            "True",
            "nul",
            "nulll",
            "tru",
            "undefined",
            "// c\n1",
            "/* c */1",
            "# c\n1",
            "'a'",
            "`a`",
            "1\u{a0}",
            "\u{2028}1",
            "\u{b}1",
            "\u{c}1",
            "\0",
            "1\0",
        ],
        "malformed-json",
    );
    assert_eq!(
        canonical_text(" \t\r\n[ 1 , { \"a\" : null } ]\n "),
        "[1,{\"a\":null}]"
    );
}

#[test]
fn control_characters_in_strings() {
    for control in 0..0x20_u8 {
        assert_verdicts(
            &[&format!("\"aaaaaaaaa{}\"", char::from(control))],
            "malformed-json",
        );
        assert_verdicts(
            &[&format!("{{\"{}\":1}}", char::from(control))],
            "malformed-json",
        );
    }
    assert_eq!(verdict(b"\"\x7f\""), "accepted");
}

#[test]
fn unknown_and_broken_escapes() {
    assert_verdicts(
        &[
            r#""\x41""#,
            r#""\'""#,
            r#""\U0041""#,
            r#""\u""#,
            r#""\u004""#,
            r#""\u00g0""#,
            r#""\u+041""#,
            r#""\u{41}""#,
            r#""\ud800\u12""#,
            r#""\é""#,
            r#""\u00é""#,
            r#""\"#,
            r#""\u"#,
        ],
        "malformed-json",
    );
}

#[test]
fn data_after_the_document() {
    for text in [
        "{}{}",
        "{} x",
        "1 1",
        "[]]",
        "{}}",
        "\"a\"\"b\"",
        "null,",
        "{}\0",
        "true false",
    ] {
        assert_eq!(verdict(text.as_bytes()), "malformed-json", "{text:?}");
    }
}

#[test]
fn no_document_at_all() {
    for text in ["", " ", "\r\n\t "] {
        assert_eq!(verdict(text.as_bytes()), "malformed-json", "{text:?}");
    }
}

#[test]
fn a_fault_has_its_offset_and_its_text_does_not_repeat_the_input() {
    let error = message("{\"secret\":secret}").unwrap_err();
    assert!(
        matches!(error, JsonError::Syntax { at: 10, .. }),
        "{error:?}"
    );
    assert!(!error.to_string().contains("secret") && error.to_string().contains("byte 10"));
    let after_wide = message("[\"é\",x]").unwrap_err();
    assert!(
        matches!(after_wide, JsonError::Syntax { at: 6, .. }),
        "{after_wide:?}"
    );
}

#[test]
fn a_document_cut_anywhere() {
    let text = r#"{"a":[1,-2.5e3,"x\u00e9é\ud83d\ude00\n"],"b":{"c":null,"d":true,"e":false}}"#;
    assert_eq!(verdict(text.as_bytes()), "accepted");
    for end in 0..text.len() {
        assert_ne!(verdict(&text.as_bytes()[..end]), "accepted", "cut at {end}");
    }
}

#[test]
fn what_foreigners_write_differs_in_long_decimals_alone() {
    let foreign = |text: &str| parse_foreign(text.as_bytes(), Limits::MESSAGE);
    for (text, double) in [
        ("0.10000000000000001", 0.1),
        ("-0.12345678901234567890", -0.123_456_789_012_345_68),
        ("123456789.00000000000000001", 123_456_789.0),
    ] {
        assert_eq!(message(text), Err(JsonError::Number), "{text}");
        let read = foreign(text).unwrap();
        assert_eq!(read.as_f64(), Some(double), "{text}");
        assert_eq!(message(&canonical_text_of(&read)), Ok(read), "{text}");
    }
    for text in [
        "9007199254740992",
        "-9007199254740992.0",
        "9007199254740992.5",
        "1e20",
        "1e400",
        "{\"a\":1,\"a\":2}",
        "\"\\ud800\"",
        "1 2",
        "NaN",
    ] {
        assert_eq!(foreign(text), message(text), "{text}");
        assert!(foreign(text).is_err(), "{text}");
    }
}
