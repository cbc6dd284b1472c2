//! `signet inbox done`: one message is read.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signet_api::{Acknowledge, Name};

use crate::cli::ask::{change, connect};
use crate::cli::names::{self, Candidate};
use crate::cli::print::print_json;
use crate::cli::{CliError, print};

/// See `signet inbox done --help`.
#[derive(Debug, Args)]
pub(super) struct DoneArgs {
    /// The message, as signet inbox shows it, or as much of its id as is unambiguous
    #[arg(value_name = "MESSAGE")]
    message: String,
    /// Whose it is, when two peers used one id
    #[arg(long, value_name = "PEER")]
    from: Option<String>,
    /// Print how many left the inbox, as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &DoneArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let mut client = connect(home, Duration::ZERO)?;
    // List the inbox even for a whole id: the call below also needs the sender, whom the person then need not type.
    let waiting = names::in_inbox(&mut client, args.from.as_deref())?;
    let message_id = names::one(&args.message, || Ok(waiting.clone()), LIST)?;
    let from = sender(&waiting, &message_id)?;
    let messages = vec![Name { from, message_id }];
    let done = change(&mut client, &Acknowledge::of(messages))?;
    match args.json {
        true => print_json(&done),
        false => print("done: it has left the inbox\n"),
    }
}

fn sender(waiting: &[Candidate], message_id: &str) -> Result<String, CliError> {
    let mut senders = waiting
        .iter()
        .filter(|candidate| candidate.id == message_id);
    match (senders.next(), senders.next()) {
        (Some(only), None) => Ok(only.peer.clone()),
        (Some(one), Some(other)) => {
            let what = format!("{} and {} both used this id", one.peer, other.peer);
            Err(CliError::usage(what, "say whose it is: --from PEER"))
        }
        (None, _) => {
            let what = format!("message-unknown: no message {message_id} waits in the inbox");
            let next = format!("{LIST} shows what waits");
            Err(CliError::refused(what, next).named("message-unknown"))
        }
    }
}

const LIST: &str = "signet inbox";
