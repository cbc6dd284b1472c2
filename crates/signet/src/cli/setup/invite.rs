//! `signet invite` and `signet accept`: one line each way lets the agents of two people meet.

mod accept;
mod addresses;
mod carriers;
mod pasted;
mod qr;

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use signet_api::AddPeer;
use signet_proto::carrier::CarrierId;
use signet_proto::ids::AgentId;
use signet_proto::keys::fingerprint;
use signet_proto::statement::{Invitation, InvitationError, Reached};

pub(crate) use accept::{AcceptArgs, accept, said_yes};
use addresses::{addresses_of, is_loopback};
pub(crate) use pasted::read_pasted;

use crate::cli::ask::decide_signed;
use crate::cli::person::control_key::ControlKey;
use crate::cli::print::print_json;
use crate::cli::setup::up::config::check;
use crate::cli::setup::up::lock::UpLock;
use crate::cli::setup::up::login::NewLogin;
use crate::cli::setup::up::server::{LoginResult, OwnServer};
use crate::cli::{CliError, print};
use crate::clock;
use crate::config::Config;
use crate::hint;
use crate::home::Home;
use crate::keystore::{AgentKeys, CONTROL};

/// See `signet invite --help`.
#[derive(Debug, Args)]
#[command(after_help = INVITE)]
pub(crate) struct InviteArgs {
    /// For how many days the line is good
    #[arg(long, value_name = "NUMBER", default_value_t = 7, value_parser = clap::value_parser!(u8).range(1..=30))]
    days: u8,
    /// The address under which others reach the NATS server [default: the one that this agent uses]
    #[arg(long, value_name = "URL")]
    address: Vec<String>,
    /// Print it as a QR code, too; a terminal that is too narrow for it is told so
    #[arg(long)]
    qr: bool,
    /// Write it as a QR code into this new file, an SVG picture
    #[arg(long, value_name = "FILE")]
    qr_file: Option<PathBuf>,
    /// Print a login for that agent as well, on the NATS server of this home: secret, for its person alone
    #[arg(long, value_name = "ID")]
    login: Option<AgentId>,
    /// With --login: make a new login also where that agent has one, which ends then
    #[arg(long, requires = "login")]
    replace: bool,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// What `signet invite --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Invited<'a> {
    invitation: &'a str,
    not_after: String,
    fingerprint: String,
    /// Whether only this machine reaches the address.
    loopback: bool,
    login: Option<&'a str>,
}

pub(crate) fn invite(args: &InviteArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let addresses = match args.address.is_empty() {
        true => addresses_of(&home, &config)?,
        false => args.address.clone(),
    };
    if !addresses.is_empty() {
        check(&addresses)?;
    }
    let life = Duration::from_secs(u64::from(args.days) * 24 * 3600);
    let invitation = made(&home, &config, &addresses, life)?;
    let line = invitation.to_line();
    // Write the file of the QR code before a login is made: if the file cannot be written, no login is left over.
    if let Some(file) = &args.qr_file {
        qr::write(&line, file)?;
    }
    let login = args.login.as_ref();
    let login =
        login.map(|agent| login_for(&home, &config, agent, addresses.clone(), args.replace));
    let (login, admitted) = login.transpose()?.unzip();
    let login = login.map(|login| login.to_line());
    let reached = invitation.reached.iter();
    let all: Vec<&str> = reached
        .flat_map(|reached| reached.addresses.iter().map(String::as_str))
        .collect();
    let loopback = all.iter().all(|address| is_loopback(address));
    if args.json {
        return print_json(&Invited {
            invitation: &line,
            not_after: invitation.not_after.to_string(),
            fingerprint: fingerprint(&invitation.certificate.root),
            loopback,
            login: login.as_deref().map(String::as_str),
        });
    }
    print(&format!("{line}\n"))?;
    if args.qr {
        qr::print_on(&line, qr::columns())?;
    }
    if let (Some(login), Some(agent)) = (&login, &args.login) {
        print(&format!("{}\n", login.as_str()))?;
        if admitted == Some(LoginResult::Anew) {
            anstream::eprintln!("\nThe login that {agent} had before has ended.");
        }
        anstream::eprintln!(
            "\nThe second line is a secret: the login of {agent} on this NATS server. Give it to its person alone,\n\
             who starts with: signet up --agent {agent} --principal ID --login -"
        );
    }
    tell_people(&invitation, &all, loopback);
    if addresses.is_empty() {
        anstream::eprintln!(
            "This agent uses no NATS server: the other one has to carry HTTP as well, [carrier-socket] in its config.toml."
        );
    }
    Ok(())
}

/// Says what the two people do with the line.
fn tell_people(invitation: &Invitation, addresses: &[&str], loopback: bool) {
    anstream::eprintln!(
        "\nThe other person types: signet accept LINE\nand compares these words with you, in person or by telephone:\n  {}\n\
         The line is good until {}.",
        fingerprint(&invitation.certificate.root),
        invitation.not_after,
    );
    if loopback {
        anstream::eprintln!(
            "Nobody else reaches this machine by {}. Behind one hub (signet up --join) nobody has to; for others, name an address with \
             --address, or use a server that they reach (signet up --nats URL); by HTTP, write an address that they reach into \
             [carrier-socket] of config.toml.",
            addresses.join(", ")
        );
    }
}

