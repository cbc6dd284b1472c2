//! What a foreign program answers is read strictly ([`signet_json`]), and refused by names that repeat nothing of it.

use serde::Deserialize as _;
use serde::de::IgnoredAny;
use serde_json::Value;
use signet_json::{JsonError, Limits, parse_foreign};

use crate::Fault;

/// An answer with all that a foreign protocol puts around it: the history of a task repeats what was asked.
pub const ANSWER: Limits = Limits {
    bytes: 2 * 1024 * 1024,
    depth: 72,
    values: 40_000,
};

/// Reads one JSON text and nothing beside it.
///
/// # Errors
/// `TooLarge` for a body that no message holds, and `Flood` for more than [`ANSWER`]; `NotJson`; `Json` for what two
/// readers may read differently; `AnsweredTwice` for a text with another one behind it.
pub fn read(bytes: &[u8], limits: Limits) -> Result<Value, Fault> {
    parse_foreign(bytes, limits).map_err(|error| match error {
        JsonError::TooLarge if limits == Limits::MESSAGE => Fault::TooLarge,
        JsonError::TooLarge => Fault::Flood(limits.bytes / 1024),
        JsonError::Syntax { at, .. } if is_end_of_one(bytes, at, limits) => Fault::AnsweredTwice,
        JsonError::Syntax { .. } | JsonError::ByteOrderMark | JsonError::LoneSurrogate => {
            Fault::NotJson
        }
        JsonError::InvalidUtf8 => NOT_UTF8,
        JsonError::DuplicateName => TWICE,
        JsonError::Number => NUMBER,
        JsonError::TooDeep => TOO_DEEP,
        JsonError::TooManyValues => TOO_MANY,
    })
}

/// Whether a whole text ends before `at`, and another one begins there.
fn is_end_of_one(bytes: &[u8], at: usize, limits: Limits) -> bool {
    let Some((first, rest)) = bytes.split_at_checked(at) else {
        return false;
    };
    let mut rest = serde_json::Deserializer::from_slice(rest);
    parse_foreign(first, limits).is_ok() && IgnoredAny::deserialize(&mut rest).is_ok()
}

const NOT_UTF8: Fault = Fault::Json("not-utf8: its answer is not UTF-8");
const TWICE: Fault = Fault::Json("duplicate-name: its answer names a member twice");
const NUMBER: Fault = Fault::Json("number-out-of-range: its answer has an integer beyond 2^53-1");
const TOO_DEEP: Fault = Fault::Json("too-deep: its answer nests too many arrays and objects");
const TOO_MANY: Fault = Fault::Json("too-many-values: its answer has too many values");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, Fault> {
        super::read(text.as_bytes(), Limits::MESSAGE)
    }

    #[test]
    fn what_every_reader_reads_alike_is_read() {
        assert_eq!(
            read(" {\"a\": [1, -2, 0.5, null, true, \"\\u00fc\"]}\n"),
            Ok(json!({"a": [1, -2, 0.5, null, true, "ü"]}))
        );
        assert_eq!(
            read("9007199254740991"),
            Ok(json!(9_007_199_254_740_991_u64))
        );
        let long = "[\"12345678901234567890\",0.12345678901234567890,1.5e21,-0.5]";
        assert_eq!(
            read(long),
            Ok(json!([
                "12345678901234567890",
                0.123_456_789_012_345_68,
                1.5e21,
                -0.5
            ]))
        );
    }

    #[test]
    fn what_two_readers_may_read_differently_is_refused_by_name() {
        for (text, fault) in [
            ("{\"a\":1,\"a\":2}", TWICE),
            ("{\"a\":1,\"\\u0061\":2}", TWICE),
            ("9007199254740992", NUMBER),
            ("-9007199254740992", NUMBER),
            ("[123456789012345678901234567890]", NUMBER),
            ("{\"a\\\"\": -99999999999999999999999}", NUMBER),
            ("1e20", NUMBER),
            ("-9007199254740992.0", NUMBER),
            ("1e400", NUMBER),
            ("1 2", Fault::AnsweredTwice),
            ("{}\n{}", Fault::AnsweredTwice),
            ("{} x", Fault::NotJson),
            ("", Fault::NotJson),
            ("\u{feff}1", Fault::NotJson),
            ("\"\\ud800\"", Fault::NotJson),
            ("NaN", Fault::NotJson),
            ("{\"a\":1,}", Fault::NotJson),
        ] {
            assert_eq!(read(text), Err(fault), "{text}");
        }
        assert_eq!(super::read(b"\"\xff\"", Limits::MESSAGE), Err(NOT_UTF8));
    }

    #[test]
    fn a_bomb_of_brackets_or_of_values_costs_its_limit_and_no_more() {
        assert_eq!(read(&"[".repeat(100_000)), Err(TOO_DEEP));
        assert!(read(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
        let many = format!("[{}1]", "1,".repeat(10_000));
        assert_eq!(read(&many), Err(TOO_MANY));
        let long = format!("\"{}\"", "x".repeat(240 * 1024));
        assert_eq!(read(&long), Err(Fault::TooLarge));
    }
}
