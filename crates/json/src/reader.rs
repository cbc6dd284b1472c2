//! Goes once over a document that is in canonical form already: the fast one of two readers of one form.
//!
//! It takes no other spelling. Whoever hears `None` from it asks [`parse`](super::parse), which alone says what is wrong.

use std::borrow::Cow;
use std::ops::Range;

use super::canonical::utf16_order;
use super::number::Literal;
use super::scan::plain_len;
use super::weight::{WEIGHT_OF_ITEM, weight_of_members};
use super::{Limits, STACK_DEPTH, is_reserved};

/// Where the reader is in one document.
///
/// Every function goes over what it names and stops behind it; after a `None` the place means nothing any more. What all
/// of them took, down to [`CanonicalReader::end`], is a document that [`parse`](super::parse) takes under the same limits,
/// and whose canonical form is its own bytes.
#[derive(Debug)]
pub struct CanonicalReader<'a> {
    text: &'a str,
    at: usize,
    /// Whether nothing stands yet in the array or object around the place.
    is_first: bool,
    depth_left: usize,
    values_left: usize,
}

/// One value that was gone over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extent {
    /// Its bytes in the document.
    pub bytes: Range<usize>,
    /// The [`weight`](super::weight) of its tree.
    pub weight: usize,
}

impl<'a> CanonicalReader<'a> {
    /// Before the first byte; `None` for more bytes than `limits` allow, and for what is not UTF-8.
    #[must_use]
    pub fn of(bytes: &'a [u8], limits: Limits) -> Option<Self> {
        if bytes.len() > limits.bytes {
            return None;
        }
        Some(Self {
            text: std::str::from_utf8(bytes).ok()?,
            at: 0,
            is_first: true,
            depth_left: limits.depth.min(STACK_DEPTH),
            values_left: limits.values,
        })
    }

    /// The offset of the next byte.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Into an object.
    pub fn enter(&mut self) -> Option<()> {
        self.value_begins()?;
        self.open(b'{')
    }

    /// To the value of the member `name`, if that is the next one.
    ///
    /// `name` is written in JSON as it is. Whoever asks for names in the order of RFC 8785, each once, and then for
    /// [`CanonicalReader::leave`], has had the members in canonical order and none but these.
    pub fn member(&mut self, name: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        // Comma, name and colon have to follow each other directly: canonical form has no white space.
        let rest = match self.is_first {
            true => Some(rest),
            false => rest.strip_prefix(b","),
        };
        let behind = rest
            .and_then(|rest| rest.strip_prefix(b"\""))
            .and_then(|rest| rest.strip_prefix(name.as_bytes()))
            .and_then(|rest| rest.strip_prefix(b"\":"));
        let Some(behind) = behind else {
            // Leave the position unchanged: the caller asks for the next name in canonical order, which may stand at this
            // position.
            return false;
        };
        self.at = self.text.len() - behind.len();
        self.is_first = false;
        true
    }

    /// Out of the object, if no member is left.
    pub fn leave(&mut self) -> Option<()> {
        self.close(b'}')
    }

