//! The home of an installed agent: made by the code of `signet init`, and given to the agent's own user.

use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use signet_proto::ids::{AgentId, PrincipalId};

use super::agents::Installed;
use super::directories::give_all;
use super::machine::{FileOwner, Machine};
use super::names::{AUDIT_GROUP, HOMES, Instance};
use super::server::ServerChoice;
use crate::cli::CliError;
use crate::cli::setup::init::{self, NewHome};
use crate::cli::setup::nats::key::NewUser;
use crate::config::Config;
use crate::files::private;
use crate::home::Home;
use crate::keystore::Root;

/// Makes the home of a new agent, or none where a step fails. `key` is its login on the server of this machine.
pub(super) fn make(
    machine: &Machine,
    name: &Instance,
    installed: &Installed,
    root: Root,
    broker: &ServerChoice,
    key: Option<&NewUser>,
) -> Result<(), CliError> {
    let owner = machine.owner(&name.user(), &name.user())?;
    // The folder of all homes belongs to root: a user who could write in it could put a directory of their
    // own in place of a home.
    machine.directory(HOMES, FileOwner { user: 0, group: 0 }, 0o755)?;
    if machine.is_dry() {
        return machine.say(&name.home(), "made, with new keys");
    }
    let (agent, principal) = (&installed.agent, &installed.principal);
    let new = NewHome {
        agent: agent.clone(),
        principal: principal.clone(),
        root,
        config: configuration(agent, principal, broker),
    };
    let home = Home::at(machine.at(&name.home()));
    let furnish = |draft: &Home| {
        if let Some(key) = key {
            private::create(&draft.nats_seed(), key.file().as_bytes())?;
        }
        // The files of the draft now change owners. Only root can enter the draft's directory, so no new owner can change
        // anything in it meanwhile.
        give_all(draft.path(), owner).map_err(|error| unowned(draft.path(), &error))
    };
    init::make_with(&home, new, furnish)?;
    machine.say(&name.home(), "made, with new keys")
}

/// Owners and modes, as docs/operations.md has them: the setgid bit gives sockets and logs to their groups. Says whether
/// root had left a file there that the daemon could not use.
pub(super) fn settle(machine: &Machine, name: &Instance) -> Result<bool, CliError> {
    let user = name.user();
    let places = [
        (String::new(), user.clone(), 0o711),
        ("/agent".to_owned(), name.socket_group(), 0o2710),
        ("/audit".to_owned(), AUDIT_GROUP.to_owned(), 0o2750),
    ];
    for (below, group, mode) in places {
        let owner = machine.owner(&user, &group)?;
        machine.directory(&format!("{}{below}", name.home()), owner, mode)?;
    }
    machine.give_back(&name.home(), machine.owner(&user, &user)?)
}

/// Puts the key of a login into a home that is there already.
pub(super) fn add_key(machine: &Machine, name: &Instance, key: &NewUser) -> Result<(), CliError> {
    let owner = machine.owner(&name.user(), &name.user())?;
    if machine.is_dry() {
        return machine.say(&format!("{}/nats.nk", name.home()), "made");
    }
    let seed = Home::at(machine.at(&name.home())).nats_seed();
    // `create_new` follows no link and overwrites nothing: the home belongs to
    // the agent's user, who may have put a link there.
    let opened = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&seed);
    let written = opened.and_then(|mut file| {
        std::io::Write::write_all(&mut file, key.file().as_bytes())?;
        std::os::unix::fs::fchown(&file, Some(owner.user), Some(owner.group))?;
        file.sync_all()
    });
    written.map_err(|error| {
        let next = "move that file away, or name the server it belongs to: --server URL";
        CliError::file(&error, format!("{}: {error}", seed.display()), next)
    })?;
    machine.say(&format!("{}/nats.nk", name.home()), "made")
}

fn configuration(agent: &AgentId, principal: &PrincipalId, broker: &ServerChoice) -> String {
    let mut text = Config::template(agent, principal)
        .replacen(
            "# socket = \"agent.sock\"\n",
            "socket = \"agent/agent.sock\"            # its directory's group opens it\n",
            1,
        )
        .replacen("# mode = 0o640  ", "mode = 0o640    ", 1);
    if let ServerChoice::Named(url) = broker {
        let usual = "# servers = [\"nats://127.0.0.1:4222\"]";
        text = text.replacen(usual, &format!("servers = [{url:?}]"), 1);
    }
    text
}

fn unowned(path: &Path, error: &std::io::Error) -> CliError {
    let what = format!("{} cannot be given to its user: {error}", path.display());
    CliError::file(error, what, "is this a file system with owners?")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_in_the_template_is_there_to_be_changed() {
        let (agent, principal) = ("alpha".parse().unwrap(), "alice".parse().unwrap());
        let text = configuration(
            &agent,
            &principal,
            &ServerChoice::Named("nats://house:4222".to_owned()),
        );
        let home = Home::at("/var/lib/signet/alpha");
        let config = Config::parse(&text, &home, None).unwrap();
        assert_eq!(
            config.agent_socket.unwrap().path,
            home.join("agent/agent.sock")
        );
        assert_eq!(config.audit_access.mode, 0o640);
        assert_eq!(config.nats.servers, ["nats://house:4222"]);
    }
}
