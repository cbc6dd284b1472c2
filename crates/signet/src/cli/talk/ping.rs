//! `signet ping`: the peer's daemon answers, signed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;
use serde_json::Value;
use signet_api::{Kind, Send, Sent};

use crate::cli::ask::{acknowledge_read, change, connect};
use crate::cli::print::print_json;
use crate::cli::{CliError, print};

/// See `signet ping --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet ping agent-bob-001")]
pub(crate) struct PingArgs {
    /// The peer's agent-id
    #[arg(value_name = "PEER")]
    peer: String,
    /// How long to wait
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    wait: u32,
    /// Print all that is known as one line of JSON
    #[arg(long)]
    json: bool,
}

/// What became of it, and how long that took.
#[derive(Serialize)]
struct Pinged {
    #[serde(flatten)]
    sent: Sent,
    milliseconds: f64,
}

pub(crate) fn run(args: PingArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let mut client = connect(home, Duration::from_secs(args.wait.into()))?;
    let ping = Send {
        wait: args.wait.into(),
        life: Some(LIFE),
        ..Send::new(&args.peer, Kind::Ping, Value::Null)
    };
    let start = Instant::now();
    let sent = change(&mut client, &ping)?;
    // Stop the time here: the acknowledgement below is not part of the peer's answer.
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    if let Some(answer) = &sent.answer {
        acknowledge_read(&mut client, answer, &Ok(()));
    }
    let pinged = Pinged { sent, milliseconds };
    if args.json {
        print_json(&pinged)?;
    }
    let answer = pinged.sent.answer;
    match answer.filter(|answer| answer.error.is_none()) {
        Some(_) if args.json => Ok(()),
        Some(answer) => print(&format!(
            "{} of {} answers, signature verified, {milliseconds:.1} ms\n",
            answer.from, answer.principal
        )),
        None => {
            let what = format!(
                "no-answer: {} did not answer within {} s",
                args.peer, args.wait
            );
            Err(CliError::not_reachable(
                what,
                "signet status  # shows sessions and the connection",
            ))
        }
    }
}

/// How many seconds a ping may wait and live; whoever sent it does not wait longer for the answer.
const LIFE: u64 = 60;
