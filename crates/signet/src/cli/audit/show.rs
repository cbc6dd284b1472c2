//! `signet audit show`: a log, one readable line a message.

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use clap::Args;
use clap::builder::PossibleValuesParser;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signet_audit::{
    AnsweredRequests, Filter, LogLine, VerdictName, describe, glimpse, is_without_words, kinds,
};
use signet_proto::headers::{ConversationId, MessageType};
use signet_proto::ids::AgentId;
use signet_proto::time::{TimeError, Timestamp};

use super::cursor::Cursor;
use super::{ended, export, tell, unreadable};
use crate::cli::{CliError, Exit};

/// See `signet audit show --help`.
#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Log directories, or single files [default: the log of this home]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Go on with what is written from now on, also in new months.
    #[arg(long, short)]
    follow: bool,
    /// Only what is about this agent.
    #[arg(long, value_name = "AGENT-ID")]
    peer: Option<AgentId>,
    /// Only what was said in this conversation, or for this task.
    #[arg(long, value_name = "ID", value_parser = conversation_id)]
    conversation: Option<ConversationId>,
    /// Show what messages carry, under each: a line of JSON, its first 4,000 characters. A message without a
    /// summary shows the beginning anyway. What is sealed needs `signet audit open`.
    #[arg(long, conflicts_with = "json")]
    body: bool,
    /// Show handshakes, receipts and the messages that carry orders too.
    #[arg(long, visible_alias = "all")]
    plumbing: bool,
    /// Only messages of this type: request, response, notification or handoff.
    #[arg(long = "type", value_name = "TYPE", value_parser = message_type)]
    message_type: Option<MessageType>,
    /// Only messages with this verdict: accepted, rejected or sent.
    #[arg(long)]
    verdict: Option<VerdictName>,
    /// Only what is of this data tier: 1 public, 2 household, 3 sensitive, 4 restricted.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: Option<u8>,
    /// Only lines of this kind; once for each.
    #[arg(long = "kind", value_name = "KIND", value_parser = PossibleValuesParser::new(kinds()))]
    kinds: Vec<String>,
    /// Only what is about this message and its answer, or about this task; the beginning of its id is enough.
    #[arg(long, value_name = "ID", value_parser = beginning)]
    id: Option<String>,
    /// Only what says this text, in what is shown of a line or what it carries in clear.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Only requests and handoffs, ours and theirs, that the log has no answer to.
    #[arg(long, conflicts_with = "follow")]
    unanswered: bool,
    /// Only what was logged at this time (RFC 3339, UTC) or later; a day, such as 2026-02-01, is its beginning.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Only what was logged before this time (RFC 3339, UTC), or before this day.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// Print the lines as they stand in the log.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: ShowArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let ShowArgs {
        mut paths,
        follow,
        peer,
        conversation,
        body,
        plumbing,
        message_type,
        verdict,
        tier,
        kinds,
        id,
        search,
        unanswered,
        since,
        until,
        json,
    } = args;
    if paths.is_empty() {
        paths.push(export::log_of(home)?);
    }
    // To know which requests have no answer, read the whole log once before it is shown: an answer comes after its
    // request, perhaps in a later file.
    let answered = match unanswered {
        true => Some(answered_in(&paths)?),
        false => None,
    };
    let mut cursors: Vec<Cursor> = paths.into_iter().map(Cursor::new).collect();
    let mut show = Show {
        filter: Filter {
            peer,
            conversation,
            without_control: !plumbing,
            message_type,
            verdict,
            tier,
            kinds,
            id,
            text: search,
            since,
            until,
        },
        answered,
        json,
        body,
        verdict: Exit::Done,
    };
    loop {
        for cursor in &mut cursors {
            match show.catch_up(cursor) {
                Ok(()) => {}
                Err(CliError::Unread) => return ended(show.verdict),
                Err(failure) => return Err(failure),
            }
        }
        if !follow || is_closed_within(&POLL) {
            return ended(show.verdict);
        }
    }
}

