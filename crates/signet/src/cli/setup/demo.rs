//! `signet demo`: a household on this machine, for a minute.

use std::path::PathBuf;

use clap::Args;

use signet_demo::DemoError;

use crate::cli::CliError;
use crate::cli::setup::gateway::this_program;

/// See `signet demo --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct DemoArgs {
    /// Where the logs are written; logs of an earlier demo there are replaced
    #[arg(long, value_name = "DIR", default_value = "audit")]
    audit: PathBuf,
}

pub(crate) fn run(args: &DemoArgs) -> Result<(), CliError> {
    // The demo starts its agents as daemons of this very program, so it needs the program's path.
    let program = this_program()?;
    signet_demo::run(&program, &args.audit).map_err(|error| match error {
        DemoError::Output(error) => CliError::output(error),
        error => {
            let next = error.next();
            CliError::refused(error, next)
        }
    })
}

const EXAMPLE: &str = "\
It starts a private nats-server on a free loopback port (from $NATS_SERVER, the package, PATH or /usr/sbin),
two people's three agents, each a daemon of its own, and ends them all again. The logs stay.

EXAMPLE:
  signet demo
  signet audit show audit/agent-bob-001";
