//! `signet nats …`: what a household's NATS server needs, and who makes it.

pub(crate) mod conf;
pub(crate) mod hub;
pub(crate) mod key;
mod login;
pub(crate) mod mailboxes;
mod server;
mod server_settings;
mod setup;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::{CliError, print};

/// See `signet nats --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct NatsArgs {
    #[command(subcommand)]
    command: NatsCommand,
}

#[derive(Debug, Subcommand)]
enum NatsCommand {
    /// Make the key that logs this agent in to the server, and print its public name
    Key(key::NatsKeyArgs),
    /// Print the configuration of a household's server
    Config(server::ServerArgs),
    /// Make or change the hub between the servers of households, and a secret line for each of them
    Hub(hub::HubArgs),
    /// Make the mailboxes of agents on the server, or bring them in line
    Setup(setup::SetupArgs),
}

pub(crate) fn run(args: NatsArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    match args.command {
        NatsCommand::Key(args) => key::run(args, home),
        NatsCommand::Config(args) => server::run(&args),
        NatsCommand::Hub(args) => hub::run(&args),
        NatsCommand::Setup(args) => setup::run(args, home),
    }
}

const EXAMPLE: &str = "\
A household's server, from nothing. Run the second and the last of these commands on the machine of whoever keeps it.

EXAMPLE:
  signet nats key --home alice
  signet nats key --file admin.nk
  signet nats config --admin U… agent-alice-001=U… agent-bob-001=U… > nats.conf
  nats-server -c nats.conf
  signet nats setup --nkey admin.nk agent-alice-001 agent-bob-001";
