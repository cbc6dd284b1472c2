//! Reading TOML tables: every fault names its key and its line.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use signet_proto::headers::Layers;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ConfigError;
use crate::home::Home;

/// A configuration's text, parsed.
pub(super) struct Document<'a> {
    text: &'a str,
    table: Spanned<DeTable<'a>>,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, ConfigError> {
        let table = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let twice = Some(DUPLICATE).filter(|told| error.message().contains(told));
            match twice.and_then(|_| signet_audit::twice(text, at)) {
                Some(twice) => ConfigError::Twice(twice),
                None => ConfigError::Syntax {
                    line: line(text, at),
                    message: error.message().to_owned(),
                },
            }
        })?;
        Ok(Self { text, table })
    }

    /// The table of sections.
    pub(super) fn root(&self, known: &'static [&'static str]) -> Result<Section<'_>, ConfigError> {
        Section::of(
            "the file".to_owned(),
            Some(self.table.get_ref()),
            self.text,
            known,
        )
    }
}

/// In the parser's words for a table or a key that it has read before.
const DUPLICATE: &str = "duplicate key";

/// One table, whose keys are all known. A section that is not written is an empty one.
pub(super) struct Section<'a> {
    place: String,
    table: Option<&'a DeTable<'a>>,
    text: &'a str,
}

