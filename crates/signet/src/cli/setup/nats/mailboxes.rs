//! Mailboxes on a NATS server: made or brought in line, and why there are none.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use signet_proto::ids::AgentId;
use signet_transport::{
    AgentPlace, ConnectionConfig, Error, Login, Mailbox, SetupReport, StreamOptions, set_up,
};

use super::CliError;
use crate::render;

/// Why a command of this process did not get what it asked a NATS server for.
pub(crate) enum BrokerFault {
    /// The server cannot be reached, or refuses.
    Server(Error),
    /// The system failed this process before the server was asked.
    System(io::Error),
}

/// Waits for what is asked of a server, in this thread.
pub(crate) fn wait_for<T>(asked: impl Future<Output = Result<T, Error>>) -> Result<T, BrokerFault> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let answered = runtime.map_err(BrokerFault::System)?.block_on(asked);
    answered.map_err(BrokerFault::Server)
}

impl BrokerFault {
    /// The failure of a command that was to make the mailboxes and nothing else.
    pub(crate) fn told(self) -> CliError {
        match self {
            Self::Server(error) => refused(error),
            Self::System(error) => CliError::refused(error, "try again"),
        }
    }
}

/// The connection of whoever makes the mailboxes on `servers`, without a login yet; `name` is what the server's
/// monitoring shows.
pub(crate) fn administrator(servers: Vec<String>, name: &str) -> ConnectionConfig {
    let mut config = ConnectionConfig::new(servers, "agent.admin.inbox", "_INBOX_admin");
    name.clone_into(&mut config.name);
    config
}

/// The same as [`make`] on a server of one's own, with the seed in that file: one that was just started takes a
/// moment.
pub(crate) fn make_patiently(
    url: String,
    name: &str,
    seed: PathBuf,
    agents: &[AgentId],
) -> Result<(), CliError> {
    let mut config = administrator(vec![url], name);
    config.login = Login::NkeySeedFile(seed);
    let start = Instant::now();
    loop {
        match make(&config, agents, &MailboxOptions::default()) {
            Ok(_) => return Ok(()),
            // Try again after any error: a server that was just started or reloaded may refuse a login that it
            // accepts a moment later.
            Err(_) if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(100)),
            Err(fault) => return Err(fault.told()),
        }
    }
}

/// The settings of mailboxes that a person may choose.
#[derive(Default)]
pub(crate) struct MailboxOptions {
    /// Of the stream that holds them.
    pub(crate) stream: StreamOptions,
    /// The JetStream domain that it lies in, where it is not the server's own.
    pub(crate) domain: Option<String>,
}

/// Makes the mailboxes of `agents`, or brings them in line.
pub(crate) fn make(
    config: &ConnectionConfig,
    agents: &[AgentId],
    options: &MailboxOptions,
) -> Result<SetupReport, BrokerFault> {
    let place = |agent: &AgentId| AgentPlace {
        inbox: render::inbox_subject(agent),
        mailbox: Mailbox::of(agent.as_str()).in_domain(options.domain.clone()),
    };
    let places: Vec<AgentPlace> = agents.iter().map(place).collect();
    wait_for(set_up(config, &places, options.stream))
}

fn refused(error: Error) -> CliError {
    let next = match &error {
        Error::Unreachable { .. } => {
            return CliError::not_reachable(&error, "name the server with --server or NATS_URL");
        }
        Error::LoginFile { .. } | Error::TlsFile { .. } => {
            return CliError::usage(&error, "name the right file");
        }
        Error::Setting { .. } => {
            let next = "correct --server, NATS_URL or the context: bare addresses, the login by --nkey or --creds";
            return CliError::usage(&error, next);
        }
        Error::NoRoom { .. } => {
            "give the server more (max_file in its jetstream block, then start it again), or each mailbox less: --mailbox-mib 16"
        }
        Error::NoCluster { .. } => {
            "leave --replicas out on a server that stands alone; docs/scale.md has the configuration of three that are one"
        }
        Error::NoPeers { .. } => {
            "start as many servers as replicas, each with a jetstream block; or ask for fewer: --replicas 3"
        }
        Error::NoLeader { .. } => {
            "wait some seconds and try again; most of the cluster's servers have to be up"
        }
        Error::TooManyMailboxes { .. } => {
            "give the server a higher limit, or further agents another server: docs/scale.md"
        }
        Error::Tls { .. } => {
            "name the home whose [nats.tls] has `ca`, `cert` and `key`: --home DIR; or a context that names them: --context NAME"
        }
        Error::Setup { .. } => {
            "is JetStream enabled for the account, may this login use $JS.API.> (signet nats config), and are most of a cluster's \
             servers up? If config.toml names a `domain`, the check `domain` of signet doctor says whether it answers"
        }
        Error::LoginRefused { .. } => "give --nkey or --creds of an administrator of the server",
        Error::Disconnected
        | Error::Closed
        | Error::Stale
        | Error::TooLarge { .. }
        | Error::Subject { .. }
        | Error::Undrained => "give --server, and --nkey or --creds of an administrator",
    };
    CliError::refused(&error, next)
}

const PATIENCE: Duration = Duration::from_secs(10);
