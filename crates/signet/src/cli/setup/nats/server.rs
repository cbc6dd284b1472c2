//! `signet nats config`: the configuration of a household's server, one user an agent.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use signet_proto::ids::AgentId;
use signet_transport::is_user;

use super::conf::{SERVER_NAME, User, is_plain};
use super::server_settings::ServerSettings;
use super::{CliError, print};

/// See `signet nats config --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct ServerArgs {
    /// Agents and the public names of their nkeys, as `signet nats key` prints them
    #[arg(required = true, value_name = "AGENT=NKEY")]
    agents: Vec<String>,
    /// Keep the agents and settings of this configuration, which signet nats config printed before
    #[arg(long, value_name = "FILE", conflicts_with_all = ["admin", "system", "listen", "store", "name", "domain", "include"])]
    add: Option<PathBuf>,
    /// The public nkey of who makes the mailboxes: `signet nats key --file admin.nk`
    #[arg(long, value_name = "NKEY", required_unless_present = "add")]
    admin: Option<String>,
    /// The public nkey of who watches the server [default: nobody]
    #[arg(long, value_name = "NKEY")]
    system: Option<String>,
    /// The server's name: servers of a cluster have different ones
    #[arg(long, value_name = "NAME", default_value = SERVER_NAME, value_parser = parse_text)]
    name: String,
    /// The JetStream domain of the server, where it is a leaf of another: docs/scale.md [default: none]
    #[arg(long, value_name = "NAME", value_parser = parse_domain)]
    domain: Option<String>,
    /// A file that the server reads as well, such as that of a cluster: docs/scale.md [default: none]
    #[arg(long, value_name = "FILE", value_parser = parse_text)]
    include: Option<String>,
    /// Where the server listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4222", value_parser = parse_text)]
    listen: String,
    /// Where the server keeps the mailboxes
    #[arg(long, value_name = "DIR", default_value = "/var/lib/nats", value_parser = parse_text)]
    store: String,
}

impl User {
    fn parse(text: &str) -> Result<Self, CliError> {
        let Some((agent, nkey)) = text.split_once('=') else {
            return Err(unusable(
                "an agent without its nkey",
                "write AGENT=NKEY, such as agent-alice-001=U…",
            ));
        };
        let agent = agent.parse::<AgentId>();
        let agent = agent.map_err(|error| unusable(&error.to_string(), "write AGENT=NKEY"))?;
        let nkey = parse_nkey(nkey)?;
        Ok(Self { agent, nkey })
    }
}

pub(super) fn run(args: &ServerArgs) -> Result<(), CliError> {
    let mut kept = match &args.add {
        Some(file) => ServerSettings::read(file)?,
        None => asked(args)?,
    };
    for text in &args.agents {
        kept.users.push(User::parse(text)?);
    }
    kept.shares = kept.shares.max(kept.users.len());
    refuse_shared(&kept)?;
    print(&kept.server().render())
}

/// A new configuration, without its agents.
fn asked(args: &ServerArgs) -> Result<ServerSettings, CliError> {
    Ok(ServerSettings {
        name: args.name.clone(),
        domain: args.domain.clone(),
        include: args.include.clone(),
        listen: args.listen.clone(),
        store: args.store.clone(),
        admin: parse_nkey(args.admin.as_deref().unwrap_or_default())?,
        system: args.system.as_deref().map(parse_nkey).transpose()?,
        users: Vec::new(),
        shares: 0,
    })
}

fn refuse_shared(kept: &ServerSettings) -> Result<(), CliError> {
    let others = [
        ("the administrator", Some(&kept.admin)),
        ("the system user", kept.system.as_ref()),
    ];
    let others = others
        .into_iter()
        .filter_map(|(who, nkey)| Some((who, nkey?)));
    let (mut owners, mut names) = (BTreeMap::new(), BTreeSet::new());
    let agents = kept.users.iter();
    let agents = agents.map(|user| (user.agent.as_str(), &user.nkey));
    for (who, nkey) in others.chain(agents) {
        if !names.insert(who) {
            return Err(twice(&format!("{who} is named twice")));
        }
        // For the server, two agents with one key are the same user: each of them could read the mail of both.
        if let Some(other) = owners.insert(nkey, who) {
            return Err(twice(&format!("{other} and {who} have the same nkey")));
        }
    }
    Ok(())
}

fn twice(what: &str) -> CliError {
    CliError::usage(what, "give each agent a key of its own: signet nats key")
}

/// Reads a public nkey. It is no parser of clap, which repeats in its error what it refuses: somebody may have given the
/// secret seed.
fn parse_nkey(text: &str) -> Result<String, CliError> {
    if is_user(text) {
        return Ok(text.to_owned());
    }
    Err(if text.starts_with('S') {
        unusable(
            "a secret seed was given",
            "give the public name, which begins with U; the seed stands in the shell's history now: make another",
        )
    } else {
        unusable(
            "no public nkey of a user: 56 characters that begin with U",
            "signet nats key  # prints it",
        )
    })
}

fn unusable(what: &str, next: &str) -> CliError {
    CliError::usage(what, next)
}

fn parse_text(text: &str) -> Result<String, String> {
    is_plain(text)
        .then(|| text.to_owned())
        .ok_or_else(|| "plain letters, digits and / . : - _ only".to_owned())
}

fn parse_domain(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_domain = (1..=32).contains(&text.len()) && text.chars().all(is_name);
    is_domain
        .then(|| text.to_owned())
        .ok_or_else(|| "write 1 to 32 letters, digits, - or _, such as alice-home".to_owned())
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet nats config --admin \"$(signet nats key --file admin.nk)\" \\
    agent-alice-001=\"$(signet nats key --home alice)\" > nats.conf
  signet nats config --add nats.conf agent-bob-001=U… > nats.new";
