//! `signet state`: what the agent remembers beside its log, made again or compared.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use signet_audit::counted;

use crate::cli::{CliError, print};
use crate::config::Config;
use crate::home::Home;
use crate::lock::HomeLock;
use crate::memory::Memory;

/// See `signet state --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    command: StateCommand,
}

#[derive(Debug, Subcommand)]
enum StateCommand {
    /// Make the state again from the log alone
    #[command(after_help = "EXAMPLE:\n  signet state rebuild")]
    Rebuild,
    /// Compare the state with what the log alone says, row by row
    #[command(after_help = "EXAMPLE:\n  signet state compare --home alice")]
    Compare,
    /// Go on although the log lost its end: say so in the log, and ring an alarm
    #[command(after_help = "EXAMPLE:\n  signet state accept-loss --home alice")]
    AcceptLoss,
}

pub(crate) fn run(args: &StateArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let lock = HomeLock::acquire(&home)?;
    match args.command {
        StateCommand::Rebuild => {
            let (lines, rows) = Memory::rebuild(&lock, &config)?;
            print(&format!(
                "made the state again from {} of the log: {}\n",
                counted(lines, "line"),
                counted(rows as u64, "row")
            ))
        }
        StateCommand::AcceptLoss => {
            let (lost, left) = Memory::accept_loss(&lock, &config)?;
            let left = left.map_or("no line is left".to_owned(), |head| {
                format!("it goes on behind line {}", head.seq)
            });
            print(&format!(
                "the loss of line {} of the log is accepted (SHA-256 {}): {left}\n\
                 The state that knew more is kept as state.db.lost\n  \
                 next: signet trust list  # says whom the agent trusts now\n",
                lost.seq,
                lost.hash.to_hex()
            ))
        }
        StateCommand::Compare => {
            let differ = Memory::compare(&lock, &config)?;
            let Some(first) = differ.first() else {
                return print("the state says what the log says, row by row\n");
            };
            let what = format!(
                "{} rows differ from what the log says, first {:?} of the table {}",
                differ.len(),
                first.key,
                first.table
            );
            Err(CliError::refused(what, "signet state rebuild"))
        }
    }
}

const EXAMPLE: &str = "\
The daemon must not run meanwhile: it keeps the state itself, and makes it again when it is lost or
damaged. The log is the truth; the state only saves a start from reading all of it.

The daemon does not start on a log that lacks lines which the agent wrote: put the newest copy of the log back. Where there is
none, `accept-loss` goes on with what is left.

EXAMPLE:
  signet state compare
  signet state rebuild";
