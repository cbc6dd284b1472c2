//! A NATS server of a home's own: with logins, a store below the home, and a process that `signet up`
//! starts and `signet down` ends.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::{Deserialize, Serialize};
use signet_driver::find_nats_server;
use signet_proto::ids::AgentId;

use crate::cli::CliError;
use crate::cli::nats::conf::{ServerConf, User, is_quotable};
use crate::cli::nats::{key, mailboxes};
use crate::disk_space;
use crate::files::private;
use crate::hint;
use crate::home::Home;

use super::interrupt::Interrupts;

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
}

impl OwnServer {
    /// The server of `home`, if it has one.
    pub(in crate::cli) fn of(home: &Home) -> Option<Self> {
        let server = Self::at(home);
        server.facts_file().exists().then_some(server)
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

    /// The public key by which `agent` logs in, where it has a login.
    pub(in crate::cli) fn login_of(&self, agent: &AgentId) -> Result<Option<String>, CliError> {
        Ok(self.facts()?.users.remove(agent))
    }

    /// Gives `agent` a login by the public key `nkey`, and a mailbox; the server must run.
    pub(in crate::cli) fn admit(
        &self,
        agent: &AgentId,
        nkey: &str,
    ) -> Result<LoginResult, CliError> {
        let mut facts = self.facts()?;
        let before = facts.users.insert(agent.clone(), nkey.to_owned());
        if facts.users.len() > SHARES {
            let what =
                format!("this server has room for {SHARES} agents, and all of it is given away");
            let next = "keep a server for the household: signet nats config --help";
            return Err(CliError::refused(what, next));
        }
        let all: Vec<AgentId> = facts.users.keys().cloned().collect();
        mailboxes::make_patiently(self.url()?, "signet up", self.admin_seed(), &all)?;
        if before.as_deref() == Some(nkey) {
            return Ok(LoginResult::Known);
        }
        // Write the login down only once the mailbox is there: where a step before this fails, nobody gets a login.
        self.write(&facts)?;
        self.signal(Signal::HUP);
        Ok(match before {
            Some(_) => LoginResult::Anew,
            None => LoginResult::New,
        })
    }

    /// Starts it if it does not run. Its process belongs to no terminal; it outlives this one where `interrupts`
    /// keeps it.
    pub(super) fn start(&self, interrupts: &Interrupts) -> Result<ServerStart, CliError> {
        let mut facts = self.facts()?;
        let admin = self.administrator()?;
        let is_new_admin = admin != facts.admin;
        facts.admin = admin;
        if let Some(pid) = self.pid() {
            if is_new_admin {
                self.write(&facts)?;
                self.signal(Signal::HUP);
            }
            return self.wait_for(pid, &facts.listen);
        }
        free(&facts.listen).map_err(|failure| match speaks_nats(&facts.listen) {
            true => taken(&facts.listen),
            false => failure,
        })?;
        // Write the server's configuration anew: the paths in it lead into the home, which may have been moved since.
        self.write(&facts)?;
        let program = program()?;
        let mut command = Command::new(program);
        command.arg("-c").arg(self.conf_file());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = interrupts.start_server(command.process_group(0));
        started.map_err(|error| {
            let next = "is it a program for this machine? NATS_SERVER names another";
            CliError::file(&error, format!("nats-server does not start: {error}"), next)
        })?;
        self.wait(interrupts, &facts.listen)?;
        Ok(ServerStart::Now)
    }

    /// One that runs was perhaps started just now, by a command that was killed.
    fn wait_for(&self, pid: Pid, listen: &str) -> Result<ServerStart, CliError> {
        let start = Instant::now();
        while !speaks_nats(listen) {
            if start.elapsed() > PATIENCE {
                let what = format!(
                    "the NATS server of this home (process {}) runs, and does not answer at {listen}",
                    pid.as_raw_nonzero()
                );
                let next = format!(
                    "tail -n 20 {}  # says more; signet down ends it, then: signet up",
                    hint::word(&self.log_file())
                );
                return Err(CliError::not_reachable(what, next));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(ServerStart::Before)
    }

    /// Ends it, and says whether it ran.
    pub(in crate::cli) fn stop(&self) -> bool {
        let start = Instant::now();
        let mut told = None;
        while let Some(pid) = self.pid().filter(|_| start.elapsed() < PATIENCE) {
            // After one process another may be found: a second server may run by the same configuration, and the file
            // `server.pid` names only one of them.
            if told != Some(pid) && kill_process(pid, Signal::TERM).is_err() {
                break;
            }
            told = Some(pid);
            std::thread::sleep(Duration::from_millis(10));
        }
        told.is_some()
    }

    /// Where it listens, if others than this machine can reach it there.
    pub(super) fn listens_beyond(&self) -> Result<Option<String>, CliError> {
        let listen = self.facts()?.listen;
        // A host name that leads nowhere is no error here; that is told when the server is to listen there.
        let mut places = listen.to_socket_addrs().into_iter().flatten();
        let is_beyond = places.any(|place| !place.ip().to_canonical().is_loopback());
        Ok(is_beyond.then_some(listen))
    }

    /// The file that tells a server process how to run.
    pub(in crate::cli) fn conf_file(&self) -> PathBuf {
        self.directory.join("server.conf")
    }

    pub(in crate::cli) fn is_running(&self) -> bool {
        self.pid().is_some()
    }

    fn at(home: &Home) -> Self {
        // One path however the home is spelt: the server's process is known by the path of its configuration.
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

    fn log_file(&self) -> PathBuf {
        self.directory.join("server.log")
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
        let server = ServerConf {
            listen: &facts.listen,
            store: &text(self.directory.join("store")),
            admin: &facts.admin,
            users: &users,
            system: None,
            // Room for all agents from the start: a running server takes over new users, but no new limit of its store.
            shares: SHARES,
            files: Some((&pid, &log)),
        };
        private::replace(&self.conf_file(), server.render().as_bytes())?;
        let facts = serde_json::to_vec_pretty(facts).unwrap_or_default();
        Ok(private::replace(&self.facts_file(), &facts)?)
    }

    /// Its process, if it runs: the one that was written down, or one that runs by this configuration all the same. The
    /// latter is left where the command that started it was killed, or where a second server wrote its own number down
    /// and ended.
    fn pid(&self) -> Option<Pid> {
        self.written_pid()
            .or_else(|| process_of(&self.conf_file(), "nats-server"))
    }

    /// The process that was written down: a number that some other program has by now is not taken for it.
    fn written_pid(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.directory.join(PID)).ok()?;
        let pid = text.trim().parse::<i32>().ok().and_then(Pid::from_raw)?;
        match words_of(pid) {
            Some(words) => runs_by(&words, &self.conf_file()).then_some(pid),
            None => {
                // Without /proc nobody can tell what a living process runs: where a server answers at the right
                // address, take it for that process.
                let alive = !Path::new("/proc/self").exists() && test_kill_process(pid).is_ok();
                let facts = self.facts().ok().filter(|_| alive)?;
                speaks_nats(&facts.listen).then_some(pid)
            }
        }
    }

    fn signal(&self, signal: Signal) -> bool {
        self.pid()
            .is_some_and(|pid| kill_process(pid, signal).is_ok())
    }

    fn wait(&self, interrupts: &Interrupts, listen: &str) -> Result<(), CliError> {
        let start = Instant::now();
        loop {
            if self.is_running() && speaks_nats(listen) {
                return Ok(());
            }
            let ended = interrupts.server_has_ended();
            if ended || start.elapsed() > PATIENCE {
                let log = self.log_file();
                let said = std::fs::read_to_string(&log).unwrap_or_default();
                let fault = said.lines().rev().find(|line| line.contains("[FTL]"));
                let fault = fault.unwrap_or("it does not listen").trim();
                let what = format!("nats-server ended or never listened: {fault}");
                let next = format!(
                    "tail -n 20 {}  # says more; then: signet up",
                    hint::word(&log)
                );
                return Err(CliError::not_reachable(what, next));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// What became of an agent's login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum LoginResult {
    /// It had none.
    New,
    /// It had another one, which has ended.
    Anew,
    /// It had this one.
    Known,
}

/// Whether the server was started, or ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerStart {
    /// By this command.
    Now,
    /// It ran before.
    Before,
}

/// Whether a NATS server answers at HOST:PORT: it greets whoever connects.
pub(in crate::cli) fn speaks_nats(address: &str) -> bool {
    let addresses = address.to_socket_addrs().into_iter().flatten();
    let greets = |address: SocketAddr| {
        let second = Some(Duration::from_secs(1));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(second).ok()?;
        let mut greeting = [0; 5];
        stream.read_exact(&mut greeting).ok()?;
        (greeting == *b"INFO ").then_some(())
    };
    addresses.filter_map(greets).next().is_some()
}

/// The `nats-server` of this machine.
pub(in crate::cli) fn program() -> Result<PathBuf, CliError> {
    find_nats_server(Path::new("/usr/local/bin")).map_err(|_| {
        let what = "there is no nats-server on this machine: none where NATS_SERVER says, or in PATH and /usr/sbin";
        let next = "install it (apt-get install nats-server, or nats.io/download), or use one that runs: \
                    signet up --nats URL";
        CliError::not_reachable(what, next)
    })
}

/// Checks that HOST:PORT can be listened at; the port 0 becomes a free one.
fn free(listen: &str) -> Result<String, CliError> {
    let busy = |error: std::io::Error| {
        if error.kind() == std::io::ErrorKind::InvalidInput {
            let next = "write HOST:PORT, such as 127.0.0.1:4222";
            return CliError::usage(format!("--listen {listen}: {error}"), next);
        }
        let what = format!("nobody can listen at {listen}: {error}");
        let next = "free the port, or name another: signet up --listen HOST:PORT; or use the server that \
                    is there: signet up --nats URL";
        CliError::refused(what, next)
    };
    let listener = TcpListener::bind(listen).map_err(busy)?;
    let address = listener.local_addr().map_err(busy)?;
    match listen.strip_suffix(":0") {
        Some(host) => Ok(format!("{host}:{}", address.port())),
        None => Ok(listen.to_owned()),
    }
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

/// A NATS server has the address of this home's, and is not known to be this home's.
fn taken(listen: &str) -> CliError {
    let port = listen.rsplit_once(':').map_or(listen, |(_, port)| port);
    let what = format!(
        "a NATS server listens at {listen}, the address of this home's own, and was not started for this home as it is now"
    );
    let next = format!(
        "ss -ltnp 'sport = :{port}'  # shows its process: if it is this home's from before, end it with kill, then: signet \
         up; or name another address: signet up --listen HOST:PORT"
    );
    CliError::refused(what, next)
}

/// The process of this user whose program is called `program` and runs by that configuration.
fn process_of(conf: &Path, program: &str) -> Option<Pid> {
    let me = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.metadata().is_ok_and(|facts| facts.uid() == me));
    let numbers = own.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut pids = numbers.filter_map(Pid::from_raw);
    pids.find(|pid| {
        words_of(*pid).is_some_and(|words| {
            let name = words
                .first()
                .and_then(|path| path.rsplit(|c| *c == b'/').next());
            name.is_some_and(|name| name.starts_with(program.as_bytes())) && runs_by(&words, conf)
        })
    })
}

/// The command line of a process; `None` where there is none, or no /proc.
fn words_of(pid: Pid) -> Option<Vec<Vec<u8>>> {
    let line = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
    Some(line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

fn runs_by(words: &[Vec<u8>], conf: &Path) -> bool {
    let conf = conf.as_os_str().as_encoded_bytes();
    words.get(1).is_some_and(|word| word == b"-c") && words.get(2).is_some_and(|word| word == conf)
}

/// Where a NATS server usually listens.
pub(super) const USUAL: &str = "127.0.0.1:4222";
/// For how many agents a home's own server has room.
const SHARES: usize = 16;
const PATIENCE: Duration = Duration::from_secs(10);
const PID: &str = "server.pid";
