//! `signet peer …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use signet_proto::json::canonical;

use super::{Failure, print};
use crate::config::Config;
use crate::home::Home;
use crate::keystore::Keys;

/// See `signet peer --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet peer export > alice.json")]
pub(super) struct PeerArgs {
    #[command(subcommand)]
    command: PeerCommand,
}

#[derive(Debug, Subcommand)]
enum PeerCommand {
    /// Print this agent's certificate, to hand to others
    #[command(after_help = "EXAMPLE:\n  signet peer export > alice.json")]
    Export,
}

pub(super) fn run(args: PeerArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let home = Home::find(home)?;
    match args.command {
        PeerCommand::Export => export(&home),
    }
}

fn export(home: &Home) -> Result<(), Failure> {
    let config = Config::load(home)?;
    let keys = Keys::open(home, &config.agent)?;
    let text = canonical(keys.certificate.to_value());
    print(&format!("{}\n", String::from_utf8_lossy(&text)))
}
