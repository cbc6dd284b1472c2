//! The NATS server of an installed household: signet's own where none runs, with a login for each agent.

use std::time::{Duration, Instant};

use signet_proto::ids::AgentId;

use super::agents;
use super::machine::{FileOwner, Machine};
use crate::cli::CliError;
use crate::cli::setup::nats::conf::{SERVER_NAME, ServerConf, User};
use crate::cli::setup::nats::{key, mailboxes};
use crate::cli::setup::up::server::speaks_nats;

/// Whose server the agents use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerChoice {
    /// The one that signet keeps on this machine: `signet-nats.service`.
    Ours,
    /// A server that the person named; its keeper gives logins and mailboxes.
    Named(String),
    /// Somebody else's, at the usual place on this machine.
    Running,
    /// No server runs, and there is no `nats-server` to start.
    Missing,
}

impl ServerChoice {
    pub(super) fn find(machine: &Machine, named: Option<&str>) -> Self {
        match named {
            Some(url) => Self::Named(url.to_owned()),
            // Look for our own server's configuration first: if it exists, the server that listens at `LISTEN`
            // is our own. Asked in the other order, our own server would count as somebody else's (`Running`),
            // and would get no logins.
            None if machine.at(CONF).exists() => Self::Ours,
            None if machine.is_here() && speaks_nats(LISTEN) => Self::Running,
            None if PROGRAMS
                .iter()
                .any(|dir| machine.at(dir).join("nats-server").exists()) =>
            {
                Self::Ours
            }
            None => Self::Missing,
        }
    }
}

/// Whether signet keeps a server on this machine.
pub(super) fn is_ours(machine: &Machine) -> bool {
    machine.at(CONF).exists()
}

/// Whether signet keeps a server on the machine that runs.
pub(crate) fn keeps_server() -> bool {
    std::path::Path::new(CONF).exists()
}

/// Writes the configuration for the agents that are noted, and whether it is another than before.
pub(super) fn configure(machine: &Machine) -> Result<bool, CliError> {
    machine.sysusers(SYSUSERS)?;
    let group = machine.group("signet-nats")?;
    // The server may read its configuration but not change it: the logins in the configuration decide who gets in.
    machine.directory(DIRECTORY, FileOwner { user: 0, group }, 0o750)?;
    let seed = machine.at(ADMIN);
    let admin = match (seed.exists(), machine.is_dry()) {
        (true, _) => key::read(&seed)?,
        (false, false) => key::make(&seed)?,
        (false, true) => "U…".to_owned(),
    };
    let noted = agents::all(machine)?
        .into_iter()
        .filter(|agent| !agent.removed);
    let users = noted.filter_map(|noted| {
        let agent = noted.agent;
        noted.nkey.map(|nkey| User { agent, nkey })
    });
    let users: Vec<User> = users.collect();
    if users.len() > SHARES {
        let what = format!("the server of this machine has room for {SHARES} agents");
        return Err(CliError::refused(
            what,
            "use another server for this one: --server URL",
        ));
    }
    let server = ServerConf {
        name: SERVER_NAME,
        domain: None,
        include: None,
        listen: LISTEN,
        store: STORE,
        admin: &admin,
        users: &users,
        system: None,
        // Reserve room for all agents from the start: a running server takes over new users on a reload, but
        // no new limit of its store.
        shares: SHARES,
        files: None,
    };
    machine.write(CONF, &server.render(), Some(group))
}

/// Starts the server, or lets it read its configuration anew; only enabled where no systemd runs.
pub(super) fn start(machine: &Machine, is_changed: bool) -> Result<(), CliError> {
    if !machine.has_manager() {
        machine.tool("systemctl", &["enable", UNIT])?;
        return Ok(());
    }
    let started = machine.tool("systemctl", &["enable", "--now", UNIT])?;
    let begin = Instant::now();
    while !machine.is_dry() && !speaks_nats(LISTEN) {
        if begin.elapsed() > PATIENCE {
            let what = format!("{UNIT} was started, and nothing answers at {LISTEN}");
            let next = format!("journalctl -n 20 -u {UNIT}  # says why; then again");
            return Err(CliError::not_reachable(what, next));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    // Reload only now that the server listens: the signal of a reload would end a server that is still starting.
    if started && is_changed {
        machine.tool("systemctl", &["reload", UNIT])?;
    }
    Ok(())
}

/// Lets a server that runs forget the login of an agent that is gone.
pub(super) fn reload(machine: &Machine) -> Result<(), CliError> {
    if machine.has_manager() {
        machine.tool("systemctl", &["try-reload-or-restart", UNIT])?;
    }
    Ok(())
}

/// The mailbox of one agent, on the server that runs.
pub(super) fn mailbox(machine: &Machine, agent: &AgentId) -> Result<(), CliError> {
    let what = format!("mailbox of {agent}");
    if machine.is_dry() {
        return machine.say(&what, "made");
    }
    let (url, seed) = (format!("nats://{LISTEN}"), machine.at(ADMIN));
    mailboxes::make_patiently(url, "signet install", seed, std::slice::from_ref(agent))?;
    machine.say(&what, "as it should be")
}

/// What to type where the server could not be started.
pub(super) fn by_hand(agent: &AgentId) -> String {
    format!("systemctl start {UNIT}; signet nats setup --nkey {ADMIN} {agent}")
}

/// The server's unit.
pub(super) const UNIT: &str = "signet-nats.service";
/// Where it listens.
pub(crate) const LISTEN: &str = "127.0.0.1:4222";
const DIRECTORY: &str = "/etc/signet/nats";
/// The file that names the logins.
pub(super) const CONF: &str = "/etc/signet/nats/nats.conf";
const ADMIN: &str = "/etc/signet/nats/admin.nk";
const STORE: &str = "/var/lib/signet-nats";
const SYSUSERS: &str = "u signet-nats - \"NATS server of signet\" /var/lib/signet-nats\n";
/// Where packages keep the server that they bring, whose unit names it by its path; and where systemd looks for a program
/// that a unit names without one.
const PROGRAMS: [&str; 8] = [
    "/usr/lib/signet",
    "/usr/local/lib/signet",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];
const SHARES: usize = 16;
const PATIENCE: Duration = Duration::from_secs(10);
