//! `signet audit`: prove a log, or read it.

mod cursor;
pub(super) mod digest;
mod export;
mod open;
mod progress;
pub(super) mod prove;
mod show;
pub(super) mod state;

use std::fmt::Display;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;
use signet_audit::{Depth, LogError, ProgressFn, Settings, reconcile, verify_with};

use crate::cli::failure::exits::of_log;
use crate::cli::{CliError, Exit, print};
use progress::Bar;

/// Prove a log, or read it.
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
    /// Compare the logs of two agents, message by message.
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
    Show(show::ShowArgs),
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

/// Performs `signet audit …`.
pub(crate) fn run(args: AuditArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    match args.command {
        AuditCommand::Verify(args) => verify_logs(&args),
        AuditCommand::Reconcile(args) => reconcile_logs(&args),
        AuditCommand::Export(args) => export::run(args, home),
        AuditCommand::Show(args) => show::run(args, home),
        AuditCommand::Open(args) => open::run(args),
    }
}

fn verify_logs(args: &VerifyArgs) -> Result<(), CliError> {
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
    let mut progress = ProgressFn::new(|done, total| bar.draw(done, total));
    let report = verify_with(&args.paths, settings, &mut progress);
    drop(progress);
    bar.clear();
    let verdict = match report.is_tampered() {
        true => Exit::Refused,
        false => Exit::Done,
    };
    conclude(args.json, &report.to_json(), &report, verdict)?;
    // The report names everything that it could not read. A command has only one exit code and one
    // hint: end with those of the first such error.
    match report.unreadable.into_iter().next() {
        Some(error) => Err(unreadable(error)),
        None => Ok(()),
    }
}

fn reconcile_logs(args: &ReconcileArgs) -> Result<(), CliError> {
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
) -> Result<(), CliError> {
    let text = if is_json {
        format!("{json}\n")
    } else {
        text.to_string()
    };
    match print(&text) {
        Ok(()) | Err(CliError::Unread) => ended(verdict),
        Err(failure) => Err(failure),
    }
}

/// Ends the command with this code and no further word: the report that was printed says why.
fn ended(exit: Exit) -> Result<(), CliError> {
    match exit {
        Exit::Done => Ok(()),
        exit => Err(CliError::Ended(exit)),
    }
}

/// A log that cannot be read.
fn unreadable(error: LogError) -> CliError {
    CliError::new(of_log(&error), &error, error.next())
}

fn tell(text: &str) {
    let text = signet_audit::printable(text);
    // If standard error is closed, there is nobody left to tell.
    let _ = writeln!(anstream::stderr(), "signet audit: {text}");
}

/// How many findings of each log are told, unless --all is given.
const FINDINGS: usize = 20;
