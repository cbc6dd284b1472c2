//! What a channel is shown of a message: a line for people, and the signed envelope as it was sent.

use std::borrow::Cow;

use serde_json::{Value, json};
use signet_text::visible;

/// What may be shown of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ShownMessage<'a> {
    pub(crate) from: &'a str,
    pub(crate) from_principal: Option<&'a str>,
    pub(crate) to: &'a str,
    pub(crate) to_principal: Option<&'a str>,
    /// The method, or `response`.
    pub(crate) kind: &'a str,
    /// What is asked for.
    pub(crate) about: Option<&'a str>,
    pub(crate) tier: u8,
    pub(crate) time: &'a str,
    pub(crate) summary: Option<&'a str>,
    pub(crate) envelope: &'a [u8],
    pub(crate) message_id: &'a str,
}

/// A message of a channel, and the file that goes with it when the envelope has no room in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChannelMessage<'a> {
    pub(crate) payload: Value,
    pub(crate) file: Option<(String, Cow<'a, [u8]>)>,
}

/// The message that shows this.
pub(crate) fn written<'a>(shown: &ShownMessage<'a>) -> ChannelMessage<'a> {
    let line = line(shown);
    let block = block(shown.envelope).map(|block| format!("{line}\n{block}"));
    match block.filter(|whole| units(whole) <= LONGEST) {
        Some(content) => ChannelMessage {
            payload: payload(&content, shown, None),
            file: None,
        },
        None => {
            let name = format!("{}.json", file_name(shown.message_id));
            let payload = payload(&line, shown, Some(&name));
            ChannelMessage {
                payload,
                file: Some((name, Cow::Borrowed(shown.envelope))),
            }
        }
    }
}

/// Text of others with nothing in it that Discord, a terminal or an eye would take for more than text: no markdown, no
/// mention, no link, no hidden character.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for symbol in visible(text).chars() {
        if symbol.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(symbol);
    }
    out
}

fn line(shown: &ShownMessage<'_>) -> String {
    let short = |text: &str| plain(&cut(text, 128));
    let who = |agent: &str, principal: Option<&str>| {
        let principal = principal.map(|name| format!(" ({})", short(name)));
        format!("**{}**{}", short(agent), principal.unwrap_or_default())
    };
    let about = shown.about.map(|about| format!(" {}", short(about)));
    let head = format!(
        "{} → {} · {}{} · tier {} · {}",
        who(shown.from, shown.from_principal),
        who(shown.to, shown.to_principal),
        short(shown.kind),
        about.unwrap_or_default(),
        shown.tier,
        plain(&cut(shown.time, 40)),
    );
    match shown.summary {
        // A summary cannot break out of the quote: its line breaks are escaped like all hidden characters.
        Some(summary) => {
            let room = LONGEST.saturating_sub(units(&head) + 3);
            format!("{head}\n> {}", fitting(summary, room))
        }
        None => head,
    }
}

/// As much of a text as has room once it is escaped.
fn fitting(text: &str, room: usize) -> String {
    let whole = plain(text);
    if units(&whole) <= room {
        return whole;
    }
    let (mut out, mut used) = (String::new(), 0);
    for symbol in visible(text).chars() {
        let escaped = plain(symbol.encode_utf8(&mut [0; 4]));
        used += units(&escaped);
        // Stop where the `…` at the end would no longer fit: it takes one more character.
        if used + 1 > room {
            break;
        }
        out.push_str(&escaped);
    }
    out.push('…');
    out
}

/// The envelope as one block of code, where nothing in it would end the block or be shown as something else.
fn block(envelope: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(envelope).ok()?;
    let is_plain = !text.contains('`') && visible(text) == text;
    is_plain.then(|| format!("```json\n{text}\n```"))
}

fn payload(content: &str, shown: &ShownMessage<'_>, file: Option<&str>) -> Value {
    let mut payload = json!({
        "content": content,
        "allowed_mentions": { "parse": [] },
        "flags": SUPPRESS_EMBEDS,
        "nonce": nonce(shown.message_id),
        "enforce_nonce": true,
    });
    if let (Some(name), Some(members)) = (file, payload.as_object_mut()) {
        members.insert(
            "attachments".to_owned(),
            json!([{ "id": 0, "filename": name }]),
        );
    }
    payload
}

