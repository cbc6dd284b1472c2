//! The daemon of one agent: the way of a message, wired.
//!
//! ```text
//! carriers ─▶ intake (verify workers) ─▶ event loop (Node) ─▶ journal (fdatasync) ─▶ effects ─▶ carriers
//!                                          ▲                                           │
//!                     sockets ─▶ calls ────┘                     sockets ◀─────────────┘
//! ```

mod action;
mod batch;
mod calls;
mod carrying;
mod condition;
mod connect;
mod connections;
mod consumers;
mod daemon_state;
mod effects;
mod event_loop;
mod intake;
mod journal;
mod keys;
mod log_view;
mod meters;
mod months;
mod person;
mod settings;
mod watchdog;

pub use calls::decision::verify as verify_decision;
pub use calls::serve::{Handled, Serve};

use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Mode;
use signet_api::Role;
use signet_audit::LogError;
use signet_proto::carrier::Routes;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tracing::{error, info, warn};

use crate::attention::{Audience, NotifyHook, SystemJournal};
use crate::carrier::{CarrierSet, Reading, nats_config};
use crate::clock;
use crate::config::{Config, ConfigError};
use crate::control::{Address, ControlServer, RawCall, ServerError, SocketCaller};
use crate::files::private::PrivateError;
use crate::hint::typed;
use crate::home::Home;
use crate::lock::{HomeLock, LockError};
use crate::manager::Manager;
use crate::memory::{self, Memory, MemoryError};
use crate::reach::Reach;
use crate::state::{Keeper, StateError};

use batch::Appender;
use calls::decision::Decisions;
use carrying::Carrying;
use condition::StatusLine;
use connect::{Connected, connect, warn_without_a_server};
use connections::Connections;
use consumers::Consumers;
use daemon_state::DaemonState;
use effects::Effects;
use event_loop::{EventLoop, Inputs};
use journal::Journal;
use keys::OwnKeys;
use months::Months;
use person::Person;
use settings::LiveConfig;
use watchdog::Probe;

/// How much longer the service manager waits for a start that waits for room on the disk; said anew each second.
const LONGER: Duration = Duration::from_secs(30);
/// How many groups of actions may wait to be performed.
const ACTIONS: usize = 64;
/// How many calls of all sockets may wait.
const CALLS: usize = 64;

/// The daemon could not start, or could not go on.
#[derive(Debug, thiserror::Error)]
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
            Self::Nats(error) => nats_config::next(error).to_owned(),
            Self::Log(error) => memory::next_for_log(error),
            Self::System(_) => "see to memory, threads and files, then start again".to_owned(),
        }
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

/// The carriers that a daemon runs with.
pub enum Carried {
    /// The carriers that its configuration names: NATS.
    AsConfigured,
    /// These carriers, and to each peer the ones that the routes name.
    By(CarrierSet, Vec<Reading>, Routes),
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
    // Catch SIGHUP first of all. It asks for a reload of the configuration, and a closing terminal sends it too: a
    // daemon that does not catch it yet would be ended by it.
    let hangups = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;

    let config = Config::load(home)?;
    let lock = Arc::new(HomeLock::acquire_to_run(home)?);
    if config.audit_access.mode & memory::GROUP_READS != 0 {
        // Let the umask keep the group's right to read: the log's directory needs its final mode when it is made, since a
        // later chmod in a sandbox may lose its setgid bit. All other files are made with a mode for their owner alone.
        rustix::process::umask(Mode::RWXO | Mode::WGRP);
    }
    let mut stop = pin!(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            () = asked => {}
        }
    });
    let memory = open_when_there_is_room(&lock, &config, manager, stop.as_mut()).await?;
    if memory.node.identity().control.is_none() {
        warn!(
            "there is no keys/control.json: nobody can approve or pause, and nobody can read sealed \
             messages in the log; next: {}",
            typed("signet key rotate control")
        );
    }
    let connected = match carried {
        Carried::By(carriers, readings, routes) => Connected {
            servers: format!("carrier of {carriers:?}"),
            carriers,
            readings,
            foreign: BTreeMap::new(),
            routes,
        },
        Carried::AsConfigured => connect(&config).await?,
    };
    let running = Running::start(memory, connected, config, lock, manager.clone(), hangups)?;
    running.until(stop).await
}

