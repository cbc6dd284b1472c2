//! What a person hands to a command: as an argument, in a file, or on standard input. Arguments stand in
//! the list of processes, where every user of the machine reads them; a secret comes the other two ways.

use std::fs::File;
use std::io::{self, Read};

use serde_json::Value;
use signet_json::{JsonError, Limits};

use crate::cli::CliError;

/// The three ways in. Standard input is read once.
#[derive(Debug, Default)]
pub(super) struct CommandInput {
    stdin_is_read: bool,
}

impl CommandInput {
    /// JSON by the rules of the wire: `-` is standard input, `@FILE` a file, and all else is the JSON
    /// itself. No JSON text is `-` or begins with `@`, so nothing is ambiguous.
    pub(super) fn json(&mut self, argument: &str) -> Result<Value, CliError> {
        let (bytes, origin) = match (argument, argument.strip_prefix('@')) {
            ("-", _) => (self.stdin()?, "standard input".to_owned()),
            (_, Some(file)) => (read_file(file)?, file.to_owned()),
            (text, None) => (text.as_bytes().to_vec(), "the message".to_owned()),
        };
        let given = Limits::MESSAGE;
        signet_json::parse(&bytes, given)
            .map_err(|error| not_json(&bytes, &origin, error, argument))
    }

    /// Words for people: `-` is standard input, `@FILE` a file, `@@…` words that begin with `@`, and all
    /// else the words themselves. The line end that closes a file belongs to none.
    pub(super) fn words(&mut self, argument: &str) -> Result<String, CliError> {
        let (bytes, origin) = match (argument, argument.strip_prefix('@')) {
            ("-", _) => (self.stdin()?, "standard input"),
            (_, Some(words)) if words.starts_with('@') => return Ok(words.to_owned()),
            (_, Some(file)) => (read_file(file)?, file),
            (words, None) => return Ok(words.to_owned()),
        };
        let mut words = String::from_utf8(bytes).map_err(|_| {
            let what = format!("{origin} is not UTF-8");
            CliError::usage(what, "encode the text as UTF-8")
        })?;
        let end = words.trim_end_matches('\n').trim_end_matches('\r').len();
        if words.len() - end <= 2 {
            words.truncate(end);
        }
        Ok(words)
    }

    fn stdin(&mut self) -> Result<Vec<u8>, CliError> {
        if std::mem::replace(&mut self.stdin_is_read, true) {
            let next = "give - once, and the other one as @FILE";
            let what = "standard input cannot be two things at once";
            return Err(CliError::usage(what, next));
        }
        read(io::stdin().lock(), "standard input")
    }
}

/// Refuses a summary that is longer than the schema of messages allows.
pub(super) fn short(option: &str, text: Option<&str>) -> Result<(), CliError> {
    let long = text.map_or(0, |text| text.chars().count());
    if long <= MOST_CHARACTERS {
        return Ok(());
    }
    let what =
        format!("{option} has {long} characters, and a message has room for {MOST_CHARACTERS}");
    let next = "give a shorter one; what is longer belongs into the body";
    Err(CliError::usage(what, next))
}

/// `maxLength` of `summary` in schemas/message.schema.json.
const MOST_CHARACTERS: usize = 500;

fn read_file(name: &str) -> Result<Vec<u8>, CliError> {
    let opened = File::open(name).map_err(|error| unread(name, &error))?;
    read(opened, name)
}

/// No more than a message can carry: what is longer is refused before it is read to its end.
fn read(from: impl Read, name: &str) -> Result<Vec<u8>, CliError> {
    let most = Limits::MESSAGE.bytes;
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    let read = from.take(limit).read_to_end(&mut bytes);
    read.map_err(|error| unread(name, &error))?;
    match bytes.len() > most {
        true => Err(CliError::usage(
            format!("{name} has more than the {most} bytes that a message can carry"),
            "send less, or a reference to where the data is",
        )),
        false => Ok(bytes),
    }
}

fn unread(name: &str, error: &io::Error) -> CliError {
    let what = format!("{name} cannot be read: {error}");
    let next = "name a file that you may read, behind @; or give - and the text on standard input";
    CliError::usage(what, next)
}

