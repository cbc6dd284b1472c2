//! `signet peer …`: whom this agent knows.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use signet_api::{AddPeer, ListPeers, ShowPeer};
use signet_json::{Limits, canonical};
use signet_proto::certificate::Certificate;

use crate::cli::ask::{decide_in, decide_signed};
use crate::cli::person::control_key::ControlKey;
use crate::cli::person::policy::{bracketed, of_offers};
use crate::cli::print::{or_dash, print_each, print_json};
use crate::cli::setup::status::peer_line;
use crate::cli::{CliError, Exit, print, visible_lines};
use crate::config::Config;
use crate::home::Home;
use crate::keystore::AgentKeys;

/// See `signet peer --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet peer export > alice.json\n  signet peer add bob.json")]
pub(crate) struct PeerArgs {
    #[command(subcommand)]
    command: PeerCommand,
}

#[derive(Debug, Subcommand)]
enum PeerCommand {
    /// Trust the agent of a certificate, and the person who certified it
    #[command(after_help = "EXAMPLE:\n  signet peer add bob.json")]
    Add {
        /// The certificate that the peer's person handed over
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        control: ControlKey,
        /// Print what was done as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// List the peers, each with its session and what waits for it
    #[command(after_help = "EXAMPLE:\n  signet peer list")]
    List {
        /// Print each as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one peer, with the words of its person's root key
    #[command(after_help = "EXAMPLE:\n  signet peer show agent-bob-001")]
    Show {
        /// The peer's agent-id
        #[arg(value_name = "ID")]
        id: String,
        /// Print it as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Print this agent's certificate, to hand to others
    #[command(after_help = "EXAMPLE:\n  signet peer export > alice.json")]
    Export,
}

pub(crate) fn run(args: PeerArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    match args.command {
        PeerCommand::Add {
            file,
            control,
            json,
        } => add(&home, &file, &control, json),
        PeerCommand::List { json } => list(&home, json),
        PeerCommand::Show { id, json } => show(&home, id, json),
        PeerCommand::Export => export(&home),
    }
}

fn add(home: &Home, file: &Path, control: &ControlKey, json: bool) -> Result<(), CliError> {
    let certificate = read_certificate(file)?.to_value();
    let adding = AddPeer {
        certificate,
        decision: None,
    };
    let added = decide_signed(home, adding, control)?;
    if json {
        return print_json(&added);
    }
    let known = if added.changed {
        "trusted"
    } else {
        "trusted already"
    };
    let person = &added.principal;
    print(&format!(
        "{} of {person} is {known}\n  words: {}\nCompare these words with {person} in person or by telephone before you rely on them.\n",
        added.peer, added.fingerprint,
    ))
}

fn list(home: &Home, json: bool) -> Result<(), CliError> {
    let peers = decide_in(home, ListPeers {})?;
    if json {
        return print_each(peers);
    }
    if peers.is_empty() {
        return print("no peers yet\n  next: signet peer add FILE\n");
    }
    print(
        &peers
            .iter()
            .map(|peer| format!("{}\n", peer_line(peer)))
            .collect::<String>(),
    )
}

fn show(home: &Home, peer: String, json: bool) -> Result<(), CliError> {
    let shown = decide_in(home, ShowPeer { peer })?;
    if json {
        return print_json(&shown);
    }
    let peer = &shown.peer;
    print(&format!(
        "{}\n  words: {}\n  certificate: serial {}, valid until {}, layers {}\n",
        peer_line(peer),
        or_dash(peer.fingerprint.as_deref()),
        peer.serial.unwrap_or_default(),
        or_dash(peer.not_after.as_deref()),
        bracketed(peer.layers.as_deref()),
    ))?;
    print(&visible_lines(&of_offers(shown.capabilities.as_deref())))
}

fn export(home: &Home) -> Result<(), CliError> {
    let config = Config::load(home)?;
    let keys = AgentKeys::open(home, &config.agent)?;
    let text = canonical(&keys.certificate.to_value());
    print(&format!("{}\n", String::from_utf8_lossy(&text)))
}

pub(crate) fn read_certificate(file: &Path) -> Result<Certificate, CliError> {
    let fault = |exit, what: String| {
        let what = format!("{}: {what}", file.display());
        let next = "ask the peer's person for what their `peer export` prints";
        CliError::new(exit, what, next)
    };
    let bytes = std::fs::read(file).map_err(|error| {
        CliError::file(
            &error,
            format!("{}: {error}", file.display()),
            "name the file that signet peer export made",
        )
    })?;
    let value = signet_json::parse(&bytes, Limits::MESSAGE);
    let value = value.map_err(|error| fault(Exit::Usage, error.to_string()))?;
    Certificate::parse(&value).map_err(|error| fault(Exit::Refused, error.to_string()))
}
