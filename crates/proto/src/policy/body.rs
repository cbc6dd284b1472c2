//! The JSON Schema of a capability's body: compiled once at start, from our own configuration only.

use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};
use signet_json::{Limits, Value, canonical};

use super::bounds::{self, SchemaError};
use crate::headers::Tier;

/// The longest schema, in bytes of its text.
pub const SCHEMA_BYTES: usize = 64 * 1024;

/// A JSON Schema (draft 2020-12) that is bounded: it refers to nothing outside itself and not to
/// itself, its regular expressions take linear time, and what it costs to fit a body to it grows with
/// the body alone.
#[derive(Clone)]
pub struct BodySchema {
    source: Arc<Value>,
    validator: Arc<Validator>,
}

/// Where a body does not fit. Holds names and places, never a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The JSON Pointer to the keyword in the schema.
    pub schema_path: String,
    /// The keyword.
    pub keyword: String,
    /// The JSON Pointer to the place in the body: of the sender's making.
    pub instance_path: String,
}

impl BodySchema {
    /// Compiles the text of a schema.
    ///
    /// # Errors
    /// Says where it is at fault.
    pub fn compile(text: &[u8]) -> Result<Self, SchemaError> {
        let source = signet_json::parse(text, SCHEMA)?;
        // Measure the schema before it is compiled: compiling follows every reference of the schema, and could take too long.
        bounds::measure(&source)?;
        // Use the regex engine that takes linear time: with one that backtracks, a peer's body could make a pattern work for
        // very long.
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_CACHE);
        let options = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(patterns);
        let validator = options.build(&source).map_err(|error| SchemaError::At {
            place: format!("#{}", error.instance_path()),
            fault: shortened(&error.to_string(), FAULT_CHARS),
        })?;
        Ok(Self {
            source: Arc::new(source),
            validator: Arc::new(validator),
        })
    }

    /// The schema itself.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Where `body` does not fit; `None` when it does.
    pub fn misfit(&self, body: &Value) -> Option<Misfit> {
        // Most bodies fit: look for the place of the fault only in a body that does not fit.
        if self.validator.is_valid(body) {
            return None;
        }
        let error = self.validator.validate(body).err();
        Some(error.map_or_else(Misfit::unknown, |error| Misfit {
            schema_path: error.schema_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            instance_path: error.instance_path().to_string(),
        }))
    }
}

impl Misfit {
    /// In one sentence for the sender, of at most 250 characters. Above tier 2 nothing of the body's
    /// making is in it, not even a member's name.
    pub fn text(&self, tier: Tier) -> String {
        let (path, keyword) = (shortened(&self.schema_path, PATH_CHARS), &self.keyword);
        if tier.is_sealed() {
            return format!("Schema path {path}, keyword {keyword}.");
        }
        let place = shortened(&self.instance_path, PATH_CHARS);
        let place = if place.is_empty() { "its top" } else { &place };
        format!("Schema path {path}, keyword {keyword}; in the body at {place}.")
    }

    fn unknown() -> Self {
        let none = String::new;
        Self {
            schema_path: none(),
            keyword: none(),
            instance_path: none(),
        }
    }
}

impl fmt::Debug for BodySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = canonical(&self.source);
        write!(f, "BodySchema({})", String::from_utf8_lossy(&text))
    }
}

impl PartialEq for BodySchema {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for BodySchema {}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

const SCHEMA: Limits = Limits {
    bytes: SCHEMA_BYTES,
    depth: 32,
    values: 8_000,
};
/// How large a compiled pattern may be: what it costs a character.
const PATTERN_BYTES: usize = 64 * 1024;
/// How much memory matching may take.
const PATTERN_CACHE: usize = 1024 * 1024;
const FAULT_CHARS: usize = 300;
const PATH_CHARS: usize = 90;