fn not_json(bytes: &[u8], origin: &str, error: JsonError, argument: &str) -> CliError {
    let place = match error {
        JsonError::Syntax { at, .. } => format!(" in {}", place_of(bytes, at)),
        JsonError::TooLarge
        | JsonError::InvalidUtf8
        | JsonError::ByteOrderMark
        | JsonError::DuplicateName
        | JsonError::LoneSurrogate
        | JsonError::Number
        | JsonError::TooDeep
        | JsonError::TooManyValues => String::new(),
    };
    let next = match argument.strip_prefix('@').is_some() || argument == "-" {
        true => "one JSON text is wanted, such as {\"week\": \"2026-W07\"}",
        false => {
            "quote it for the shell, such as '{\"week\": \"2026-W07\"}'; or give @FILE, or - for \
             standard input"
        }
    };
    let what = format!("{origin} is not JSON{place}: {error}");
    CliError::usage(what, next)
}

/// Line and column of a byte, both from 1.
fn place_of(bytes: &[u8], at: usize) -> String {
    let before = bytes.get(..at).unwrap_or(bytes);
    let line = before.split(|byte| *byte == b'\n');
    let column = line.clone().next_back().unwrap_or_default();
    let column = String::from_utf8_lossy(column).chars().count() + 1;
    format!("line {}, column {column}", line.count())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(failure: CliError) -> String {
        match failure {
            CliError::Told { what, .. } => what,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_file_is_read_and_what_is_meant_literally_has_a_way() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("body");
        std::fs::write(&file, "{\"pin\": 1}\n").unwrap();
        let (mut input, name) = (CommandInput::default(), format!("@{}", file.display()));
        assert_eq!(input.json(&name).unwrap(), json!({"pin": 1}));
        assert_eq!(input.json("\"@home\"").unwrap(), json!("@home"));
        assert_eq!(input.json("\"-\"").unwrap(), json!("-"));
        assert_eq!(input.json("-1").unwrap(), json!(-1));
        std::fs::write(&file, "Find an evening\n").unwrap();
        assert_eq!(input.words(&name).unwrap(), "Find an evening");
        assert_eq!(input.words("@@home").unwrap(), "@home");
        assert_eq!(input.words("-5 degrees").unwrap(), "-5 degrees");
    }

    #[test]
    fn a_summary_that_no_message_has_room_for_is_told_by_its_length() {
        short("--summary", None).unwrap();
        short("--summary", Some(&"ö".repeat(500))).unwrap();
        let said = told(short("--summary", Some(&"ö".repeat(501))).unwrap_err());
        assert_eq!(
            said,
            "--summary has 501 characters, and a message has room for 500"
        );
        let schema = include_str!("../../../../schemas/message.schema.json");
        assert!(schema.contains(&format!("\"maxLength\": {MOST_CHARACTERS}")));
    }

    #[test]
    fn what_is_too_large_or_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("body");
        std::fs::write(&file, vec![b' '; Limits::MESSAGE.bytes + 1]).unwrap();
        let mut input = CommandInput::default();
        let large = told(input.json(&format!("@{}", file.display())).unwrap_err());
        assert!(large.contains("more than the 245760 bytes"), "{large}");
        let none = told(input.words("@/nowhere/at/all").unwrap_err());
        assert!(
            none.starts_with("/nowhere/at/all cannot be read: "),
            "{none}"
        );
        let folder = told(
            input
                .json(&format!("@{}", dir.path().display()))
                .unwrap_err(),
        );
        assert!(folder.contains("cannot be read"), "{folder}");
        // A device such as /dev/zero has no end: so it is read only up to the limit, and refused as too long.
        let endless = told(input.json("@/dev/zero").unwrap_err());
        assert!(endless.contains("more than the"), "{endless}");
    }

    #[test]
    fn a_fault_in_the_json_is_named_by_line_and_column() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("body.json");
        std::fs::write(&file, "{\n  \"ö\": tru\n}").unwrap();
        let said = told(
            CommandInput::default()
                .json(&format!("@{}", file.display()))
                .unwrap_err(),
        );
        assert!(
            said.contains("body.json is not JSON in line 2, column "),
            "{said}"
        );
        assert!(!said.contains("tru\n"), "{said}");
    }
}