/// The same for the same message, so that a message that is posted again soon is one message.
fn nonce(message_id: &str) -> String {
    let digits = message_id.chars().filter(char::is_ascii_alphanumeric);
    // Use the end of the id: an id begins with a time, so ids of the same moment begin alike.
    let mut last: Vec<char> = digits.rev().take(NONCE).collect();
    last.reverse();
    last.into_iter().collect()
}

fn file_name(message_id: &str) -> String {
    let known = |symbol: &char| symbol.is_ascii_alphanumeric() || *symbol == '-';
    message_id.chars().filter(known).take(64).collect()
}

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}

/// Characters as Discord's clients count them, which is at least what its servers count.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The longest content of a message.
pub(crate) const LONGEST: usize = 2_000;
/// The longest nonce.
const NONCE: usize = 25;
/// No preview is made of what looks like a link.
const SUPPRESS_EMBEDS: u32 = 1 << 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<'a>(summary: Option<&'a str>, envelope: &'a [u8]) -> ShownMessage<'a> {
        ShownMessage {
            from: "agent-alice",
            from_principal: Some("alice"),
            to: "agent-bob",
            to_principal: Some("bob"),
            kind: "agent.request",
            about: None,
            tier: 1,
            time: "2026-01-01T00:00:00.000Z",
            summary,
            envelope,
            message_id: "0192f5a0-7a1b-7c3d-8e4f-123456789abc",
        }
    }

    fn content(written: &ChannelMessage<'_>) -> String {
        written.payload["content"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_small_envelope_is_one_block_of_code_byte_for_byte() {
        let written = written(&shown(Some("lunch?"), br#"{"id":"1"}"#));
        assert_eq!(written.file, None);
        let content = content(&written);
        assert!(
            content.ends_with("\n> lunch\\?\n```json\n{\"id\":\"1\"}\n```"),
            "{content}"
        );
        assert!(content.starts_with(
            r"**agent\-alice** (alice) → **agent\-bob** (bob) · agent\.request · tier 1 · "
        ));
        assert_eq!(written.payload["allowed_mentions"], json!({"parse": []}));
        assert_eq!(written.payload["nonce"].as_str().unwrap().len(), NONCE);
    }

    #[test]
    fn what_has_no_room_or_would_end_the_block_is_a_file() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(3_000)).into_bytes();
        for envelope in [
            &long[..],
            br#"{"a":"```\n@everyone"}"#,
            "{\"a\":\"\u{202e}\"}".as_bytes(),
            b"\xff",
        ] {
            let written = written(&shown(None, envelope));
            let (name, file) = written.file.as_ref().unwrap();
            assert_eq!(
                (name.as_str(), &file[..]),
                ("0192f5a0-7a1b-7c3d-8e4f-123456789abc.json", envelope)
            );
            assert_eq!(written.payload["attachments"][0]["filename"], name.as_str());
            assert!(!content(&written).contains("```"));
        }
    }

    #[test]
    fn nobody_is_called_and_nothing_is_drawn_by_what_a_peer_wrote() {
        let hostile =
            "@everyone <@123> **b** [x](https://evil.example) `c`\n# head\u{202e}\u{200b}||s||";
        let written = written(&shown(Some(hostile), b"{}"));
        let content = content(&written);
        let quote = content
            .split("\n> ")
            .nth(1)
            .unwrap()
            .split("\n```")
            .next()
            .unwrap();
        assert!(
            !quote.contains('\n') && !quote.contains('\u{202e}') && !quote.contains('\u{200b}')
        );
        let mut symbols = quote.chars();
        while let Some(symbol) = symbols.next() {
            assert!(
                !symbol.is_ascii_punctuation() || (symbol == '\\' && symbols.next().is_some()),
                "{quote}"
            );
        }
    }

    #[test]
    fn the_longest_summary_leaves_the_message_within_what_discord_takes() {
        for summary in [
            "*".repeat(4_000),
            "😀".repeat(4_000),
            "\u{202e}".repeat(4_000),
        ] {
            let written = written(&shown(Some(&summary), b"{}"));
            let length = units(&content(&written));
            assert!(length <= LONGEST && length > LONGEST - 20, "{length}");
            assert!(written.file.is_some());
        }
    }
}
