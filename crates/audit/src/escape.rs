//! Characters that are written as `\u` escapes, so that no text can forge a line or drive a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Appends the finished JSON text `line` to `out`, with every hidden character as `\uXXXX`
/// (a surrogate pair beyond the BMP). They can only stand inside strings, so the value is the same.
pub(crate) fn write_escaped(line: &[u8], out: &mut Vec<u8>) {
    // Without an early end within a chunk: many bytes at once.
    let is_plain = |chunk: &[u8]| chunk.iter().fold(0, |top, byte| top.max(*byte)) < DEL;
    if line.chunks(128).all(is_plain) {
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

/// `text` with every hidden character as a JSON escape: it stays on its line and cannot drive a
/// terminal, and JSON text stays the same value.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 16);
    for character in text.chars() {
        let mut utf8 = [0; 4];
        let one = character.encode_utf8(&mut utf8).as_bytes();
        // Below DEL the finished line of the log has no hidden characters left; other text may.
        match u32::from(character) {
            point @ 0..0x20 => out.extend_from_slice(format!("\\u{point:04x}").as_bytes()),
            _ => write_escaped(one, &mut out),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

/// `text` as one line of a terminal may show it: hidden characters, quotes and backslashes escaped.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| !(is_hidden(c) || matches!(c, '"' | '\\'));
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            hidden if is_hidden(hidden) => drop(write!(out, "\\u{{{:04x}}}", u32::from(hidden))),
            plain => out.push(plain),
        }
    }
    Cow::Owned(out)
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
