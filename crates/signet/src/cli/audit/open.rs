//! `signet audit open`: what a log's sealed lines say, for whoever has a key to them.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use signet_audit::{LogLine, Sight, counted, describe, printable, visible};
use signet_json::canonical;
use signet_proto::entry::{Direction, Entry};
use signet_proto::ids::{AgentId, MessageId};
use signet_proto::keys::SealSecret;
use signet_proto::seal::Opened;

use super::cursor::Cursor;
use super::{ended, tell, unreadable};
use crate::cli::{CliError, Exit};
use crate::keystore::read_seal_secret;

/// See `signet audit open --help`.
#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The file of the audit key: an X25519 private key as PEM
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Log directories, or single files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print each message as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: OpenArgs) -> Result<(), CliError> {
    let mut open = Open {
        secret: read_seal_secret(&args.key)?,
        json: args.json,
        other_key: 0,
        without_copy: 0,
        verdict: Exit::Done,
    };
    for path in args.paths {
        match open.read(&mut Cursor::new(path)) {
            Ok(()) => {}
            // Nobody reads the output any more, for instance after `| head`: end here, with the verdict on the lines that were
            // read until then.
            Err(CliError::Unread) => return ended(open.verdict),
            Err(failure) => return Err(failure),
        }
    }
    open.conclude()
}

struct Open {
    secret: SealSecret,
    json: bool,
    other_key: u64,
    without_copy: u64,
    verdict: Exit,
}

impl Open {
    fn read(&mut self, cursor: &mut Cursor) -> Result<(), CliError> {
        let mut out = anstream::stdout().lock();
        while let Some(next) = cursor.next_line().map_err(unreadable)? {
            match next {
                Ok(line) => self.show(&line, &mut out).map_err(CliError::output)?,
                Err(error) => {
                    self.verdict = Exit::Refused;
                    tell(&error.to_string());
                }
            }
        }
        out.flush().map_err(CliError::output)
    }

    fn show(&mut self, line: &LogLine, out: &mut impl Write) -> io::Result<()> {
        match line.open(&self.secret) {
            Sight::Plain => Ok(()),
            Sight::Opened(id, opened) if self.json => {
                writeln!(out, "{}", visible(&to_json(line, id, &opened)))
            }
            Sight::Opened(_, opened) => writeln!(out, "{}", for_people(line, &opened)),
            Sight::OtherKey => {
                self.other_key += 1;
                Ok(())
            }
            Sight::NoCopy => {
                self.without_copy += 1;
                Ok(())
            }
            Sight::Damaged(reason) => {
                self.verdict = Exit::Refused;
                tell(&format!(
                    "line {}: {reason}; its box is not what was written: run `signet audit verify`",
                    line.seq
                ));
                Ok(())
            }
        }
    }

    fn conclude(self) -> Result<(), CliError> {
        if self.without_copy > 0 {
            tell(&format!(
                "{} no copy for a person: refused, or written without an audit key",
                match self.without_copy {
                    1 => "1 sealed line has".to_owned(),
                    lines => format!("{lines} sealed lines have"),
                }
            ));
        }
        if self.other_key > 0 {
            tell(&format!(
                "the key does not fit {}; name the audit key of this agent's person",
                counted(self.other_key, "sealed line")
            ));
            return ended(Exit::Refused);
        }
        ended(self.verdict)
    }
}

fn for_people(line: &LogLine, opened: &Opened) -> String {
    let mut out = describe(line);
    if let Some(summary) = &opened.summary {
        out.push_str(&format!("  \"{}\"", printable(summary)));
    }
    if let Some(body) = &opened.body {
        out.push_str("  ");
        out.push_str(&visible(&text_of(body)));
    }
    out
}

fn to_json(line: &LogLine, id: MessageId, opened: &Opened) -> String {
    let (direction, peer) = match &line.entry {
        Some(Entry::Message(verdict)) => {
            let headers = verdict.message().map(|message| &message.headers);
            match verdict.direction {
                Direction::In => ("in", headers.map(|headers| &headers.agent_id)),
                Direction::Out => ("out", headers.map(|headers| &headers.recipient_id)),
            }
        }
        Some(Entry::Draft(draft)) => ("out", Some(&draft.peer)),
        _ => ("-", None),
    };
    let row = OpenedLine {
        seq: line.seq,
        ts: line.ts.to_string(),
        kind: &line.kind,
        dir: direction,
        peer: peer.map(AgentId::as_str),
        message_id: id.to_string(),
        summary: opened.summary.as_deref(),
        body: opened.body.as_ref(),
    };
    // `to_value` does not fail: the row holds only texts, a number and JSON.
    text_of(&serde_json::to_value(row).unwrap_or_default())
}

/// What a sealed line says, with where it stands in the log.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct OpenedLine<'a> {
    seq: u64,
    ts: String,
    kind: &'a str,
    dir: &'a str,
    peer: Option<&'a str>,
    message_id: String,
    summary: Option<&'a str>,
    body: Option<&'a Value>,
}

fn text_of(value: &Value) -> String {
    String::from_utf8_lossy(&canonical(value)).into_owned()
}
