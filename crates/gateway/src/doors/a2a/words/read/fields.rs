//! One member after the other, each in camelCase or snake_case, null as absent; a wrong one is named with its place.

use serde_json::{Map, Value};

/// A member that cannot be meant, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {wrong}")]
pub(crate) struct Misread {
    pub(crate) field: String,
    pub(crate) wrong: String,
}

impl Misread {
    pub(super) fn at(field: impl Into<String>, wrong: &str) -> Self {
        Self {
            field: field.into(),
            wrong: wrong.to_owned(),
        }
    }
}

/// An object, and where it stands in the parameters.
pub(crate) struct Fields<'a> {
    pub(super) members: &'a Map<String, Value>,
    pub(super) path: String,
}

impl<'a> Fields<'a> {
    /// The parameters themselves.
    pub(crate) const fn root(members: &'a Map<String, Value>) -> Self {
        Self {
            members,
            path: String::new(),
        }
    }

    pub(super) fn of(value: &'a Value, path: String) -> Result<Self, Misread> {
        match value {
            Value::Object(members) => Ok(Self { members, path }),
            _ => Err(Misread::at(path, "is not an object")),
        }
    }

    /// The member of that name in camelCase, or in snake_case.
    pub(crate) fn member(&self, name: &str) -> Option<&'a Value> {
        let found = self.members.get(name);
        let found = found.or_else(|| self.members.get(&snake(name)));
        found.filter(|value| !value.is_null())
    }

    pub(crate) fn fault(&self, name: &str, wrong: &str) -> Misread {
        Misread::at(self.at(name), wrong)
    }

    pub(super) fn at(&self, name: &str) -> String {
        match self.path.is_empty() {
            true => name.to_owned(),
            false => format!("{}.{name}", self.path),
        }
    }

    /// A text that is not empty; an empty one counts as absent, as protobuf has it.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Misread> {
        match self.long_text(name)? {
            Some(text) if text.len() > LONGEST_TEXT => {
                Err(self.fault(name, "is longer than 1,024 bytes"))
            }
            found => Ok(found),
        }
    }

    /// The same of any length: what it is of holds as many bytes as a message.
    pub(super) fn long_text(&self, name: &str) -> Result<Option<String>, Misread> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(_) => Err(self.fault(name, "is not a text")),
        }
    }

    pub(crate) fn needed(&self, name: &str) -> Result<String, Misread> {
        self.text(name)?
            .ok_or_else(|| self.fault(name, "is missing"))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Misread> {
        match self.member(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.fault(name, "is neither true nor false")),
        }
    }

    /// A whole number from 0 on, which may stand as a text.
    pub(crate) fn count(&self, name: &str) -> Result<Option<usize>, Misread> {
        let wrong = || self.fault(name, "is not a whole number from 0 on");
        let Some(value) = self.member(name) else {
            return Ok(None);
        };
        let number = match value {
            // JSON of protobuf also allows a whole number to be written as `1.0` or as a string: so take these forms as well.
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        // The specification declares these numbers as int32, so a larger one is an error.
        let number = number.filter(|number| *number <= u64::from(i32::MAX.unsigned_abs()));
        let number = number.ok_or_else(wrong)?;
        usize::try_from(number).map(Some).map_err(|_| wrong())
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<Fields<'a>>, Misread> {
        let value = self.member(name);
        value
            .map(|value| Fields::of(value, self.at(name)))
            .transpose()
    }

    pub(super) fn map(&self, name: &str) -> Result<Option<Map<String, Value>>, Misread> {
        let found = self.object(name)?;
        let found = found.filter(|fields| !fields.members.is_empty());
        Ok(found.map(|fields| fields.members.clone()))
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, Misread> {
        let wrong = || self.fault(name, "is not a list of texts");
        match self.member(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<_>>().ok_or_else(wrong)
            }
            Some(_) => Err(wrong()),
        }
    }
}

fn whole(number: f64) -> Option<u64> {
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&number);
    // Between 0 and 2^31 an f64 holds every whole number exactly, so the cast loses nothing.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    is_whole.then_some(number as u64)
}

fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(character.to_ascii_lowercase());
    }
    out
}

const LONGEST_TEXT: usize = 1024;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_count_is_a_whole_number_from_zero_on() {
        let members = json!({"a": 5, "b": "5", "c": 5.0, "d": -1, "e": 0.5, "f": "x", "g": 1e300, "history_length": 0});
        let members = members.as_object().unwrap();
        let fields = Fields::root(members);
        for name in ["a", "b", "c"] {
            assert_eq!(fields.count(name), Ok(Some(5)));
        }
        for name in ["d", "e", "f", "g"] {
            assert!(fields.count(name).is_err(), "{name}");
        }
        assert_eq!(fields.count("historyLength"), Ok(Some(0)));
        assert_eq!(fields.count("absent"), Ok(None));
    }
}
