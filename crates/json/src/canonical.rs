//! The canonical form (JCS, RFC 8785): what is hashed and signed.

use std::cmp::Ordering;
use std::io::Write as _;

use serde_json::{Map, Number, Value};

use super::number::{MAX_SAFE_INTEGER, write_number};
use super::scan::plain_len;

/// The canonical bytes of `value`.
///
/// They depend on the value alone, not on the order of its members nor on the features that
/// serde_json is built with. A number is written as the double nearest to it (`null` if there is
/// none, which only `arbitrary_precision` can produce; [`parse`](super::parse) never does).
#[must_use]
pub fn canonical(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(FIRST_CAPACITY);
    write_canonical(value, &mut out);
    out
}

/// Appends the canonical bytes of `value` to `out`.
pub fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_json_number(number, out),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => write_array(items, out),
        Value::Object(members) => write_object(members, out),
    }
}

/// Appends `text` in quotes, with the escapes of RFC 8785 section 3.2.2.2 and no others.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    out.push(b'"');
    while let Some((plain, tail)) = rest.split_at_checked(plain_len(rest)) {
        out.extend_from_slice(plain);
        let Some((special, tail)) = tail.split_first() else {
            break;
        };
        write_escape(*special, out);
        rest = tail;
    }
    out.push(b'"');
}

fn write_escape(special: u8, out: &mut Vec<u8>) {
    let short = match special {
        b'"' | b'\\' => special,
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0c => b'f',
        b'\r' => b'r',
        control => {
            // RFC 8785 asks for lower-case hex digits: in upper case, the same string would have another hash.
            let digit = b"0123456789abcdef".get(usize::from(control & 15));
            out.extend_from_slice(if control < 16 { b"\\u000" } else { b"\\u001" });
            out.extend(digit);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

fn write_json_number(number: &Number, out: &mut Vec<u8>) {
    // A value that a program built itself may hold an integer beyond 2^53: the canonical form writes its nearest double.
    match number
        .as_i64()
        .filter(|integer| integer.unsigned_abs() <= MAX_SAFE_INTEGER)
    {
        // Writing into memory cannot fail, so there is no error to pass on.
        Some(integer) => drop(write!(out, "{integer}")),
        None => write_number(number.as_f64().unwrap_or(f64::INFINITY), out),
    }
}

fn write_array(items: &[Value], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_canonical(item, out);
    }
    out.push(b']');
}

fn write_object(members: &Map<String, Value>, out: &mut Vec<u8>) {
    // RFC 8785 sorts names by UTF-16. The map sorts by UTF-8 bytes, which nearly always gives the same order, or by insertion
    // if a dependency turns on `preserve_order` of serde_json. So sort only names that are out of order.
    if members
        .keys()
        .is_sorted_by(|a, b| utf16_order(a, b).is_lt())
    {
        return write_members(members.iter(), out);
    }
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_unstable_by(|(a, _), (b, _)| utf16_order(a, b));
    write_members(sorted.into_iter(), out);
}

fn write_members<'a>(members: impl Iterator<Item = (&'a String, &'a Value)>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        write_canonical(value, out);
    }
    out.push(b'}');
}

/// The order of UTF-16 code units (RFC 8785 section 3.2.3), taken from the UTF-8 bytes.
///
/// The two orders differ in one point: the characters beyond U+FFFF (lead bytes F0 to F4) stand
/// before U+E000 to U+FFFF (lead bytes EE and EF), because surrogates begin at D800.
pub(super) fn utf16_order(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| {
        if matches!(byte, 0xee | 0xef) {
            byte + 0x10
        } else {
            byte
        }
    };
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

/// Enough for a usual envelope.
const FIRST_CAPACITY: usize = 1024;

#[cfg(test)]
mod tests {
    use super::utf16_order;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_utf16(a in "[a\u{e9}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}]{0,3}", b in "\\PC{0,3}", c in "[a\u{e9}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}]{0,3}") {
            for (left, right) in [(&a, &b), (&a, &c), (&b, &c)] {
                let expected = left.encode_utf16().cmp(right.encode_utf16());
                prop_assert_eq!(utf16_order(left, right), expected);
            }
        }
    }
}
