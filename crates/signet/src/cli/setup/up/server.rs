//! A NATS server of a home's own: with logins, a store below the home, and a process that `signet up`
//! starts and `signet down` ends.

mod address;
mod hub_log;
mod leaf;
mod logins;
mod process;
mod version;

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use signet_driver::find_nats_server;
use signet_proto::ids::AgentId;
use zeroize::Zeroizing;

use super::config::servers_of;
use super::removal::remove;
use crate::cli::CliError;
use crate::cli::nats::conf::{SERVER_NAME, ServerConf, User, is_quotable};
use crate::cli::nats::hub::line::HubAccess;
use crate::cli::nats::key;
use crate::disk_space;
use crate::files::private;
use crate::home::Home;

pub(super) use address::USUAL;
use address::free;
pub(in crate::cli) use address::speaks_nats;
pub(in crate::cli::setup) use hub_log::HubState;
pub(in crate::cli) use logins::LoginResult;
pub(super) use process::ServerStart;
pub(in crate::cli::setup) use version::too_old_for_leaf;

/// The server of one home.
pub(in crate::cli) struct OwnServer {
    directory: PathBuf,
}

/// What is kept of it beside its configuration.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Facts {
    /// HOST:PORT.
    listen: String,
    /// The public key of who makes the mailboxes.
    admin: String,
    /// Each agent's public key.
    users: BTreeMap<AgentId, String>,
    /// The hub that it is a leaf of; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hub: Option<HubAccess>,
}

impl OwnServer {
    /// The server of `home`, if it has one.
    pub(in crate::cli) fn of(home: &Home) -> Option<Self> {
        let server = Self::at(home);
        server.facts_file().exists().then_some(server)
    }

    /// The server of `home`, if it has one, and its configuration names no other: a home may have moved to another since.
    pub(super) fn used_by(home: &Home) -> Result<Option<Self>, CliError> {
        let Some(own) = Self::of(home) else {
            return Ok(None);
        };
        let url = own.url()?;
        let is_used = servers_of(home)?.is_none_or(|servers| servers == [url]);
        Ok(is_used.then_some(own))
    }

