//! Numbers: the double that a literal denotes, the literal of a double (ECMAScript, by RFC 8785),
//! and the rule that decides whether the two agree.

use serde_json::Number;

use super::Decimals;

/// The double that a JSON number literal denotes, rounded to nearest even; none for any other text
/// and beyond the range of doubles.
///
/// It is wider than [`parse`](super::parse), which also refuses what does not survive the double.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    let literal = Literal::at_start_of(text).ok()?;
    // `str::parse` also takes `inf`, `+1` and `1.`, which are not JSON: the JSON literal has to be the whole text.
    let whole = literal.text.len() == text.len();
    text.parse()
        .ok()
        .filter(|double: &f64| whole && double.is_finite())
}

/// The shortest text that denotes `double`, as ECMAScript's `Number::toString` writes it
/// (RFC 8785 section 3.2.2.3); `null` for NaN and the infinities, which JSON cannot express.
#[must_use]
pub fn format_number(double: f64) -> String {
    let mut out = Vec::new();
    write_number(double, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

pub(super) fn write_number(double: f64, out: &mut Vec<u8>) {
    let mut buffer = ryu_js::Buffer::new();
    let text = if double.is_finite() {
        buffer.format_finite(double)
    } else {
        "null"
    };
    out.extend_from_slice(text.as_bytes());
}

/// A number as it is spelt in a document.
pub(super) struct Literal<'a> {
    pub(super) text: &'a str,
    is_integer: bool,
}

impl<'a> Literal<'a> {
    /// Reads the longest literal at the start of `text`; the error is the offset of the fault.
    pub(super) fn at_start_of(text: &'a str) -> Result<Self, usize> {
        let bytes = text.as_bytes();
        let sign = usize::from(bytes.first() == Some(&b'-'));
        let integer_end = match bytes.get(sign) {
            // RFC 8259 allows no digit after a leading 0: of `01` only the 0 is read
            // here, and the caller refuses the 1 that is left.
            Some(b'0') => sign + 1,
            _ => digits_end(bytes, sign)?,
        };
        let fraction_end = match bytes.get(integer_end) {
            Some(b'.') => digits_end(bytes, integer_end + 1)?,
            _ => integer_end,
        };
        let end = match bytes.get(fraction_end) {
            Some(b'e' | b'E') => exponent_end(bytes, fraction_end + 1)?,
            _ => fraction_end,
        };
        Ok(Self {
            text: text.get(..end).ok_or(end)?,
            is_integer: end == integer_end,
        })
    }

    /// Whether it is spelt with an exponent.
    pub(super) fn has_exponent(&self) -> bool {
        self.text.contains(['e', 'E'])
    }

    /// The integer within ±(2^53−1) that is spelt as the canonical form spells it.
    pub(super) fn canonical_integer(&self) -> Option<i64> {
        let integer: i64 = self.is_integer.then(|| self.text.parse().ok())??;
        let is_safe = integer.unsigned_abs() <= MAX_SAFE_INTEGER;
        // Refuse `-0` here: it is the number 0, whose only canonical spelling is `0`.
        (is_safe && self.text != "-0").then_some(integer)
    }

    /// Whether it denotes a number that is taken, and is spelt as the canonical form spells that.
    pub(super) fn is_canonical(&self) -> bool {
        if self.is_integer {
            return self.canonical_integer().is_some();
        }
        let double = self
            .text
            .parse()
            .ok()
            .filter(|double: &f64| double.is_finite());
        // Refuse `1.0` and `1e0`: they become integers, which canonical form spells without a point and an exponent.
        let double = double.and_then(|double| number_of(double)?.is_f64().then_some(double));
        double.is_some_and(|double| ryu_js::Buffer::new().format_finite(double) == self.text)
    }

    /// The number, if every reader of its canonical form reads the same; with [`Decimals::Exact`], and of the literal.
    pub(super) fn to_number(&self, decimals: Decimals) -> Option<Number> {
        if self.is_integer {
            let integer: i64 = self.text.parse().ok()?;
            return (integer.unsigned_abs() <= MAX_SAFE_INTEGER).then(|| integer.into());
        }
        let double: f64 = self
            .text
            .parse()
            .ok()
            .filter(|double: &f64| double.is_finite())?;
        // Another implementation may read decimals exactly: refuse a literal that it would take for another number
        // (protocol.md, section 2).
        if decimals == Decimals::Exact {
            let shortest = Decimal::of(ryu_js::Buffer::new().format_finite(double))?;
            (Decimal::of(self.text)? == shortest).then_some(())?;
        }
        number_of(double)
    }
}

fn number_of(double: f64) -> Option<Number> {
    if double.abs() <= MAX_SAFE_INTEGER as f64 && double.fract() == 0.0 {
        // `1.0`, `1e0` and `1` are one number, and `-0.0` is 0: each gets one value, and so one canonical form.
        return Some(Number::from(double as i64));
    }
    // From 2^53 to 10^21 the canonical form is an integer literal, which this parser refuses: so refuse `1e20` as well.
    let is_refused_integer = double.fract() == 0.0 && double.abs() < FIRST_WITH_EXPONENT;
    Number::from_f64(double).filter(|_| !is_refused_integer)
}

fn digits_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let digits = bytes
        .iter()
        .skip(start)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits == 0 {
        Err(start)
    } else {
        Ok(start + digits)
    }
}

fn exponent_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let sign = usize::from(matches!(bytes.get(start), Some(b'+' | b'-')));
    digits_end(bytes, start + sign)
}

/// The exact magnitude of a literal, `digits * 10^exponent`, in its only spelling: no trailing zero
/// in `digits`, and zero as 0 and 0.
#[derive(PartialEq)]
struct Decimal {
    digits: u64,
    exponent: i64,
}

impl Decimal {
    /// None if the significant digits do not fit: no double needs more than seventeen.
    fn of(literal: &str) -> Option<Self> {
        // This form only serves to compare a literal with its double, and both have the same sign: leave the sign out.
        let literal = literal.trim_start_matches('-');
        let (mantissa, exponent) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let (digits, zeros) = significant(whole.bytes().chain(fraction.bytes()))?;
        // Zero can be written with any exponent, as in `0e5`: give it exponent 0 always, so that two zeros compare equal.
        if digits == 0 {
            return Some(Self {
                digits,
                exponent: 0,
            });
        }
        let exponent = exponent.parse::<i64>().ok()?;
        let shift = i64::try_from(zeros).ok()? - i64::try_from(fraction.len()).ok()?;
        Some(Self {
            digits,
            // The exponent comes from outside and may be close to the limits of
            // i64: where the sum overflows, refuse the number.
            exponent: exponent.checked_add(shift)?,
        })
    }
}

/// The digits between the outer zeros, and how many zeros follow them.
fn significant(bytes: impl Iterator<Item = u8>) -> Option<(u64, usize)> {
    let (mut digits, mut zeros) = (0_u64, 0);
    for digit in bytes.map(|byte| u64::from(byte.wrapping_sub(b'0'))) {
        if digit == 0 {
            zeros += 1;
            continue;
        }
        if digits > 0 {
            // Digits that do not fit into 64 bits are more than any double needs: give up, and the caller refuses the number.
            let shift = 10_u64.checked_pow(u32::try_from(zeros + 1).ok()?)?;
            digits = digits.checked_mul(shift)?;
        }
        digits = digits.checked_add(digit)?;
        zeros = 0;
    }
    Some((digits, zeros))
}

/// 2^53 - 1: up to here every integer has a double of its own.
pub(super) const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
/// From here on ECMAScript writes an exponent.
const FIRST_WITH_EXPONENT: f64 = 1e21;
