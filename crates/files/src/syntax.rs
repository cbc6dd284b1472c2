//! What is no TOML; and what stands twice, of which the parser names the second place alone.

use std::ops::Range;

use toml::de::{DeTable, Error};

use crate::fault::{SettingFault, line};
use crate::keys::{header, keys_of, split};

/// What the parser says of a text that is none.
pub(crate) fn of_syntax(text: &str, error: &Error) -> SettingFault {
    let span = error.span().unwrap_or_default();
    let is_double = error.message().contains("duplicate key");
    let twice = Some(span.clone()).filter(|_| is_double);
    twice
        .and_then(|span| of_double(text, span))
        .unwrap_or_else(|| {
            let line = line(text, span.start);
            SettingFault {
                line,
                what: error.message().to_owned(),
                next: format!("correct line {line}"),
            }
        })
}

/// What stands for the second time at `span`; `None` where the first cannot be found.
fn of_double(text: &str, span: Range<usize>) -> Option<SettingFault> {
    // Parse only the text above the row with the repeated name: it holds the first use of the name and is valid TOML, which it
    // would not be with that row.
    let row = text.get(..span.start)?.rfind('\n').map_or(0, |end| end + 1);
    let (above, row) = text.split_at_checked(row)?;
    let (root, row) = (DeTable::parse(above).ok()?, row.trim_start());
    let earlier = keys_of(root.get_ref());
    let mut earlier = earlier.iter();
    let (name, first) = match row.strip_prefix('[') {
        Some(table) => {
            let is_part = |c: &char| !c.is_whitespace() && *c != '"' && *c != '\'';
            let table: String = table.split(']').next()?.chars().filter(is_part).collect();
            (header(&table), earlier.rfind(|key| key.path == table)?)
        }
        None => {
            let key = text.get(span.clone())?.trim_matches(['"', '\'']);
            let same = earlier.filter(|earlier| split(&earlier.path).1 == key);
            let first = same.max_by_key(|key| key.at.start)?;
            (
                format!("`{key}` in {}", header(split(&first.path).0)),
                first,
            )
        }
    };
    let (first, line) = (line(text, first.at.start), line(text, span.start));
    Some(SettingFault {
        line,
        what: format!("{name} stands twice, and first in line {first}"),
        next: match row.starts_with('[') {
            true => format!(
                "write what stands below line {line} behind line {first}, and remove line {line}"
            ),
            false => format!("remove line {first} or line {line}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use crate::TomlFile;

    #[test]
    fn the_first_place_of_a_table_and_of_a_key_is_found() {
        for (text, said) in [
            (
                "[agent]\nid = 1\n\n[ nats ] # one\nservers = []\n# [nats]\n[nats.tls]\nca = 1\n[nats]\n",
                "line 9: [nats] stands twice, and first in line 4",
            ),
            (
                "a = 1\n[nats]\na = 2\n\"servers\" = []\n# servers = 1\nservers = [\"x\"]\n",
                "line 6: `servers` in [nats] stands twice, and first in line 4",
            ),
            (
                "[[a]]\nb = 1\n[[a]]\nc = 1\nb = 2\nb = 3\n",
                "line 6: `b` in [[a]] stands twice, and first in line 5",
            ),
            (
                "mode = 1\nmode = 2\n",
                "line 2: `mode` in the file stands twice, and first in line 1",
            ),
            (
                "nats = {}\n[nats]\n",
                "line 2: [nats] stands twice, and first in line 1",
            ),
            (
                "[a]\na = 1\n[a]\n",
                "line 3: [a] stands twice, and first in line 1",
            ),
        ] {
            assert_eq!(TomlFile::parse(text).unwrap_err().to_string(), said);
        }
    }
}
