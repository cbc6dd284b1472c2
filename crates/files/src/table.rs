//! One table of a file, read a struct at a time.

use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error as _, Visitor};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error, ValueDeserializer};

use crate::fault::SettingFault;
use crate::settings::{TomlFile, is_near};

/// One table whose keys depend on each other: what it says is read a struct at a time.
#[derive(Debug)]
pub struct TomlTable<'s, 'a> {
    file: &'s TomlFile<'a>,
    path: String,
    span: Range<usize>,
    keys: DeTable<'a>,
    known: Vec<&'static str>,
}

impl<'a> TomlFile<'a> {
    /// The tables `[[name]]`, each to be read in parts.
    pub fn tables(&self, name: &str) -> Vec<TomlTable<'_, 'a>> {
        let written = self.root.get_ref().get(name).map(Spanned::get_ref);
        let Some(DeValue::Array(items)) = written else {
            return Vec::new();
        };
        let table = |(number, item): (usize, &Spanned<DeValue<'a>>)| match item.get_ref() {
            DeValue::Table(keys) => Some(TomlTable {
                file: self,
                path: format!("{name}.{number}"),
                span: item.span(),
                keys: keys.clone(),
                known: Vec::new(),
            }),
            _ => None,
        };
        items.iter().enumerate().filter_map(table).collect()
    }
}

impl<'a> TomlTable<'_, 'a> {
    /// Whether the key is there, and nothing has taken it yet.
    pub fn has(&self, key: &str) -> bool {
        self.keys.get(key).is_some()
    }

    /// Takes the keys that are fields of the struct.
    ///
    /// # Errors
    /// The first that is missing, or whose value does not fit.
    pub fn take<T: Deserialize<'a>>(&mut self) -> Result<T, SettingFault> {
        T::deserialize(&mut *self).map_err(|error| {
            let missing = error.message().strip_prefix("missing field `");
            let missing = missing.map_or("", |name| name.trim_end_matches('`'));
            // The missing key may be there but misspelt: then the fault has to name the misspelt key.
            match self.keys.keys().find(|key| is_near(key.get_ref(), missing)) {
                Some(key) => self.unknown(key.get_ref(), ""),
                None => self.file.told(&error),
            }
        })
    }

    /// Ends the reading: the table, `whose` says of what kind, has no other keys than those that were taken.
    ///
    /// # Errors
    /// The first key that nothing took.
    pub fn end(self, whose: &str) -> Result<(), SettingFault> {
        match self.keys.keys().next() {
            Some(key) => Err(self.unknown(key.get_ref(), whose)),
            None => Ok(()),
        }
    }

    fn unknown(&self, key: &str, whose: &str) -> SettingFault {
        let path = format!("{}.{key}", self.path);
        self.file.unknown(&path, &self.known, whose)
    }

    /// What is wrong with a key that is there or should be, in a sentence that names it.
    pub fn fault(&self, key: &str, what: impl Into<String>) -> SettingFault {
        let written = self.file.line_of(&format!("{}.{key}", self.path));
        let line = written
            .or_else(|| self.file.line_of(&self.path))
            .unwrap_or(1);
        SettingFault {
            line,
            what: what.into(),
            next: format!("correct line {line}"),
        }
    }
}

impl<'de> Deserializer<'de> for &mut TomlTable<'_, 'de> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        // Remember the fields of each struct that is read from this table: a misspelt key is then compared with all of them.
        self.known.extend(fields);
        let taken = fields
            .iter()
            .filter_map(|field| self.keys.remove_entry(*field));
        let taken = DeValue::Table(taken.collect());
        let taken = Spanned::new(self.span.clone(), taken);
        ValueDeserializer::from(taken).deserialize_struct(name, fields, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("a table is read into a struct"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_in_parts_and_what_no_part_takes_is_refused() {
        #[derive(serde::Deserialize)]
        struct Common {
            kind: String,
        }
        #[derive(serde::Deserialize)]
        struct Own {
            size: u8,
        }
        let read = |text: &str| {
            let file = TomlFile::parse(text)?;
            let mut table = file.tables("it").pop().unwrap();
            let common: Common = table.take()?;
            assert!(table.has("size") && !table.has("kind"));
            let own: Own = table.take()?;
            table.end(" of this kind").map(|()| (common.kind, own.size))
        };
        let fault = |text: &str| {
            let fault: SettingFault = read(text).unwrap_err();
            format!("{fault}; {}", fault.next)
        };
        let text = "[[it]]\nkind = \"a\"\nsize = 1\n";
        assert_eq!(read(text), Ok(("a".to_owned(), 1)));
        assert_eq!(
            fault(&text.replace("kind", "knid")),
            "line 2: unknown key \"knid\" in [[it]]; did you mean `kind`?"
        );
        assert_eq!(
            fault("[[it]]\nsize = 1\n"),
            "line 1: `kind` is missing in [[it]]; add `kind = …` under [[it]]"
        );
        assert_eq!(
            fault(&format!("{text}szie = 1")),
            "line 4: unknown key \"szie\" in [[it]] of this kind; did you mean `size`?"
        );
        assert_eq!(
            fault(&text.replace("= 1", "= 300")),
            "line 3: `size` in [[it]]: a whole number, not below 0 and not too high, is expected; correct line 3"
        );
    }
}
