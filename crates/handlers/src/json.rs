//! Strict JSON (RFC 8259, and I-JSON's rules on names and numbers): what foreign programs answer has one reading or none.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::de::StrRead;
use serde_json::{Map, Number, Value};

use crate::Fault;

/// How much a document may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole document.
    pub bytes: usize,
    /// Arrays and objects within each other.
    pub depth: usize,
    /// Values of every kind.
    pub values: usize,
}

impl Limits {
    /// The body of a message: the daemon sends no larger one (docs/protocol.md, section 2).
    pub const BODY: Self = Self {
        bytes: 240 * 1024,
        depth: 64,
        values: 10_000,
    };
    /// An answer with all that a foreign protocol puts around it: the history of a task repeats what was asked.
    pub const ANSWER: Self = Self {
        bytes: 2 * 1024 * 1024,
        depth: 72,
        values: 40_000,
    };
}

/// Reads one JSON text and nothing beside it.
///
/// # Errors
/// `TooLarge`, `NotJson`, `Json` for names that stand twice and numbers that not every reader holds, and
/// `AnsweredTwice` for a text with another one behind it.
pub fn parse(bytes: &[u8], limits: Limits) -> Result<Value, Fault> {
    if bytes.len() > limits.bytes {
        return Err(too_large(limits));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| NOT_UTF8)?;
    if has_wide_integer(bytes) {
        return Err(NUMBER);
    }
    let found = Cell::new(None);
    let values = Cell::new(limits.values);
    let strict = Strict {
        depth: limits.depth,
        values: &values,
        found: &found,
    };
    let mut input = serde_json::Deserializer::from_str(text);
    let value = match strict.deserialize(&mut input) {
        Ok(value) => value,
        Err(_) => return Err(found.take().unwrap_or(Fault::NotJson)),
    };
    match input.end() {
        Ok(()) => Ok(value),
        Err(_) if follows_another(&mut input) => Err(Fault::AnsweredTwice),
        Err(_) => Err(Fault::NotJson),
    }
}

fn too_large(limits: Limits) -> Fault {
    match limits == Limits::BODY {
        true => Fault::TooLarge,
        false => Fault::Flood(limits.bytes / 1024),
    }
}

/// Whether an integer has more digits than any that every reader holds: the parser rounds one beyond 64 bits to the
/// nearest double, and says nothing of it.
fn has_wide_integer(text: &[u8]) -> bool {
    let (mut in_string, mut escaped, mut in_number) = (false, false, false);
    let (mut digits, mut is_whole) = (0, true);
    for byte in text.iter().chain(b" ") {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'0'..=b'9' => (in_number, digits) = (true, digits + 1),
            b'.' | b'e' | b'E' | b'+' | b'-' if in_number => is_whole = false,
            _ if in_number => {
                if is_whole && digits > WIDEST_INTEGER {
                    return true;
                }
                (in_number, digits, is_whole) = (false, 0, true);
            }
            _ => {}
        }
    }
    false
}

fn follows_another(rest: &mut serde_json::Deserializer<StrRead<'_>>) -> bool {
    IgnoredAny::deserialize(rest).is_ok()
}

const NOT_UTF8: Fault = Fault::Json("not-utf8: its answer is not UTF-8");
const TWICE: Fault = Fault::Json("duplicate-name: its answer names a member twice");
const NUMBER: Fault = Fault::Json("number-out-of-range: its answer has an integer beyond 2^53-1");
const TOO_DEEP: Fault = Fault::Json("too-deep: its answer nests too many arrays and objects");
const TOO_MANY: Fault = Fault::Json("too-many-values: its answer has too many values");
/// Integers up to here are the same for every reader (RFC 7493, section 2.2).
const LARGEST_INTEGER: u64 = (1 << 53) - 1;
/// Its digits.
const WIDEST_INTEGER: usize = 16;
/// What a canonical form writes as an integer that is too large: no message holds it (docs/protocol.md, section 2).
const REWRITTEN: std::ops::Range<f64> = 9_007_199_254_740_992.0..1e21;

/// Reads one value; the fault that it finds is kept beside the parser's own error, which would print text.
#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: usize,
    values: &'a Cell<usize>,
    found: &'a Cell<Option<Fault>>,
}

impl Strict<'_> {
    fn refuse<E: serde::de::Error>(self, fault: Fault) -> E {
        self.found.set(Some(fault));
        E::custom("refused")
    }

    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => Err(self.refuse(TOO_DEEP)),
        }
    }

    fn integer<E: serde::de::Error>(self, size: u64, number: Number) -> Result<Value, E> {
        match size <= LARGEST_INTEGER {
            true => Ok(Value::Number(number)),
            false => Err(self.refuse(NUMBER)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<Value, D::Error> {
        match self.values.get().checked_sub(1) {
            Some(left) => self.values.set(left),
            None => return Err(self.refuse(TOO_MANY)),
        }
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.integer(value, value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.integer(value.unsigned_abs(), value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if REWRITTEN.contains(&value.abs()) {
            return Err(self.refuse(NUMBER));
        }
        Number::from_f64(value).map_or_else(|| Err(self.refuse(NUMBER)), |n| Ok(Value::Number(n)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let within = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(within)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let within = self.deeper()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                return Err(self.refuse(TWICE));
            }
            let value = members.next_value_seed(within)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Result<Value, Fault> {
        parse(text.as_bytes(), Limits::BODY)
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
            ("1e400", Fault::NotJson),
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
        assert_eq!(parse(b"\"\xff\"", Limits::BODY), Err(NOT_UTF8));
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
