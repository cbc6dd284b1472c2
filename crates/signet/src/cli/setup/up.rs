//! `signet up`: a running agent from nothing, or from what is there; and `signet down`.

mod access;
mod begin;
mod broker;
pub(crate) mod config;
mod daemon;
mod hub;
mod interrupt;
pub(crate) mod lock;
pub(crate) mod login;
mod removal;
pub(crate) mod server;
pub(crate) mod uninstall;
pub(crate) mod units;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signet_api::Reload;
use signet_proto::ids::{AgentId, PrincipalId};
use signet_proto::keys::fingerprint;
use signet_proto::policy::NamePattern;
use signet_transport::Error;

use crate::cli::exit::section;
use crate::cli::setup::invite::bind_both;
use crate::cli::setup::nats::mailboxes::BrokerFault;
use crate::cli::{CliError, Exit, ask, print, setup::doctor, setup::init, setup::run, setup::view};
use crate::clock;
use crate::config::Config;
use crate::hint;
use crate::home::Home;
use crate::keystore::{AgentKeys, Root};
use crate::lock::refuse_foreign;
use crate::programs::in_path;
use broker::FoundServer;
use interrupt::Interrupts;
use lock::UpLock;
use server::OwnServer;
use units::Units;

/// See `signet up --help`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(crate) struct UpArgs {
    /// The agent's id, where there is no home yet: a-z, 0-9 and '-'
    #[arg(long, value_name = "ID")]
    agent: Option<AgentId>,
    /// The id of the person it acts for, where there is no home yet
    #[arg(long, value_name = "ID")]
    principal: Option<PrincipalId>,
    /// The person's existing root key, to make a second agent; it is used, not copied
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    #[command(flatten)]
    broker: broker::BrokerArgs,
    #[command(flatten)]
    hub: hub::JoinArgs,
    /// Another home of this user on this machine: use its NATS server, and let both agents trust each other
    #[arg(long, value_name = "DIR", conflicts_with_all = ["nats", "login", "listen"])]
    beside: Option<PathBuf>,
    /// What programs of this agent may offer to its peers: a name, or the beginning of names such as 'calendar.*';
    /// may be given several times. It takes the place of what the configuration allows
    #[arg(long = "offer", value_name = "NAME")]
    offers: Vec<NamePattern>,
    /// Go on in the background, without the service manager
    #[arg(long, conflicts_with = "foreground")]
    background: bool,
    /// Stay in the foreground, also where there is a service manager
    #[arg(long)]
    foreground: bool,
}

/// See `signet down --help`.
#[derive(Debug, Args)]
#[command(
    after_help = "Keys, log and mail stay: signet up goes on with them.\n\nEXAMPLE:\n  signet down --home alice"
)]
pub(crate) struct DownArgs {
    /// Leave the home's own NATS server running, for agents that others keep
    #[arg(long)]
    keep_nats: bool,
}

pub(crate) fn up(args: &UpArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    refuse_foreign(&home)?;
    let change = args.hub.read()?;
    begin::refuse_taken(args, &home)?;
    ensure_home(args, &home)?;
    // Make the home before the lock is taken, because the lock's file is in the home. Two `signet up` may do so at once without
    // harm: `init` makes a home whole or not at all.
    let lock = UpLock::acquire(&home)?;
    let config = config::load(&home)?;
    begin::refuse_to_move(args, &home, &config)?;
    let agent = config.agent.agent.clone();
    let units = match args.background || args.foreground {
        true => None,
        false => Units::of(&agent),
    };
    begin::needs_room(&home, &config)?;
    // Listen for signals before the NATS server is started: Ctrl-C then also ends a server that this command has started.
    let interrupts = Interrupts::listen()?;
    let broker = FoundServer {
        home: &home,
        agent: &agent,
        interrupts: &interrupts,
    };
    let hub = hub::apply(change, &broker, units.as_ref(), &args.broker)?;
    find_server(args, &home, &broker)?;
    let outside = hub.as_ref().map(hub::HubTold::tell).transpose()?.flatten();
    // Read the configuration again: the step above may have written the server's address into it.
    let config = config::load(&home)?;
    let runs = daemon::status_of(&config).is_some();
    if !args.offers.is_empty() {
        config::set_offers(&home, &args.offers)?;
    }
    match &units {
        Some(units) => start_service(units, &home, &config, &interrupts)?,
        None if runs => {
            interrupts.keep_server();
            print("daemon   it runs already\n")?;
        }
        None if args.background => start_in_background(&home, &config, &interrupts)?,
        None => print("daemon   in the foreground; Ctrl-C ends it\n")?,
    }
    if let Some(other) = &args.beside {
        bind_both(&home, &Home::at(other))?;
    }
    if runs && !args.offers.is_empty() {
        // A daemon that ran before this command has not read the new offers: let it reload. A daemon that this command has just
        // started has read them already.
        let mut client = ask::connect_to(&home, Duration::ZERO)?;
        ask::change(&mut client, &Reload {})?;
    }
    print(NEXT)?;
    print(view::next_step().unwrap_or_default())?;
    let unusable = certificate_fault(&home, &config).or(outside);
    if units.is_some() || runs || args.background {
        connected(&home, &config)?;
        return unusable.map_or(Ok(()), Err);
    }
    if let Some(CliError::Told { what, next, .. }) = unusable {
        anstream::eprintln!("warning: {what}\n  next: {}", hint::typed(&next));
    }
    // Give the lock back: this process now becomes the daemon and runs for months, and `signet down` waits for this lock.
    drop(lock);
    // From here on this process is the daemon. A NATS server that this command started is ended when `interrupts` is
    // dropped, which is after the daemon has ended.
    let asked = interrupts.hand_over();
    run::run_until(&run::RunArgs::default(), &home, asked)
}

