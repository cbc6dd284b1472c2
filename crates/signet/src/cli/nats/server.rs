//! `signet nats config`: the configuration of a household's server, one user an agent.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::str::FromStr;

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
    agents: Vec<User>,
    /// The public nkey of who makes the mailboxes: `signet nats key --file admin.nk`
    #[arg(long, value_name = "NKEY", value_parser = parse_nkey)]
    admin: String,
    /// The public nkey of who watches the server [default: nobody]
    #[arg(long, value_name = "NKEY", value_parser = parse_nkey)]
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

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (agent, nkey) = text
            .split_once('=')
            .ok_or("write AGENT=NKEY, such as agent-alice-001=U…")?;
        let agent = agent
            .parse::<AgentId>()
            .map_err(|error| error.to_string())?;
        let nkey = parse_nkey(nkey)?;
        Ok(Self { agent, nkey })
    }
}

pub(super) fn run(args: &ServerArgs) -> Result<(), Failure> {
    let mut owners = BTreeMap::new();
    let admins = [
        ("the administrator", Some(&args.admin)),
        ("the system user", args.system.as_ref()),
    ];
    let admins = admins
        .into_iter()
        .filter_map(|(who, nkey)| Some((who, nkey?)));
    let agents = args
        .agents
        .iter()
        .map(|user| (user.agent.as_str(), &user.nkey));
    for (who, nkey) in admins.chain(agents) {
        // One key for two would give each the other's mail.
        if let Some(other) = owners.insert(nkey, who) {
            return Err(twice(&format!("{other} and {who} have the same nkey")));
        }
    }
    let mut names: Vec<&str> = args.agents.iter().map(|user| user.agent.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
        return Err(twice(&format!("{} is named twice", pair.concat())));
    }
    print(&configuration(args))
}

fn twice(what: &str) -> Failure {
    Failure::new(
        Exit::Usage,
        what,
        "give each agent a key of its own: signet nats key",
    )
}

fn configuration(args: &ServerArgs) -> String {
    let users: String = args.agents.iter().map(user).collect();
    let system = args.system.as_ref().map_or_else(
        || "{ users: [] }".to_owned(),
        |nkey| format!("{{ users: [ {{ nkey: {nkey} }} ] }}"),
    );
    CONFIGURATION
        .replace("LISTEN", &args.listen)
        .replace("STORE", &args.store)
        .replace("ADMIN", &args.admin)
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

fn parse_nkey(text: &str) -> Result<String, String> {
    if is_user(text) {
        return Ok(text.to_owned());
    }
    let seed = text.starts_with('S');
    Err(if seed {
        "that is a secret seed: give the public name, which begins with U, and make a new key"
            .to_owned()
    } else {
        "no public nkey of a user: 56 characters beginning with U, as `signet nats key` prints"
            .to_owned()
    })
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
jetstream { store_dir: "STORE", max_mem: 64M, max_file: 2G }
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
