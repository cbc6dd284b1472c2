//! Names of capabilities by their beginning: what programs may offer.

use std::fmt;
use std::str::FromStr;

use crate::headers::CapabilityName;

/// A name, or the beginning of one with `*` behind it: `calendar.free-busy`, `calendar.*`, `*`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct NamePattern(String);

/// The text is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a capability's name is expected, or its beginning and then `*`, such as \"calendar.*\"")]
pub struct PatternError;

impl NamePattern {
    /// Whether `name` is meant.
    pub fn matches(&self, name: &CapabilityName) -> bool {
        match self.0.strip_suffix('*') {
            Some(beginning) => name.as_str().starts_with(beginning),
            None => name.as_str() == self.0,
        }
    }
}

impl TryFrom<String> for NamePattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl FromStr for NamePattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let beginning = text.strip_suffix('*');
        let named = beginning.unwrap_or(text);
        let all = beginning == Some("");
        match all || named.parse::<CapabilityName>().is_ok() {
            true => Ok(Self(text.to_owned())),
            false => Err(PatternError),
        }
    }
}

impl fmt::Display for NamePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, name: &str) -> bool {
        let pattern: NamePattern = pattern.parse().unwrap();
        pattern.matches(&name.parse().unwrap())
    }

    #[test]
    fn a_pattern_means_one_name_or_all_that_begin_with_it() {
        let pattern: NamePattern = "calendar.*".parse().unwrap();
        assert_eq!(pattern.to_string(), "calendar.*");
        assert!(matches("calendar.*", "calendar.free-busy"));
        assert!(matches("*", "door.open"));
        assert!(matches("door.open", "door.open"));
        assert!(!matches("door.open", "door.opener"));
        assert!(!matches("calendar.*", "calendars"));
    }

    #[test]
    fn what_is_no_name_is_no_pattern() {
        for text in ["", "a*b", "**", "Calendar.*", "a b", "*.open"] {
            assert_eq!(text.parse::<NamePattern>(), Err(PatternError), "{text}");
        }
    }
}
