//! Characters that are written as `\u` escapes, so that no text can forge a line or drive a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Appends the finished JSON text `line` to `out`, with every hidden character as `\uXXXX`
/// (a surrogate pair beyond the BMP). They can only stand inside strings, so the value is the same.
pub fn write_escaped(line: &[u8], out: &mut Vec<u8>) {
    if is_plain(line) {
        return out.extend_from_slice(line);
    }
    let mut units = [0; 2];
    let mut utf8 = [0; 4];
    for character in String::from_utf8_lossy(line).chars() {
        if !is_hidden(character) {
            out.extend_from_slice(character.encode_utf8(&mut utf8).as_bytes());
            continue;
        }
        for unit in character.encode_utf16(&mut units) {
            out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
}

/// Whether [`write_escaped`] would write the finished JSON text `line` as it is.
#[must_use]
pub fn is_escaped(line: &[u8]) -> bool {
    let shows_all = |text: &str| !text.chars().any(is_hidden);
    is_plain(line) || std::str::from_utf8(line).is_ok_and(shows_all)
}

/// Most lines need no escape, and these two checks are fast: each looks at many bytes at once.
fn is_plain(line: &[u8]) -> bool {
    line.is_ascii() && !line.contains(&DEL)
}

/// `text` with every hidden character as a JSON escape: it stays on its line and cannot drive a
/// terminal, and JSON text stays the same value. So are combining marks from the fifth on in a row, which
/// a terminal would draw over the lines above and below. The log leaves those as they are: it is read by
/// programs, and its bytes are proved.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    let mut marks = Marks::default();
    if !text.chars().any(|character| marks.hides(character)) {
        return Cow::Borrowed(text);
    }
    // Count combining marks from zero again: the check above went through the same text, and left its counter at some number.
    let (mut out, mut marks) = (Vec::with_capacity(text.len() + 16), Marks::default());
    for character in text.chars() {
        let (mut utf8, mut units) = ([0; 4], [0; 2]);
        if marks.is_too_high(character) && !is_hidden(character) {
            for unit in character.encode_utf16(&mut units) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
            continue;
        }
        let one = character.encode_utf8(&mut utf8).as_bytes();
        // `write_escaped` is for finished lines of the log, which have no raw control characters below 0x20. Other text
        // may have them, so they are escaped here.
        match u32::from(character) {
            point @ 0..0x20 => out.extend_from_slice(format!("\\u{point:04x}").as_bytes()),
            _ => write_escaped(one, &mut out),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// `text` as one line of a terminal may show it: hidden characters, quotes, backslashes, and combining
/// marks from the fifth on in a row escaped.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let mut marks = Marks::default();
    let mut is_plain = |c: char| !(marks.hides(c) || matches!(c, '"' | '\\'));
    if text.chars().all(&mut is_plain) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut marks) = (String::with_capacity(text.len() + 16), Marks::default());
    for character in text.chars() {
        let hides = marks.hides(character);
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            hidden if hides => drop(write!(out, "\\u{{{:04x}}}", u32::from(hidden))),
            plain => out.push(plain),
        }
    }
    Cow::Owned(out)
}

/// The combining marks since the last other character: a terminal draws a tower of them over other lines.
#[derive(Default)]
pub struct Marks(usize);

impl Marks {
    /// Whether the next character is one mark too many for a terminal.
    pub fn is_too_high(&mut self, next: char) -> bool {
        self.0 = match is_mark(next) {
            true => self.0 + 1,
            false => 0,
        };
        self.0 > MARKS
    }

    /// Whether a terminal must not be given the next character as it is.
    fn hides(&mut self, next: char) -> bool {
        self.is_too_high(next) || is_hidden(next)
    }
}

/// Nonspacing and enclosing marks (Mn, Me): what is drawn over the character before.
fn is_mark(character: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark};
    // Combining marks begin at U+0300, so most characters need no slow look into the Unicode table.
    character >= FIRST_MARK
        && matches!(
            get_general_category(character),
            EnclosingMark | NonspacingMark
        )
}

/// Controls (Cc), format characters (Cf, which hold the bidi and zero-width ones), line and paragraph
/// separators, and the tag block, assigned or not: Unicode 16.
fn is_hidden(character: char) -> bool {
    let point = u32::from(character);
    character.is_control()
        || HIDDEN
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&point))
}

const DEL: u8 = 0x7f;
const FIRST_MARK: char = '\u{300}';
/// So many marks on one character are writing: Hebrew with its points and accents has three, Vietnamese
/// two, and the Tibetan of Sanskrit texts four.
const MARKS: usize = 4;

const HIDDEN: &[(u32, u32)] = &[
    (0x00ad, 0x00ad),
    (0x0600, 0x0605),
    (0x061c, 0x061c),
    (0x06dd, 0x06dd),
    (0x070f, 0x070f),
    (0x0890, 0x0891),
    (0x08e2, 0x08e2),
    (0x180e, 0x180e),
    (0x200b, 0x200f),
    (0x2028, 0x202e),
    (0x2060, 0x206f),
    (0xfeff, 0xfeff),
    (0xfff9, 0xfffb),
    (0x1_10bd, 0x1_10bd),
    (0x1_10cd, 0x1_10cd),
    (0x1_3430, 0x1_343f),
    (0x1_bca0, 0x1_bca3),
    (0x1_d173, 0x1_d17a),
    (0xe_0000, 0xe_0fff),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Sixty marks on one letter cover the lines above and below it.
    #[test]
    fn a_tower_of_combining_marks_is_escaped_from_the_fifth_mark_on() {
        let tower = format!("Z{}a", "\u{301}".repeat(6));
        let four = "\u{301}".repeat(4);
        assert_eq!(visible(&tower), format!("Z{four}\\u0301\\u0301a"));
        assert_eq!(printable(&tower), format!("Z{four}\\u{{0301}}\\u{{0301}}a"));
        let json = serde_json::json!({ tower.as_str(): tower });
        let shown = visible(&json.to_string()).into_owned();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            json
        );
        assert!(!shown.contains(&"\u{301}".repeat(5)));
        // A combining mark above U+FFFF is escaped as two surrogates. A hidden character between marks begins a new count of
        // marks.
        let mixed = format!(
            "Z{}\u{1e8d0}\u{200b}{}",
            "\u{20dd}".repeat(4),
            "\u{301}".repeat(4)
        );
        assert_eq!(
            visible(&mixed),
            format!(
                "Z{}\\ud83a\\udcd0\\u200b{}",
                "\u{20dd}".repeat(4),
                "\u{301}".repeat(4)
            )
        );
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in [
            "Grüße",
            "Tie\u{302}\u{301}ng",
            "\u{5d1}\u{5bc}\u{5b0}\u{596}",
            "ที่นี่",
            "नमस्ते",
            "👩\u{fe0f}",
        ] {
            assert_eq!((visible(text), printable(text)), (text.into(), text.into()));
        }
    }

    /// Its bytes are proved: a line is written anew and compared.
    #[test]
    fn the_log_keeps_its_marks() {
        let line = format!("{{\"a\":\"Z{}\"}}", "\u{301}".repeat(9));
        let mut out = Vec::new();
        write_escaped(line.as_bytes(), &mut out);
        assert_eq!(out, line.as_bytes());
    }
}
