//! `signet reload`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signet_api::{Reload, Reloaded};

use crate::cli::CliError;
use crate::cli::ask::{change, connect};
use crate::cli::print::print_as;

/// See `signet reload --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ReloadArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ReloadArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let mut client = connect(home, Duration::ZERO)?;
    let reloaded = change(&mut client, &Reload {})?;
    print_as(args.json, &reloaded, || in_words(&reloaded))
}

fn in_words(reloaded: &Reloaded) -> String {
    let mut words = match reloaded.changed.as_slice() {
        [] => "nothing that a running daemon takes over has changed\n".to_owned(),
        changed => format!("in force now: {}\n", changed.join(", ")),
    };
    if !reloaded.told.is_empty() {
        words.push_str(&format!("told at once: {}\n", reloaded.told.join(", ")));
    }
    if !reloaded.restart.is_empty() {
        let sections = reloaded.restart.join(", ");
        words.push_str(&format!(
            "changed too, and as before until the daemon is started again: {sections}\n"
        ));
    }
    words
}

const EXAMPLE: &str = "\
The daemon reads config.toml anew, as on SIGHUP. Policy, capabilities, offers, budgets and [people] are in force at
once, and peers are told; [agent], [nats], [audit], [control], [agent-socket] and [carrier-socket] wait for a start, and are
named. A configuration that cannot be used changes nothing.

EXAMPLE:
  signet reload";