/// The parts of a daemon that runs, in the order in which they stop.
struct Running {
    event_loop: EventLoop,
    inputs: Inputs,
    /// Where the watchdog sends its probes.
    probes: mpsc::Sender<Probe>,
    months: Months,
    journal: Journal,
    keeper: Keeper,
    effects: JoinHandle<()>,
    carriers: CarrierSet,
    /// Tells the sockets to close.
    stopping: watch::Sender<bool>,
    served: Vec<JoinHandle<()>>,
    lock: Arc<HomeLock>,
}

impl Running {
    /// Starts every part, and joins them by bounded channels.
    fn start(
        mut memory: Memory,
        connected: Connected,
        config: Config,
        lock: Arc<HomeLock>,
        manager: Manager,
        hangups: Signal,
    ) -> Result<Self, DaemonError> {
        let carriers = connected.carriers;
        memory.node.set_routes(connected.routes.clone());
        // Tell the node that each carrier is down. Otherwise it would believe that the mail of each carrier has been
        // read to its end, and would give up its own messages before the receipts for them are read.
        for carrier in carriers.ids() {
            memory.node.handle_disconnected(carrier, clock::elapsed());
        }
        let (view, views) = watch::channel(memory.node.trust().clone());
        let carrying = Carrying::new(connected.foreign, connected.routes, &config, views.clone());
        let (actions, allowed) = mpsc::channel(ACTIONS);
        let (keeper, meters) = (Keeper::start(memory.store)?, Arc::default());
        let journal = Journal::start(memory.log, actions, keeper.snapshots(), Arc::clone(&meters))?;
        let (told, reports) = mpsc::channel(ACTIONS);
        let hook = NotifyHook::start(lock.home(), config.notify.clone());
        let audience = Audience::new(SystemJournal::of_environment(), hook.clone());
        let effects = Effects::new(carriers.clone(), view, told, audience);
        let effects = tokio::spawn(effects.run(allowed));
        let taken = intake::start(connected.readings, views, Arc::clone(&meters));
        let (calls, called) = mpsc::channel(CALLS);
        let (stopping, served) = serve_sockets(&config, &lock, &calls)?;
        let ((found, faults), (probes, probed)) = (mpsc::channel(1), mpsc::channel(1));
        let months = Months::watch(lock.home(), &config, memory.unread.take(), found)?;
        let (groups, log) = journal.ends(memory.log_fault);
        Ok(Self {
            event_loop: EventLoop {
                journal: Appender::new(groups, memory.told, keeper.size(), Arc::clone(&meters)),
                status: StatusLine::of(manager.clone()),
                manager,
                stopped: false,
                state: DaemonState {
                    node: memory.node,
                    log,
                    keys: OwnKeys::of(Arc::clone(&lock)),
                    connections: Connections::new(carriers.clone(), connected.servers),
                    carrying,
                    consumers: Consumers::new(),
                    decisions: Decisions::new(config.people_sign, clock::now()),
                    person: Person::new(hook),
                    meters,
                    settings: LiveConfig::of(config),
                },
            },
            inputs: Inputs {
                taken,
                calls: called,
                hangups,
                probes: probed,
                reports,
                faults,
            },
            probes,
            months,
            journal,
            keeper,
            effects,
            carriers,
            stopping,
            served,
            lock,
        })
    }

