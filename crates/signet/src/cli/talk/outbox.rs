//! `signet outbox`, and `signet status MESSAGE`: where our messages are.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signet_api::{Outgoing, ShowMessage};
use signet_audit::visible;
use signet_proto::ids::AgentId;

use crate::cli::ask::{ask, connect};
use crate::cli::print::print_as;
use crate::cli::talk::message_status::MessageReport;
use crate::cli::{CliError, names, print, visible_lines};

/// See `signet outbox --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct OutboxArgs {
    /// Only what is for this agent
    #[arg(long, value_name = "ID")]
    peer: Option<AgentId>,
    /// Print each message as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: OutboxArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let mut client = connect(home.clone(), Duration::ZERO)?;
    let peer = args.peer.as_ref().map(ToString::to_string);
    let messages = names::on_their_way(&mut client, peer)?;
    for message in &messages {
        print_as(args.json, message, || line(message, home.clone()))?;
    }
    match messages.is_empty() && !args.json {
        true => print("nothing is on its way: every message has its receipt, or an end\n"),
        false => Ok(()),
    }
}

/// Prints where one message is.
pub(crate) fn show(id: &str, json: bool, home: Option<PathBuf>) -> Result<(), CliError> {
    // Call `among` only for the beginning of an id: it searches the log, and a whole id needs no search.
    let among = || names::of_ours(home.clone(), id);
    let message_id = names::one(id, among, "signet outbox")?;
    let shown = ask(home.clone(), &ShowMessage { message_id })?;
    print_as(json, &shown, || visible_lines(&block(&shown, home)))
}

fn line(shown: &Outgoing, home: Option<PathBuf>) -> String {
    let place = MessageReport::from(shown).by_way_of(home);
    let line = format!(
        "{}  {}  {}: {}",
        place.id,
        place.peer,
        place.word(),
        place.sentence()
    );
    format!("{}\n", visible(&line))
}

fn block(shown: &Outgoing, home: Option<PathBuf>) -> String {
    let place = MessageReport::from(shown).by_way_of(home);
    let mut block = format!("{}: {}\n", place.word(), place.sentence());
    if let Some(next) = place.next() {
        // Writing to a String cannot fail.
        let _ = writeln!(block, "  next: {next}");
    }
    let _ = writeln!(block, "  to {}, since {}", place.peer, shown.since);
    if let Some(expires) = &shown.expires {
        let _ = writeln!(block, "  it may arrive until {expires}");
    }
    block
}

const EXAMPLE: &str = "\
A message stands here until its receipt or answer has come, or its life is over; signet status MESSAGE also
knows those that have come to their end.

EXAMPLE:
  signet outbox
  signet outbox --peer agent-bob-001 --json | jq -r .state | sort | uniq -c";
