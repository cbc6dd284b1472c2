//! Lines for people: one readable line each.

use signet_json::canonical;
use signet_proto::entry::Entry;

use crate::record::{LogLine, Mark};
use signet_text::{counted, printable, visible};

/// One line of text about one line of the log. Nothing from the log can drive a terminal with it or
/// look like a second line.
#[must_use]
pub fn describe(line: &LogLine) -> String {
    let time = line.ts.to_string().replace('T', " ");
    let time = time.trim_end_matches('Z');
    let (direction, what, rest) = match (&line.entry, &line.mark) {
        (Some(entry), _) => {
            let (direction, what) = match entry {
                Entry::Message(verdict) => (verdict.direction.as_str(), verdict.ruling.as_str()),
                other => ("-", other.kind()),
            };
            (direction, what, entry.describe())
        }
        (None, mark) => (
            "-",
            line.kind.as_str(),
            mark.as_ref().map(describe_mark).unwrap_or_default(),
        ),
    };
    let described = format!("{time}  {direction:<3} {:<8}  {rest}", printable(what));
    described.trim_end().to_owned()
}

/// What the message in a line carries, in clear, as one line of JSON that is safe to show; `None` where it
/// carries nothing, or nothing that is not sealed.
#[must_use]
pub fn body(line: &LogLine) -> Option<String> {
    let body = match line.entry.as_ref()? {
        Entry::Message(verdict) => verdict.message()?.body(),
        Entry::Draft(draft) => draft.body(),
        _ => None,
    };
    let text = canonical(body?);
    Some(visible(&String::from_utf8_lossy(&text)).into_owned())
}

/// As much of what a message carries as fits into `most` characters, and how much more there is.
#[must_use]
pub fn glimpse(body: &str, most: usize) -> String {
    match body.char_indices().nth(most) {
        None => body.to_owned(),
        Some((end, _)) => {
            let (shown, rest) = body.split_at(end);
            let more = counted(rest.chars().count() as u64, "more character");
            format!("{shown}… ({more})")
        }
    }
}

/// Whether the row of a message says nothing of what it carries: it has no summary.
#[must_use]
pub fn is_without_words(line: &LogLine) -> bool {
    match &line.entry {
        Some(Entry::Message(verdict)) => verdict.summary().is_none(),
        _ => false,
    }
}

fn describe_mark(mark: &Mark) -> String {
    match mark {
        Mark::Open { previous, .. } => format!("after {}", printable(previous)),
        Mark::Close => "the month is over".to_owned(),
        Mark::Recovery { file, bytes, .. } => {
            format!(
                "{} set aside in {}",
                counted(*bytes, "torn byte"),
                printable(file)
            )
        }
    }
}
