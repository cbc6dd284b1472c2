//! `signet audit`: prove a log, or read it.

mod export;
mod open;
mod progress;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use clap::{Args, Subcommand};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;
use signet_audit::{
    Depth, Filter, Line, Lines, LogError, Progress, Settings, VerdictName, describe, log_files,
    read_file, reconcile, verify_with,
};
use signet_proto::headers::{ConversationId, MessageType};
use signet_proto::ids::AgentId;
use signet_proto::time::Timestamp;

use super::failure::of_log;
use super::{Exit, Failure};
use progress::Bar;

/// Prove an audit log, or read it.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet audit verify audit/agent-alice-001")]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Prove chain, months, checkpoints and every signature of logs, from their files.
    ///
    /// The first line says OK or NOT OK, what is proven, and what is not; findings and details follow.
    /// Exit code 0 where everything holds, 1 where something was changed, is damaged or lacks evidence, 2 where
    /// there is nothing to read. When the logs of several agents are given, each is a witness of the others: only
    /// that shows an older copy, another version, or a log written anew by whoever has its keys.
    #[command(
        after_help = "EXAMPLE:\n  signet audit verify audit/agent-alice-001\n  signet audit verify audit/agent-alice-001 from-bob/agent-bob-001\n  signet audit verify --json audit | jq .holds"
    )]
    Verify(VerifyArgs),
    /// Hold the logs of two agents against each other, message by message.
    ///
    /// Names every message that one of them has and the other lacks, and every head that does not fit.
    /// Exit code 0 where they agree, 1 where they contradict each other or do not hold, 2 where there is nothing
    /// to read.
    #[command(
        after_help = "EXAMPLE:\n  signet audit reconcile audit/agent-alice-001 from-bob/agent-bob-001\n  signet audit reconcile --json MINE THEIRS | jq '.contradictions[]'"
    )]
    Reconcile(ReconcileArgs),
    /// Write what was said with one peer into a bundle that another person can verify.
    ///
    /// Every line of messages and tasks with the peer, with the proof that it stands in this log, and the
    /// certificates. What is sealed stays sealed. `signet audit verify BUNDLE` says what it proves.
    #[command(
        after_help = "EXAMPLE:\n  signet audit export --peer agent-bob-001 --from 2026-02-01 --to 2026-02-28 --output bob.jsonl\n  signet audit verify bob.jsonl"
    )]
    Export(export::ExportArgs),
    /// Show a log, one readable line a message.
    ///
    /// Handshakes, receipts and the messages that carry orders are left out unless --plumbing is given; refused
    /// ones never are.
    #[command(
        after_help = "EXAMPLE:\n  signet audit show --peer agent-bob-001 --body\n  signet audit show --verdict rejected --since 2026-02-01T00:00:00Z\n  signet audit show --follow audit/agent-alice-001"
    )]
    Show(ShowArgs),
    /// Read the sealed messages of a log, with the person's audit key.
    ///
    /// Exit code 0 where every sealed line was read, 1 where the key does not fit some of them, or the log was
    /// changed or is damaged, 2 where the log or the key cannot be read.
    #[command(
        after_help = "EXAMPLE:\n  signet audit open --key alice-audit.pem audit/agent-alice-001\n  signet audit open --key alice-audit.pem --json audit/agent-alice-001 | jq .body"
    )]
    Open(open::OpenArgs),
}