/// Lets the service manager run the daemon, and waits until it answers.
fn start_service(
    units: &Units,
    home: &Home,
    config: &Config,
    interrupts: &Interrupts,
) -> Result<(), CliError> {
    // End the server that this command has started: the service starts a server process of its own.
    interrupts.end_server();
    units.start(home, OwnServer::of(home).as_ref())?;
    daemon::wait(home, config, None)?;
    print(&format!(
        "daemon   the service {} runs it\n",
        units.daemon()
    ))
}

/// Uses the server of the home beside this one, or the one that the arguments and this machine give.
fn find_server(args: &UpArgs, home: &Home, broker: &FoundServer<'_>) -> Result<(), CliError> {
    let Some(other) = args.beside.as_ref().map(Home::at) else {
        broker.find(&args.broker)?;
        return hub::take_reply_prefix(home, home);
    };
    begin::refuse_itself(home, &other)?;
    begin::need_control_keys(home, &other)?;
    broker.beside(&other)?;
    hub::take_reply_prefix(home, &other)
}

/// Starts the daemon as a process that outlives this one, and waits until it answers.
fn start_in_background(
    home: &Home,
    config: &Config,
    interrupts: &Interrupts,
) -> Result<(), CliError> {
    daemon::start_in_background(home, config)?;
    interrupts.keep_server();
    print(&format!(
        "daemon   in the background; {} tells what it does\n",
        home.join("daemon.log").display()
    ))
}

pub(crate) fn down(args: &DownArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let _lock = UpLock::acquire(&home)?;
    let StopResult { daemon, nats } = stop_all(&home, &config, args.keep_nats)?;
    print(match daemon {
        true => "daemon   ended\n",
        false => "daemon   none ran\n",
    })?;
    match nats {
        Some(true) => print("nats     ended\n"),
        Some(false) => print("nats     none ran\n"),
        None => Ok(()),
    }
}

/// The processes that were stopped.
struct StopResult {
    /// Whether a daemon ran.
    daemon: bool,
    /// Whether the home's own server ran; `None` where it has none, or where that goes on.
    nats: Option<bool>,
}

/// Stops the daemon, and the home's own NATS server unless it is to go on; their units go. The caller holds the lock.
fn stop_all(home: &Home, config: &Config, keep_nats: bool) -> Result<StopResult, CliError> {
    let units = Units::of(&config.agent.agent);
    let stopped =
        |stop: fn(&Units) -> Result<bool, CliError>| units.as_ref().map_or(Ok(false), stop);
    let service = stopped(Units::stop_daemon)?;
    let daemon = daemon::stop(home)? || service;
    let own = OwnServer::of(home).filter(|_| !keep_nats);
    let nats = match own {
        Some(own) => {
            let service = stopped(Units::stop_server)?;
            Some(own.stop() || service)
        }
        None => None,
    };
    Ok(StopResult { daemon, nats })
}

/// Makes the home if there is none, and refuses one of somebody else.
fn ensure_home(args: &UpArgs, home: &Home) -> Result<(), CliError> {
    let there = home.config_file().try_exists().map_err(|error| {
        let what = format!("{}: {error}", home.path().display());
        CliError::file(&error, what, hint::unreadable(home.path()))
    })?;
    if there {
        let own = config::load(home)?.agent;
        let other_agent = args.agent.as_ref().is_some_and(|agent| *agent != own.agent);
        let other_person = args
            .principal
            .as_ref()
            .is_some_and(|person| *person != own.principal);
        if other_agent || other_person {
            let what = format!(
                "{} is the home of {} of {}",
                home.path().display(),
                own.agent,
                own.principal
            );
            return Err(CliError::refused(what, "name another home with --home"));
        }
        return print(&format!(
            "home     {}: {} of {}\n",
            home.path().display(),
            own.agent,
            own.principal
        ));
    }
    if home.join("keys").is_dir() {
        // The home has keys but no configuration: let `load` say what is missing, instead of making the home anew.
        Config::load(home)?;
    }
    init::refuse_if_used(home)?;
    let (Some(agent), Some(principal)) = (&args.agent, &args.principal) else {
        let what = format!("there is no home at {}", home.path().display());
        let next = "to make one: signet up --agent ID --principal ID";
        return Err(CliError::usage(what, next));
    };
    begin::refuse_second_root(args, principal)?;
    let root = args.root.as_deref().map_or(Root::New, init::root_at);
    let own_root = matches!(root, Root::New);
    let certificate = init::make(home, agent.clone(), principal.clone(), root)?;
    print(&format!(
        "home     made in {}: {agent} of {principal}\n         the words of the root key: {}\n\
         {}",
        home.path().display(),
        fingerprint(&certificate.root),
        if own_root {
            let stash = hint::typed("signet key stash DIR");
            format!(
                "         keys/root.pem, next-root.pem, control.pem and audit.pem are the person's; off this machine with them: {stash}\n"
            )
        } else {
            String::new()
        },
    ))
}