    /// A string.
    pub fn string(&mut self) -> Option<Cow<'a, str>> {
        self.value_begins()?;
        self.quoted()
    }

    /// A string that is written without an escape.
    pub fn plain_string(&mut self) -> Option<&'a str> {
        match self.string()? {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        }
    }

    /// An integer within ±(2^53−1).
    pub fn integer(&mut self) -> Option<i64> {
        self.value_begins()?;
        let literal = self.number()?;
        literal.canonical_integer()
    }

    /// An array: `item` goes over each of its values.
    pub fn items(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.value_begins()?;
        self.open(b'[')?;
        while self.peek()? != b']' {
            self.separated()?;
            item(self)?;
        }
        self.close(b']')
    }

    /// Any value.
    pub fn value(&mut self) -> Option<Extent> {
        let start = self.at;
        let weight = self.any()?;
        let bytes = start..self.at;
        Some(Extent { bytes, weight })
    }

    /// Behind the last byte.
    pub fn end(self) -> Option<()> {
        (self.at == self.text.len()).then_some(())
    }

    /// The weight of the value.
    fn any(&mut self) -> Option<usize> {
        self.value_begins()?;
        match self.peek()? {
            b'"' => self.quoted().map(|text| text.len()),
            b'{' => self.members(),
            b'[' => self.elements(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number().filter(Literal::is_canonical).map(|_| 0),
        }
    }

    fn members(&mut self) -> Option<usize> {
        self.open(b'{')?;
        let (mut count, mut weight) = (0, 0);
        let mut before = None;
        while self.peek()? != b'}' {
            self.separated()?;
            let name = self.quoted()?;
            if is_reserved(&name) {
                return None;
            }
            // Each name has to be greater than the one before it: that checks the order, and that no name occurs twice.
            if before.is_some_and(|before: Cow<'a, str>| utf16_order(&before, &name).is_ge()) {
                return None;
            }
            self.take(b':')?;
            weight += name.len() + self.any()?;
            count += 1;
            before = Some(name);
        }
        self.close(b'}')?;
        Some(weight + weight_of_members(count))
    }

    fn elements(&mut self) -> Option<usize> {
        self.open(b'[')?;
        let mut weight = 0;
        while self.peek()? != b']' {
            self.separated()?;
            weight += WEIGHT_OF_ITEM + self.any()?;
        }
        self.close(b']')?;
        Some(weight)
    }

    /// The comma, but before the first.
    fn separated(&mut self) -> Option<()> {
        match std::mem::replace(&mut self.is_first, false) {
            true => Some(()),
            false => self.take(b','),
        }
    }

    fn quoted(&mut self) -> Option<Cow<'a, str>> {
        self.take(b'"')?;
        let rest = self.text.as_bytes().get(self.at..)?;
        let end = self.at + plain_len(rest);
        if self.text.as_bytes().get(end) == Some(&b'"') {
            // Nearly every string has no escape: it is borrowed from the document, so that no memory is allocated for it.
            let text = self.text.get(self.at..end)?;
            self.at = end + 1;
            return Some(Cow::Borrowed(text));
        }
        self.escaped().map(Cow::Owned)
    }

    /// A string with escapes, behind its first quotation mark.
    fn escaped(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let plain = plain_len(rest.as_bytes());
            text.push_str(rest.get(..plain)?);
            self.at += plain;
            match self.peek()? {
                b'"' => break,
                b'\\' => text.push(self.escape()?),
                _ => return None,
            }
        }
        self.at += 1;
        Some(text)
    }

    /// One of the escapes that [`write_string`](super::write_string) writes.
    fn escape(&mut self) -> Option<char> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let (character, length) = match rest {
            [b'\\', b'"', ..] => ('"', 2),
            [b'\\', b'\\', ..] => ('\\', 2),
            [b'\\', b'b', ..] => ('\u{8}', 2),
            [b'\\', b't', ..] => ('\t', 2),
            [b'\\', b'n', ..] => ('\n', 2),
            [b'\\', b'f', ..] => ('\u{c}', 2),
            [b'\\', b'r', ..] => ('\r', 2),
            [b'\\', b'u', b'0', b'0', high @ (b'0' | b'1'), low, ..] => {
                let low = match low {
                    b'0'..=b'9' => low - b'0',
                    b'a'..=b'f' => low - b'a' + 10,
                    _ => return None,
                };
                let control = char::from((high - b'0') * 16 + low);
                // Refuse these five characters as `\u00…`: they have a short escape such as `\n`, and only that is canonical
                // (RFC 8785, section 3.2.2.2).
                if matches!(control, '\u{8}' | '\t' | '\n' | '\u{c}' | '\r') {
                    return None;
                }
                (control, 6)
            }
            _ => return None,
        };
        self.at += length;
        Some(character)
    }

    fn number(&mut self) -> Option<Literal<'a>> {
        let literal = Literal::at_start_of(self.text.get(self.at..)?).ok()?;
        self.at += literal.text.len();
        Some(literal)
    }

    fn word(&mut self, word: &str) -> Option<usize> {
        self.text.get(self.at..)?.starts_with(word).then_some(())?;
        self.at += word.len();
        Some(0)
    }

    fn value_begins(&mut self) -> Option<()> {
        self.values_left = self.values_left.checked_sub(1)?;
        Some(())
    }

    fn open(&mut self, mark: u8) -> Option<()> {
        self.depth_left = self.depth_left.checked_sub(1)?;
        self.is_first = true;
        self.take(mark)
    }

    fn close(&mut self, mark: u8) -> Option<()> {
        self.depth_left += 1;
        self.is_first = false;
        self.take(mark)
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then_some(())?;
        self.at += 1;
        Some(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}
