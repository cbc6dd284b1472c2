//! `signet nats config`: the configuration of a household's server, one user an agent.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use signet_proto::ids::AgentId;
use signet_transport::is_user;

use super::conf::{Server, User, is_plain};
use super::{Exit, Failure, print};

/// See `signet nats config --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct ServerArgs {
    /// Agents and the public names of their nkeys, as `signet nats key` prints them
    #[arg(required = true, value_name = "AGENT=NKEY")]
    agents: Vec<String>,
    /// The public nkey of who makes the mailboxes: `signet nats key --file admin.nk`
    #[arg(long, value_name = "NKEY")]
    admin: String,
    /// The public nkey of who watches the server [default: nobody]
    #[arg(long, value_name = "NKEY")]
    system: Option<String>,
    /// Where the server listens
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4222", value_parser = parse_text)]
    listen: String,
    /// Where the server keeps the mailboxes
    #[arg(long, value_name = "DIR", default_value = "/var/lib/nats", value_parser = parse_text)]
    store: String,
}

impl User {
    fn parse(text: &str) -> Result<Self, Failure> {
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

pub(super) fn run(args: &ServerArgs) -> Result<(), Failure> {
    let admin = parse_nkey(&args.admin)?;
    let system = args.system.as_deref().map(parse_nkey).transpose()?;
    let users = args.agents.iter().map(|text| User::parse(text));
    let users = users.collect::<Result<Vec<User>, Failure>>()?;
    let others = [
        ("the administrator", Some(&admin)),
        ("the system user", system.as_ref()),
    ];
    let others = others
        .into_iter()
        .filter_map(|(who, nkey)| Some((who, nkey?)));
    let (mut owners, mut names) = (BTreeMap::new(), BTreeSet::new());
    for (who, nkey) in others.chain(users.iter().map(|user| (user.agent.as_str(), &user.nkey))) {
        if !names.insert(who) {
            return Err(twice(&format!("{who} is named twice")));
        }
        // One key for two would give each the other's mail.
        if let Some(other) = owners.insert(nkey, who) {
            return Err(twice(&format!("{other} and {who} have the same nkey")));
        }
    }
    let server = Server {
        listen: &args.listen,
        store: &args.store,
        admin: &admin,
        users: &users,
        system: system.as_deref(),
        shares: users.len(),
        files: None,
    };
    print(&server.render())
}

fn twice(what: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        what,
        "give each agent a key of its own: signet nats key",
    )
}

/// Not by the command line's own parser: it repeats what it refuses, and that may be a secret.
fn parse_nkey(text: &str) -> Result<String, Failure> {
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
            "signet nats key prints it",
        )
    })
}

fn unusable(what: &str, next: &str) -> Failure {
    Failure::new(Exit::Usage, what, next)
}

fn parse_text(text: &str) -> Result<String, String> {
    is_plain(text)
        .then(|| text.to_owned())
        .ok_or_else(|| "plain letters, digits and / . : - _ only".to_owned())
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet nats config --admin \"$(signet nats key --file admin.nk)\" \\
    agent-alice-001=\"$(signet nats key --home alice)\" > nats.conf";