    /// Runs until `stop`, then ends every part: what was taken in is durable, what is allowed is done.
    async fn until(mut self, stop: impl Future<Output = ()>) -> Result<(), DaemonError> {
        let (manager, carriers) = (self.event_loop.manager.clone(), self.carriers);
        let agent = self.event_loop.state.node.identity().agent().clone();
        self.event_loop.resume().await;
        // Say "ready" now: keys are loaded, the log is proved and locked, the sockets are open. Do not wait for a NATS server,
        // since the daemon serves its sockets without one.
        manager.ready();
        if let Some(span) = manager.watchdog() {
            let (manager, carriers) = (manager.clone(), carriers.clone());
            tokio::spawn(watchdog::watch(manager, span, self.probes, carriers));
        }
        tokio::spawn(warn_without_a_server(carriers.clone()));
        info!(%agent, socket = %self.event_loop.state.settings.control_socket().display(), "running");
        let proved = self.event_loop.run(self.inputs, stop).await;
        drop(self.months);
        // Close the journal before `forged` is called: the journal writes the hash trees of the log's months into the
        // anchor as it closes, and `forged` takes them out, so that the next start reads the newest month whole.
        let written = self.journal.close().await;
        let proved = proved.map_err(|error| months::forged(self.lock.home(), error));
        // The journal hands the keeper the last snapshot of the state while it closes, so close the keeper after it.
        self.keeper.close().await;
        // `journal.close()` has ended the channel of actions, so the task of the effects ends after the last action.
        let _ = self.effects.await;
        for (carrier, error) in carriers.drain().await {
            info!(%carrier, %error, "the connection was not drained");
        }
        // Close the sockets last: calls in progress were answered by the effects, and all effects have been performed by now.
        self.stopping.send_replace(true);
        for server in self.served {
            let _ = server.await;
        }
        // Keep the lock until log and state are closed: the next daemon must not write to them before that.
        drop(self.lock);
        manager.flush().await;
        proved?;
        written?;
        info!(%agent, "stopped");
        Ok(())
    }
}

/// Listens at every socket, until the sender that it gives says to stop.
fn serve_sockets(
    config: &Config,
    lock: &HomeLock,
    calls: &mpsc::Sender<RawCall>,
) -> Result<(watch::Sender<bool>, Vec<JoinHandle<()>>), ServerError> {
    let (stopping, stopped) = watch::channel(false);
    let served = listen(config, lock)?.into_iter().map(|server| {
        let mut stopped = stopped.clone();
        let stop = async move { drop(stopped.wait_for(|stop| *stop).await) };
        tokio::spawn(server.serve(calls.clone(), stop))
    });
    Ok((stopping, served.collect()))
}

/// Opens one socket for each role. The socket by which a call comes says who calls; the call itself is not asked.
fn listen(config: &Config, lock: &HomeLock) -> Result<Vec<ControlServer>, ServerError> {
    if config.agent_socket.is_none() {
        warn!("the path of this home is too long for agent.sock; set `socket` in [agent-socket]");
    }
    let person = (
        Role::Person,
        &config.control_socket,
        &config.control_access,
        Reach::default(),
    );
    let agent = config.agent_socket.as_ref();
    let agent = agent.map(|own| (Role::Agent, &own.path, &own.access, own.reach.clone()));
    let carrier = config.carrier_socket.as_ref();
    let carrier = carrier.map(|own| (Role::Carrier, &own.path, &own.access, own.reach.clone()));
    let all = std::iter::once(person).chain(agent).chain(carrier);
    let addresses = all.map(|(role, path, access, reach)| Address {
        path: path.clone(),
        access: access.clone(),
        caller: SocketCaller::new(role, reach),
    });
    addresses
        .map(|address| ControlServer::bind(address, lock))
        .collect()
}

/// Opens the memory, and waits while the disk is full, as a running daemon does. A daemon that is stopped while it waits
/// ends with the error of the full disk.
async fn open_when_there_is_room(
    lock: &HomeLock,
    config: &Config,
    manager: &Manager,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<Memory, MemoryError> {
    let mut told = false;
    loop {
        // Wait only where the disk is full: every other error needs a person, and another try would end the same way.
        let full = match Memory::open_to_run(lock, config) {
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
