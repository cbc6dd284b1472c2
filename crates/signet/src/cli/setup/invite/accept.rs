//! `signet accept`: the line of another person, whose words are compared.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use signet_api::AddPeer;
use signet_proto::keys::fingerprint;
use signet_proto::statement::{Invitation, InvitationError};

use super::addresses::{addresses_of, meets, nats_of};
use super::carriers::{carriers_of, keep};
use super::{WEEK, made, read_pasted};
use crate::cli::ask::decide_signed;
use crate::cli::input::CommandInput;
use crate::cli::person::control_key::ControlKey;
use crate::cli::print::print_json;
use crate::cli::{CliError, print};
use crate::clock;
use crate::config::Config;
use crate::hint;
use crate::home::Home;

/// See `signet accept --help`.
#[derive(Debug, Args)]
#[command(after_help = ACCEPT)]
pub(crate) struct AcceptArgs {
    /// The line of `signet invite`, also as mail has wrapped or quoted it: - reads it from standard input, @FILE from a file
    #[arg(required = true, value_name = "LINE")]
    line: Vec<String>,
    /// The twelve words, as the other person said them: they are compared, and nobody is asked
    #[arg(long, value_name = "WORDS")]
    words: Option<String>,
    #[command(flatten)]
    control: ControlKey,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

/// What `signet accept --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct AcceptedInvitation<'a> {
    peer: &'a str,
    principal: &'a str,
    fingerprint: &'a str,
    /// Whether both use a NATS server of the same address.
    same_server: bool,
    /// By which carriers the peer is reached from now on, where its invitation names others than NATS.
    carriers: Option<&'a [String]>,
    /// The line that goes back.
    invitation: &'a str,
}

pub(crate) fn accept(args: &AcceptArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let invitation = pasted(&CommandInput::default().words(&args.line.join(" "))?)?;
    let peer = &invitation.certificate;
    if peer.agent == config.agent.agent {
        let what = format!("this is an invitation to {} itself", peer.agent);
        let next = "the line goes to the other person; theirs comes back";
        return Err(CliError::usage(what, next));
    }
    let words = fingerprint(&peer.root);
    // Make this agent's own invitation, the line for the other person, before the peer is added: if it cannot be made, nobody
    // is trusted yet.
    let own = addresses_of(&home, &config)?;
    let back = made(&home, &config, &own, WEEK)?.to_line();
    confirm(args, &invitation, &words)?;
    let adding = AddPeer {
        certificate: peer.to_value(),
        decision: None,
    };
    decide_signed(&home, adding, &args.control)?;
    let met = meets(&invitation, &own);
    let carriers = carriers_of(&invitation, &config, met);
    if let Some(carriers) = &carriers {
        keep(&home, &peer.agent, carriers)?;
    }
    if args.json {
        return print_json(&AcceptedInvitation {
            peer: peer.agent.as_str(),
            principal: peer.principal.as_str(),
            fingerprint: &words,
            same_server: met,
            carriers: carriers.as_deref(),
            invitation: &back,
        });
    }
    print(&format!("{back}\n"))?;
    anstream::eprintln!(
        "\n{} of {} is trusted. Unless {} has accepted your line before, send this one back; they type:\n  signet accept LINE",
        peer.agent,
        peer.principal,
        peer.principal
    );
    if let Some(carriers) = &carriers {
        anstream::eprintln!("{} is reached by: {}", peer.agent, carriers.join(", "));
        return Ok(());
    }
    if !met {
        anstream::eprintln!(
            "{} is reached at {}, and this agent uses {}: messages pass if these are one NATS network, as behind one hub or in one \
             cluster, and {} then shows a session. Otherwise use theirs: {}; with the login that they give you: {}",
            peer.agent,
            nats_of(&invitation).join(", "),
            own.join(", "),
            hint::typed("signet status"),
            hint::typed("signet up --nats URL"),
            hint::typed("signet up --login -")
        );
    }
    Ok(())
}

/// Asks whether the words of the root key are those that the other person said, and refuses unless they are.
fn confirm(args: &AcceptArgs, invitation: &Invitation, words: &str) -> Result<(), CliError> {
    let peer = &invitation.certificate;
    let differ = || {
        let what = format!(
            "these are not the words of {}'s root key: nobody is trusted by them",
            peer.principal
        );
        let next = format!(
            "ask {} for the words again, by another way than the line came; if they stay different, the line is \
             somebody else's",
            peer.principal
        );
        CliError::refused(what, next)
    };
    if let Some(said) = &args.words {
        let said = said.to_lowercase();
        // Accept the words however people write them down: in capitals, on two lines, with more spaces.
        let same = said.split_whitespace().eq(words.split(' '));
        return if same { Ok(()) } else { Err(differ()) };
    }
    anstream::eprintln!(
        "{} says that it acts for {}. These are the words of {}'s root key:\n\n  {words}\n\n\
         Compare them with {} in person or by telephone.",
        peer.agent,
        peer.principal,
        peer.principal,
        peer.principal
    );
    // Ask at a terminal alone: a script that answers yes has compared no words.
    if !io::stdin().is_terminal() {
        let what = "nobody can be asked here whether the words are right: nobody is trusted yet";
        let next = "give the words that the other person says: signet accept LINE --words \"…\"";
        return Err(CliError::usage(what, next));
    }
    anstream::eprint!("Does {} say the same words? [y/N] ", peer.principal);
    if said_yes()? { Ok(()) } else { Err(differ()) }
}

/// Whether the person at the terminal says yes; no, at the end of the input too.
pub(crate) fn said_yes() -> Result<bool, CliError> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| CliError::usage(format!("standard input: {error}"), "try again"))?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}

/// The invitation in what a person took out of a mail: its signature says where it ends.
fn pasted(text: &str) -> Result<Invitation, CliError> {
    let now = clock::now();
    let read = |line: &str| Invitation::parse_line(line, now);
    let is_telling = |error: &InvitationError| !matches!(error, InvitationError::NoLine);
    let invitation = read_pasted(text, INVITATION, read, is_telling);
    invitation.map_err(|error| unusable(&error))
}

fn unusable(error: &InvitationError) -> CliError {
    let next = match error {
        InvitationError::Login => {
            "it is for signet up --login; the line to accept begins with signet:1:"
        }
        InvitationError::NoLine => {
            "copy all of it, from signet:1: to its end, into a file, then: signet accept @FILE"
        }
        InvitationError::Newer => "install the newer release of signet",
        InvitationError::Early(_) => "look at the clocks of both machines",
        InvitationError::Statement(_) | InvitationError::Ended(_) => {
            "ask for a new line, which their `invite` prints"
        }
    };
    CliError::refused(error, next)
}

const INVITATION: &str = "signet:1:";

const ACCEPT: &str = "\
The line that goes back stands on standard output.

EXAMPLE:
  signet accept signet:1:eyJ…
  signet accept @line.txt --words \"abandon ability … accident\"";