/// Waits until the daemon is connected, and says why it is not. The daemon runs in any case, and goes on trying.
fn connected(home: &Home, config: &Config) -> Result<(), CliError> {
    if daemon::is_connected(config) {
        return Ok(());
    }
    let servers = config.nats.servers.join(", ");
    // The daemon keeps trying and does not say why it fails: connect from this command as well, to get the reason.
    match doctor::broker::inspected(config) {
        Err(BrokerFault::Server(error)) if !matches!(error, Error::Unreachable { .. }) => {
            let what = format!("the daemon runs, and the NATS server does not let it in: {error}");
            let next = match &error {
                Error::LoginRefused { .. } if doctor::keeper::is_by_nkey(config) => {
                    "ask whoever keeps the server for another login, made by their signet invite --login ID; then here: signet up \
                     --login LINE; or have it let this one in, whose name signet nats key prints"
                }
                error => &doctor::keeper::next_for(home, config, error),
            };
            Err(CliError::refused(what, next))
        }
        _ => {
            let what = format!("the daemon runs, and reaches no NATS server at {servers}");
            let next = "it goes on trying: start the server, or name another one with signet up --nats URL; a server of \
                        this home's own: signet down, then signet up --listen HOST:PORT";
            Err(CliError::not_reachable(what, next))
        }
    }
}

/// A daemon runs with a certificate that has ended or not begun, and neither signs nor sends.
fn certificate_fault(home: &Home, config: &Config) -> Option<CliError> {
    // If the keys cannot be opened, report nothing here: the daemon refuses such keys itself, and says why.
    let certificate = AgentKeys::open(home, &config.agent).ok()?.certificate;
    let now = clock::now();
    let (from, to) = (certificate.not_before, certificate.not_after);
    let (how, next) = if now < from {
        (
            format!("begins {from}, and the clock says {now}"),
            "timedatectl set-ntp true  # sets the clock; if it is right: signet key rotate signing",
        )
    } else if to <= now {
        (
            format!("ended {to}"),
            "signet key rotate signing  # if the clock is ahead: timedatectl set-ntp true",
        )
    } else {
        return None;
    };
    let what =
        format!("the agent's certificate {how}: nothing is signed, and all that is sent waits");
    Some(CliError::refused(what, next))
}

/// The file of this program. Where there is no /proc, it is the one that the shell found.
fn own_program() -> Result<PathBuf, CliError> {
    let named = || {
        let name = PathBuf::from(std::env::args_os().next()?);
        if name.components().count() > 1 {
            return std::path::absolute(name).ok();
        }
        in_path(name).find(|file| file.is_file())
    };
    let found = std::env::current_exe().ok().or_else(named);
    found.ok_or_else(|| {
        let what =
            "this program does not find its own file: there is no /proc, and PATH has no signet";
        CliError::refused(what, "type its whole path, such as /usr/bin/signet up")
    })
}

fn after_help() -> String {
    let codes = section([
        (Exit::Done, "the agent runs, and is connected"),
        (
            Exit::Refused,
            "a port is taken, the login refused, the certificate ended, or the home another agent's",
        ),
        (
            Exit::NotReachable,
            "there is no NATS server, and none can be started",
        ),
    ]);
    format!("{EXPLAINED}\n{codes}\n{EXAMPLE}")
}

const NEXT: &str =
    "next     signet invite  # the line that lets another person's agent meet this one\n";

const EXPLAINED: &str = "\
It may be repeated: what is there stays, what is missing is made, what does not run is started.

The NATS server is, in this order: the one that is named (--nats, --login, --beside); the one in the configuration, also
the home's own; NATS_URL; one that listens on this machine, if you say yes; a new one of the home's own, with logins and
its own store.
";

const EXAMPLE: &str = "\
EXAMPLE:
  signet up --agent agent-alice-001 --principal alice
  signet up --home bob --agent agent-bob-001 --principal bob --beside alice
  signet up --home alice --join @house-one.line   # behind a hub: docs/scale.md";
