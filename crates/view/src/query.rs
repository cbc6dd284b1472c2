//! The members of a request's query or form, each once and bounded.

use std::collections::BTreeMap;

use crate::days::DAY;

/// The members of a query.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoomQuery(BTreeMap<String, String>);

impl RoomQuery {
    /// Reads a query or the body of a form; of a name that stands there twice the first counts.
    pub(crate) fn of(text: &str) -> Self {
        let mut members = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()).take(MOST) {
            let value: String = value.chars().take(LONGEST).collect();
            members.entry(name.into_owned()).or_insert(value);
        }
        Self(members)
    }

    /// A member that says something.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name)?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// A member that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// The day that a member names (`2026-11-26`), as its number since 1970.
    pub(crate) fn day(&self, name: &str) -> Option<i64> {
        let text = format!("{}T00:00:00Z", self.text(name)?);
        let moment: signet_proto::time::Timestamp = text.parse().ok()?;
        Some(moment.as_millis().div_euclid(DAY))
    }

    /// The query that these members make, with some of them changed or, with an empty value, left out.
    pub(crate) fn with(&self, changes: &[(&str, &str)]) -> String {
        let mut members = self.0.clone();
        for (name, value) in changes {
            members.insert((*name).to_owned(), (*value).to_owned());
        }
        let mut text = url::form_urlencoded::Serializer::new(String::new());
        text.extend_pairs(members.iter().filter(|(_, value)| !value.is_empty()));
        text.finish()
    }
}

const MOST: usize = 32;
/// In characters.
const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_bounded_and_the_first_of_a_name_counts() {
        let query = RoomQuery::of(&format!(
            "q=a+b&q=c&tier=3&from=2026-11-26&long={}",
            "x".repeat(900)
        ));
        assert_eq!(query.text("q"), Some("a b"));
        assert_eq!(query.number("tier"), Some(3));
        assert_eq!(query.day("from"), Some(20_783));
        assert_eq!(query.text("long").map(str::len), Some(LONGEST));
        assert_eq!(query.number("q"), None);
        let many = "a=1&".repeat(10_000) + "z=1";
        assert_eq!(RoomQuery::of(&many).text("z"), None);
    }

    #[test]
    fn a_changed_query_keeps_the_other_members_and_escapes_all() {
        let query = RoomQuery::of("q=%22%3E%3Cscript%3E&tier=2");
        assert_eq!(
            query.with(&[("tier", ""), ("before", "7")]),
            "before=7&q=%22%3E%3Cscript%3E"
        );
    }
}
