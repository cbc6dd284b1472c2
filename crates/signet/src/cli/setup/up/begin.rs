//! What `signet up` looks at before it changes anything.

use std::time::Duration;

use signet_api::{Client, ListPeers, Peer};
use signet_proto::ids::PrincipalId;
use signet_proto::keys::fingerprint;

use super::server::OwnServer;
use super::{UpArgs, config, daemon, hub};
use crate::cli::setup::nats::key;
use crate::cli::{CliError, Exit};
use crate::clock;
use crate::config::Config;
use crate::config::Sign;
use crate::daemon::Serve as _;
use crate::disk_space::{self, DiskSpace};
use crate::hint;
use crate::home::Home;
use crate::keystore::{AgentKeys, CONTROL, ROOT};
use crate::memory::Memory;
use crate::reach::Reach;

/// A daemon that runs keeps its server: what would be written down for its next start is refused meanwhile.
pub(super) fn refuse_to_move(args: &UpArgs, home: &Home, config: &Config) -> Result<(), CliError> {
    hub::refuse_foreign_server(&args.hub, home)?;
    let other = args
        .beside
        .as_ref()
        .map(|other| config::load(&Home::at(other)));
    let other = other.transpose()?;
    let beside = other.is_some_and(|other| other.nats.servers != config.nats.servers);
    let wants_own = args.broker.wants_own() || args.hub.wants_own();
    let own = wants_own && OwnServer::of(home).is_none();
    if !(beside || own || args.broker.names_another(&config.nats.servers))
        || daemon::status_of(config).is_none()
    {
        return Ok(());
    }
    let what = format!(
        "a daemon runs in this home, by {}",
        config.nats.servers.join(", ")
    );
    let next = "signet down --keep-nats  # ends it; then the same command again";
    Err(CliError::refused(what, next))
}

/// Two agents of one id would take each other's login and mail: looked at before the server of the other home, or anything
/// else, is touched. A home that the other one knows by this very root key is the same agent's, whatever it has lost.
pub(super) fn refuse_taken(args: &UpArgs, home: &Home) -> Result<(), CliError> {
    let Some(other) = args.beside.as_deref().map(Home::at) else {
        return Ok(());
    };
    if !other.config_file().exists() {
        let what = format!(
            "{} is no home: it has no config.toml",
            other.path().display()
        );
        let next = format!(
            "signet up --home {} --help  # makes it first; or name the home of another agent: --beside DIR",
            hint::word(other.path())
        );
        return Err(CliError::usage(what, next));
    }
    let beside = config::load(&other)?;
    let own = match home.config_file().exists() {
        true => Some(config::load(home)?.agent),
        false => None,
    };
    let Some(agent) = own.as_ref().map(|own| &own.agent).or(args.agent.as_ref()) else {
        return Ok(());
    };
    let root = own.as_ref().and_then(|own| AgentKeys::open(home, own).ok());
    let root = root.map(|keys| fingerprint(&keys.certificate.root));
    let known = peers_of(&other, &beside).into_iter();
    let known = known
        .filter(|peer| peer.peer == agent.as_str())
        .find_map(|peer| peer.fingerprint);
    let login = match OwnServer::used_by(&other)? {
        Some(server) => server.login_of(agent)?,
        None => None,
    };
    let seed = home.nats_seed();
    // The other home's server may have a login for an agent of this id. If this home holds the seed of that login, this is that
    // agent's home, and no other agent has taken the id.
    let has_login = || seed.exists() && key::read(&seed).ok() == login;
    let is_other = match (&known, &root) {
        (Some(known), Some(root)) => known != root,
        (Some(_), None) => true,
        (None, _) => login.is_some() && !has_login(),
    };
    if !is_other {
        return Ok(());
    }
    let what = format!(
        "{} has a {agent} beside it already, and {} is not that agent's home",
        beside.agent.agent,
        home.path().display()
    );
    let next = format!(
        "name the home of {agent} with --home, or take another id: --agent ID; if that home is lost, a new one gets its \
         login by: signet invite --login {agent} --replace --home {}",
        hint::word(other.path())
    );
    Err(CliError::refused(what, next))
}

