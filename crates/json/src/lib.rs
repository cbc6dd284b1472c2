//! signet-json: strict JSON (protocol.md section 2), with one parser for everything that comes from outside, and the
//! canonical form that is hashed and signed (RFC 8785).
//!
//! ```text
//! bytes ── parse ──> Value ── canonical ──> bytes      parse(canonical(v)) == v for every parsed v
//! bytes ── CanonicalReader: the same document, or nothing       only where canonical(parse(bytes)) == bytes
//! ```
//!
//! The parser is the crate's own because it has to see the text of a number and every name of an
//! object. It never repairs and does not normalise Unicode.
//!
//! The crate knows nothing of messages, keys and schemas: what a value means is decided by those who parse it.
#![forbid(unsafe_code)]
#![deny(clippy::indexing_slicing)]

mod canonical;
mod number;
mod parse;
mod reader;
mod scan;
mod weight;

pub use serde_json::{Map, Value};

pub use canonical::{canonical, write_canonical, write_string};
pub use number::{format_number, parse_number};
pub use reader::{CanonicalReader, Extent};
pub use weight::weight;

/// How much a document may cost before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole document, as it comes and in canonical form.
    pub bytes: usize,
    /// Arrays and objects within each other; `[]` has depth 1. Above 128 means 128.
    pub depth: usize,
    /// Values of every kind, the document itself and each array and object included, names not.
    pub values: usize,
}

impl Limits {
    /// One message.
    pub const MESSAGE: Self = Self {
        bytes: 240 * 1024,
        depth: 64,
        values: 10_000,
    };
    /// One line of the audit log or of the local socket, which may hold a message.
    pub const LINE: Self = Self {
        bytes: 2 * 1024 * 1024,
        depth: 72,
        values: 20_000,
    };
}

/// Why bytes are not acceptable JSON. No text of it repeats the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// More bytes than [`Limits::bytes`], in the text or in its canonical form.
    #[error("too many bytes: send a smaller document")]
    TooLarge,
    /// Not UTF-8 (RFC 8259 section 8.1).
    #[error("not UTF-8: encode the document as UTF-8")]
    InvalidUtf8,
    /// A byte order mark in front (RFC 8259 section 8.1).
    #[error("byte order mark: leave it out")]
    ByteOrderMark,
    /// Against the grammar of RFC 8259.
    #[error("malformed JSON at byte {at}: {what}; send one JSON text (RFC 8259)")]
    Syntax {
        /// Offset in bytes of the fault.
        at: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// Two members of one object have the same name after unescaping.
    #[error("duplicate name in an object: send each name once")]
    DuplicateName,
    /// A `\u` escape that is half of a surrogate pair.
    #[error("lone surrogate in a string: escape both halves of the pair, or neither")]
    LoneSurrogate,
    /// A number that another implementation would read differently.
    #[error(
        "number out of range: send integers within 2^53-1, and decimals that a double holds \
         exactly as written; send anything else as a string"
    )]
    Number,
    /// Deeper than [`Limits::depth`].
    #[error("too deep: nest fewer arrays and objects")]
    TooDeep,
    /// More values than [`Limits::values`].
    #[error("too many values: send a smaller document")]
    TooManyValues,
}

impl JsonError {
    /// The stable name of the fault, for logs and vectors.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::TooLarge => "too-large",
            Self::InvalidUtf8 => "invalid-utf8",
            Self::ByteOrderMark => "byte-order-mark",
            Self::Syntax { .. } => "malformed-json",
            Self::DuplicateName => "duplicate-name",
            Self::LoneSurrogate => "lone-surrogate",
            Self::Number => "number-out-of-range",
            Self::TooDeep => "too-deep",
            Self::TooManyValues => "too-many-values",
        }
    }
}

/// Parses one JSON text.
///
/// Integral numbers within ±(2^53−1) become `i64`, however they are spelt, all others `f64`; so
/// equal numbers give equal values and equal canonical bytes.
///
/// # Errors
/// The first fault in reading order; size, encoding and byte order mark come before all others, and
/// the size of the canonical form after them.
pub fn parse(bytes: &[u8], limits: Limits) -> Result<Value, JsonError> {
    document(bytes, limits, Decimals::Exact)
}

/// As [`parse`], but a decimal that no double holds exactly becomes the double nearest to it: programs that know
/// nothing of our rules write seventeen digits where sixteen would do, and mean the double.
///
/// # Errors
/// As [`parse`].
pub fn parse_foreign(bytes: &[u8], limits: Limits) -> Result<Value, JsonError> {
    document(bytes, limits, Decimals::Nearest)
}

/// What becomes of a decimal with more digits than its double has.
#[derive(Clone, Copy, PartialEq)]
enum Decimals {
    /// It is refused: another reader could take it for another number.
    Exact,
    /// It is rounded.
    Nearest,
}

fn document(bytes: &[u8], limits: Limits, decimals: Decimals) -> Result<Value, JsonError> {
    // Check the size first (V01), so that nothing is spent on parsing a document that is too long.
    if bytes.len() > limits.bytes {
        return Err(JsonError::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| JsonError::InvalidUtf8)?;
    // The parser would refuse a byte order mark as malformed JSON: look for it
    // here, since it has an error name of its own (V02).
    if text.starts_with('\u{feff}') {
        return Err(JsonError::ByteOrderMark);
    }
    parse::document(text, limits, decimals)
}

/// Whether a name of a member is one by which serde_json marks what it reads in another way: whoever read such an object as a
/// [`Value`] would have another object than was signed, or an error (docs/protocol.md, section 2).
fn is_reserved(name: &str) -> bool {
    name.starts_with("$serde_json::private::")
}

/// No caller's limit may overflow the stack, where a document is read, written or dropped.
const STACK_DEPTH: usize = 128;
