//! The daemon of one agent: the way of a message, wired.
//!
//! ```text
//! NATS ─▶ intake (verify workers) ─▶ heart (Node) ─▶ journal (fdatasync) ─▶ effects ─▶ NATS
//!                                      ▲                                      │
//!                            sockets ──┘◀─────────────────────────────────────┘
//! ```

mod agent;
mod answer;
mod decision;
mod drafts;
mod handoffs;
mod heart;
mod inbox;
mod intake;
pub mod journal;
mod keys;
mod listing;
mod methods;
mod months;
mod outbox;
mod peers;
mod people;
mod quarantine;
mod reach;
mod sending;
mod serve;
mod status;

pub use decision::{Sign, verify as verify_decision};
pub use reach::{May, Reach};
pub use serve::{Done, Serve};

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use signet_api::Role;
use signet_audit::LogError;
use signet_proto::carrier::{CarrierId, Routes};
use signet_transport::{Config as NatsConfig, Login, Mailbox, Secret, Tls};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::{error, info, warn};

use crate::carrier::{self, Carriers, Reading};
use crate::clock;
use crate::config::{Config, ConfigError, MailboxMode, NatsLogin};
use crate::control::{Address, Caller, Server, ServerError};
use crate::effects::Effects;
use crate::home::Home;
use crate::lock::{HomeLock, LockError};
use crate::memory::{self, Memory, MemoryError};
use crate::private::{self, PrivateError};
use crate::render;
use crate::state::{Keeper, StateError};

use decision::Decisions;
use heart::Heart;
use journal::Journal;
use months::Months;

/// How long the service manager waits for the first connection before it hears of readiness anyway:
/// an agent starts without its server.
const FIRST_CONNECTION: Duration = Duration::from_secs(5);
/// How many groups of deeds may wait to be performed.
const DEEDS: usize = 64;
/// How many calls of all sockets may wait.
const CALLS: usize = 64;

/// The daemon could not start, or could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DaemonError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Another daemon runs here.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Keys or log.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A file of the NATS login.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// How to reach the NATS server.
    #[error(transparent)]
    Nats(#[from] signet_transport::Error),
    /// The control socket.
    #[error(transparent)]
    Control(#[from] ServerError),
    /// A write to the log failed: nothing was answered since, and nothing will be.
    #[error("the log: {0}")]
    Log(#[from] LogError),
    /// The system.
    #[error("the system refused: {0}")]
    System(#[from] std::io::Error),
}

impl DaemonError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Config(error) => error.next(),
            Self::Lock(error) => error.next(),
            Self::Private(error) => error.next(),
            Self::Control(error) => error.next(),
            Self::Memory(error) => error.next(),
            Self::Nats(error) => next_for_nats(error).to_owned(),
            Self::Log(_) => memory::DISK.to_owned(),
            Self::System(_) => "see to memory, threads and files, then start again".to_owned(),
        }
    }
}

/// What to do about settings of the connection that no later try mends.
pub(crate) fn next_for_nats(error: &signet_transport::Error) -> &'static str {
    let by_variable = std::env::var("NATS_URL").is_ok_and(|urls| !urls.trim().is_empty());
    match error {
        signet_transport::Error::Setting {
            setting: "servers", ..
        } if by_variable => {
            "correct the variable NATS_URL, which comes before [nats]: bare addresses, such as nats://127.0.0.1:4222; the login stands in [nats]"
        }
        signet_transport::Error::Setting {
            setting: "servers", ..
        } => {
            "correct `servers` in [nats] of config.toml: bare addresses, such as nats://127.0.0.1:4222"
        }
        signet_transport::Error::LoginFile { .. } | signet_transport::Error::TlsFile { .. } => {
            "put the right file there, or correct its path in [nats] of config.toml"
        }
        _ => "correct [nats] in config.toml",
    }
}

/// Runs the daemon of `home` until SIGTERM or SIGINT.
///
/// # Errors
/// What stood in the way of the start, or the write to the log that failed.
pub async fn run(home: &Home) -> Result<(), DaemonError> {
    run_over(home, Carried::AsConfigured, std::future::pending()).await
}

/// By what a daemon is carried.
pub enum Carried {
    /// By what its configuration names: NATS.
    AsConfigured,
    /// By these, and to each peer as the routes say.
    By(Carriers, Vec<Reading>, Routes),
}

