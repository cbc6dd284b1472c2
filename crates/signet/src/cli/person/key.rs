//! `signet key …`: the keys of the agent and of its person.

mod adopt;
mod carry;
mod offline;
mod revoke;
mod rotate;
mod show;
mod stash;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use signet_json::{Limits, Value};

use crate::cli::{CliError, print};
use crate::config::Config;
use crate::home::Home;
use crate::keystore::AgentKeys;

/// See `signet key --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet key show\n  signet key rotate signing --root root.pem")]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// List every key: its name, how long it lasts, where its secret is
    #[command(after_help = "EXAMPLE:\n  signet key show --json | jq '.keys[].key'")]
    Show {
        /// Print them as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a key anew
    Rotate(rotate::RotateArgs),
    /// Make a new signing key, and print the request for the root key on another machine
    #[command(after_help = "EXAMPLE:\n  signet key request > request.json")]
    Request,
    /// Certify a request with the root key, on any machine; needs no home
    Certify(offline::CertifyArgs),
    /// Take the answer to a request into use, or the control.json of the person's other agent
    #[command(after_help = "EXAMPLE:\n  signet key install answer.json")]
    Install {
        /// What `signet key certify` printed, or a control.json
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Finish a change of keys that was interrupted
    #[command(after_help = "EXAMPLE:\n  signet key adopt")]
    Adopt,
    /// Revoke an agent's certificates, everywhere and for good
    Revoke(revoke::RevokeArgs),
    /// Move the person's keys to a stick: copied, read back, compared, then removed
    Stash(stash::StashArgs),
    /// Write the person's keys into one file for a safe place
    Export(carry::KeyExportArgs),
    /// Make a home again from an exported file
    Recover(carry::RecoverArgs),
    /// Write a key in the form of OpenSSH or of PKCS#8
    Convert(carry::ConvertArgs),
    /// Print the public half of a key, as a line of OpenSSH
    #[command(after_help = "EXAMPLE:\n  signet key public root.pem")]
    Public {
        /// A private key file, PKCS#8 or OpenSSH
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

pub(crate) fn run(args: KeyArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let find = |home| Ok::<_, CliError>(Home::find(home)?);
    match args.command {
        KeyCommand::Show { json } => show::run(&find(home)?, json),
        KeyCommand::Rotate(args) => rotate::run(args, &find(home)?),
        KeyCommand::Request => offline::request(&find(home)?),
        KeyCommand::Certify(args) => offline::certify(&args),
        KeyCommand::Install { file } => offline::install(&find(home)?, &file),
        KeyCommand::Adopt => adopt::run(&find(home)?),
        KeyCommand::Revoke(args) => revoke::run(args, home),
        KeyCommand::Stash(args) => stash::run(&args, &find(home)?),
        KeyCommand::Export(args) => carry::export(args, &find(home)?),
        KeyCommand::Recover(args) => carry::recover(&args, &find(home)?),
        KeyCommand::Convert(args) => carry::convert(&args),
        KeyCommand::Public { file } => carry::public(&file),
    }
}

/// The configuration and the keys of a home.
fn open(home: &Home) -> Result<(Config, AgentKeys), CliError> {
    let config = Config::load(home)?;
    let keys = AgentKeys::open(home, &config.agent)?;
    Ok((config, keys))
}

/// A JSON file that somebody carried here.
pub(crate) fn read_json(file: &Path) -> Result<Value, CliError> {
    let fault = |what: String| {
        let what = format!("{}: {what}", file.display());
        CliError::usage(what, "name the file that was carried here")
    };
    let facts = std::fs::metadata(file).map_err(|error| fault(error.to_string()))?;
    // Check the kind of file before it is opened: a named pipe would keep this command waiting, and a device has no end.
    if !facts.is_file() || facts.len() > LARGEST {
        return Err(fault("not a plain file of JSON".to_owned()));
    }
    let bytes = std::fs::read(file).map_err(|error| fault(error.to_string()))?;
    signet_json::parse(&bytes, Limits::MESSAGE).map_err(|error| fault(error.to_string()))
}

/// A statement as a file holds it.
fn json_line(value: &Value) -> String {
    format!(
        "{}\n",
        String::from_utf8_lossy(&signet_json::canonical(value))
    )
}

const LARGEST: u64 = 64 * 1024;