impl<'a> Section<'a> {
    fn of(
        place: String,
        table: Option<&'a DeTable<'a>>,
        text: &'a str,
        known: &'static [&'static str],
    ) -> Result<Self, ConfigError> {
        let unknown = |key: &&Spanned<Cow<'_, str>>| !known.contains(&key.get_ref().as_ref());
        let Some(key) = table.and_then(|table| table.keys().find(unknown)) else {
            return Ok(Self { place, table, text });
        };
        Err(ConfigError::UnknownKey {
            line: line(text, key.span().start),
            nearest: nearest(key.get_ref(), known),
            key: key.get_ref().to_string(),
            place,
            known,
        })
    }

    /// The table `[name]` in this one.
    pub(super) fn section(
        &self,
        name: &'static str,
        known: &'static [&'static str],
    ) -> Result<Section<'a>, ConfigError> {
        let table = match self.value(name) {
            None => None,
            Some(DeValue::Table(table)) => Some(table),
            Some(_) => return Err(self.bad(name, "a table is expected")),
        };
        Section::of(self.place_of(name), table, self.text, known)
    }

    /// The tables `[[name]]` in this one.
    pub(super) fn sections(
        &self,
        name: &'static str,
        known: &'static [&'static str],
    ) -> Result<Vec<Section<'a>>, ConfigError> {
        let items = match self.value(name) {
            None => return Ok(Vec::new()),
            Some(DeValue::Array(items)) => items,
            Some(_) => return Err(self.bad(name, "write it as [[…]]")),
        };
        let section = |item: &'a Spanned<DeValue<'a>>| match item.get_ref() {
            DeValue::Table(table) => {
                Section::of(format!("[[{name}]]"), Some(table), self.text, known)
            }
            _ => Err(self.bad(name, "write it as [[…]]")),
        };
        items.iter().map(section).collect()
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, ConfigError> {
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => Err(self.bad(key, "a text in double quotes is expected")),
        }
    }

    /// A path; a relative one starts at the home.
    pub(super) fn file(&self, key: &str, home: &Home) -> Result<Option<PathBuf>, ConfigError> {
        Ok(self.text(key)?.map(|path| home.join(path)))
    }

    pub(super) fn texts(&self, key: &str) -> Result<Option<Vec<String>>, ConfigError> {
        let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => None,
        };
        let texts = match self.value(key) {
            None => return Ok(None),
            Some(DeValue::Array(items)) => items.iter().map(text).collect::<Option<Vec<_>>>(),
            Some(_) => None,
        };
        texts
            .map(Some)
            .ok_or_else(|| self.bad(key, "a list of texts is expected, such as [\"…\"]"))
    }

    /// A text that has no default.
    pub(super) fn required<T: FromStr<Err: ToString>>(&self, key: &str) -> Result<T, ConfigError> {
        let missing = || ConfigError::Missing {
            key: key.to_owned(),
            place: self.place.clone(),
        };
        let text = self.text(key)?.ok_or_else(missing)?;
        text.parse()
            .map_err(|fault: T::Err| self.bad(key, &fault.to_string()))
    }

    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, ConfigError> {
        match self.value(key) {
            None => Ok(None),
            Some(DeValue::Boolean(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.bad(key, "true or false is expected")),
        }
    }

    pub(super) fn small(
        &self,
        key: &str,
        range: RangeInclusive<u8>,
    ) -> Result<Option<u8>, ConfigError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let number = small(value).filter(|number| range.contains(number));
        let expected = || {
            format!(
                "a number from {} to {} is expected",
                range.start(),
                range.end()
            )
        };
        number.map(Some).ok_or_else(|| self.bad(key, &expected()))
    }

    pub(super) fn number(
        &self,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, ConfigError> {
        let number = match self.value(key) {
            None => return Ok(None),
            Some(DeValue::Integer(number)) => {
                u32::from_str_radix(number.as_str(), number.radix()).ok()
            }
            Some(_) => None,
        };
        let number = number.filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        let expected = || format!("a number from {least} to {most} is expected");
        number.map(Some).ok_or_else(|| self.bad(key, &expected()))
    }

    pub(super) fn smalls(
        &self,
        key: &str,
        range: RangeInclusive<u8>,
    ) -> Result<Option<Vec<u8>>, ConfigError> {
        let number = |item: &Spanned<DeValue<'_>>| {
            small(item.get_ref()).filter(|number| range.contains(number))
        };
        let numbers = match self.value(key) {
            None => return Ok(None),
            Some(DeValue::Array(items)) => items.iter().map(number).collect::<Option<Vec<_>>>(),
            Some(_) => None,
        };
        let expected = || {
            let (from, to) = (range.start(), range.end());
            format!("a list of numbers from {from} to {to} is expected")
        };
        numbers.map(Some).ok_or_else(|| self.bad(key, &expected()))
    }

    pub(super) fn layers(&self, key: &str) -> Result<Option<Layers>, ConfigError> {
        let layer = |item: &Spanned<DeValue<'_>>| small(item.get_ref()).filter(|layer| *layer < 16);
        let layers = match self.value(key) {
            None => return Ok(None),
            Some(DeValue::Array(items)) => items.iter().map(layer).collect::<Option<Vec<_>>>(),
            Some(_) => None,
        };
        layers
            .map(|layers| Some(Layers::of(&layers)))
            .ok_or_else(|| self.bad(key, "a list of numbers from 0 to 15 is expected"))
    }

    /// The error that `fault` is wrong with the value of `key`.
    pub(super) fn bad(&self, key: &str, fault: &str) -> ConfigError {
        let place = self.table.and_then(|table| table.get_key_value(key));
        ConfigError::BadValue {
            line: place.map_or(1, |(key, _)| line(self.text, key.span().start)),
            key: key.to_owned(),
            place: self.place.clone(),
            fault: fault.to_owned(),
        }
    }

    fn value(&self, key: &str) -> Option<&'a DeValue<'a>> {
        self.table?.get(key).map(Spanned::get_ref)
    }

    fn place_of(&self, name: &str) -> String {
        match self
            .place
            .strip_prefix('[')
            .and_then(|place| place.strip_suffix(']'))
        {
            Some(place) => format!("[{place}.{name}]"),
            None => format!("[{name}]"),
        }
    }
}

fn small(value: &DeValue<'_>) -> Option<u8> {
    let DeValue::Integer(number) = value else {
        return None;
    };
    u8::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The known key that `key` was probably meant to be.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    let distance = |name: &&&'static str| strsim::damerau_levenshtein(key, name);
    let best = known.iter().min_by_key(distance)?;
    (distance(&best) <= best.len().div_ceil(2)).then_some(*best)
}

fn line(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    1 + before.filter(|byte| **byte == b'\n').count()
}
