//! Sealed messages of the log: found by message-id, opened one line at a time with the person's audit key.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use signet_audit::{LogLine, MAX_LINE, Sight, log_files};
use signet_proto::draft::Draft;
use signet_proto::entry::{Direction, Entry};
use signet_proto::envelope::Message;
use signet_proto::ids::{Digest, MessageId};
use signet_proto::seal::Opened;

use super::PersonsHome;
use crate::cli::CliError;
use crate::config::Config;
use crate::hint;
use crate::keystore::{AUDIT, read_seal_secret};
use crate::memory::MemoryError;

/// A line of the log in which something is sealed.
pub struct SealedLine {
    line: LogLine,
    /// Whether the agent sent it, got it, or made it ready to leave.
    pub direction: &'static str,
    /// The other agent.
    pub peer: String,
    /// 3 or 4.
    pub tier: u8,
}

impl SealedLine {
    /// Its number in the log.
    pub const fn number(&self) -> u64 {
        self.line.seq
    }

    /// When it was written.
    pub fn time(&self) -> String {
        self.line.ts.to_string()
    }

    /// SHA-256 of the line.
    pub const fn hash(&self) -> Digest {
        self.line.hash
    }
}

impl PersonsHome {
    /// The lines about the message of that name in which something is sealed, the newest month first.
    ///
    /// # Errors
    /// When the name is none, or the log cannot be read.
    pub fn sealed(&self, message_id: &str) -> Result<Vec<SealedLine>, CliError> {
        let name: MessageId = message_id.parse().map_err(|form| {
            let what = format!("this is no name of a message: {form}");
            CliError::usage(what, "follow the link beside the message")
        })?;
        let config = Config::load(&self.home)?;
        let mut files = log_files(&config.audit_dir).map_err(MemoryError::from)?;
        files.reverse();
        let mut found = Vec::new();
        for file in files {
            look_in(&file, name, &mut found)?;
            // End the search once `MOST` lines are found: one message has no more, and otherwise a long log would be
            // read back to its first month.
            if found.len() >= MOST {
                break;
            }
        }
        Ok(found)
    }

    /// Opens one of them.
    ///
    /// # Errors
    /// When the audit key is not there, or does not fit.
    pub fn open(&self, sealed: &SealedLine) -> Result<Opened, CliError> {
        let own = || self.home.key_file(AUDIT);
        let path = self.audit_key.clone().unwrap_or_else(own);
        if self.audit_key.is_none() && !path.exists() {
            return Err(CliError::usage(
                format!("the person's audit key is not at {}", path.display()),
                "put the stick in and say where it is: signet view --audit-key FILE",
            ));
        }
        let refused = |what: &str, next: &str| Err(CliError::refused(what, next));
        match sealed.line.open(&read_seal_secret(&path)?) {
            Sight::Opened(_, opened) => Ok(opened),
            Sight::OtherKey => refused(
                "the key does not fit what is sealed there",
                "name the audit key of this agent's person: signet view --audit-key FILE",
            ),
            Sight::NoCopy => refused(
                "this line has no copy for a person: the message was refused, or there was no audit key then",
                "ask the agent, which alone had it",
            ),
            Sight::Damaged(_) | Sight::Plain => refused(
                "what is sealed there is not what was written",
                "signet audit verify  # says which line of the log is not as it was written",
            ),
        }
    }
}

/// Looks through one file for lines that name the message, and parses those alone.
fn look_in(file: &Path, name: MessageId, found: &mut Vec<SealedLine>) -> Result<(), CliError> {
    let unread = |source| CliError::file(&source, file.display(), hint::unreadable(file));
    let mut lines = BufReader::new(File::open(file).map_err(unread)?);
    let (text, mut raw, mut is_rest) = (name.to_string(), Vec::new(), false);
    loop {
        raw.clear();
        // Read `MAX_LINE` and one byte at most, so that a line without an end cannot fill the memory. A log has no
        // longer line: all pieces of one are passed over, the last too, in which somebody could have written a line.
        let mut piece = (&mut lines).take(MAX_LINE as u64 + 1);
        let got = piece.read_until(b'\n', &mut raw).map_err(unread)?;
        if got == 0 {
            return Ok(());
        }
        let is_whole = raw.last() == Some(&b'\n');
        let was_rest = std::mem::replace(&mut is_rest, !is_whole);
        let is_named = std::str::from_utf8(&raw).is_ok_and(|line| line.contains(&text));
        if !is_whole || was_rest || !is_named {
            continue;
        }
        raw.pop();
        // A line that cannot be read is for `signet audit verify` to find: nothing of it is shown here.
        let Ok(line) = LogLine::parse(raw.clone()) else {
            continue;
        };
        found.extend(of_message(line, name));
    }
}

/// The sealed part of a line about that message.
fn of_message(line: LogLine, name: MessageId) -> Option<SealedLine> {
    let (direction, message) = match &line.entry {
        Some(Entry::Message(verdict)) => {
            let direction = match verdict.direction {
                Direction::In => "in",
                Direction::Out => "out",
            };
            (direction, verdict.message()?.as_ref().clone())
        }
        Some(Entry::Draft(draft)) => {
            let stored = Draft::parse(draft.message.clone(), std::time::Duration::ZERO).ok()?;
            ("draft", Message::clone(stored.message()))
        }
        _ => return None,
    };
    let headers = &message.headers;
    if message.sealed.is_none() || headers.message_id != name {
        return None;
    }
    let peer = match direction {
        "in" => headers.agent_id.to_string(),
        _ => headers.recipient_id.to_string(),
    };
    let tier = headers.data_tier.number();
    Some(SealedLine {
        line,
        direction,
        peer,
        tier,
    })
}

/// Lines about one message: its draft and its way out, or its way in; several senders may have used one name.
const MOST: usize = 8;
