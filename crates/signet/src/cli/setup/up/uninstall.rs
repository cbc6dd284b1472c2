//! `signet uninstall`: what `signet up` has made goes again. Keys, log and configuration stay, unless somebody says that they go.

use std::path::PathBuf;

use clap::Args;
use signet_proto::ids::AgentId;

use super::lock::UpLock;
use super::removal::{entries, remove};
use super::server::OwnServer;
use super::{StopResult, stop_all};
use crate::cli::setup::install::HOMES;
use crate::cli::{CliError, print};
use crate::config::Config;
use crate::hint;
use crate::home::Home;
use crate::keystore;
use crate::lock::HomeLock;

/// See `signet uninstall --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct UninstallArgs {
    /// Remove the home's own NATS server also where other agents have a login on it, which end with it
    #[arg(long)]
    drop_logins: bool,
    /// Remove the agent's keys, its log and its configuration, too, for good; its id says that this home is meant
    #[arg(long, value_name = "AGENT-ID")]
    keys_and_log: Option<AgentId>,
}

pub(crate) fn run(args: &UninstallArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    refuse_installed(&home, &config.agent.agent)?;
    let lock = UpLock::acquire(&home)?;
    // Look at everything that may refuse before the daemon is stopped.
    if let Some(named) = &args.keys_and_log {
        refuse_other(&home, &config, named)?;
        refuse_persons_keys(&home)?;
    }
    let own = OwnServer::of(&home);
    if let Some(own) = own.as_ref().filter(|_| !args.drop_logins) {
        refuse_logins(own, &config.agent.agent)?;
    }
    let StopResult { daemon, nats } = stop_all(&home, &config, false)?;
    let ended = |ran: bool| if ran { "ended, and " } else { "" };
    // No daemon starts while its home is taken apart.
    let held = HomeLock::acquire(&home)?;
    print(&format!("daemon   {}no unit starts it\n", ended(daemon)))?;
    if let Some(own) = own {
        own.remove()?;
        print(&format!(
            "nats     {}removed, with its logins and mailboxes\n",
            ended(nats == Some(true))
        ))?;
    }
    for name in [
        "view",
        "daemon.log",
        "control.sock",
        "agent.sock",
        "carrier.sock",
    ] {
        remove(&home.join(name))?;
    }
    if args.keys_and_log.is_none() {
        drop((held, lock));
        return print(&format!(
            "home     {} keeps keys, log and configuration\nnext     signet up  # goes on with them\n",
            home.path().display()
        ));
    }
    remove_home(&home, &config)?;
    drop((held, lock));
    print(&left(&home))
}

/// The unit of an installed agent would start its daemon again, and its users belong to the machine.
fn refuse_installed(home: &Home, agent: &AgentId) -> Result<(), CliError> {
    let whole = home.path().canonicalize();
    let whole = whole.unwrap_or_else(|_| home.path().to_owned());
    if !whole.starts_with(HOMES) {
        return Ok(());
    }
    let what = format!("{} was made by signet install", home.path().display());
    let next = hint::as_root(&format!("signet install --agent {agent} --remove"));
    Err(CliError::refused(what, next))
}

fn refuse_other(home: &Home, config: &Config, named: &AgentId) -> Result<(), CliError> {
    let own = &config.agent.agent;
    if own == named {
        return Ok(());
    }
    let what = format!(
        "{} is the home of {own}, not of {named}",
        home.path().display()
    );
    Err(CliError::refused(
        what,
        "name the home that is meant with --home",
    ))
}

/// The person's keys are not the agent's to take along: every other agent of theirs needs them.
fn refuse_persons_keys(home: &Home) -> Result<(), CliError> {
    let there = keystore::persons_names(home)?;
    if there.is_empty() {
        return Ok(());
    }
    let what = format!(
        "keys of the person's lie in this home: {}",
        there.join(", ")
    );
    let next = "signet key stash DIR  # moves them to a stick; then again";
    Err(CliError::refused(what, next))
}

fn refuse_logins(own: &OwnServer, agent: &AgentId) -> Result<(), CliError> {
    let others: Vec<String> = own.others(agent)?.iter().map(ToString::to_string).collect();
    if others.is_empty() {
        return Ok(());
    }
    let what = format!(
        "other agents log in to this home's NATS server: {}",
        others.join(", ")
    );
    let next = "let them use another server first (signet up --nats URL); or end their logins: signet uninstall --drop-logins";
    Err(CliError::refused(what, next))
}

/// Removes the files that only signet writes there, and nothing else: the home may be a directory with other files in it.
fn remove_home(home: &Home, config: &Config) -> Result<(), CliError> {
    keystore::destroy_all(home)?;
    let log = &config.audit_dir;
    for entry in entries(log)? {
        let name = entry
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with("inter-agent") {
            remove(&entry)?;
        }
    }
    // Directories that hold anything else stay: `remove_dir` refuses them, which is meant.
    let _ = std::fs::remove_dir(log);
    if let Some(above) = log.parent().filter(|above| above.starts_with(home.path())) {
        let _ = std::fs::remove_dir(above);
    }
    for entry in entries(home.path())? {
        let name = entry
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_own =
            OWN.contains(&name.as_str()) || OWN_BEGINNINGS.iter().any(|own| name.starts_with(own));
        // The configuration goes last: with it the same command finds the home again after an interruption.
        if is_own && name != CONFIG {
            remove(&entry)?;
        }
    }
    remove(&home.config_file())?;
    let _ = std::fs::remove_dir(home.path());
    Ok(())
}

fn left(home: &Home) -> String {
    let path = home.path().display();
    match entries(home.path()) {
        Ok(left) if !left.is_empty() => {
            let names: Vec<String> = left
                .iter()
                .map(|path| {
                    path.file_name()
                        .unwrap_or_default()
                        .to_string_lossy()
                        .into_owned()
                })
                .collect();
            crate::cli::visible_lines(&format!(
                "home     keys, log and configuration are removed; in {path} others have: {}\n",
                names.join(", ")
            ))
        }
        _ => format!("home     {path} is removed\n"),
    }
}

const CONFIG: &str = "config.toml";
/// Files and directories of a home besides its keys and its log.
const OWN: [&str; 8] = [
    "carriers.json",
    "checkpoint-keys",
    CONFIG,
    "lock",
    "log.anchor",
    "log.months",
    "nats.nk",
    "up.lock",
];
/// The state and what SQLite keeps beside it, and what an interrupted command has left.
const OWN_BEGINNINGS: [&str; 4] = ["state.db", ".nats.nk.new-", "log.anchor.", "log.months."];

const EXAMPLE: &str = "\
The daemon and the home's own NATS server are stopped as signet down stops them; their units, the server's configuration, logins and \
mailboxes, and the index of signet view are removed. Messages that wait in a mailbox go with it: their senders keep them until they are \
received, or expire. Keys, log and configuration stay, and signet up goes on with them.

EXAMPLE:
  signet uninstall --home alice
  signet uninstall --home alice --keys-and-log agent-alice-001";
