//! `signet invite` and `signet accept`: one line each way lets the agents of two people meet.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use signet_api::{AddPeer, Reload};
use signet_proto::carrier::{CarrierId, KEPT_FOR_POLLS, MOST_ROUTES, Route};
use signet_proto::ids::AgentId;
use signet_proto::keys::fingerprint;
use signet_proto::statement::{Invitation, InvitationError, Reached};

use super::ask::{ask, decide_signed, print_json};
use super::input::Input;
use super::person::ControlKey;
use super::up::broker::Login;
use super::up::config::{check, servers_of};
use super::up::lock::UpLock;
use super::up::server::{Admitted, OwnServer};
use super::{Exit, Failure, print};
use crate::clock;
use crate::config::{Config, PeerCarriers, routes_of};
use crate::home::Home;
use crate::keystore::Keys;

/// See `signet invite --help`.
#[derive(Debug, Args)]
#[command(after_help = INVITE)]
pub(super) struct InviteArgs {
    /// For how many days the line is good
    #[arg(long, value_name = "NUMBER", default_value_t = 7, value_parser = clap::value_parser!(u8).range(1..=30))]
    days: u8,
    /// The address under which others reach the NATS server [default: the one that this agent uses]
    #[arg(long, value_name = "URL")]
    address: Vec<String>,
    /// Print it as a QR code, too
    #[arg(long)]
    qr: bool,
    /// Print a login for that agent as well, on the NATS server of this home: secret, for its person alone
    #[arg(long, value_name = "ID")]
    login: Option<AgentId>,
    /// Print one line of JSON
    #[arg(long)]
    json: bool,
}

/// See `signet accept --help`.
#[derive(Debug, Args)]
#[command(after_help = ACCEPT)]
pub(super) struct AcceptArgs {
    /// The line of `signet invite`: - reads it from standard input, @FILE from a file
    #[arg(value_name = "LINE")]
    line: String,
    /// The twelve words, as the other person said them: they are compared, and nobody is asked
    #[arg(long, value_name = "WORDS")]
    words: Option<String>,
    #[command(flatten)]
    control: ControlKey,
    /// Print what was done as one line of JSON
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

/// What `signet accept --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Accepted<'a> {
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

pub(super) fn invite(args: &InviteArgs, home: Option<PathBuf>) -> Result<(), Failure> {
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
    let login = args.login.as_ref();
    let login = login.map(|agent| login_for(&home, &config, agent, addresses.clone()));
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
        print(&qr(&line)?)?;
    }
    if let (Some(login), Some(agent)) = (&login, &args.login) {
        print(&format!("{}\n", login.as_str()))?;
        if admitted == Some(Admitted::Anew) {
            anstream::eprintln!("\nThe login that {agent} had before has ended.");
        }
        anstream::eprintln!(
            "\nThe second line is a secret: the login of {agent} on this NATS server. Give it to its person alone,\n\
             who starts with: signet up --agent {agent} --principal ID --login -"
        );
    }
    let own = &invitation.certificate;
    anstream::eprintln!(
        "\nThe other person types: signet accept LINE\nand compares these words with you, in person or by telephone:\n  {}\n\
         The line is good until {}.",
        fingerprint(&own.root),
        invitation.not_after,
    );
    if loopback {
        anstream::eprintln!(
            "Nobody else reaches this machine by {}: for others, name an address with --address, or use a server that they \
             reach (signet up --nats URL); by HTTP, write an address that they reach into [carrier-socket] of config.toml.",
            all.join(", ")
        );
    }
    if addresses.is_empty() {
        anstream::eprintln!(
            "This agent uses no NATS server: the other one has to carry HTTP as well, [carrier-socket] in its config.toml."
        );
    }
    Ok(())
}

