//! Files of TOML, read by serde: whatever is wrong is named with its line, its key and what to do. No text repeats a value,
//! which may be a secret.

use serde::de::{Deserialize, Deserializer, Error as _};
use toml::Spanned;
use toml::de::{DeTable, Error};

use crate::fault::{SettingFault, line};
use crate::keys::{WrittenKey, header, keys_of, split};
use crate::syntax::of_syntax;

/// A file that is TOML; what it says, [`TomlFile::read`] finds out.
#[derive(Debug)]
pub struct TomlFile<'a> {
    pub(crate) text: &'a str,
    pub(crate) root: Spanned<DeTable<'a>>,
}

impl<'a> TomlFile<'a> {
    /// Reads the text of a file as TOML.
    ///
    /// # Errors
    /// The first place that is none, and what stands twice with both its lines.
    pub fn parse(text: &'a str) -> Result<Self, SettingFault> {
        let root = DeTable::parse(text).map_err(|error| of_syntax(text, &error))?;
        Ok(Self { text, root })
    }

    /// What the file says, as a struct with a field for each section.
    ///
    /// # Errors
    /// The first key that is not known, that is missing, or whose value does not fit.
    pub fn read<T: Deserialize<'a>>(&self) -> Result<T, SettingFault> {
        let root = toml::de::Deserializer::from(self.root.clone());
        T::deserialize(root).map_err(|error| self.told(&error))
    }

    /// The value at a path such as `nats.creds` or `peer.0.id` fits its type, and is wrong all the same.
    pub fn fault(&self, path: &str, fault: &str) -> SettingFault {
        of_value(self.line_of(path).unwrap_or(1), path, fault)
    }

    /// A key at a path has no default, and is not there.
    pub fn missing(&self, path: &str) -> SettingFault {
        let (table, key) = split(path);
        let place = header(table);
        SettingFault {
            line: self.line_of(table).unwrap_or(1),
            what: format!("`{key}` is missing in {place}"),
            next: format!("add `{key} = …` under {place}"),
        }
    }

    /// The first key whose text is empty, where an empty text says nothing.
    ///
    /// # Errors
    /// Names it.
    pub fn refuse_empty(&self) -> Result<(), SettingFault> {
        let is_empty =
            |key: &WrittenKey| matches!(self.text.get(key.value.clone()), Some("\"\"" | "''"));
        match keys_of(self.root.get_ref())
            .iter()
            .find(|key| is_empty(key))
        {
            Some(key) => Err(self.fault(&key.path, &format!("{TEXT} is expected"))),
            None => Ok(()),
        }
    }

    /// The line of a key, where it is written.
    pub(crate) fn line_of(&self, path: &str) -> Option<usize> {
        let keys = keys_of(self.root.get_ref());
        let key = keys.into_iter().find(|key| key.path == path)?;
        Some(line(self.text, key.at.start))
    }

    /// What serde says, in the words of those who write such files.
    pub(crate) fn told(&self, error: &Error) -> SettingFault {
        let (span, message) = (error.span().unwrap_or_default(), error.message());
        let keys = keys_of(self.root.get_ref());
        // Split at the last `, expected `: the value that serde repeats before it may contain the same words.
        let (said, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
        let quoted = || said.split('`').nth(1).unwrap_or_default();
        if said.starts_with("unknown field") {
            let key = keys.iter().find(|key| key.at == span);
            // Do not recommend keys spelt with an underscore: an earlier release wrote them so, and they are read only for the
            // sake of its files.
            let known = expected.split('`').skip(1).step_by(2);
            let known: Vec<&str> = known.filter(|name| !name.contains('_')).collect();
            return self.unknown(key.map_or(quoted(), |key| &key.path), &known, "");
        }
        if said.starts_with("missing field") {
            // The first table of an array has the same span as the array itself: `rfind` finds the table, in which the
            // field is missing.
            let table = keys.iter().rfind(|key| key.value == span);
            let table = table.map_or("", |table| &table.path);
            let path = format!("{table}.{}", quoted());
            return self.missing(path.trim_start_matches('.'));
        }
        let is_there =
            |key: &&WrittenKey| key.value.start <= span.start && span.end <= key.value.end;
        let nearest = keys
            .iter()
            .filter(is_there)
            .min_by_key(|key| key.value.len());
        let path = nearest.map_or("", |key| &key.path);
        // Serde's own messages repeat the value, which may be a secret: of these, the fault names only what is expected.
        let is_of_serde = ["invalid ", "unknown variant"]
            .iter()
            .any(|word| said.starts_with(word));
        let fault = match expected {
            expected if !is_of_serde || expected.is_empty() => message.to_owned(),
            "a sequence" if said.contains("type: map") => "write it as [[…]]".to_owned(),
            expected => format!("{} is expected", plainly(expected)),
        };
        of_value(line(self.text, span.start), path, &fault)
    }

    pub(crate) fn unknown(&self, path: &str, known: &[&str], whose: &str) -> SettingFault {
        let (table, key) = split(path);
        let distance = |name: &&&str| strsim::damerau_levenshtein(key, name);
        let nearest = known.iter().min_by_key(distance);
        let nearest = nearest.filter(|best| is_near(key, best));
        SettingFault {
            line: self.line_of(path).unwrap_or(1),
            what: format!("unknown key {key:?} in {}{whose}", header(table)),
            next: match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!(
                    "known here: {}; where a newer signet wrote it, use that release",
                    known.join(", ")
                ),
            },
        }
    }
}

