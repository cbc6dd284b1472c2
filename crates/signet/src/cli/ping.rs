//! `signet ping`: the peer's daemon answers, signed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use super::ask::{acknowledge_read, change, connect, print_json, text};
use super::{Exit, Failure, print};

/// See `signet ping --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet ping agent-bob-001")]
pub(super) struct PingArgs {
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

pub(super) fn run(args: PingArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let mut client = connect(home, Duration::from_secs(args.wait.into()))?;
    let start = Instant::now();
    let mut pinged = change(
        &mut client,
        "send",
        &json!({"peer": args.peer, "kind": "ping", "wait": args.wait, "life": 60}),
    )?;
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    let answer = pinged
        .get("answer")
        .filter(|answer| answer.get("error").is_none())
        .cloned();
    if let Some(answer) = pinged.get("answer") {
        acknowledge_read(&mut client, answer);
    }
    if args.json {
        if let Some(members) = pinged.as_object_mut() {
            members.insert("milliseconds".into(), milliseconds.into());
        }
        print_json(&pinged)?;
    }
    match answer {
        Some(_) if args.json => Ok(()),
        Some(answer) => {
            let from = format!(
                "{} of {}",
                text(&answer, "from"),
                text(&answer, "principal")
            );
            print(&format!(
                "{from} answers, signature verified, {milliseconds:.1} ms\n"
            ))
        }
        None => {
            let what = format!(
                "no-answer: {} did not answer within {} s",
                args.peer, args.wait
            );
            Err(Failure::new(
                Exit::NotReachable,
                what,
                "signet status shows sessions and the connection",
            ))
        }
    }
}