/// Lets the agents of two homes of this user trust each other: whoever has both homes needs no words.
pub(crate) fn bind_both(one: &Home, other: &Home) -> Result<(), CliError> {
    let certificate = |home: &Home| {
        let config = Config::load(home)?;
        Ok::<_, CliError>(AgentKeys::open(home, &config.agent)?.certificate)
    };
    let (ours, theirs) = (certificate(one)?, certificate(other)?);
    for (home, beside, peer) in [(one, other, &theirs), (other, one, &ours)] {
        let lent = Some(beside.key_file(CONTROL));
        // Agents of one person share the control key, and often only one of the two homes holds
        // it: so lend the other home's key to this one.
        let lent = lent.filter(|lent| !home.key_file(CONTROL).exists() && lent.exists());
        let adding = AddPeer {
            certificate: peer.to_value(),
            decision: None,
        };
        decide_signed(home, adding, &ControlKey { key: lent })?;
    }
    print(&format!(
        "peers    {} and {} know each other\n",
        ours.agent, theirs.agent
    ))
}

fn made(
    home: &Home,
    config: &Config,
    addresses: &[String],
    life: Duration,
) -> Result<Invitation, CliError> {
    let keys = AgentKeys::open(home, &config.agent)?;
    let by_http = config.carrier_socket.as_ref();
    let by_http = by_http.map_or(&[][..], |socket| &socket.addresses);
    let both = [(CarrierId::NATS, addresses), (CarrierId::HTTP, by_http)];
    let both = both
        .into_iter()
        .filter(|(_, addresses)| !addresses.is_empty());
    let reached: Vec<Reached> = both
        .map(|(carrier, addresses)| Reached {
            carrier: carrier.to_string(),
            addresses: addresses.to_vec(),
        })
        .collect();
    if reached.is_empty() {
        let what =
            "nobody could reach this agent: it uses no NATS server, and has no address of its own";
        let next = "write `addresses` into [carrier-socket] of config.toml; [\"poll\"] for one that can only dial out";
        return Err(CliError::usage(what, next));
    }
    let made = Invitation::sign(
        &keys.certificate,
        &keys.signing,
        &reached,
        clock::now(),
        life,
    );
    made.map_err(|error| {
        let next = match error {
            InvitationError::Ended(_) | InvitationError::Early(_) => {
                "look at the clock and at signet key show; a new certificate: signet key rotate"
            }
            InvitationError::NoLine | InvitationError::Login | InvitationError::Newer | InvitationError::Statement(_) => "an address is such as nats://house.example:4222, without a login, and there are eight at most",
        };
        CliError::usage(error, next)
    })
}

fn login_for(
    home: &Home,
    config: &Config,
    agent: &AgentId,
    servers: Vec<String>,
    replace: bool,
) -> Result<(NewLogin, LoginResult), CliError> {
    if *agent == config.agent.agent {
        let what = format!("{agent} is the agent of this home, and has its login");
        let next = "name the other person's agent: signet invite --login ID";
        return Err(CliError::usage(what, next));
    }
    let _lock = UpLock::acquire(home)?;
    let Some(own) = OwnServer::of(home) else {
        let what = "this home has no NATS server of its own, so no login can be made here";
        let next = "who keeps the server makes one: signet nats config --help";
        return Err(CliError::usage(what, next));
    };
    if !own.is_running() {
        let what = "the NATS server of this home does not run";
        return Err(CliError::not_reachable(
            what,
            format!("{}  # starts it, too", hint::start()),
        ));
    }
    if own.login_of(agent)?.is_some() && !replace {
        confirm_replacing(agent)?;
    }
    NewLogin::make(&own, agent, servers)
}

/// Asks at a terminal before a second login is made, and refuses elsewhere: the first one ends with it, and the daemon
/// that uses it is shut out.
fn confirm_replacing(agent: &AgentId) -> Result<(), CliError> {
    let what = format!("{agent} has a login on this server already, which a new one ends");
    if !io::stdin().is_terminal() {
        let next = format!(
            "signet invite --login {agent} --replace  # if that is meant: its daemon is shut out until it has the new line"
        );
        return Err(CliError::refused(what, next));
    }
    anstream::eprint!(
        "{what}: its daemon is shut out until its person has the new line. Make a new one? [y/N] "
    );
    match said_yes()? {
        true => Ok(()),
        false => Err(CliError::refused(
            format!("no new login was made: {agent} keeps the one that it has"),
            "signet invite  # makes a line without a login",
        )),
    }
}

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

const INVITE: &str = "\
The line is signed, and gives no trust by itself: whoever accepts it compares twelve words first.
The line stands on standard output, what to do with it on standard error.

EXAMPLE:
  signet invite
  signet invite --login agent-bob-001 --address nats://house.example:4222";
