//! The daemon of one agent: the way of a message, wired.
//!
//! ```text
//! NATS ─▶ intake (verify workers) ─▶ heart (Node) ─▶ journal (fdatasync) ─▶ effects ─▶ NATS
//!                                      ▲                                      │
//!                            sockets ──┘◀─────────────────────────────────────┘
//! ```

mod agent;
mod answer;
mod card;
mod carrying;
mod condition;
mod connect;
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
mod nearest;
mod outbox;
mod peers;
mod people;
mod person;
mod quarantine;
mod reach;
mod reload;
mod sending;
mod serve;
mod status;
mod told;
mod watchdog;

pub(crate) use connect::transport;
pub use decision::verify as verify_decision;
pub use serve::{Done, Serve};

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Mode;
use signet_api::Role;
use signet_audit::LogError;
use signet_proto::carrier::Routes;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tracing::{error, info, warn};

use crate::attention::{Audience, NotifyHook, SystemJournal};
use crate::carrier::{Carriers, Reading};
use crate::config::{Config, ConfigError};
use crate::control::{Address, Caller, Server, ServerError};
use crate::effects::Effects;
use crate::hint::typed;
use crate::home::Home;
use crate::lock::{HomeLock, LockError};
use crate::manager::Manager;
use crate::memory::{self, Memory, MemoryError};
use crate::private::PrivateError;
use crate::state::{Keeper, StateError};

use carrying::Carrying;
use connect::{Connected, connect, servers_of, warn_without_a_server};
use heart::{Asked, Heart};
use journal::Journal;
use months::Months;

/// How much longer the service manager waits for a start that waits for room on the disk; said anew each second.
const LONGER: Duration = Duration::from_secs(30);
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
            Self::Log(error) => memory::next_for_log(error),
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

/// Runs the daemon of `home` until SIGTERM, SIGINT or `asked`.
///
/// # Errors
/// What stood in the way of the start, or the write to the log that failed.
pub async fn run(home: &Home, asked: impl Future<Output = ()>) -> Result<(), DaemonError> {
    let manager = Manager::of_environment();
    run_over(home, Carried::AsConfigured, &manager, asked).await
}

/// By what a daemon is carried.
pub enum Carried {
    /// By what its configuration names: NATS.
    AsConfigured,
    /// By these, and to each peer as the routes say.
    By(Carriers, Vec<Reading>, Routes),
}

/// Runs the daemon of `home` over the given carriers until SIGTERM, SIGINT or `asked`, and tells `manager` how it
/// does.
///
/// # Errors
/// As for [`run`].
pub async fn run_over(
    home: &Home,
    carried: Carried,
    manager: &Manager,
    asked: impl Future<Output = ()>,
) -> Result<(), DaemonError> {
    // The terminal that started the daemon may close; the daemon stays, and reads its configuration anew.
    let hangups = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

    let config = Config::load(home)?;
    let lock = Arc::new(HomeLock::acquire_to_run(home)?);
    if config.audit_access.mode & memory::GROUP_READS != 0 {
        // In a sandbox no chmod may name the setgid bit that the log's directory inherits: it has to be made right.
        // Every other file is made for its owner alone by its own mode.
        rustix::process::umask(Mode::RWXO | Mode::WGRP);
    }
    let mut stop = pin!(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = asked => {}
        }
    });
    let mut memory = open_when_there_is_room((&lock, &config), manager, stop.as_mut()).await?;
    if memory.node.identity().control.is_none() {
        warn!(
            "there is no keys/control.json: nobody can approve or pause, and nobody can read sealed \
             messages in the log; next: {}",
            typed("signet key rotate control")
        );
    }
    let agent = config.agent.agent.clone();
    let (view, views) = watch::channel(memory.node.trust().clone());
    let (connected, routes, ways) = match carried {
        Carried::By(carriers, readings, routes) => {
            let ways = format!("carrier of {carriers:?}");
            let foreign = BTreeMap::new();
            let connected = Connected {
                carriers,
                readings,
                foreign,
            };
            (connected, routes, ways)
        }
        Carried::AsConfigured => {
            let connected = connect(&config).await?;
            (connected, config.carriers.routes(), servers_of(&config))
        }
    };
    memory.node.set_routes(routes.clone());
    let Connected {
        carriers,
        readings,
        foreign,
    } = connected;
    let own = config.carrier_socket.as_ref();
    let dials_out = own.is_some_and(|own| carrying::dials_out(&own.addresses));
    let carrying = Carrying::new(foreign, (routes, dials_out), views.clone());
    let (deeds, allowed) = mpsc::channel(DEEDS);
    let keeper = Keeper::start(memory.store)?;
    let journal = Journal::start(memory.log, deeds, keeper.snapshots())?;
    let (handed, told) = mpsc::channel(DEEDS);
    let hook = NotifyHook::start(home, config.notify.clone());
    let audience = Audience::new(SystemJournal::of_environment(), hook.clone());
    let effects = Effects::new(carriers.clone(), view, handed, audience);
    let effects = tokio::spawn(effects.run(allowed));
    let taken = intake::start(readings, views);
    let (calls, called) = mpsc::channel(CALLS);
    let servers = listen(&config, &lock)?;
    let (found, faults) = mpsc::channel(1);
    let months = Months::watch(home, &config, found)?;
    let (probes, probed) = mpsc::channel(1);
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
        (carriers.clone(), told, carrying),
        Arc::clone(&lock),
        (memory.told, keeper.rows()),
        faults,
        (config.clone(), ways, manager.clone(), hook),
    );
    heart.log_fault = memory.log_fault;
    heart.resume().await;
    heart.tell_manager();
    // Keys are loaded, the log is proved and locked, the sockets are open. Nobody waits for a server.
    manager.ready();
    if let Some(span) = manager.watchdog() {
        tokio::spawn(watchdog::watch(
            manager.clone(),
            span,
            probes,
            carriers.clone(),
        ));
    }
    tokio::spawn(warn_without_a_server(carriers.clone()));
    info!(%agent, socket = %config.control_socket.display(), "running");
    let asked = Asked {
        calls: called,
        hangups,
        probes: probed,
    };
    heart.run(taken, asked, stop).await;
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
    manager.flush().await;
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
    let carrier = config.carrier_socket.as_ref().map(|socket| Address {
        path: socket.path.clone(),
        access: socket.access.clone(),
        caller: Caller {
            role: Role::Carrier,
            reach: Arc::new(socket.reach.clone()),
        },
    });
    let addresses = std::iter::once(person).chain(agent).chain(carrier);
    addresses
        .map(|address| Server::bind(address, lock))
        .collect()
}

/// A full disk at the start is waited out as one in mid-run is, and whoever stops the daemon meanwhile
/// hears in both cases that it was full.
async fn open_when_there_is_room(
    (lock, config): (&HomeLock, &Config),
    manager: &Manager,
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
            error!(error = %full, "refusing to start before there is room: home and log need 5 MiB; trying every second");
            manager.status(condition::FULL);
        }
        manager.wait_longer(LONGER);
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
            () = stop.as_mut() => return Err(full),
        }
    }
}
