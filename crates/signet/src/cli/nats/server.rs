//! `signet nats config`: the configuration of a household's server, one user an agent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use clap::Args;
use signet_proto::ids::AgentId;
use signet_transport::{STREAM, is_user};

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

/// One agent's user on the server.
#[derive(Clone, Debug)]
struct User {
    agent: AgentId,
    nkey: String,
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
    print(&configuration(args, &admin, &users, system.as_deref()))
}

fn twice(what: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        what,
        "give each agent a key of its own: signet nats key",
    )
}

fn configuration(args: &ServerArgs, admin: &str, users: &[User], system: Option<&str>) -> String {
    let users: String = users.iter().map(user).collect();
    let system = system.map_or_else(
        || "{ users: [] }".to_owned(),
        |nkey| format!("{{ users: [ {{ nkey: {nkey} }} ] }}"),
    );
    CONFIGURATION
        // A share for each inbox, and one for what the server keeps beside them.
        .replace("FILE", &(args.agents.len() + 1).to_string())
        .replace("LISTEN", &args.listen)
        .replace("STORE", &args.store)
        .replace("ADMIN", admin)
        .replace("AGENTS_USERS", &users)
        .replace("SYSTEM", &system)
}

/// Who may listen only to its own inbox and its own answers, send to any inbox, and read its own mailbox.
fn user(user: &User) -> String {
    let (agent, nkey) = (&user.agent, &user.nkey);
    let publish = [
        ("agent.*.inbox".to_owned(), "send to any agent"),
        (
            format!("$JS.API.CONSUMER.INFO.{STREAM}.{agent}"),
            "look at the own mailbox",
        ),
        (
            format!("$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{agent}"),
            "read the own mailbox",
        ),
        (
            format!("$JS.ACK.{STREAM}.{agent}.>"),
            "settle what was read",
        ),
        (
            format!("$JS.ACK.*.*.{STREAM}.{agent}.>"),
            "the same, as newer servers call it",
        ),
    ];
    let mut lines = String::new();
    for (subject, what) in publish {
        // Writing to a String cannot fail.
        let _ = writeln!(
            lines,
            "            {:<58} # {what}",
            format!("\"{subject}\"")
        );
    }
    format!(
        "      {{ # {agent}\n        nkey: {nkey}\n        permissions: {{\n          publish: {{ allow: [\n\
         {lines}          ] }}\n          subscribe: {{ allow: [ \"agent.{agent}.inbox\", \"_INBOX_{agent}.>\" ] }}\n        }}\n      }}\n"
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

/// What stands between quotes in the configuration.
fn parse_text(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '#' | '{' | '}' | '$');
    let plain = !text.is_empty() && text.chars().all(plain);
    plain
        .then(|| text.to_owned())
        .ok_or_else(|| "plain letters, digits and / . : - _ only".to_owned())
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet nats config --admin \"$(signet nats key --file admin.nk)\" \\
    agent-alice-001=\"$(signet nats key --home alice)\" > nats.conf";

const CONFIGURATION: &str = r#"# NATS for a household of signed agents (nats-server 2.9.10 or newer)
server_name: house
listen: "LISTEN"                   # for the network: 0.0.0.0, and a tls block
max_connections: 64
max_payload: 256KB
max_control_line: 4KB
max_subscriptions: 64
write_deadline: "5s"
ping_interval: "30s"
ping_max: 3
jetstream { store_dir: "STORE", max_mem: 64M, max_file: FILEG }
# Users stand in accounts only: no authorization block, no no_auth_user, allow-lists only, no deny rules.
accounts {
  AGENTS: {
    jetstream: enabled
    users: [
      { # makes the mailboxes; no daemon uses it
        nkey: ADMIN
        permissions: {
          publish: { allow: ["$JS.API.>", "agent.*.inbox"] }
          subscribe: { allow: ["_INBOX_admin.>", "$JS.EVENT.ADVISORY.>"] }
        }
      }
AGENTS_USERS    ]
  }
  SYS: SYSTEM
}
system_account: SYS
"#;
