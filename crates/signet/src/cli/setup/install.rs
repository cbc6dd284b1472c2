//! `signet install`: an agent of a machine, run by systemd under a user of its own; and its removal.

mod agents;
mod directories;
mod home;
mod machine;
mod names;
mod remove;
mod server;

use std::path::PathBuf;

use clap::Args;
use signet_proto::ids::{AgentId, PrincipalId};

use crate::cli::setup::nats::key::NewUser;
use crate::cli::{CliError, print, setup::init};
use crate::keystore::Root;
use agents::Installed;
use machine::Machine;
pub(crate) use names::HOMES;
use names::Instance;
use server::ServerChoice;
pub(crate) use server::{LISTEN, keeps_server};

/// See `signet install --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct InstallArgs {
    /// The agent's id: a-z, 0-9 and '-'
    #[arg(long, value_name = "ID")]
    agent: AgentId,
    /// The id of the person it acts for
    #[arg(long, value_name = "ID", required_unless_present = "remove")]
    principal: Option<PrincipalId>,
    /// What its instance and its users are called: signet@NAME, signet-NAME [default: the agent's id, without agent-]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The person's existing root key, root's own file, with next-root.pem and control.json beside it
    #[arg(long, value_name = "FILE")]
    root: Option<PathBuf>,
    /// A NATS server that somebody keeps [default: what runs at 127.0.0.1:4222, else one of this machine's own]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Stop the agent and take its unit and its login away; its home stays
    #[arg(long, conflicts_with_all = ["principal", "root", "server"])]
    remove: bool,
    /// Remove keys, logs and users, too
    #[arg(long, requires = "remove")]
    purge: bool,
    /// Work on a directory that is the root of another machine; nothing is started
    #[arg(long, value_name = "DIR")]
    sysroot: Option<PathBuf>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &InstallArgs) -> Result<(), CliError> {
    let name = Instance::choose(args.name.as_deref(), &args.agent)?;
    let machine = Machine::new(args.sysroot.as_deref(), args.dry_run)?;
    let _alone = machine.lock()?;
    match &args.principal {
        Some(principal) => install(&machine, &name, args, principal),
        None => remove::run(&machine, &name, &args.agent, args.purge),
    }
}

fn install(
    machine: &Machine,
    name: &Instance,
    args: &InstallArgs,
    principal: &PrincipalId,
) -> Result<(), CliError> {
    need_units(machine)?;
    let is_home = machine.at(&name.home()).symlink_metadata().is_ok();
    let known = known(machine, name, args, principal, is_home)?;
    let broker = ServerChoice::find(machine, args.server.as_deref());
    // Make the users first: the files and folders below are given to these users by number.
    machine.write(&name.sysusers_file(), &name.sysusers(), None)?;
    machine.sysusers(&name.sysusers())?;
    // If the home is gone, so is the seed of the login that the agent's note in /etc/signet/agents names: nobody can
    // log in with it any more, so make a new login.
    let lost = |known: &Installed| known.nkey.is_some() && !is_home;
    let old = known.and_then(|known| if lost(&known) { None } else { known.nkey });
    let new = match (&broker, &old) {
        (ServerChoice::Ours, None) => Some(NewUser::make()?),
        _ => None,
    };
    let installed = Installed {
        agent: args.agent.clone(),
        principal: principal.clone(),
        nkey: new.as_ref().map(|key| key.public.clone()).or(old),
        removed: false,
    };
    if is_home {
        if let Some(key) = &new {
            home::add_key(machine, name, key)?;
        }
        agents::note(machine, name, &installed)?;
    } else {
        // Write the agent's note before the home is made: if this command is interrupted in between, a repeated one
        // would take a home without a note for somebody else's, and refuse it.
        agents::note(machine, name, &installed)?;
        let root = args.root.as_deref().map_or(Root::New, init::root_at);
        home::make(machine, name, &installed, root, &broker, new.as_ref())?;
    }
    let unit = name.unit();
    // A daemon reads its login and the files of its home only when it starts. So restart a running daemon if its login
    // was made after its start, or if files of root's in its home were given to its user just now.
    let is_stale = home::settle(machine, name)?
        || is_home && (new.is_some() || machine.runs_longer_than(&unit, &name.nats_seed()));
    if broker == ServerChoice::Ours {
        // A command that was stopped between these two steps has left a server that runs with logins of before.
        let is_changed =
            server::configure(machine)? || machine.runs_longer_than(server::UNIT, server::CONF);
        server::start(machine, is_changed)?;
        if machine.has_manager() {
            server::mailbox(machine, &args.agent)?;
        }
    }
    // Start the unit last: the daemon then finds its server, its login and its mailbox.
    let enabled = enable(machine, &unit, is_stale)?;
    print(&next(machine, name, &broker, &installed, !is_home))?;
    if enabled {
        return Ok(());
    }
    let next =
        format!("journalctl -n 20 -u {unit}  # says why; then: systemctl enable --now {unit}");
    Err(CliError::refused(format!("{unit} was not started"), next))
}

