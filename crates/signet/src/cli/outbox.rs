//! `signet outbox`, and `signet status MESSAGE`: where our messages are.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use signet_audit::visible;
use signet_proto::ids::AgentId;

use super::ask::{ask, connect, print_json, text};
use super::trust::visible_lines;
use super::whereabouts::Whereabouts;
use super::{Failure, print};

/// See `signet outbox --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct OutboxArgs {
    /// Only what is for this agent
    #[arg(long, value_name = "ID")]
    peer: Option<AgentId>,
    /// Print each message as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: OutboxArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let mut client = connect(home, Duration::ZERO)?;
    let mut seen = 0;
    loop {
        let mut params = json!({ "skip": seen });
        if let (Some(peer), Some(members)) = (&args.peer, params.as_object_mut()) {
            members.insert("peer".into(), peer.as_str().into());
        }
        let page = client.raw("outbox.list", &params)?;
        let messages = page.get("messages").and_then(Value::as_array);
        let messages = messages.map(Vec::as_slice).unwrap_or_default();
        for message in messages {
            match args.json {
                true => print_json(message)?,
                false => print(&line(message))?,
            }
        }
        seen += messages.len();
        if messages.is_empty() {
            break;
        }
    }
    match seen == 0 && !args.json {
        true => print("nothing is on its way: every message has its receipt, or an end\n"),
        false => Ok(()),
    }
}

/// Where one message is.
pub(super) fn show(id: &str, json: bool, home: Option<PathBuf>) -> Result<(), Failure> {
    let shown = ask(home, "message.status", &json!({ "message-id": id }))?;
    match json {
        true => print_json(&shown),
        false => print(&visible_lines(&block(&shown))),
    }
}

fn line(shown: &Value) -> String {
    let place = Whereabouts::of(shown, text(shown, "peer"));
    let line = format!(
        "{}  {}  {}: {}",
        place.id,
        place.peer,
        place.word,
        place.sentence()
    );
    format!("{}\n", visible(&line))
}

fn block(shown: &Value) -> String {
    let place = Whereabouts::of(shown, text(shown, "peer"));
    let mut block = format!("{}: {}\n", place.word, place.sentence());
    if let Some(next) = place.next() {
        // Writing to a String cannot fail.
        let _ = writeln!(block, "  next: {next}");
    }
    let _ = writeln!(block, "  to {}, since {}", place.peer, text(shown, "since"));
    if let Some(expires) = shown.get("expires").and_then(Value::as_str) {
        let _ = writeln!(block, "  it may arrive until {expires}");
    }
    block
}

const EXAMPLE: &str = "\
A message stands here until the peer's receipt, an answer or its expiry; signet status MESSAGE also knows
those that have come to their end.

EXAMPLE:
  signet outbox
  signet outbox --peer agent-bob-001 --json | jq -r .state | sort | uniq -c";