/// Runs the daemon of `home` over the given carriers until SIGTERM, SIGINT or `asked`.
///
/// # Errors
/// As for [`run`].
pub async fn run_over(
    home: &Home,
    carried: Carried,
    asked: impl Future<Output = ()>,
) -> Result<(), DaemonError> {
    // The terminal that started the daemon may close; the daemon stays.
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move { while hangup.recv().await.is_some() {} });
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

    let config = Config::load(home)?;
    let lock = Arc::new(HomeLock::acquire(home)?);
    let mut stop = pin!(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = asked => {}
        }
    });
    let mut memory = open_when_there_is_room(&lock, &config, stop.as_mut()).await?;
    if memory.node.identity().control.is_none() {
        warn!(
            "there is no keys/control.json: nobody can approve or pause, and nobody can read sealed \
             messages in the log; make it with: signet key rotate control"
        );
    }
    let agent = config.agent.agent.clone();
    let (view, views) = watch::channel(memory.node.trust().clone());
    let (carriers, readings) = match carried {
        Carried::By(carriers, readings, routes) => {
            memory.node.set_routes(routes);
            (carriers, readings)
        }
        Carried::AsConfigured => connect(&config).await?,
    };
    let (deeds, allowed) = mpsc::channel(DEEDS);
    let keeper = Keeper::start(memory.store)?;
    let journal = Journal::start(memory.log, deeds, keeper.snapshots())?;
    let (handed, told) = mpsc::channel(DEEDS);
    let effects = tokio::spawn(Effects::new(carriers.clone(), view, handed).run(allowed));
    let taken = intake::start(readings, views);
    let (calls, called) = mpsc::channel(CALLS);
    let servers = listen(&config, &lock)?;
    let (found, faults) = mpsc::channel(1);
    let months = Months::watch(home, &config, found)?;
    let (stopping, stopped) = watch::channel(false);
    let served = servers.into_iter().map(|server| {
        let mut stopped = stopped.clone();
        let stop = async move { drop(stopped.wait_for(|stop| *stop).await) };
        tokio::spawn(server.serve(calls.clone(), stop))
    });
    let served: Vec<_> = served.collect();
    drop((calls, stopped));
    let mut heart = Heart::new(
        memory.node,
        &journal,
        carriers.clone(),
        told,
        Arc::clone(&lock),
        (memory.told, keeper.rows()),
        (
            faults,
            config.audit_dir.clone(),
            Decisions::new(config.people_sign, clock::now()),
        ),
    );
    heart.resume().await;

    let ready = carriers.clone();
    tokio::spawn(async move {
        if let Err(error) = ready.ready(FIRST_CONNECTION).await {
            warn!(%error, "no NATS server yet; trying on");
        }
        // Without a service manager there is nobody to tell.
        let _ = sd_notify::notify(&[sd_notify::NotifyState::Ready]);
    });
    info!(%agent, socket = %config.control_socket.display(), "running");
    heart.run(taken, called, stop).await;
    drop((heart, months));
    let written = journal.close().await;
    keeper.close().await;
    // The journal has closed the deeds, so this ends when the last one is performed.
    let _ = effects.await;
    for (carrier, error) in carriers.drain().await {
        info!(%carrier, %error, "the connection was not drained");
    }
    stopping.send_replace(true);
    for server in served {
        let _ = server.await;
    }
    drop(lock);
    written?;
    info!(%agent, "stopped");
    Ok(())
}

/// One socket a role: who asks is told by the socket that a call comes by, never by the call.
fn listen(config: &Config, lock: &HomeLock) -> Result<Vec<Server>, ServerError> {
    let person = Address {
        path: config.control_socket.clone(),
        access: config.control_access.clone(),
        caller: Caller {
            role: Role::Person,
            reach: Arc::default(),
        },
    };
    let agent = config.agent_socket.as_ref().map(|socket| Address {
        path: socket.path.clone(),
        access: socket.access.clone(),
        caller: Caller {
            role: Role::Agent,
            reach: Arc::new(socket.reach.clone()),
        },
    });
    if agent.is_none() {
        warn!("the path of this home is too long for agent.sock; set `socket` in [agent-socket]");
    }
    let addresses = std::iter::once(person).chain(agent);
    addresses
        .map(|address| Server::bind(address, lock))
        .collect()
}

/// The carriers that the configuration names.
async fn connect(config: &Config) -> Result<(Carriers, Vec<Reading>), DaemonError> {
    let (nats, source) = carrier::nats(transport(config)?).await?;
    let reading = Reading {
        id: CarrierId::NATS,
        address: render::inbox_subject(&config.agent.agent),
        source,
    };
    Ok((Carriers::of([(CarrierId::NATS, nats)]), vec![reading]))
}

/// A full disk at the start is waited out as one in mid-run is, and whoever stops the daemon meanwhile
/// hears in both cases that it was full.
async fn open_when_there_is_room(
    lock: &HomeLock,
    config: &Config,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Memory, MemoryError> {
    let mut told = false;
    loop {
        let full = match Memory::open(lock, config) {
            Err(
                error
                @ (MemoryError::Log(LogError::Full(_)) | MemoryError::State(StateError::Full)),
            ) => error,
            opened => return opened,
        };
        if !std::mem::replace(&mut told, true) {
            error!(error = %full, "refusing to start before there is room; trying every second");
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
            () = stop.as_mut() => return Err(full),
        }
    }
}

/// How the configuration reaches the NATS server; secrets are read.
pub(crate) fn transport(config: &Config) -> Result<NatsConfig, PrivateError> {
    let agent = &config.agent.agent;
    let mut nats = NatsConfig::new(
        config.nats.servers.clone(),
        render::inbox_subject(agent),
        format!("_INBOX_{agent}"),
    );
    nats.name = format!("signet {agent}");
    nats.mailbox = match config.nats.mailbox {
        MailboxMode::Jetstream => Some(Mailbox::of(agent.as_str())),
        MailboxMode::Core => None,
    };
    nats.login = match &config.nats.login {
        NatsLogin::None => Login::None,
        NatsLogin::Creds(file) => Login::CredsFile(file.clone()),
        NatsLogin::Nkey(file) => Login::NkeySeedFile(file.clone()),
        NatsLogin::User {
            user,
            password_file,
        } => {
            let password = private::read(password_file)?;
            Login::UserPassword {
                user: user.clone(),
                password: Secret::from(password.trim_end().to_owned()),
            }
        }
    };
    let (cert, key) = config.nats.tls_client.clone().unzip();
    nats.tls = Tls {
        required: config.nats.tls_required,
        ca: config.nats.tls_ca.clone(),
        cert,
        key,
    };
    Ok(nats)
}