/// Whom the agent of a home knows, by its daemon or by the state that it left.
fn peers_of(home: &Home, config: &Config) -> Vec<Peer> {
    let list = ListPeers {};
    if let Ok(mut client) = Client::connect(&config.control_socket, PATIENCE) {
        // Ask the running daemon: it knows more than the state that it last wrote to the disk.
        return client.call(&list).unwrap_or_default();
    }
    // If that home's state cannot be read, go on as if its agent knew nobody: `bind_both` reports the error later.
    let Ok(mut node) = Memory::glance(home, config) else {
        return Vec::new();
    };
    let served = list.serve(&mut node.turn(clock::at()), &Reach::default());
    served.map(|(peers, _)| peers).unwrap_or_default()
}

/// A person has one root key: with another one, their two agents would take each other for impostors.
pub(super) fn refuse_second_root(args: &UpArgs, principal: &PrincipalId) -> Result<(), CliError> {
    let Some(other) = args.beside.as_ref().filter(|_| args.root.is_none()) else {
        return Ok(());
    };
    let other = Home::at(other);
    let agent = config::load(&other)?.agent;
    if agent.principal != *principal {
        return Ok(());
    }
    let what = format!(
        "{} of {principal} has a root key already, and a second agent of {principal} needs the same one",
        agent.agent
    );
    let root = other.key_file(ROOT);
    let next = match root.exists() {
        true => format!("the same command with --root {}", hint::word(&root)),
        false => "the same command with --root FILE, where that key is kept".to_owned(),
    };
    Err(CliError::usage(what, next))
}

pub(super) fn refuse_itself(home: &Home, other: &Home) -> Result<(), CliError> {
    let place = |home: &Home| std::fs::canonicalize(home.path()).ok();
    if place(home) != place(other) {
        return Ok(());
    }
    let what = format!("{} is this home itself", other.path().display());
    Err(CliError::usage(
        what,
        "name the home of another agent: --beside DIR",
    ))
}

/// Refuses where the disk has too little room, before a server or a daemon is started: either would fail later, with
/// an error that does not name the disk.
pub(super) fn needs_room(home: &Home, config: &Config) -> Result<(), CliError> {
    let is_new = !config.audit_dir.exists();
    let needed = if is_new { FIRST_ROOM } else { ROOM };
    let places = [home.path(), config.audit_dir.as_path()];
    let short = places.into_iter().find_map(|place| {
        let room = DiskSpace::at(place)?;
        (room.bytes < needed).then_some((place, room.bytes))
    });
    match short.filter(|_| daemon::status_of(config).is_none()) {
        None => Ok(()),
        Some((place, left)) => {
            let what = format!(
                "the disk is full: {} KiB are left at {}, and an agent needs {} MiB there to start",
                left >> 10,
                place.display(),
                needed >> 20
            );
            Err(CliError::new(
                Exit::Disk,
                what,
                disk_space::make_room(place),
            ))
        }
    }
}

/// Both people's keys sign that the two agents trust each other; that is looked at before anything is started.
pub(super) fn need_control_keys(home: &Home, other: &Home) -> Result<(), CliError> {
    needs_control_key(home, other)?;
    needs_control_key(other, home)
}

fn needs_control_key(home: &Home, beside: &Home) -> Result<(), CliError> {
    let config = Config::load(home)?;
    let key = home.key_file(CONTROL);
    // Agents of one person share the control key, which may be in the home of the other agent only: so look there as well.
    let is_lent = || {
        let other =
            Config::load(beside).is_ok_and(|other| other.agent.principal == config.agent.principal);
        other && beside.key_file(CONTROL).exists()
    };
    if config.people_sign == Sign::Nothing || key.exists() || is_lent() {
        return Ok(());
    }
    let what = format!(
        "{} is not there, and two agents can trust each other only with its signature",
        key.display()
    );
    let next = "put it there for the moment; or use signet invite and signet accept --key FILE";
    Err(CliError::usage(what, next))
}

/// How long the daemon may take to answer; one that hangs counts as one that does not run.
const PATIENCE: Duration = Duration::from_secs(5);
/// The room for an agent that has not run yet: its log takes 5 MiB at once, and the rest is for the store of a NATS
/// server.
const FIRST_ROOM: u64 = 7 << 20;
/// For an agent that has run before: its log and its store have their first files already.
const ROOM: u64 = 2 << 20;
