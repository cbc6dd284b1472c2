//! What differs from run to run in a transcript, and what must be the same: ids, times, hashes and words are
//! held against each other by where they stand, everything else by its text.

use std::collections::BTreeMap;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// Compared as it is.
    Text(String),
    /// Of this kind; two that are alike in the document must be alike in the run.
    Masked(&'static str, String),
}

/// What the tokens of the document are called in this run.
#[derive(Debug, Default)]
pub struct Names(BTreeMap<String, String>);

impl Names {
    /// Whether `actual` is the line that the document shows. Learns the names in it, if so.
    pub fn agree(&mut self, shown: &str, actual: &str) -> bool {
        let (shown, actual) = (tokens(shown), tokens(actual));
        if shown.len() != actual.len() {
            return false;
        }
        let mut learnt = Vec::new();
        for pair in shown.iter().zip(&actual) {
            match pair {
                (Token::Text(one), Token::Text(other)) if one == other => {}
                (Token::Masked(kind, one), Token::Masked(same, other)) if kind == same => {
                    let named = ["id", "key", "serial"].contains(kind);
                    if named && self.named(one).is_some_and(|known| known != *other) {
                        return false;
                    }
                    learnt.push((one.clone(), other.clone()));
                }
                _ => return false,
            }
        }
        self.0.extend(learnt);
        true
    }

    /// The command of the document with the names of this run in it.
    pub fn translate(&self, command: &str) -> String {
        let translate = |token: Token| match token {
            Token::Text(text) => text,
            Token::Masked(_, name) => self.named(&name).unwrap_or(name),
        };
        tokens(command).into_iter().map(translate).collect()
    }

    fn named(&self, name: &str) -> Option<String> {
        // `01a1fec7…` is the beginning of an id.
        let begins = name.strip_suffix('…');
        match begins {
            None => self.0.get(name).cloned(),
            Some(begin) => {
                let mut whole = self
                    .0
                    .iter()
                    .filter(|(known, _)| known.starts_with(begin) && known.len() == 36);
                whole
                    .next()
                    .map(|(_, actual)| format!("{}…", &actual[..begin.len()]))
            }
        }
    }
}

/// The pieces of a line, in order.
pub fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        // A token begins where a word does: `agent-0` holds none.
        let before = text.chars().last();
        let at_word = before.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
        match at_word.then(|| masked(rest)).flatten() {
            Some((kind, length)) => {
                if !text.is_empty() {
                    tokens.push(Token::Text(std::mem::take(&mut text)));
                }
                let (name, after) = rest.split_at(length);
                tokens.push(Token::Masked(kind, name.to_owned()));
                rest = after;
                // A word that follows at once begins no token of its own.
                if rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                    text.push_str(&rest[..1]);
                    rest = &rest[1..];
                }
            }
            None => {
                text.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    if !text.is_empty() {
        tokens.push(Token::Text(text));
    }
    tokens
}

/// The kind and the length of the masked token at the beginning of `text`.
fn masked(text: &str) -> Option<(&'static str, usize)> {
    let shapes: [(&str, &str); 5] = [
        ("id", "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
        ("time", "0000-00-00T00:00:00.000Z"),
        ("time", "0000-00-00 00:00:00.000"),
        ("id", "xxxxxxxx…"),
        (
            "hash",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ),
    ];
    for (kind, shape) in shapes {
        if let Some(length) = fits(text, shape) {
            return Some((kind, length));
        }
    }
    key(text).or_else(|| words(text)).or_else(|| number(text))
}

/// `x` stands for a hexadecimal digit, `0` for a decimal one.
fn fits(text: &str, shape: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    for wanted in shape.chars() {
        let (_, c) = chars.next()?;
        let fit = match wanted {
            'x' => c.is_ascii_hexdigit(),
            '0' => c.is_ascii_digit(),
            other => c == other,
        };
        if !fit {
            return None;
        }
    }
    Some(chars.next().map_or(text.len(), |(at, _)| at))
}

fn key(text: &str) -> Option<(&'static str, usize)> {
    let rest = text.strip_prefix("ed25519:")?;
    let length = rest
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || b"-_".contains(b))
        .count();
    (length == 43).then_some(("key", text.len() - rest.len() + length))
}

/// Twelve words of a fingerprint: small letters, three to eight each.
fn words(text: &str) -> Option<(&'static str, usize)> {
    let mut length = 0;
    for at in 0..12 {
        let rest = &text[length..];
        let rest = if at == 0 {
            rest
        } else {
            rest.strip_prefix(' ')?
        };
        let word = rest.bytes().take_while(u8::is_ascii_lowercase).count();
        if !(3..=8).contains(&word) {
            return None;
        }
        length = text.len() - rest.len() + word;
    }
    (length == text.len()).then_some(("words", length))
}

/// Milliseconds with a fraction, serials, and numbers that count what a run happened to do.
fn number(text: &str) -> Option<(&'static str, usize)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let rest = &text[digits..];
    let fraction = rest.strip_prefix('.').map_or(0, |rest| {
        1 + rest.bytes().take_while(u8::is_ascii_digit).count()
    });
    if fraction > 1 && (rest[fraction..].starts_with(" ms") || rest[fraction..].starts_with(" s")) {
        return Some(("duration", digits + fraction));
    }
    if digits == 10 {
        return Some(("serial", digits));
    }
    let counted = [" lines", ")"];
    counted
        .iter()
        .any(|after| rest.starts_with(after))
        .then_some(("count", digits))
}

#[test]
fn what_differs_is_masked_and_what_is_said_is_not() {
    let shown = "queued: 01a1fec7-ba43-78ee-a4e1-d1f2e59da54a waits for approval, until 2026-11-24T15:44:24.643Z";
    let actual = "queued: 01b1fec7-ba43-78ee-a4e1-d1f2e59da54b waits for approval, until 2027-01-01T00:00:00.000Z";
    let mut names = Names::default();
    assert!(names.agree(shown, actual));
    assert!(!names.agree(shown, &actual.replace("approval", "session")));
    assert!(
        !names.agree(shown, &actual.replace("01b1", "01c1")),
        "the same id is another one"
    );
    let command = "signet approve 01a1fec7-ba43-78ee-a4e1-d1f2e59da54a";
    assert_eq!(
        names.translate(command),
        "signet approve 01b1fec7-ba43-78ee-a4e1-d1f2e59da54b"
    );
    assert!(names.agree("sent 01a1fec7…  t4", "sent 01b1fec7…  t4"));
    assert!(!names.agree("sent 01a1fec7…  t4", "sent 01c1fec7…  t4"));
    assert!(names.agree("answers, 33.7 ms", "answers, 1041.4 ms"));
    assert!(!names.agree("tier 4, 5 tries", "tier 3, 5 tries"));
    let one = "its root key reads: kitchen barely distance similar garden usage blade december quiz tomato juice indoor";
    assert!(names.agree(one, &one.replace("kitchen", "mansion")));
    assert!(!names.agree(one, "its root key reads: kitchen barely"));
}
