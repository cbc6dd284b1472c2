//! `signet quarantine`: what our agent could not handle, and what a person decides about it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use signet_api::{DropMessage, DroppedMessage, Quarantined, Request, Retried, RetryMessage};
use signet_audit::visible;
use signet_proto::ids::AgentId;

use crate::cli::ask::{change, connect};
use crate::cli::print::{or_dash, print_as};
use crate::cli::{CliError, names, print};

/// See `signet quarantine --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct QuarantineArgs {
    #[command(subcommand)]
    command: QuarantineCommand,
}

#[derive(Debug, Subcommand)]
enum QuarantineCommand {
    /// List the messages whose handling failed five times
    #[command(
        after_help = "EXAMPLE:\n  signet quarantine list\n  signet quarantine list --json | jq .failed"
    )]
    List {
        /// Print each message as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Put a message back into the inbox: it has five tries again
    #[command(
        after_help = "EXAMPLE:\n  signet quarantine retry 0192f0c1-0000-7000-8000-000000000000"
    )]
    Retry(Choice),
    /// Give a message up; whoever asked for an answer hears that it was declined
    #[command(
        after_help = "EXAMPLE:\n  signet quarantine drop 0192f0c1-0000-7000-8000-000000000000"
    )]
    Drop(Choice),
}

/// One message of the quarantine.
#[derive(Debug, Args)]
struct Choice {
    /// The message, as signet quarantine list shows it, or as much of its id as is unambiguous
    #[arg(value_name = "MESSAGE")]
    message: String,
    /// Whose it is, when two peers used one id
    #[arg(long, value_name = "PEER")]
    from: Option<AgentId>,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: QuarantineArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    match args.command {
        QuarantineCommand::List { json } => list(json, home),
        QuarantineCommand::Retry(choice) => retry(&choice, home),
        QuarantineCommand::Drop(choice) => give_up(&choice, home),
    }
}

fn list(json: bool, home: Option<PathBuf>) -> Result<(), CliError> {
    let mut client = connect(home, Duration::ZERO)?;
    let messages = names::quarantined(&mut client)?;
    for message in &messages {
        print_as(json, message, || line(message))?;
    }
    match (json, messages.is_empty()) {
        (true, _) => Ok(()),
        (false, true) => print("the quarantine is empty\n"),
        (false, false) => {
            print("next: signet quarantine retry MESSAGE  # or signet quarantine drop MESSAGE\n")
        }
    }
}

fn line(held: &Quarantined) -> String {
    let message = &held.message;
    let line = format!(
        "{}  {:<12}  {}  failed: {}, since {}",
        message.message_id,
        message.message_type,
        message.from,
        or_dash(held.failed.as_deref()),
        held.since,
    );
    format!("{}\n", visible(&line))
}

fn retry(choice: &Choice, home: Option<PathBuf>) -> Result<(), CliError> {
    let retry = |message_id| RetryMessage {
        message_id,
        from: choice.from.as_ref().map(ToString::to_string),
    };
    decide(choice, home, retry, |_: &Retried| {
        "back in the inbox, with five tries\n".to_owned()
    })
}

fn give_up(choice: &Choice, home: Option<PathBuf>) -> Result<(), CliError> {
    let drop = |message_id| DropMessage {
        message_id,
        from: choice.from.as_ref().map(ToString::to_string),
    };
    decide(choice, home, drop, |done: &DroppedMessage| {
        match done.declined {
            true => format!("given up; {} is told that it was declined\n", done.from),
            false => "given up; nobody waits for an answer\n".to_owned(),
        }
    })
}

fn decide<R: Request>(
    choice: &Choice,
    home: Option<PathBuf>,
    request: impl FnOnce(String) -> R,
    told: impl FnOnce(&R::Answer) -> String,
) -> Result<(), CliError> {
    let mut client = connect(home, Duration::ZERO)?;
    let among = || names::in_quarantine(&mut client);
    let message = names::one(&choice.message, among, "signet quarantine list")?;
    let done = change(&mut client, &request(message))?;
    print_as(choice.json, &done, || told(&done))
}

const EXAMPLE: &str = "\
A message that its handler (signet handle) could not handle five times stands here, with the reason of
the last try, and the next message goes on. It stays until a person decides.

EXAMPLE:
  signet quarantine list
  signet quarantine retry 0192f0c1-0000-7000-8000-000000000000
  signet quarantine drop 0192f0c1-0000-7000-8000-000000000000 --from agent-bob-001";
