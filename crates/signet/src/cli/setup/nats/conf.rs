//! The configuration of a household's NATS server: one user an agent, each with its own inbox alone.

use std::fmt::Write as _;

use signet_proto::ids::AgentId;
use signet_transport::STREAM;

/// The name of a server that stands alone.
pub(crate) const SERVER_NAME: &str = "house";

/// One agent's user on the server.
#[derive(Clone, Debug)]
pub(crate) struct User {
    /// The agent.
    pub(crate) agent: AgentId,
    /// The public name of its key.
    pub(crate) nkey: String,
}

/// What the configuration of a NATS server says.
pub(crate) struct ServerConf<'a> {
    /// Its name, which no other server of its cluster has.
    pub(crate) name: &'a str,
    /// Where it listens: HOST:PORT.
    pub(crate) listen: &'a str,
    /// Where it keeps the mailboxes.
    pub(crate) store: &'a str,
    /// The public key of who makes the mailboxes.
    pub(crate) admin: &'a str,
    /// The agents.
    pub(crate) users: &'a [User],
    /// The public key of who watches the server.
    pub(crate) system: Option<&'a str>,
    /// How many mailboxes the store has to have room for.
    pub(crate) shares: usize,
    /// The JetStream domain of its mailboxes, where it is a leaf of another server; none when absent.
    pub(crate) domain: Option<&'a str>,
    /// A file that it reads as well, such as that of a cluster; none when absent.
    pub(crate) include: Option<&'a str>,
    /// Where it writes its process id and its log; nowhere when absent.
    pub(crate) files: Option<(&'a str, &'a str)>,
}

impl ServerConf<'_> {
    /// The text that releases before the reply prefix of two tokens printed for the same server.
    pub(crate) fn render_before(&self) -> String {
        let rendered = self.render();
        let without = |text: String, user: &User| text.replace(&two_tokens(&user.agent), "");
        self.users.iter().fold(rendered, without)
    }

    /// The text of its configuration.
    pub(crate) fn render(&self) -> String {
        let users: String = self.users.iter().map(user).collect();
        let system = self.system.map_or_else(
            || "{ users: [] }".to_owned(),
            |nkey| format!("{{ users: [ {{ nkey: {nkey} }} ] }}"),
        );
        let files = self.files.map_or_else(String::new, |(pid, log)| {
            format!("pid_file: \"{pid}\"\nlog_file: \"{log}\"\nlogfile_size_limit: 8MB\n")
        });
        let include = self
            .include
            .map_or_else(String::new, |file| format!("include \"{file}\"\n"));
        let domain = self
            .domain
            .map_or_else(String::new, |domain| format!(", domain: \"{domain}\""));
        CONFIGURATION
            .replace("NAME", self.name)
            // Each agent has one connection, and its person's commands another at times; some stay free for administrators.
            .replace("CONNECTIONS", &(4 * self.shares).max(64).to_string())
            // Each mailbox may reserve one share, a gigabyte of disk, though it reserves less unless `signet nats setup
            // --mailbox-mib` asks for more. Add one share for what the server keeps beside the mailboxes.
            .replace("SHARES", &(self.shares + 1).to_string())
            .replace("DOMAIN", &domain)
            .replace("LISTEN", self.listen)
            .replace("STORE", self.store)
            .replace("ADMIN", self.admin)
            .replace("AGENTS_USERS", &users)
            .replace("SYSTEM", &system)
            + &include
            + &files
    }
}

/// Whether a path may stand between quotes: the server takes nothing in it for an escape or a variable.
pub(crate) fn is_quotable(text: &str) -> bool {
    let quotable = |c: char| !c.is_control() && !matches!(c, '"' | '\\' | '$');
    !text.is_empty() && text.chars().all(quotable)
}

/// Whether a text may stand between quotes in the configuration as it is.
pub(crate) fn is_plain(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '#' | '{' | '}' | '$');
    !text.is_empty() && text.chars().all(plain)
}

/// The block of an agent's user, which may listen to its own inbox and answers alone, send to any inbox, and read its
/// own mailbox.
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
         {lines}          ] }}\n          subscribe: {{ allow: [ \"agent.{agent}.inbox\", \"_INBOX_{agent}.>\"{} ] }}\n        }}\n      }}\n",
        two_tokens(agent)
    )
}

/// The entry of the second reply prefix: a daemon takes one of the two, and its server need not know which.
fn two_tokens(agent: &AgentId) -> String {
    format!(", \"_INBOX.{agent}.>\"")
}

const CONFIGURATION: &str = r#"# NATS for a household of signed agents (nats-server 2.9.10 or newer)
server_name: NAME
listen: "LISTEN"                   # for the network: 0.0.0.0, and a tls block
max_connections: CONNECTIONS
max_payload: 256KB
max_control_line: 4KB
max_subscriptions: 64
write_deadline: "5s"
ping_interval: "30s"
ping_max: 3
jetstream { store_dir: "STORE", max_mem: 64M, max_file: SHARESGBDOMAIN }
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
