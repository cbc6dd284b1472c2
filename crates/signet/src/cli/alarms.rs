//! `signet alarms`: what is wrong and only a person can judge.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;

use super::ask::{connect, items, print_each, text};
use super::trust::visible_lines;
use super::{Failure, print};

/// See `signet alarms --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct AlarmsArgs {
    #[command(subcommand)]
    command: Option<AlarmsCommand>,
    /// Print each as one line of JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum AlarmsCommand {
    /// What rings
    #[command(after_help = "EXAMPLE:\n  signet alarms list --json")]
    List,
    /// You have seen to what rings: the agent goes on
    #[command(after_help = "EXAMPLE:\n  signet alarms clear")]
    Clear,
}

pub(super) fn run(args: &AlarmsArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let mut client = connect(home, Duration::ZERO)?;
    let clears = matches!(args.command, Some(AlarmsCommand::Clear));
    let method = if clears {
        "alarms.clear"
    } else {
        "alarms.list"
    };
    let shown = client.raw(method, &json!({}))?;
    let alarms = items(&shown, "alarms");
    if args.json {
        return print_each(alarms);
    }
    if alarms.is_empty() {
        return print("nothing rings\n");
    }
    let mut page = String::new();
    for alarm in alarms {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "{}  with {}, since {}\n  {}",
            text(alarm, "alarm"),
            text(alarm, "peer"),
            text(alarm, "since"),
            text(alarm, "text"),
        );
    }
    if clears {
        page.push_str("cleared\n");
    }
    print(&visible_lines(&page))
}

const EXAMPLE: &str = "\
While `second-copy` rings with one peer, no new session begins with that peer: nobody could tell this agent
from another that acts with its keys. With nobody, while agents of several people show it, or one of your own.
A new signing key (signet key rotate signing) ends that as well.

EXAMPLE:
  signet alarms
  signet alarms clear";
