//! What commands print: pages for people, and JSON for programs.

use std::io::Write as _;

use serde::Serialize;
use serde_json::Value;
use signet_audit::visible;

use crate::cli::CliError;
use crate::control::ClientError;
use crate::hint;

/// Every line safe for a terminal.
pub(super) fn visible_lines(page: &str) -> String {
    page.split_inclusive('\n')
        .map(|line| format!("{}\n", visible(line.trim_end_matches('\n'))))
        .collect()
}

/// Writes to standard output, with its hints as they are typed here. Where nobody reads any more, the program ends
/// quietly.
pub(super) fn print(text: &str) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    out.write_all(hint::typed_lines(text).as_bytes())
        // Flush here: nobody would report an error of the flush at the program's end.
        .and_then(|()| out.flush())
        .map_err(CliError::output)
}

/// JSON for whoever asked for it, and else the page.
pub(super) fn print_as(
    json: bool,
    value: &impl Serialize,
    page: impl FnOnce() -> String,
) -> Result<(), CliError> {
    match json {
        true => print_json(value),
        false => print(&page()),
    }
}

/// Prints a list as JSON where that is asked for, else as a page for people.
pub(super) fn print_each_as(
    json: bool,
    items: impl IntoIterator<Item = impl Serialize>,
    page: impl FnOnce() -> String,
) -> Result<(), CliError> {
    match json {
        true => print_each(items),
        false => print(&page()),
    }
}

/// One JSON document on one line.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), CliError> {
    print(&format!("{}\n", safe_json(&json_of(value)?)))
}

/// A list: one JSON document a line, and nothing where there is nothing.
pub(super) fn print_each(items: impl IntoIterator<Item = impl Serialize>) -> Result<(), CliError> {
    let line = |item| Ok(format!("{}\n", safe_json(&json_of(&item)?)));
    let lines: Result<String, CliError> = items.into_iter().map(line).collect();
    print(&lines?)
}

/// JSON text that cannot drive a terminal: what JSON leaves unescaped is escaped as JSON escapes.
pub(super) fn safe_json(value: &Value) -> String {
    visible(&value.to_string()).into_owned()
}

/// The text, or a dash where there is none.
pub(super) fn or_dash(text: Option<&str>) -> &str {
    text.unwrap_or("-")
}

/// The value as JSON, in the form that it has on the socket.
pub(super) fn json_of(value: &impl Serialize) -> Result<Value, CliError> {
    serde_json::to_value(value).map_err(|_| ClientError::Malformed.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_for_a_terminal_is_still_the_same_json() {
        let value = json!({"a \"b\" \\": "\u{1b}[2J\n\u{2028}\u{202e}\u{9b}\u{7f}\u{e0001}", "Grüße": "東京 🙂"});
        let text = safe_json(&value);
        let hidden = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}' | '\u{e0001}');
        assert!(!text.contains(hidden) && text.contains("東京 🙂"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
