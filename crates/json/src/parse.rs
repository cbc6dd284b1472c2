//! The strict parser: recursive descent over text that is known to be UTF-8.

use serde_json::map::Entry;
use serde_json::{Map, Value};

use super::canonical::canonical;
use super::number::Literal;
use super::scan::plain_len;
use super::{Decimals, JsonError, Limits, STACK_DEPTH, is_reserved};

/// Parses `text` as one JSON text with nothing but white space around it.
pub(super) fn document(text: &str, limits: Limits, decimals: Decimals) -> Result<Value, JsonError> {
    let depth_left = limits.depth.min(STACK_DEPTH);
    let mut parser = Parser {
        text,
        at: 0,
        depth_left,
        values_left: limits.values,
        may_grow: false,
        decimals,
    };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    if parser.peek().is_some() {
        return Err(parser.syntax("data after the end of the document"));
    }
    // Only the canonical form is kept and sent on. It can be longer than the text, so it has to pass the same size limit.
    if parser.may_grow && canonical(&value).len() > limits.bytes {
        return Err(JsonError::TooLarge);
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    /// Offset of the next byte, always on the border of a character.
    at: usize,
    depth_left: usize,
    values_left: usize,
    /// Whether the canonical form may be longer than the text: `9e15` becomes sixteen digits, and no
    /// other literal and no string grows.
    may_grow: bool,
    decimals: Decimals,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Value, JsonError> {
        self.values_left = self
            .values_left
            .checked_sub(1)
            .ok_or(JsonError::TooManyValues)?;
        match self.peek() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            _ => Err(self.syntax("a value is missing")),
        }
    }

    fn nested(
        &mut self,
        body: fn(&mut Self) -> Result<Value, JsonError>,
    ) -> Result<Value, JsonError> {
        self.depth_left = self.depth_left.checked_sub(1).ok_or(JsonError::TooDeep)?;
        self.at += 1;
        self.skip_space();
        let value = body(self)?;
        self.depth_left += 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, JsonError> {
        let mut members = Map::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            // Check the name for a duplicate before the value is read: a document
            // with two faults is refused for the first of them.
            let name = self.name()?;
            if is_reserved(&name) {
                return Err(self.syntax("a name that JSON libraries keep for themselves"));
            }
            let Entry::Vacant(member) = members.entry(name) else {
                return Err(JsonError::DuplicateName);
            };
            self.colon()?;
            member.insert(self.value()?);
            if !self.has_next(b'}', "',' or '}' is missing")? {
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value()?);
            if !self.has_next(b']', "',' or ']' is missing")? {
                return Ok(Value::Array(items));
            }
        }
    }

    fn name(&mut self) -> Result<String, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.syntax("a name in double quotes is missing"));
        }
        self.string()
    }

    /// The colon between a name and its value.
    fn colon(&mut self) -> Result<(), JsonError> {
        self.skip_space();
        if !self.take(b':') {
            return Err(self.syntax("':' is missing"));
        }
        self.skip_space();
        Ok(())
    }

    /// Whether a comma follows, with something after it, or the end of the array or object.
    fn has_next(&mut self, close: u8, missing: &'static str) -> Result<bool, JsonError> {
        self.skip_space();
        if self.take(b',') {
            // A comma at the end needs no check here: the caller reads a value or a name next, and refuses the closing bracket.
            self.skip_space();
            Ok(true)
        } else if self.take(close) {
            Ok(false)
        } else {
            Err(self.syntax(missing))
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let literal = match Literal::at_start_of(self.rest()) {
            Ok(literal) => literal,
            Err(offset) => {
                self.at += offset;
                return Err(self.syntax("a digit is missing"));
            }
        };
        let number = literal.to_number(self.decimals).ok_or(JsonError::Number)?;
        let (length, may_grow) = (literal.text.len(), literal.has_exponent());
        self.at += length;
        self.may_grow |= may_grow;
        Ok(Value::Number(number))
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self.rest().starts_with(word) {
            return Err(self.syntax("an unknown word"));
        }
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let mut text = String::new();
        loop {
            let plain = plain_len(self.rest().as_bytes());
            text.push_str(self.rest().get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.syntax("a control character in a string")),
                None => return Err(self.syntax("the string has no end")),
            }
        }
        self.at += 1;
        Ok(text)
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let character = match self.peek() {
            Some(b'u') => return self.unicode_escape(),
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            _ => return Err(self.syntax("an unknown escape")),
        };
        self.at += 1;
        Ok(character)
    }

    /// `uXXXX`, and for a high surrogate also the `\uXXXX` of the low one.
    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let first = self.code_unit()?;
        if let Some(character) = char::from_u32(first) {
            return Ok(character);
        }
        // No character has the number `first`, so it is half of a surrogate pair. Refuse a low half that comes first, and a
        // high half without an escape after it.
        if first >= LOW_SURROGATES || !self.rest().starts_with("\\u") {
            return Err(JsonError::LoneSurrogate);
        }
        self.at += 1;
        let second = self.code_unit()?;
        let low = second
            .checked_sub(LOW_SURROGATES)
            .filter(|low| *low < 0x400);
        let scalar = low.map(|low| 0x1_0000 + ((first - HIGH_SURROGATES) << 10) + low);
        scalar
            .and_then(char::from_u32)
            .ok_or(JsonError::LoneSurrogate)
    }

    /// The four digits after a `u`.
    fn code_unit(&mut self) -> Result<u32, JsonError> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit << 4
                | digit.ok_or_else(|| self.syntax("four hexadecimal digits are missing"))?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn syntax(&self, what: &'static str) -> JsonError {
        JsonError::Syntax { at: self.at, what }
    }
}

const HIGH_SURROGATES: u32 = 0xd800;
const LOW_SURROGATES: u32 = 0xdc00;
