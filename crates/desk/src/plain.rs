//! Texts of strangers and agents, as plain text: every hidden character is shown, and a page holds so much of it.

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use signet_text::visible;

/// A body as a page shows it.
pub(crate) struct PlainBody {
    /// The beginning, or all of it.
    pub(crate) text: String,
    /// Whether more of it follows.
    pub(crate) is_cut: bool,
    /// How many bytes the whole text has.
    pub(crate) bytes: usize,
    /// SHA-256 of the whole text, in hex.
    pub(crate) sha256: String,
}

impl PlainBody {
    pub(crate) fn of(body: &Value) -> Self {
        let whole = whole(body);
        let sha256 = Sha256::digest(whole.as_bytes());
        let sha256 = data_encoding::HEXLOWER.encode(&sha256);
        let ends = (0..=LONGEST.min(whole.len())).rev();
        let end = { ends }
            .find(|end| whole.is_char_boundary(*end))
            .unwrap_or_default();
        Self {
            text: whole.get(..end).unwrap_or_default().to_owned(),
            is_cut: end < whole.len(),
            bytes: whole.len(),
            sha256,
        }
    }
}

/// The whole of it: JSON in lines, each free of what drives a terminal or turns the direction of text.
pub(crate) fn whole(body: &Value) -> String {
    let pretty = serde_json::to_string_pretty(body).unwrap_or_default();
    let lines: Vec<_> = pretty.lines().map(visible).collect();
    lines.join("\n")
}

/// In bytes: a page of it stays readable, and quick in any browser.
const LONGEST: usize = 24 * 1024;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_turned_by_hidden_marks_is_shown_with_its_marks() {
        let shown = PlainBody::of(&json!({"to": "\u{202e}gnitset\u{2066}", "x": "\u{200b}\u{7}"}));
        let hidden = |c: char| {
            c.is_control() && c != '\n' || matches!(c, '\u{202e}' | '\u{2066}' | '\u{200b}')
        };
        assert!(!shown.text.contains(hidden), "{:?}", shown.text);
        assert!(shown.text.contains("202e"), "{}", shown.text);
    }

    #[test]
    fn a_word_of_a_megabyte_is_bounded_and_its_hash_is_of_the_whole() {
        let body = json!("ä".repeat(600_000));
        let shown = PlainBody::of(&body);
        assert!(shown.is_cut && shown.text.len() <= LONGEST);
        assert_eq!(shown.bytes, whole(&body).len());
        let other = PlainBody::of(&json!(format!("{}x", "ä".repeat(600_000))));
        assert_ne!(shown.sha256, other.sha256);
        assert!(whole(&body).starts_with(&shown.text));
        assert!(!PlainBody::of(&json!({"a": 1})).is_cut);
    }
}
