//! A line as it comes out of a mail or a chat: wrapped, quoted, with spaces that nobody sees.
//!
//! Nothing is guessed: the text says where a line may end, and whoever reads it (a signature, a key's checksum) which of
//! these ends is the right one.

use zeroize::Zeroizing;

/// The line that begins with `prefix` in `text`: what `read` makes of the first end of it that is whole. Where none
/// is, the error of the first that `is_telling`, or else of the text as it stands.
pub(crate) fn read_pasted<T, E>(
    text: &str,
    prefix: &str,
    read: impl Fn(&str) -> Result<T, E>,
    is_telling: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut told = None;
    for line in lines_in(text, prefix) {
        match read(&line) {
            Ok(found) => return Ok(found),
            Err(error) if told.is_none() && is_telling(&error) => told = Some(error),
            Err(_) => {}
        }
    }
    match told {
        Some(error) => Err(error),
        None => read(text),
    }
}

/// Every line that may be meant, the shortest first: it ends where a space, a line or the text ends.
fn lines_in(text: &str, prefix: &str) -> Vec<Zeroizing<String>> {
    let bare = bare(text);
    let Some((_, behind)) = bare.split_once(prefix) else {
        return Vec::new();
    };
    // The pasted line may hold a login, which is secret: `Zeroizing` wipes it. Its capacity is reserved at once, because a text
    // that grows would leave copies in memory.
    let mut line = Zeroizing::new(String::with_capacity(LONGEST));
    line.push_str(prefix);
    let mut lines = Vec::new();
    for c in behind.chars() {
        match c {
            GAP if line.len() > prefix.len() => lines.push(line.clone()),
            GAP => {}
            c if is_base64url(c) => line.push(c),
            _ => break,
        }
        // The line may end at each gap, so each gap gives one more candidate to parse. Stop after `MOST` candidates, because a
        // long text may have a gap after every letter, and after `LONGEST` letters, because no line that is read is longer.
        if line.len() > LONGEST || lines.len() > MOST {
            break;
        }
    }
    lines.push(line);
    // Several spaces in a row have added the same line several times: keep it once.
    lines.dedup();
    lines
}

/// The text without what mail adds to it: marks of a quote, the soft line ends of quoted-printable, characters that
/// nobody sees. Each space and line end is one [`GAP`], and none stands within `signet:1:`.
fn bare(text: &str) -> Zeroizing<String> {
    let mut bare = Zeroizing::new(String::with_capacity(2 * text.len()));
    for line in text.split(['\n', '\r', '\u{2028}', '\u{2029}']) {
        let line = line.trim_start_matches(|c: char| c == '>' || c == '|' || is_gap(c));
        // Invitations and logins contain no `=` of their own, so each `=` was put there by quoted-printable.
        for c in line.chars().filter(|c| *c != '=' && !is_unseen(*c)) {
            bare.push(if is_gap(c) { GAP } else { c });
        }
        bare.push(GAP);
    }
    for mark in ["signet", "signet-login", "signet-hub"] {
        bare = Zeroizing::new(whole_mark(&bare, mark));
    }
    bare
}

/// Takes the gaps out of `mark:1:`, and a capital that a telephone put at its beginning.
fn whole_mark(text: &str, mark: &str) -> String {
    let capital = format!("S{}:", mark.strip_prefix('s').unwrap_or(mark));
    let mark = format!("{mark}:");
    let text = Zeroizing::new(text.replace(&capital, &mark));
    let Some((before, behind)) = text.split_once(&mark) else {
        return text.to_string();
    };
    let behind = behind.trim_start_matches(GAP);
    let version = behind.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = behind.len() - version.len();
    match version.trim_start_matches(GAP).strip_prefix(':') {
        Some(rest) => {
            let digits = behind.get(..digits).unwrap_or_default();
            format!("{before}{mark}{digits}:{rest}")
        }
        None => format!("{before}{mark}{behind}"),
    }
}

fn is_base64url(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// A space of any kind, the one that does not break among them.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || c == '\u{200b}'
}

/// Soft hyphens, joiners, marks of direction and of the order of bytes.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

const GAP: char = ' ';
/// Longer than any line that is read.
const LONGEST: usize = 16 * 1024;
/// A line of 8 KiB that is wrapped after every fourth character has so many ends.
const MOST: usize = 4 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "signet:1:eyJhIjoxLCJiIjoiYy1kX2UifQ";

    fn found(text: &str) -> Result<String, String> {
        let read = |line: &str| match line {
            LINE => Ok(line.to_owned()),
            other => Err(other.to_owned()),
        };
        read_pasted(text, "signet:1:", read, |_| false)
    }

    #[test]
    fn a_line_that_mail_has_wrapped_or_quoted_is_read_whole() {
        let (one, two) = LINE.split_at(20);
        for text in [
            LINE.to_owned(),
            format!("  {LINE}\r\n"),
            format!("{one}\n{two}\n"),
            format!("{one}\r\n{two}\r\n"),
            format!("> {one}\n> {two}\n"),
            format!(">> {one}\n>> {two}\n> \n> See you, Alice\n"),
            format!("| {one}\n| {two}\n"),
            format!("{one}=\r\n{two}\r\n"),
            format!("{one} {two}"),
            format!("{one}\u{a0}{two}\u{a0}"),
            format!("{one}\u{200b}{two}"),
            format!("{one}\u{ad}\n{two}\u{feff}"),
            format!("Hello Bob,\n\nhere it is:\n\n{one}\n{two}\n\nSee you\nAlice\n"),
            format!("Hello Bob, here it is: \"{LINE}\". See you"),
            format!("<{LINE}>"),
            format!("`{LINE}`"),
            format!("Signet:1:{}", &LINE[9..]),
            format!("signet:\n1:{}", &LINE[9..]),
            format!("signet:1\n:{}", &LINE[9..]),
            format!("signet:1:\n{}", &LINE[9..]),
            LINE.chars().flat_map(|c| [c, '\n']).skip(18).fold(
                "signet:1:".to_owned(),
                |mut all, c| {
                    all.push(c);
                    all
                },
            ),
        ] {
            assert_eq!(found(&text).as_deref(), Ok(LINE), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_whole_is_told_as_it_stands() {
        for text in [
            "",
            "signet:1:",
            "signet:2:eyJ9",
            &LINE[..LINE.len() - 1],
            "nothing of that kind",
        ] {
            assert!(found(text).is_err(), "{text:?}");
        }
        let told = read_pasted(
            "> signet:1:aaaa\n> bbbb",
            "signet:1:",
            |line| Err::<(), _>(line.to_owned()),
            |line| line == "signet:1:aaaabbbb",
        );
        assert_eq!(told, Err("signet:1:aaaabbbb".to_owned()));
    }
}
