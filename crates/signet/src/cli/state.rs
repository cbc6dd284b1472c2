//! `signet state`: what the agent remembers beside its log, made again or compared.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Exit, Failure, print};
use crate::config::Config;
use crate::home::Home;
use crate::lock::HomeLock;
use crate::memory::Memory;

/// See `signet state --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct StateArgs {
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
}

pub(super) fn run(args: &StateArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let lock = HomeLock::acquire(&home)?;
    match args.command {
        StateCommand::Rebuild => {
            let (lines, rows) = Memory::rebuild(&lock, &config)?;
            print(&format!(
                "made the state again from {lines} lines of the log: {rows} rows\n"
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
            Err(Failure::new(Exit::Refused, what, "signet state rebuild"))
        }
    }
}

const EXAMPLE: &str = "\
The daemon must not run meanwhile: it keeps the state itself, and makes it again when it is lost or
damaged. The log is the truth; the state only saves a start from reading all of it.

EXAMPLE:
  signet state compare
  signet state rebuild";