/// A number between two, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within<N, const LEAST: i64, const MOST: i64>(pub N);

impl<'de, N: TryFrom<i64>, const LEAST: i64, const MOST: i64> Deserialize<'de>
    for Within<N, LEAST, MOST>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer).ok();
        let number = number.filter(|number| (LEAST..=MOST).contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        let fault = || D::Error::custom(format!("a number from {LEAST} to {MOST} is expected"));
        number.map(Self).ok_or_else(fault)
    }
}

/// Whether one key may be a slip for the other.
pub(crate) fn is_near(key: &str, known: &str) -> bool {
    strsim::damerau_levenshtein(key, known) <= known.len().div_ceil(2)
}

fn of_value(line: usize, path: &str, fault: &str) -> SettingFault {
    let (table, key) = split(path);
    let place = header(table);
    SettingFault {
        line,
        what: match key {
            "" => format!("{place}: {fault}"),
            key => format!("`{key}` in {place}: {fault}"),
        },
        next: format!("correct line {line}"),
    }
}

/// What serde expects, in the words of those who write such files.
fn plainly(expected: &str) -> String {
    match expected {
        "a boolean" => "true or false".to_owned(),
        "a string" | "path string" => TEXT.to_owned(),
        "a sequence" => "a list such as [\"…\"]".to_owned(),
        "a map" => "a table".to_owned(),
        "f64" => "a number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" => {
            "a whole number, not below 0 and not too high,".to_owned()
        }
        name if name.starts_with("struct ") => "a table".to_owned(),
        other => other.replace('`', "\""),
    }
}

const TEXT: &str = "a text in double quotes";

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    struct Sections {
        secret_file: Option<String>,
        tier: Option<Within<u8, 1, 4>>,
        inner: Inner,
        many: Vec<Inner>,
    }

    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
    struct Inner {
        word: Option<std::net::IpAddr>,
        list: Vec<String>,
        form: Option<Form>,
        is: bool,
    }

    #[derive(Debug, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Form {
        Long,
        Short,
    }

    fn fault(text: &str) -> String {
        let read = TomlFile::parse(text).and_then(|file| {
            let read = file.read::<Sections>()?;
            file.refuse_empty()?;
            Ok(read)
        });
        let fault = read.unwrap_err();
        format!("{fault}; {}", fault.next)
    }

    #[test]
    fn every_fault_has_its_line_its_key_and_what_to_do() {
        for (text, said) in [
            (
                "secret-flie = \"x\"",
                "line 1: unknown key \"secret-flie\" in the file; did you mean `secret-file`?",
            ),
            (
                "\n[iner]\n",
                "line 2: unknown key \"iner\" in the file; did you mean `inner`?",
            ),
            (
                "[inner.zzzzzzzzz]\n",
                "line 1: unknown key \"zzzzzzzzz\" in [inner]; known here: word, list, form, is; where a newer signet wrote it, use that release",
            ),
            (
                "[[many]]\n[[many]]\niss = true",
                "line 3: unknown key \"iss\" in [[many]]; did you mean `is`?",
            ),
            (
                "tier = 5",
                "line 1: `tier` in the file: a number from 1 to 4 is expected; correct line 1",
            ),
            (
                "tier = \"secret\"",
                "line 1: `tier` in the file: a number from 1 to 4 is expected; correct line 1",
            ),
            (
                "[inner]\n[[many]]\n[[many]]\nform = \"secret, expected this\"",
                "line 4: `form` in [[many]]: \"long\" or \"short\" is expected; correct line 4",
            ),
            (
                "tier = 1\nsecret-file = \"\"",
                "line 2: `secret-file` in the file: a text in double quotes is expected; correct line 2",
            ),
            (
                "[inner]\nlist = [\n  \"a\",\n  7,\n]",
                "line 4: `list` in [inner]: a text in double quotes is expected; correct line 4",
            ),
            (
                "[inner]\nlist = 7",
                "line 2: `list` in [inner]: a list such as [\"…\"] is expected; correct line 2",
            ),
            (
                "\ninner = { list = [], is = 1 }",
                "line 2: `is` in [inner]: true or false is expected; correct line 2",
            ),
            (
                "inner.is = 1",
                "line 1: `is` in [inner]: true or false is expected; correct line 1",
            ),
            (
                "inner = 1",
                "line 1: `inner` in the file: a table is expected; correct line 1",
            ),
            (
                "[many]\n",
                "line 1: `many` in the file: write it as [[…]]; correct line 1",
            ),
            (
                "[inner]\nis = true\nis = false",
                "line 3: `is` in [inner] stands twice, and first in line 2; remove line 2 or line 3",
            ),
        ] {
            assert_eq!(fault(text), said);
        }
        let unparsed = fault("[inner]\nword = \"secret\"");
        assert!(
            unparsed.starts_with("line 2: `word` in [inner]: invalid IP"),
            "{unparsed}"
        );
        let open = fault("tier = 1\n[inner\n");
        assert!(
            open.starts_with("line 2: ") && open.ends_with("; correct line 2"),
            "{open}"
        );
    }
}
