//! The keeper of a home's NATS server, and the command to type when the server does not let the agent in or has no mailbox
//! for it.

use signet_transport::Error;

use crate::carrier::nats_config;
use crate::cli::setup::install;
use crate::cli::setup::up::server::OwnServer;
use crate::config::{Config, NatsLogin};
use crate::hint::{DaemonKeeper, as_root, quoted};
use crate::home::Home;

/// The next step where a server does not let this agent in.
pub(crate) fn next_for(home: &Home, config: &Config, error: &Error) -> String {
    let keeper = ServerKeeper::of(home, config);
    let next = match (error, &keeper) {
        (Error::Unreachable { .. }, ServerKeeper::Home(up)) => {
            return format!("{up}  # starts the server of this home");
        }
        (Error::Unreachable { .. }, ServerKeeper::Machine(_)) => {
            return as_root("systemctl start signet-nats.service");
        }
        (Error::LoginRefused { .. }, ServerKeeper::Home(up)) => {
            return format!("signet down --keep-nats && {up}  # gives this agent its login again");
        }
        (Error::LoginRefused { .. }, ServerKeeper::Machine(install)) => {
            return format!("{install}  # gives this agent its login again");
        }
        (Error::Unreachable { .. }, _) => {
            "start the server, or correct `servers` in [nats] of config.toml or the variable NATS_URL"
        }
        (Error::LoginRefused { .. }, _) => match config.nats.login {
            NatsLogin::Creds(_) => {
                "ask the keeper of the account for a new credentials file (nsc generate creds), and put it in the place of the one that \
                 `creds` in [nats] of config.toml names"
            }
            NatsLogin::User { .. } => "correct `user` and `password-file` in [nats] of config.toml",
            NatsLogin::None | NatsLogin::Nkey(_) => {
                "signet nats key  # prints the name that the server's configuration has to hold: signet nats config"
            }
        },
        (Error::Tls { .. }, _) if config.nats.tls_client.is_none() => {
            "correct `ca` in [nats.tls] of config.toml; where the server asks for a certificate, name the agent's as `cert` and `key` there"
        }
        (Error::Tls { .. }, _) => "correct `ca`, `cert` and `key` in [nats.tls] of config.toml",
        (error, _) => nats_config::next(error),
    };
    next.to_owned()
}

/// Whether the home logs in as `signet up --login` and `signet nats key` have it.
pub(crate) fn is_by_nkey(config: &Config) -> bool {
    matches!(config.nats.login, NatsLogin::None | NatsLogin::Nkey(_))
}

/// The command that makes the missing mailbox of the agent.
pub(crate) fn next_for_mailbox(home: &Home, config: &Config) -> String {
    ServerKeeper::of(home, config).mailbox(config)
}

/// The command that starts the daemon and the own NATS server of a home, where one of them does not run.
pub(crate) fn starts(home: &Home) -> &'static str {
    match DaemonKeeper::of(home.path()) {
        DaemonKeeper::UserUnit(_) => "signet up",
        DaemonKeeper::ByHand
        | DaemonKeeper::Up
        | DaemonKeeper::Background(_)
        | DaemonKeeper::SystemUnit(_) => "signet up --background",
    }
}

/// The keeper of a home's NATS server, with the command to type.
pub(super) enum ServerKeeper {
    /// `signet up`, in this home.
    Home(&'static str),
    /// `signet install`, on this machine.
    Machine(String),
    /// Somebody else.
    Other,
}

impl ServerKeeper {
    fn of(home: &Home, config: &Config) -> Self {
        let servers = &config.nats.servers;
        if Self::own(home, config).is_some() {
            return Self::Home(starts(home));
        }
        let is_ours = servers
            .iter()
            .any(|server| server.ends_with(install::LISTEN));
        match DaemonKeeper::of(home.path()) {
            DaemonKeeper::SystemUnit(_) if is_ours && install::keeps_server() => {
                let agent = &config.agent;
                Self::Machine(as_root(&format!(
                    "signet install --agent {} --principal {}",
                    agent.agent, agent.principal
                )))
            }
            _ => Self::Other,
        }
    }

    /// The home's own server, if the configuration names that one alone: otherwise somebody else may have to mend what is wrong.
    pub(super) fn own(home: &Home, config: &Config) -> Option<OwnServer> {
        let own = OwnServer::of(home)?;
        (config.nats.servers == [own.url().ok()?]).then_some(own)
    }

    /// The command that makes the mailbox of the agent on these servers.
    pub(super) fn mailbox(&self, config: &Config) -> String {
        match self {
            Self::Home(up) => format!("{up}  # makes it on the server of this home"),
            Self::Machine(install) => {
                format!("{install}  # makes it on the server of this machine")
            }
            Self::Other => format!(
                "signet nats setup {} --server {}  # with an administrator's login: --nkey or --creds",
                config.agent.agent,
                quoted(&config.nats.servers.join(","))
            ),
        }
    }
}
