//! What leaves for a client: JSON in which every character can be seen.
//!
//! Clients print results on terminals and hand them to models. A control character, a bidirectional mark or a
//! character of the tag block would drive the one, or speak to the other without any person seeing it. In every
//! string, names of members as well, such a character is written as `\u{…}` with its number in hexadecimal, and
//! a backslash that begins that form in the original as `\u{5c}`: what was there can be told from it exactly.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};
use signet_text::Marks;
use unicode_general_category::{GeneralCategory, get_general_category};

/// A JSON object that is fit to be shown. Nothing else leaves as the content of a result.
#[derive(Clone, PartialEq)]
pub struct Shown(Map<String, Value>);

/// An answer is no JSON object: a fault in the gateway itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an answer that is no JSON object")]
pub struct NoObject;

impl Shown {
    /// `answer`, with `escaped` true where a character of it had to be written otherwise.
    ///
    /// # Errors
    /// Where `answer` is no JSON object.
    pub fn of(answer: &impl Serialize) -> Result<Self, NoObject> {
        let Ok(Value::Object(object)) = serde_json::to_value(answer) else {
            return Err(NoObject);
        };
        let mut escaped = false;
        let mut shown = visible_object(object, &mut escaped);
        if escaped {
            shown.insert("escaped".to_owned(), Value::Bool(true));
        }
        Ok(Self(shown))
    }

    /// On one line.
    pub fn text(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// The object itself.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }
}

fn visible_object(object: Map<String, Value>, escaped: &mut bool) -> Map<String, Value> {
    let members = object.into_iter().map(|(name, value)| {
        let name = owned(&name, escaped);
        (name, visible_value(value, escaped))
    });
    members.collect()
}

fn visible_value(value: Value, escaped: &mut bool) -> Value {
    match value {
        Value::String(text) => Value::String(owned(&text, escaped)),
        Value::Array(items) => {
            let items = items.into_iter();
            Value::Array(items.map(|item| visible_value(item, escaped)).collect())
        }
        Value::Object(object) => Value::Object(visible_object(object, escaped)),
        plain => plain,
    }
}

fn owned(text: &str, escaped: &mut bool) -> String {
    match visible(text) {
        Cow::Borrowed(same) => same.to_owned(),
        Cow::Owned(other) => {
            *escaped = true;
            other
        }
    }
}

/// `text` with every hidden character as `\u{…}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut marks = Marks::default();
    if !text.contains('\\') && !text.chars().any(|next| hides(&mut marks, next)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut marks = Marks::default();
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        let begins_escape = next == '\\' && rest.as_str().starts_with("u{");
        match hides(&mut marks, next) || begins_escape {
            // Writing to a String cannot fail.
            true => drop(write!(out, "\\u{{{:x}}}", u32::from(next))),
            false => out.push(next),
        }
    }
    // A backslash that begins no escape is copied as it is, so the text may be unchanged: then no new string is needed.
    match out == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(out),
    }
}

/// `line`, a finished JSON text, with every hidden character as JSON's own escape: the same value. For the frame
/// around what is shown, which may repeat what the client itself sent.
pub(crate) fn escaped_line(line: &str) -> Cow<'_, str> {
    if !line.chars().any(is_hidden) {
        return Cow::Borrowed(line);
    }
    let (mut out, mut units) = (String::with_capacity(line.len() + 16), [0; 2]);
    for next in line.chars() {
        if !is_hidden(next) {
            out.push(next);
            continue;
        }
        for unit in next.encode_utf16(&mut units) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    Cow::Owned(out)
}

fn hides(marks: &mut Marks, next: char) -> bool {
    marks.is_too_high(next) || (is_hidden(next) && !matches!(next, '\n' | '\t'))
}

/// Controls, format characters (the bidirectional and zero-width ones among them), line and paragraph separators,
/// and the block of tags and variation selectors, assigned or not.
fn is_hidden(character: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator};
    if (' '..='~').contains(&character) {
        return false;
    }
    let category = get_general_category(character);
    TAGS.contains(&character)
        || matches!(
            category,
            Control | Format | LineSeparator | ParagraphSeparator
        )
}

const TAGS: std::ops::RangeInclusive<char> = '\u{e0000}'..='\u{e0fff}';

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_drives_a_terminal_or_hides_from_people_is_seen() {
        for (hostile, shown) in [
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("a\u{9b}31m", "a\\u{9b}31m"),
            ("\u{202e}drowssap", "\\u{202e}drowssap"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            ("sel\u{e0100}", "sel\\u{e0100}"),
            ("two\u{2028}lines", "two\\u{2028}lines"),
            ("back\rspace\u{8}", "back\\u{d}space\\u{8}"),
            ("\u{7f}", "\\u{7f}"),
        ] {
            assert_eq!(visible(hostile), shown);
        }
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in ["Grüße\n\tan alle", "C:\\users\\u", "東京 🙂", "ที่นี่", ""]
        {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn nobody_can_write_an_escape_that_looks_like_ours() {
        assert_eq!(visible("\\u{1b}"), "\\u{5c}u{1b}");
        assert_ne!(visible("\\u{1b}"), visible("\u{1b}"));
    }

    #[test]
    fn a_tower_of_marks_ends_at_the_fourth() {
        let tower = format!("Z{}", "\u{301}".repeat(6));
        let four = "\u{301}".repeat(4);
        assert_eq!(visible(&tower), format!("Z{four}\\u{{301}}\\u{{301}}"));
    }

    #[test]
    fn every_string_is_shown_also_the_names_of_members_and_it_is_said() {
        let said = json!({"\u{1b}n": [{"a": ["\u{202e}"]}], "plain": 1});
        let shown = Shown::of(&said).unwrap();
        let value = shown.clone().into_value();
        assert_eq!(
            value,
            json!({"\\u{1b}n": [{"a": ["\\u{202e}"]}], "plain": 1, "escaped": true})
        );
        assert!(!shown.text().chars().any(is_hidden));
        assert_eq!(serde_json::from_str::<Value>(&shown.text()).unwrap(), value);
        let plain = Shown::of(&json!({"plain": "a\nb"})).unwrap();
        assert!(plain.into_value().get("escaped").is_none());
        assert!(Shown::of(&json!([1])).is_err());
    }

    #[test]
    fn the_frame_is_escaped_and_stays_the_same_value() {
        let value = json!({"method": "\u{9b}\u{e0041}\u{202e}", "ok": "東京"});
        let line = value.to_string();
        let escaped = escaped_line(&line);
        assert!(!escaped.chars().any(is_hidden) && escaped.contains("東京"));
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }
}