    /// Makes the directory of a new one that listens at `listen`, or at a free port on loopback.
    pub(super) fn create(home: &Home, listen: Option<&str>) -> Result<Self, CliError> {
        let server = Self::at(home);
        if !server.directory.to_str().is_some_and(is_quotable) {
            let what = format!(
                "{}: a NATS server cannot be told of this path",
                home.path().display()
            );
            let next = "name a home without quotes, \\ and $; or a server: --nats URL";
            return Err(CliError::usage(what, next));
        }
        program()?;
        let listen = match listen {
            Some(listen) => free(listen)?,
            // Prefer the usual port, where other tools look. If it is taken, any port will do, because the
            // agent's configuration names it.
            None => free(USUAL).or_else(|_| free("127.0.0.1:0"))?,
        };
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&server.directory);
        made.map_err(|error| unwritten(&server.directory, &error))?;
        let facts = Facts {
            listen,
            admin: server.administrator()?,
            users: BTreeMap::new(),
            hub: None,
        };
        server.write(&facts)?;
        Ok(server)
    }

    /// The public key of who makes the mailboxes; its seed is made where it is missing.
    fn administrator(&self) -> Result<String, CliError> {
        let seed = self.admin_seed();
        match seed.exists() {
            true => key::read_or(&seed, || key::made_anew(&seed)),
            false => key::make(&seed),
        }
    }

    /// Lets it listen somewhere else from its next start on.
    pub(super) fn listen_at(&self, listen: &str) -> Result<(), CliError> {
        let mut facts = self.facts()?;
        let any = listen.strip_suffix(":0");
        let any = any.is_some_and(|host| {
            facts
                .listen
                .rsplit_once(':')
                .is_some_and(|(has, _)| has == host)
        });
        if facts.listen == listen || any {
            return Ok(());
        }
        if self.is_running() {
            let what = format!(
                "the NATS server of this home runs, and listens at {}",
                facts.listen
            );
            let next = "signet down  # ends it; whoever was invited by the old address needs a new line then";
            return Err(CliError::refused(what, next));
        }
        facts.listen = free(listen)?;
        self.write(&facts)
    }

    /// The address for agents of this machine, such as `nats://127.0.0.1:4222`; one that listens everywhere is
    /// reached by loopback here.
    pub(in crate::cli) fn url(&self) -> Result<String, CliError> {
        let listen = self.facts()?.listen;
        let everywhere = listen.parse::<SocketAddr>().ok();
        let everywhere = everywhere.filter(|address| address.ip().is_unspecified());
        Ok(match everywhere {
            Some(address) if address.is_ipv6() => format!("nats://[::1]:{}", address.port()),
            Some(address) => format!("nats://127.0.0.1:{}", address.port()),
            None => format!("nats://{listen}"),
        })
    }

    /// Removes its configuration, logins, log and mailboxes; it does not run. Files that others have put beside them stay.
    pub(super) fn remove(&self) -> Result<(), CliError> {
        let named = |name: &str| self.directory.join(name);
        for log in self.full_logs() {
            remove(&log)?;
        }
        for name in ["store", PID, "server.log"] {
            remove(&named(name))?;
        }
        remove(&self.conf_file())?;
        self.remove_leaf()?;
        remove(&self.admin_seed())?;
        // The list of logins goes last: by it the next run finds what an interrupted one has left.
        remove(&self.facts_file())?;
        // Where anything else lies there, the directory stays.
        let _ = std::fs::remove_dir(&self.directory);
        Ok(())
    }

    /// Where it listens, if others than this machine can reach it there.
    pub(super) fn listens_beyond(&self) -> Result<Option<String>, CliError> {
        let listen = self.facts()?.listen;
        // A host name that does not resolve is no error here: the server reports it when it has to listen there.
        let mut places = listen.to_socket_addrs().into_iter().flatten();
        let is_beyond = places.any(|place| !place.ip().to_canonical().is_loopback());
        Ok(is_beyond.then_some(listen))
    }

    /// The file that tells a server process how to run.
    pub(in crate::cli) fn conf_file(&self) -> PathBuf {
        self.directory.join("server.conf")
    }

    fn at(home: &Home) -> Self {
        // Use one path however the home is spelt: the server's process is recognized by the path of its configuration.
        let path = std::fs::canonicalize(home.path()).or_else(|_| std::path::absolute(home.path()));
        let path = path.unwrap_or_else(|_| home.path().to_owned());
        Self {
            directory: path.join("nats"),
        }
    }

    fn facts_file(&self) -> PathBuf {
        self.directory.join("server.json")
    }

    /// The file with the seed of who makes the mailboxes.
    pub(in crate::cli) fn admin_seed(&self) -> PathBuf {
        self.directory.join("admin.nk")
    }

    /// The server's log.
    pub(in crate::cli::setup) fn log_file(&self) -> PathBuf {
        self.directory.join("server.log")
    }

    /// The log files that were full, oldest first: the server puts the date behind their name.
    fn full_logs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten();
        let paths = entries.flatten().map(|entry| entry.path());
        let is_full = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            let date = name.and_then(|name| name.strip_prefix("server.log."));
            let is_date = |date: &str| {
                date.bytes()
                    .all(|byte| byte == b'.' || byte.is_ascii_digit())
            };
            date.is_some_and(is_date) && path.symlink_metadata().is_ok_and(|facts| facts.is_file())
        };
        let mut logs: Vec<PathBuf> = paths.filter(is_full).collect();
        logs.sort_unstable();
        logs
    }

    fn facts(&self) -> Result<Facts, CliError> {
        let path = self.facts_file();
        let text = private::read(&path)?;
        serde_json::from_str(&text).map_err(|_| {
            let what = format!("{} is not what signet up wrote", path.display());
            let next = "put it back from a backup, or name a server: signet up --nats URL";
            CliError::usage(what, next)
        })
    }

    fn write(&self, facts: &Facts) -> Result<(), CliError> {
        let users = facts.users.iter().map(|(agent, nkey)| User {
            agent: agent.clone(),
            nkey: nkey.clone(),
        });
        let users: Vec<User> = users.collect();
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let (pid, log) = (text(self.directory.join(PID)), text(self.log_file()));
        self.write_leaf(facts)?;
        let household = facts.hub.as_ref().map(|hub| hub.household.as_str());
        let server = ServerConf {
            // At a hub servers of one name, or mailboxes of one domain, would be taken for each other.
            name: household.unwrap_or(SERVER_NAME),
            domain: household,
            include: household.map(|_| leaf::LEAF),
            listen: &facts.listen,
            store: &text(self.directory.join("store")),
            admin: &facts.admin,
            users: &users,
            system: None,
            // Reserve room for all agents from the start: a running server takes over new users on a reload, but
            // no new limit of its store.
            shares: SHARES,
            files: Some((&pid, &log)),
        };
        // Write the server's configuration first, and the list of its logins last: after a crash in between, the list lacks the
        // new login, and the next command writes both files again.
        private::replace(&self.conf_file(), server.render().as_bytes())?;
        let text = Zeroizing::new(serde_json::to_vec_pretty(facts).unwrap_or_default());
        private::replace(&self.facts_file(), &text)?;
        match &facts.hub {
            Some(_) => Ok(()),
            None => self.remove_leaf(),
        }
    }
}

/// The `nats-server` of this machine.
pub(in crate::cli) fn program() -> Result<PathBuf, CliError> {
    find_nats_server(Path::new("/usr/local/bin")).map_err(|_| {
        let what = "there is no nats-server on this machine: none where NATS_SERVER says, beside signet, or in PATH and /usr/sbin";
        let next = "install it (apt-get install nats-server, or nats.io/download), or use one that runs: \
                    signet up --nats URL";
        CliError::not_reachable(what, next)
    })
}

/// The file that cannot be written.
fn unwritten(path: &Path, error: &std::io::Error) -> CliError {
    let what = format!("{} cannot be made: {error}", path.display());
    let next = match disk_space::is_full(error) {
        true => disk_space::make_room(path),
        false => "name another home with --home, whose parent you may write to".to_owned(),
    };
    CliError::file(error, what, next)
}

/// For how many agents a home's own server has room.
const SHARES: usize = 16;
const PID: &str = "server.pid";
