//! Which agents were installed on a machine: root's own note of each, since a home is its agent's to change.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use signet_proto::ids::{AgentId, PrincipalId};

use super::machine::Machine;
use super::names::Instance;
use crate::cli::CliError;

/// One agent of this machine, as the notes of `signet install` keep it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Installed {
    pub(super) agent: AgentId,
    pub(super) principal: PrincipalId,
    /// The public name of its key on the NATS server of this machine, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) nkey: Option<String>,
    /// The agent was removed, and its home is still there.
    #[serde(default)]
    pub(super) removed: bool,
}

/// What the notes say of the agent `name`.
pub(super) fn find(machine: &Machine, name: &Instance) -> Result<Option<Installed>, CliError> {
    read(machine.at(&file(name.as_str())))
}

/// Notes it.
pub(super) fn note(
    machine: &Machine,
    name: &Instance,
    installed: &Installed,
) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(installed).unwrap_or_default();
    machine.write(&file(name.as_str()), &format!("{text}\n"), None)?;
    Ok(())
}

/// Forgets it.
pub(super) fn forget(machine: &Machine, name: &Instance) -> Result<(), CliError> {
    machine.delete(&file(name.as_str()))
}

/// Every agent that is noted, in the order of names.
pub(super) fn all(machine: &Machine) -> Result<Vec<Installed>, CliError> {
    let entries = std::fs::read_dir(machine.at(DIRECTORY))
        .into_iter()
        .flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let notes = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut notes: Vec<PathBuf> = notes.collect();
    notes.sort();
    let found: Result<Vec<_>, CliError> = notes.into_iter().map(read).collect();
    Ok(found?.into_iter().flatten().collect())
}

fn file(name: &str) -> String {
    format!("{DIRECTORY}/{name}.json")
}

fn read(path: PathBuf) -> Result<Option<Installed>, CliError> {
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let what = format!("{}: {error}", path.display());
            return Err(CliError::file(&error, what, "look at it as root"));
        }
    };
    serde_json::from_str(&text).map(Some).map_err(|_| {
        let what = format!("{} is not what signet install wrote", path.display());
        CliError::usage(what, "put it back from a backup, or remove it")
    })
}

const DIRECTORY: &str = "/etc/signet/agents";
