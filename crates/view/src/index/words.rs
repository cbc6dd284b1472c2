//! The words of a line, as the search knows them.

use std::collections::BTreeSet;

use signet_json::Value;

/// Words in small letters; of each line at most [`MOST`].
#[derive(Debug, Default)]
pub(super) struct LineWords(BTreeSet<String>);

impl LineWords {
    /// Takes the words of a text.
    pub(super) fn take(&mut self, text: &str) {
        for word in split(text) {
            if self.0.len() >= MOST {
                return;
            }
            self.0.insert(word);
        }
    }

    /// Takes the words of all texts in a value, and of the names in it.
    pub(super) fn take_value(&mut self, value: &Value) {
        // Walk with a list of what is left instead of calls within calls: the depth is a stranger's choice.
        let mut left = vec![value];
        while let Some(value) = left.pop() {
            match value {
                _ if self.0.len() >= MOST => return,
                Value::String(text) => self.take(text),
                Value::Number(number) => self.take(&number.to_string()),
                Value::Array(values) => left.extend(values.iter().rev()),
                Value::Object(members) => {
                    members.keys().for_each(|name| self.take(name));
                    left.extend(members.values().rev());
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &String> {
        self.0.iter()
    }
}

/// The words of a text, in small letters: runs of letters and digits of 2 to [`LONGEST`] characters. Of a longer run its
/// beginning is a word.
pub(super) fn split(text: &str) -> impl Iterator<Item = String> + '_ {
    let runs = text.split(|c: char| !c.is_alphanumeric());
    runs.filter(|run| run.chars().nth(1).is_some()).map(|run| {
        let small = run.chars().flat_map(char::to_lowercase);
        small.take(LONGEST).collect()
    })
}

/// The most words of one line.
const MOST: usize = 200;
/// The most characters of a word.
pub(super) const LONGEST: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).collect()
    }

    #[test]
    fn a_text_is_split_where_neither_letters_nor_digits_are() {
        assert_eq!(
            words("Grüße: Tür 12, an Bob's agent-001"),
            ["grüße", "tür", "12", "an", "bob", "agent", "001"]
        );
        assert_eq!(words("a . - \u{202e} !"), Vec::<String>::new());
        assert_eq!(words(&"x".repeat(1_000_000)), ["x".repeat(LONGEST)]);
    }

    #[test]
    fn a_body_of_a_hundred_thousand_words_gives_so_many_and_no_more() {
        let many: Vec<Value> = (0..100_000)
            .map(|n| Value::from(format!("word{n}")))
            .collect();
        let mut found = LineWords::default();
        found.take_value(&Value::Array(many));
        assert_eq!(found.iter().count(), MOST);
    }

    #[test]
    fn ten_thousand_levels_do_not_overflow_the_stack() {
        let mut deep = Value::from("bottom");
        for _ in 0..10_000 {
            deep = Value::Array(vec![deep]);
        }
        let mut found = LineWords::default();
        found.take_value(&deep);
        assert_eq!(found.iter().collect::<Vec<_>>(), ["bottom"]);
        // Take the value apart level by level: its own drop would call itself once for each.
        while let Value::Array(mut inner) = deep {
            deep = inner.pop().unwrap();
        }
    }
}
