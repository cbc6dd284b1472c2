//! `signet handler`: tries one handler of the file, or shows what goes to and fro. The work is done by `signet-gateway`.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand};

use crate::cli::{CliError, setup::gateway};
use crate::home::Home;
use crate::lock::refuse_foreign;

/// See `signet handler --help`.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "EXAMPLE:\n  signet handler test calendar.free-busy '{\"week\": 7}'\n  signet handler trace on"
)]
pub(crate) struct HandlerArgs {
    #[command(subcommand)]
    command: HandlerAction,
}

#[derive(Debug, Subcommand)]
enum HandlerAction {
    /// Let a handler try a body without a peer or a daemon, and print what goes to and fro
    #[command(
        after_help = "EXAMPLE:\n  signet handler test calendar.free-busy '{\"week\": 7}'\n  signet handler test calendar.free-busy @body.json --handlers /etc/signet/handlers-alpha.toml"
    )]
    Test(HandlerTestArgs),
    /// Switch on, show, or switch off and remove the trace of what goes to and fro
    #[command(after_help = TRACE)]
    Trace(HandlerTraceArgs),
}

#[derive(Debug, Args)]
struct HandlerTestArgs {
    /// The capability
    capability: String,
    /// The body of the request: JSON, @FILE, or - for standard input
    body: String,
    /// Which capability is handled by what; handlers.toml in the home when absent
    #[arg(long, value_name = "FILE")]
    handlers: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct HandlerTraceArgs {
    #[arg(value_parser = ["on", "off", SHOW])]
    switch: String,
    /// The file; handlers.trace in the home when absent
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

pub(crate) fn run(args: &HandlerArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    if let HandlerAction::Trace(HandlerTraceArgs {
        switch,
        trace: None,
    }) = &args.command
        // To show whether the trace is on is harmless, but `on` and `off` make or remove a file in the home: a file that root
        // made there would be in the way of the home's owner.
        && switch != SHOW
    {
        refuse_foreign(&Home::find(home.clone())?)?;
    }
    let mut command = Command::new(gateway::program()?);
    command.arg("handler");
    match &args.command {
        HandlerAction::Test(test) => {
            let file = place(test.handlers.as_deref(), home, FILE)?;
            command.arg("test").arg("--handlers").arg(file);
            // `--` ends the options: otherwise a body such as -1 would be taken for an option.
            command.arg("--").arg(&test.capability).arg(&test.body);
        }
        HandlerAction::Trace(trace) => {
            let file = place(trace.trace.as_deref(), home, TRACE_FILE)?;
            command.arg("trace").arg("--trace").arg(file);
            command.arg(&trace.switch);
        }
    }
    Err(gateway::take_over(command))
}

fn place(given: Option<&Path>, home: Option<PathBuf>, name: &str) -> Result<PathBuf, CliError> {
    match given {
        Some(path) => Ok(path.to_owned()),
        None => Ok(Home::find(home)?.join(name)),
    }
}

/// The only word of `signet handler trace` that changes no file.
const SHOW: &str = "show";
/// What handles which capability.
pub(crate) const FILE: &str = "handlers.toml";
/// The file into which requests and answers of handlers are traced, as long as it exists.
pub(crate) const TRACE_FILE: &str = "handlers.trace";

const TRACE: &str = "\
  While it is on, processes that handle by a file write each request and each answer of an agent into the file \
  handlers.trace, until it has 16 MiB: of tier 1 and 2, without what HTTP carries in its head. off removes the file.

EXAMPLE:
  signet handler trace on
  signet handler trace show
  signet handler trace off";