pub(super) fn accept(args: &AcceptArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let line = Input::default().words(&args.line)?;
    let invitation =
        Invitation::parse_line(&line, clock::now()).map_err(|error| unusable(&error))?;
    let peer = &invitation.certificate;
    if peer.agent == config.agent.agent {
        let what = format!("this is an invitation to {} itself", peer.agent);
        let next = "the line goes to the other person; theirs comes back";
        return Err(Failure::new(Exit::Usage, what, next));
    }
    let words = fingerprint(&peer.root);
    // What may fail comes before anybody is bound.
    let own = addresses_of(&home, &config)?;
    let back = made(&home, &config, &own, WEEK)?.to_line();
    confirm(args, &invitation, &words)?;
    let adding = AddPeer {
        certificate: peer.to_value().clone(),
        decision: None,
    };
    decide_signed(Some(home.path().to_owned()), adding, &args.control)?;
    let met = meets(&invitation, &own);
    let carriers = carriers_of(&invitation, &config, met);
    if let Some(carriers) = &carriers {
        keep(&home, &peer.agent, carriers)?;
    }
    if args.json {
        return print_json(&Accepted {
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
            "{} is reached at {}, and this agent uses {}: unless these are one NATS network, no message passes. \
             Use theirs: signet up --nats URL, with the login that they give you (signet up --login -).",
            peer.agent,
            nats_of(&invitation).join(", "),
            own.join(", ")
        );
    }
    Ok(())
}

/// Lets the agents of two homes of this user trust each other: whoever has both homes needs no words.
pub(super) fn bind_both(one: &Home, other: &Home) -> Result<(), Failure> {
    let certificate = |home: &Home| {
        let config = Config::load(home)?;
        Ok::<_, Failure>(Keys::open(home, &config.agent)?.certificate)
    };
    let (ours, theirs) = (certificate(one)?, certificate(other)?);
    for (home, peer) in [(one, &theirs), (other, &ours)] {
        let adding = AddPeer {
            certificate: peer.to_value().clone(),
            decision: None,
        };
        decide_signed(Some(home.path().to_owned()), adding, &ControlKey::default())?;
    }
    print(&format!(
        "peers    {} and {} know each other\n",
        ours.agent, theirs.agent
    ))
}

/// Whether the person at the terminal says yes; no, at the end of the input too.
pub(super) fn said_yes() -> Result<bool, Failure> {
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.map_err(|error| {
        Failure::new(Exit::Usage, format!("standard input: {error}"), "try again")
    })?;
    Ok(["y", "yes"].contains(&line.trim().to_lowercase().as_str()))
}

/// Where the agent of `home` is reached, as it is written down: NATS_URL is this shell's, and no word of the agent's.
fn addresses_of(home: &Home, config: &Config) -> Result<Vec<String>, Failure> {
    Ok(servers_of(home)?.unwrap_or_else(|| config.nats.servers.clone()))
}

fn made(
    home: &Home,
    config: &Config,
    addresses: &[String],
    life: Duration,
) -> Result<Invitation, Failure> {
    let keys = Keys::open(home, &config.agent)?;
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
        return Err(Failure::new(Exit::Usage, what, next));
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
            _ => "an address is such as nats://house.example:4222, without a login, and there are eight at most",
        };
        Failure::new(Exit::Usage, error, next)
    })
}

fn login_for(
    home: &Home,
    config: &Config,
    agent: &AgentId,
    servers: Vec<String>,
) -> Result<(Login, Admitted), Failure> {
    if *agent == config.agent.agent {
        let what = format!("{agent} is the agent of this home, and has its login");
        let next = "name the other person's agent: signet invite --login ID";
        return Err(Failure::new(Exit::Usage, what, next));
    }
    let _lock = UpLock::acquire(home)?;
    let Some(own) = OwnServer::of(home) else {
        let what = "this home has no NATS server of its own, so no login can be made here";
        let next = "who keeps the server makes one: signet nats config --help";
        return Err(Failure::new(Exit::Usage, what, next));
    };
    if !own.is_running() {
        let what = "the NATS server of this home does not run";
        return Err(Failure::new(
            Exit::NotReachable,
            what,
            "signet up starts it",
        ));
    }
    Login::make(&own, agent, servers)
}

/// Whoever trusts an agent says that its root key is the right person's: the words were compared.
fn confirm(args: &AcceptArgs, invitation: &Invitation, words: &str) -> Result<(), Failure> {
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
        Failure::new(Exit::Refused, what, next)
    };
    if let Some(said) = &args.words {
        let said = said.to_lowercase();
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
    if !io::stdin().is_terminal() {
        let what = "nobody can be asked here whether the words are right: nobody is trusted yet";
        let next = "give the words that the other person says: signet accept LINE --words \"…\"";
        return Err(Failure::new(Exit::Usage, what, next));
    }
    anstream::eprint!("Does {} say the same words? [y/N] ", peer.principal);
    if said_yes()? { Ok(()) } else { Err(differ()) }
}

fn unusable(error: &InvitationError) -> Failure {
    let next = match error {
        InvitationError::Login => {
            "it is for signet up --login; the line to accept begins with signet:1:"
        }
        InvitationError::NoLine => "copy it whole, from signet:1: to its end",
        InvitationError::Newer => "install the newer release of signet",
        InvitationError::Early(_) => "look at the clocks of both machines",
        _ => "ask for a new one: signet invite, on the other side",
    };
    Failure::new(Exit::Refused, error, next)
}

