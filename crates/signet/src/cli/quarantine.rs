//! `signet quarantine`: what our agent could not handle, and what a person decides about it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use signet_audit::visible;
use signet_proto::ids::{AgentId, MessageId};

use super::ask::{change, connect, print_json, text};
use super::{Failure, print};

/// See `signet quarantine --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct QuarantineArgs {
    #[command(subcommand)]
    command: QuarantineCommand,
}

#[derive(Debug, Subcommand)]
enum QuarantineCommand {
    /// The messages that could not be handled five times
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
    /// The message, as signet quarantine list shows it
    #[arg(value_name = "MESSAGE")]
    message: MessageId,
    /// Whose it is, when two peers used one id
    #[arg(long, value_name = "PEER")]
    from: Option<AgentId>,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: QuarantineArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    match args.command {
        QuarantineCommand::List { json } => list(json, home),
        QuarantineCommand::Retry(choice) => decide(&choice, "quarantine.retry", home),
        QuarantineCommand::Drop(choice) => decide(&choice, "quarantine.drop", home),
    }
}

fn list(json: bool, home: Option<PathBuf>) -> Result<(), Failure> {
    let mut client = connect(home, Duration::ZERO)?;
    let mut seen = 0;
    loop {
        let page = client.raw("quarantine.list", &json!({ "skip": seen }))?;
        let messages = page.get("messages").and_then(Value::as_array);
        let messages = messages.map(Vec::as_slice).unwrap_or_default();
        for message in messages {
            match json {
                true => print_json(message)?,
                false => print(&line(message))?,
            }
        }
        seen += messages.len();
        if messages.is_empty() {
            break;
        }
    }
    match (json, seen) {
        (true, _) => Ok(()),
        (false, 0) => print("the quarantine is empty\n"),
        (false, _) => {
            print("next: signet quarantine retry MESSAGE, or signet quarantine drop MESSAGE\n")
        }
    }
}

fn line(message: &Value) -> String {
    let line = format!(
        "{}  {:<12}  {}  failed: {}, since {}",
        text(message, "message-id"),
        text(message, "type"),
        text(message, "from"),
        text(message, "failed"),
        text(message, "since"),
    );
    format!("{}\n", visible(&line))
}

fn decide(choice: &Choice, method: &str, home: Option<PathBuf>) -> Result<(), Failure> {
    let mut params = Map::new();
    params.insert("message-id".into(), choice.message.to_string().into());
    if let Some(from) = &choice.from {
        params.insert("from".into(), from.as_str().into());
    }
    let mut client = connect(home, Duration::ZERO)?;
    let done = change(&mut client, method, &Value::Object(params))?;
    if choice.json {
        return print_json(&done);
    }
    let declined = done.get("declined").and_then(Value::as_bool);
    print(&match declined {
        None => "back in the inbox, with five tries\n".to_owned(),
        Some(true) => format!(
            "given up; {} is told that it was declined\n",
            text(&done, "from")
        ),
        Some(false) => "given up; nobody waits for an answer\n".to_owned(),
    })
}

const EXAMPLE: &str = "\
A message that its handler (signet inbox --each) could not handle five times stands here, with the reason of
the last try, and the next message goes on. It stays until a person decides.

EXAMPLE:
  signet quarantine list
  signet quarantine retry 0192f0c1-0000-7000-8000-000000000000
  signet quarantine drop 0192f0c1-0000-7000-8000-000000000000 --from agent-bob-001";
