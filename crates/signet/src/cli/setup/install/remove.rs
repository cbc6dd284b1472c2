//! `signet install --remove`: the agent stops and loses its login; its home goes only with `--purge`.

use signet_proto::ids::AgentId;

use super::agents;
use super::machine::Machine;
use super::names::Instance;
use super::server;
use crate::cli::{CliError, print};

pub(super) fn run(
    machine: &Machine,
    name: &Instance,
    agent: &AgentId,
    is_purge: bool,
) -> Result<(), CliError> {
    let known = agents::find(machine, name)?.filter(|known| known.agent == *agent);
    let Some(mut known) = known else {
        let what = format!("install has put no {agent} at {}", name.home());
        let next = "the files in /etc/signet/agents name agents and instances: --agent and --name";
        return Err(CliError::refused(what, next));
    };
    // Stop the daemon before its login is removed: without the login it would only fail again and again.
    stop(machine, name)?;
    known.removed = true;
    // Note the removal before `configure` writes the server's configuration, which has a login for each agent that is
    // not noted as removed: the other way round, this agent would keep its login.
    agents::note(machine, name, &known)?;
    if server::is_ours(machine) && server::configure(machine)? {
        server::reload(machine)?;
    }
    if is_purge {
        return purge(machine, name);
    }
    print(&format!(
        "\n{} keeps keys and logs, for the same command without --remove. With --purge they go, too.\n",
        name.home()
    ))
}

fn stop(machine: &Machine, name: &Instance) -> Result<(), CliError> {
    let (daemon, handlers) = (name.unit(), name.handlers_unit());
    let mut args = vec!["disable"];
    if machine.has_manager() {
        args.push("--now");
    }
    let gateway = name.gateway_unit();
    args.extend([gateway.as_str(), handlers.as_str(), daemon.as_str()]);
    if machine.tool("systemctl", &args)? {
        return Ok(());
    }
    let next = format!("systemctl status {daemon}  # then again");
    Err(CliError::refused(format!("{daemon} was not stopped"), next))
}

/// Files before users: no file is left to a number that somebody else may get.
fn purge(machine: &Machine, name: &Instance) -> Result<(), CliError> {
    machine.delete_all(&name.home())?;
    machine.delete_all(&name.handlers_directory())?;
    machine.delete(&name.handlers_command())?;
    machine.delete(&name.handlers_file())?;
    machine.delete_all(&name.gateway_directory())?;
    machine.delete(&name.gateway_file())?;
    machine.delete(&name.sysusers_file())?;
    let users = [name.gateway(), name.handlers(), name.user()];
    let groups = [users.as_slice(), &[name.socket_group()]].concat();
    for (file, tool, names) in [
        ("/etc/passwd", "userdel", users.as_slice()),
        ("/etc/group", "groupdel", &groups),
    ] {
        for name in names {
            if machine.knows(file, name) && !machine.tool(tool, &[name])? {
                let what = format!("{name} is still a user or group of this machine");
                return Err(CliError::refused(what, "end what runs as it, then again"));
            }
        }
    }
    // Remove the agent's note last: `--remove` finds the agent by its note, and must find it again to finish a
    // removal that was interrupted.
    agents::forget(machine, name)
}