/// By which carriers the peer is reached, as a configuration writes them, where these are not NATS alone. Its own
/// order counts, but a NATS server that this agent does not use comes last.
fn carriers_of(invitation: &Invitation, config: &Config, met: bool) -> Option<Vec<String>> {
    let uses_nats = !config.nats.servers.is_empty();
    let peer = &invitation.certificate.agent;
    let mut routes: Vec<String> = Vec::new();
    for reached in &invitation.reached {
        let texts = match reached.carrier.as_str() {
            "nats" if uses_nats => vec!["nats"],
            "http" => reached.addresses.iter().map(String::as_str).collect(),
            _ => continue,
        };
        for text in texts {
            let is_known = routes.iter().any(|known| known == text);
            if !is_known && routes.len() < MOST_ROUTES && Route::parse(text, peer).is_ok() {
                routes.push(text.to_owned());
            }
        }
    }
    if !met {
        routes.sort_by_key(|text| text == "nats");
    }
    let is_default = routes.iter().all(|text| text == "nats");
    (!is_default && routes_of(&routes, peer).is_ok()).then_some(routes)
}

/// Keeps where the peer is reached, and tells the daemon where one runs.
fn keep(home: &Home, peer: &AgentId, carriers: &[String]) -> Result<(), Failure> {
    let config = Config::load(home)?;
    let dials_out = |addresses: &[String]| addresses == [KEPT_FOR_POLLS];
    let own = config.carrier_socket.as_ref();
    if own.is_none() {
        anstream::eprintln!(
            "Nothing carries HTTP here yet: set `socket` in [carrier-socket] of config.toml, and start signet gateway."
        );
    }
    if own.is_some_and(|own| dials_out(&own.addresses)) && dials_out(carriers) {
        anstream::eprintln!(
            "Both agents can only dial out, and nobody is there to be dialled: one of them needs an address."
        );
    }
    PeerCarriers::keep(home, peer, carriers.to_vec())?;
    match ask(Some(home.path().to_owned()), &Reload {}) {
        Err(error) if !error.is_not_reachable() => Err(error),
        _ => Ok(()),
    }
}

fn nats_of(invitation: &Invitation) -> Vec<&str> {
    let nats = invitation
        .reached
        .iter()
        .filter(|reached| reached.carrier == "nats");
    nats.flat_map(|reached| reached.addresses.iter().map(String::as_str))
        .collect()
}

fn meets(invitation: &Invitation, own: &[String]) -> bool {
    nats_of(invitation)
        .iter()
        .any(|address| own.iter().any(|ours| ours == address))
}

/// Whether that address leads to this machine alone, wherever it is used.
fn is_loopback(address: &str) -> bool {
    let host = host_of(address);
    let ip = host.parse::<std::net::IpAddr>();
    host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
}

fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

fn qr(line: &str) -> Result<String, Failure> {
    let code = qrcode::QrCode::with_error_correction_level(line, qrcode::EcLevel::L);
    let code = code.map_err(|_| {
        let what = "the line is too long for a QR code";
        Failure::new(
            Exit::Refused,
            what,
            "leave --qr out, or name fewer addresses",
        )
    })?;
    let picture = code.render::<qrcode::render::unicode::Dense1x2>().build();
    Ok(format!("{picture}\n"))
}

const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);

const INVITE: &str = "\
The line is signed, and gives no trust by itself: whoever accepts it compares twelve words first.
The line stands on standard output, what to do with it on standard error.

EXAMPLE:
  signet invite
  signet invite --login agent-bob-001 --address nats://house.example:4222";

const ACCEPT: &str = "\
The line that goes back stands on standard output.

EXAMPLE:
  signet accept signet:1:eyJ…
  signet accept @line.txt --words \"abandon ability able about above absent absorb abstract absurd abuse access accident\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_this_machine_reaches_is_told_from_what_others_reach() {
        for own in [
            "nats://127.0.0.1:4222",
            "nats://localhost:1",
            "tls://[::1]:4222",
        ] {
            assert!(is_loopback(own), "{own}");
        }
        for reached in [
            "nats://house.example:4222",
            "nats://192.0.2.1:4222",
            "tls://[2001:db8::1]:4222",
        ] {
            assert!(!is_loopback(reached), "{reached}");
        }
    }
}
