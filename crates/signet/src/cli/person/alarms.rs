//! `signet alarms`: what is wrong and only a person can judge.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use signet_api::{ClearAlarms, ListAlarms};

use crate::cli::ask::{connect, signed};
use crate::cli::person::control_key::ControlKey;
use crate::cli::print::print_each;
use crate::cli::{CliError, print, visible_lines};
use crate::home::Home;

/// See `signet alarms --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct AlarmsArgs {
    #[command(subcommand)]
    command: Option<AlarmsCommand>,
    /// Print each as one line of JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum AlarmsCommand {
    /// List the alarms that ring
    #[command(after_help = "EXAMPLE:\n  signet alarms list --json")]
    List,
    /// Clear the alarms that ring: you have seen to them, and the agent goes on
    #[command(after_help = "EXAMPLE:\n  signet alarms clear")]
    Clear {
        #[command(flatten)]
        control: ControlKey,
    },
}

pub(crate) fn run(args: &AlarmsArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let mut client = connect(Some(home.path().to_owned()), Duration::ZERO)?;
    let clears = matches!(args.command, Some(AlarmsCommand::Clear { .. }));
    let shown = match &args.command {
        Some(AlarmsCommand::Clear { control }) => {
            client.call(&signed(&home, ClearAlarms::default(), control)?)?
        }
        _ => client.call(&ListAlarms {})?,
    };
    if args.json {
        return print_each(&shown.alarms);
    }
    if shown.alarms.is_empty() {
        return print("nothing rings\n");
    }
    let mut page = String::new();
    for alarm in &shown.alarms {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "{}  with {}, since {}\n  {}",
            alarm.alarm, alarm.peer, alarm.since, alarm.text,
        );
    }
    if clears {
        page.push_str("cleared\n");
    }
    print(&visible_lines(&page))
}

const EXAMPLE: &str = "\
While `second-copy` rings with a peer, no new session begins with that peer: nobody could tell this agent from
another that acts with its keys. When agents of several people ring it, or one of your own, no new session begins
with anybody. Clearing the alarm lets sessions begin again, and so does a new signing key (signet key rotate signing).

EXAMPLE:
  signet alarms
  signet alarms clear";