#[derive(Debug, Args)]
struct VerifyArgs {
    /// Log directories, or single files.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Prove chain, months and checkpoints alone, without contents and signatures: much faster.
    #[arg(long)]
    links: bool,
    /// Tell every finding; without it the first 20 of each log, and how many more there are.
    #[arg(long)]
    all: bool,
    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ReconcileArgs {
    /// The log of one agent: its directory, or a file.
    mine: PathBuf,
    /// The log of the other.
    theirs: PathBuf,
    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ShowArgs {
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
    /// Show what messages carry, under each: one line of JSON. What is sealed needs `signet audit open`.
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
    /// Only what was logged at this time (RFC 3339, UTC) or later.
    #[arg(long, value_name = "TIME")]
    since: Option<Timestamp>,
    /// Only what was logged before this time (RFC 3339, UTC).
    #[arg(long, value_name = "TIME")]
    until: Option<Timestamp>,
    /// Print the lines as they stand in the log.
    #[arg(long)]
    json: bool,
}

/// Performs `signet audit …`.
pub(crate) fn run(args: AuditArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    match args.command {
        AuditCommand::Verify(args) => verify_logs(&args),
        AuditCommand::Reconcile(args) => reconcile_logs(&args),
        AuditCommand::Export(args) => export::run(args, home),
        AuditCommand::Show(args) => show_logs(args, home),
        AuditCommand::Open(args) => open::run(args),
    }
}

fn verify_logs(args: &VerifyArgs) -> Result<(), Failure> {
    let depth = if args.links {
        Depth::Links
    } else {
        Depth::Signatures
    };
    let settings = Settings {
        depth,
        findings: if args.all { usize::MAX } else { FINDINGS },
    };
    let mut bar = Bar::new();
    let mut progress = Progress::new(|done, total| bar.draw(done, total));
    let report = verify_with(&args.paths, settings, &mut progress);
    drop(progress);
    bar.clear();
    let verdict = match report.is_tampered() {
        true => Exit::Refused,
        false => Exit::Done,
    };
    conclude(args.json, &report.to_json(), &report, verdict)?;
    // The report names everything that it could not read; what to do is said of the first.
    match report.unreadable.into_iter().next() {
        Some(error) => Err(unreadable(error)),
        None => Ok(()),
    }
}

fn reconcile_logs(args: &ReconcileArgs) -> Result<(), Failure> {
    let found = reconcile(&args.mine, &args.theirs).map_err(unreadable)?;
    let verdict = match found.agrees() {
        true => Exit::Done,
        false => Exit::Refused,
    };
    conclude(args.json, &found.to_json(), &found, verdict)
}

/// Prints a report, and ends with its verdict: a closed pipe changes nothing about that.
fn conclude(
    is_json: bool,
    json: &Value,
    text: &impl Display,
    verdict: Exit,
) -> Result<(), Failure> {
    let text = if is_json {
        format!("{json}\n")
    } else {
        text.to_string()
    };
    match super::print(&text) {
        Ok(()) | Err(Failure::Unread) => ended(verdict),
        Err(failure) => Err(failure),
    }
}

/// What was printed says it already.
fn ended(exit: Exit) -> Result<(), Failure> {
    match exit {
        Exit::Done => Ok(()),
        exit => Err(Failure::Ended(exit)),
    }
}

fn show_logs(args: ShowArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let ShowArgs {
        mut paths,
        follow,
        peer,
        conversation,
        body,
        plumbing,
        message_type,
        verdict,
        since,
        until,
        json,
    } = args;
    if paths.is_empty() {
        paths.push(export::log_of(home)?);
    }
    let mut cursors: Vec<Cursor> = paths.into_iter().map(Cursor::new).collect();
    let mut show = Show {
        filter: Filter {
            peer,
            conversation,
            without_control: !plumbing,
            message_type,
            verdict,
            since,
            until,
        },
        json,
        body,
        verdict: Exit::Done,
    };
    loop {
        for cursor in &mut cursors {
            match show.catch_up(cursor) {
                Ok(()) => {}
                Err(Failure::Unread) => return ended(show.verdict),
                Err(failure) => return Err(failure),
            }
        }
        if !follow || is_closed_within(&POLL) {
            return ended(show.verdict);
        }
    }
}

/// Waits, and tells whether meanwhile nobody reads standard output any more.
fn is_closed_within(time: &Timespec) -> bool {
    let stdout = io::stdout();
    // Errors and hang-ups are told without being asked for.
    let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
    match poll(&mut watched, Some(time)) {
        Ok(told) => told > 0,
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

struct Show {
    filter: Filter,
    json: bool,
    body: bool,
    verdict: Exit,
}

impl Show {
    fn catch_up(&mut self, cursor: &mut Cursor) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        while let Some(next) = cursor.next_line().map_err(unreadable)? {
            match next {
                Ok(line) if self.filter.admits(&line) => {
                    self.write(&line, &mut out).map_err(Failure::output)?;
                }
                Ok(_) => {}
                Err(error) => {
                    self.verdict = Exit::Refused;
                    tell(&error.to_string());
                }
            }
        }
        out.flush().map_err(Failure::output)
    }

    fn write(&self, line: &Line, out: &mut impl Write) -> io::Result<()> {
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
        writeln!(out, "{style}{}{style:#}", describe(line))?;
        match signet_audit::body(line).filter(|_| self.body) {
            Some(body) => writeln!(out, "    {body}"),
            None => Ok(()),
        }
    }
}

/// A place in the files that a path stands for.
struct Cursor {
    path: PathBuf,
    finished: BTreeSet<PathBuf>,
    current: Option<(PathBuf, Lines)>,
}

impl Cursor {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            finished: BTreeSet::new(),
            current: None,
        }
    }

    /// The next line, or what is wrong with it; `None` when there is none yet.
    fn next_line(&mut self) -> Result<Option<Result<Line, LogError>>, LogError> {
        loop {
            if let Some(next) = self.next_in_file()? {
                return Ok(Some(next));
            }
            let Some(follower) = self.follower()? else {
                return Ok(None);
            };
            // What came between reading to the end and finding that another file follows.
            if let Some(next) = self.next_in_file()? {
                return Ok(Some(next));
            }
            let lines = read_file(&follower)?;
            let finished = self.current.replace((follower, lines));
            self.finished.extend(finished.map(|(path, _)| path));
        }
    }

    fn next_in_file(&mut self) -> Result<Option<Result<Line, LogError>>, LogError> {
        match self.current.as_mut().and_then(|(_, lines)| lines.next()) {
            Some(Err(error @ (LogError::Io { .. } | LogError::Newer { .. }))) => Err(error),
            next => Ok(next),
        }
    }

    /// The file after the one being read.
    fn follower(&self) -> Result<Option<PathBuf>, LogError> {
        let current = self.current.as_ref().map(|(path, _)| path.as_path());
        let is_new = |path: &Path| current != Some(path) && !self.finished.contains(path);
        Ok(log_files(&self.path)?.into_iter().find(|path| is_new(path)))
    }
}

fn conversation_id(text: &str) -> Result<ConversationId, &'static str> {
    text.parse()
        .map_err(|_| "not a conversation-id: 1 to 128 of letters, digits and . _ : -")
}

fn message_type(text: &str) -> Result<MessageType, &'static str> {
    text.parse()
        .map_err(|_| "not a message type; use request, response, notification or handoff")
}

/// A log that cannot be read.
fn unreadable(error: LogError) -> Failure {
    Failure::new(of_log(&error), &error, error.next())
}

fn tell(text: &str) {
    let text = signet_audit::printable(text);
    // Nowhere is left to say that standard error is closed.
    let _ = writeln!(anstream::stderr(), "signet audit: {text}");
}

/// Of each log, unless all are asked for.
const FINDINGS: usize = 20;
const POLL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};
const RED: Style = AnsiColor::Red.on_default();