/// What has an answer anywhere in these logs. A line that cannot be read is passed over here, and reported when the
/// log is shown.
fn answered_in(paths: &[PathBuf]) -> Result<AnsweredRequests, CliError> {
    let mut answered = AnsweredRequests::default();
    for path in paths {
        let mut cursor = Cursor::new(path.clone());
        while let Some(next) = cursor.next_line().map_err(unreadable)? {
            if let Ok(line) = next {
                answered.take(&line);
            }
        }
    }
    Ok(answered)
}

/// A time, or a day for its beginning.
pub(super) fn time(text: &str) -> Result<Timestamp, TimeError> {
    export::day(text).map_or_else(|| text.parse(), Ok)
}

/// Waits, and tells whether meanwhile nobody reads standard output any more.
fn is_closed_within(time: &Timespec) -> bool {
    let stdout = io::stdout();
    // Ask for no event: only errors and hang-ups matter here, and poll(2) reports these in any case.
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    match poll(&mut watched, Some(time)) {
        Ok(told) => told > 0,
        // An interrupted wait (`INTR`) says nothing about the reader. After any other error this function could not wait
        // again, and `--follow` would go round without a pause: end as for a closed output.
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

struct Show {
    filter: Filter,
    /// Only what has no answer there.
    answered: Option<AnsweredRequests>,
    json: bool,
    body: bool,
    verdict: Exit,
}

impl Show {
    fn catch_up(&mut self, cursor: &mut Cursor) -> Result<(), CliError> {
        let mut out = anstream::stdout().lock();
        while let Some(next) = cursor.next_line().map_err(unreadable)? {
            match next {
                Ok(line) if self.is_wanted(&line) => {
                    self.write(&line, &mut out).map_err(CliError::output)?;
                }
                Ok(_) => {}
                Err(error) => {
                    self.verdict = Exit::Refused;
                    tell(&error.to_string());
                }
            }
        }
        out.flush().map_err(CliError::output)
    }

    fn is_wanted(&self, line: &LogLine) -> bool {
        let is_open = |answered: &AnsweredRequests| answered.lacks(line);
        self.filter.admits(line) && self.answered.as_ref().is_none_or(is_open)
    }

    fn write(&self, line: &LogLine, out: &mut impl Write) -> io::Result<()> {
        if self.json {
            out.write_all(&line.to_json())?;
            return out.write_all(b"\n");
        }
        let rejected = Filter {
            verdict: Some(VerdictName::Rejected),
            ..Filter::default()
        };
        let style = if rejected.admits(line) {
            RED
        } else {
            Style::new()
        };
        let body = signet_audit::body(line);
        let begun = body
            .as_deref()
            .filter(|_| !self.body && is_without_words(line));
        let begun = begun.map_or_else(String::new, |body| format!("  {}", glimpse(body, BEGUN)));
        writeln!(out, "{style}{}{begun}{style:#}", describe(line))?;
        match body.filter(|_| self.body) {
            Some(body) => writeln!(out, "    {}", glimpse(&body, MOST)),
            None => Ok(()),
        }
    }
}

pub(super) fn conversation_id(text: &str) -> Result<ConversationId, &'static str> {
    text.parse()
        .map_err(|_| "not a conversation-id: 1 to 128 of letters, digits and . _ : -")
}

fn message_type(text: &str) -> Result<MessageType, &'static str> {
    text.parse()
        .map_err(|_| "not a message type; use request, response, notification or handoff")
}

fn beginning(text: &str) -> Result<String, &'static str> {
    let of_id = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-');
    match text.len() >= SHORTEST && text.bytes().all(of_id) {
        true => Ok(text.to_owned()),
        false => Err("not the beginning of an id: at least 4 of 0-9, a-f and -"),
    }
}

/// The fewest characters that stand for an id, as in every other command that takes the beginning of one.
const SHORTEST: usize = 4;
/// How much of a body stands in the row of a message without a summary, in characters.
const BEGUN: usize = 120;
/// How much of a body is shown below its row.
const MOST: usize = 4_000;
const POLL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};
const RED: Style = AnsiColor::Red.on_default();