/// Lets systemd start the unit now, where one runs, and at every boot; whether it did. A daemon that is stale is started
/// again.
fn enable(machine: &Machine, unit: &str, is_stale: bool) -> Result<bool, CliError> {
    match (machine.has_manager(), is_stale) {
        (true, true) => Ok(machine.tool("systemctl", &["enable", unit])?
            && machine.tool("systemctl", &["restart", unit])?),
        (true, false) => machine.tool("systemctl", &["enable", "--now", unit]),
        (false, _) => machine.tool("systemctl", &["enable", unit]),
    }
}

/// The note of this instance, if it is the same agent's. A home without a note was not made by this command, and is
/// refused.
fn known(
    machine: &Machine,
    name: &Instance,
    args: &InstallArgs,
    principal: &PrincipalId,
    is_home: bool,
) -> Result<Option<Installed>, CliError> {
    let known = agents::find(machine, name)?;
    match &known {
        Some(known) if known.agent == args.agent && known.principal == *principal => {}
        Some(known) => {
            let what = format!(
                "{} is the home of {} of {}",
                name.home(),
                known.agent,
                known.principal
            );
            return Err(CliError::refused(what, "name another instance with --name"));
        }
        None if is_home => {
            let what = format!(
                "{} is there, and signet install has not made it",
                name.home()
            );
            let next =
                "name another instance with --name, or run that home as docs/operations.md says";
            return Err(CliError::refused(what, next));
        }
        None => {}
    }
    Ok(known)
}

fn need_units(machine: &Machine) -> Result<(), CliError> {
    let unit = |dir: &&str| {
        machine
            .at(dir)
            .join("systemd/system/signet@.service")
            .is_file()
    };
    if machine.is_dry() || UNITS.iter().any(unit) {
        return Ok(());
    }
    let what = "the units of signet are not on this machine";
    Err(CliError::usage(
        what,
        "make install in the source, or install the package; then again",
    ))
}

fn next(
    machine: &Machine,
    name: &Instance,
    broker: &ServerChoice,
    installed: &Installed,
    is_new: bool,
) -> String {
    let (home, user, agent) = (name.home(), name.user(), &installed.agent);
    let mine = format!("sudo -u {user} signet --home {home}");
    let mut page = String::from("\n");
    let mut step = |what: &str, command: &str| page.push_str(&format!("{what}\n  {command}\n"));
    match broker {
        ServerChoice::Ours if machine.has_manager() => {}
        ServerChoice::Ours => step(
            "No systemd runs here. Where it does, the NATS server:",
            &server::by_hand(agent),
        ),
        ServerChoice::Named(_) | ServerChoice::Running => step(
            "The NATS server is somebody else's. If it asks for a login, its keeper needs this, and makes the mailbox:",
            &format!("{mine} nats key"),
        ),
        ServerChoice::Missing => step(
            "No NATS server runs, and there is no nats-server to start: install it, then the same command again.",
            "apt-get install nats-server",
        ),
    }
    if !machine.has_manager() {
        step(
            "The agent, where systemd runs:",
            &format!("systemctl start {}", name.unit()),
        );
    }
    if is_new {
        step(
            "The person's own keys lie in the home. Move them to a place that this machine does not reach:",
            &format!("{home}/keys/root.pem next-root.pem control.pem audit.pem"),
        );
    }
    step(
        "To let the programs of a user open the agent's socket, or a user read the log:",
        &format!(
            "usermod -aG {} USER; usermod -aG {} USER",
            name.socket_group(),
            names::AUDIT_GROUP
        ),
    );
    step(
        "A handler, in one line COMMAND=/path and arguments:",
        &format!(
            "{}; systemctl enable --now {}",
            name.handlers_command(),
            name.handlers_unit()
        ),
    );
    step(
        "A gateway, for programs that call over HTTP (docs/gateway.md):",
        &format!(
            "{}, readable for {}; systemctl enable --now {}",
            name.gateway_file(),
            name.gateway(),
            name.gateway_unit()
        ),
    );
    page.push_str(&format!("\nnext: {mine} peer export\n"));
    page
}

/// Where units lie.
const UNITS: [&str; 5] = ["/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"];

const EXAMPLE: &str = "\
As root, and as often as you like: what is right stays. It makes the users signet-NAME, signet-handlers-NAME and \
signet-gateway-NAME, the groups signet-agent-NAME and signet-audit, the home /var/lib/signet/NAME, and lets systemd run signet@NAME.

EXAMPLE:
  signet install --agent agent-alice-001 --principal alice
  signet install --agent agent-alice-001 --remove";
