//! What stands twice in a file of TOML, and where it stands first: the parser names the second place alone.

/// A table or a key that stands twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twice {
    /// As it is written: `[nats]`, or `servers` in `[nats]`.
    pub name: String,
    /// The line of the second, counted from 1.
    pub line: usize,
    /// The line of the first.
    pub first: usize,
}

/// What stands for the second time at the byte `at`, where a parser met a key that it had read before; `None` where
/// the first cannot be found by its spelling.
#[must_use]
pub fn twice(text: &str, at: usize) -> Option<Twice> {
    let before = text.get(..at)?;
    let line = before.matches('\n').count() + 1;
    let written = text.lines().nth(line - 1)?;
    let lines = || (1..line).zip(text.lines());
    let (name, first) = match header(written) {
        Some(table) => {
            let same = |(_, other): &(usize, &str)| opens(other, &table);
            (format!("[{table}]"), lines().find(same)?.0)
        }
        None => {
            let key = key(written)?;
            let opened = lines().filter_map(|(number, line)| Some((number, opened(line)?)));
            let (begin, place) = opened
                .last()
                .map_or((0, None), |(number, table)| (number, Some(table)));
            let same = |(number, other): &(usize, &str)| {
                *number > begin && self::key(other).as_ref() == Some(&key)
            };
            let place = place.map_or_else(String::new, |table| format!(" in {table}"));
            (format!("`{key}`{place}"), lines().find(same)?.0)
        }
    };
    Some(Twice { name, line, first })
}

impl Twice {
    /// What is wrong, without the second line.
    #[must_use]
    pub fn what(&self) -> String {
        format!(
            "{} stands twice, and first in line {}",
            self.name, self.first
        )
    }

    /// What to do about it.
    #[must_use]
    pub fn next(&self) -> String {
        match self.name.starts_with('[') {
            true => format!(
                "write what stands below line {} behind line {}, and remove line {}",
                self.line, self.first, self.line
            ),
            false => format!("remove line {} or line {}", self.first, self.line),
        }
    }
}

/// The table that a line opens, with its brackets.
fn opened(line: &str) -> Option<String> {
    let line = line.trim();
    let end = line.find(']').filter(|_| line.starts_with('['))?;
    let closing = line.get(end..)?.chars().take_while(|c| *c == ']').count();
    line.get(..end + closing).map(plain)
}

/// The name of a table that may stand once, as [[…]] may not.
fn header(line: &str) -> Option<String> {
    let opened = opened(line)?;
    let name = opened.strip_prefix('[')?.strip_suffix(']')?;
    (!name.starts_with('[')).then(|| name.to_owned())
}

/// Whether a line opens that table, or begins to fill it as a key: `agent = {…}`, `agent.id = …`.
fn opens(line: &str, table: &str) -> bool {
    match header(line) {
        Some(name) => name == table,
        None => key(line).is_some_and(|key| {
            let rest = key.strip_prefix(table);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        }),
    }
}

/// The key that a line gives a value.
fn key(line: &str) -> Option<String> {
    let (key, _) = line.split_once('=')?;
    let is_key = !key.trim_start().starts_with('#') && !key.trim().is_empty();
    is_key.then(|| plain(key))
}

/// Without the spaces and quotes in which one name may be written.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| !c.is_whitespace() && *c != '"' && *c != '\'')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, second: &str) -> Option<(String, usize, usize)> {
        let at = text.rfind(second).unwrap();
        twice(text, at + 1).map(|twice| (twice.name, twice.line, twice.first))
    }

    #[test]
    fn the_first_place_of_a_table_and_of_a_key_is_found() {
        let text = "[agent]\nid = 1\n\n[ nats ] # one\nservers = []\n# [nats]\n[nats.tls]\nca = 1\n[nats]\n";
        assert_eq!(told(text, "[nats]\n"), Some(("[nats]".to_owned(), 9, 4)));
        let text = "a = 1\n[nats]\na = 2\n\"servers\" = []\n# servers = 1\nservers = [\"x\"]\n";
        assert_eq!(
            told(text, "servers ="),
            Some(("`servers` in [nats]".to_owned(), 6, 4))
        );
        let text = "[[a]]\nb = 1\n[[a]]\nc = 1\nb = 2\nb = 3\n";
        assert_eq!(told(text, "b = 3"), Some(("`b` in [[a]]".to_owned(), 6, 5)));
        let text = "mode = 1\nmode = 2\n";
        assert_eq!(told(text, "mode = 2"), Some(("`mode`".to_owned(), 2, 1)));
        let text = "nats = {}\n[nats]\n";
        assert_eq!(told(text, "[nats]"), Some(("[nats]".to_owned(), 2, 1)));
        assert_eq!(told("[nats]\na = 1\n", "[nats]"), None);
        assert_eq!(twice("", 7), None);
    }
}
