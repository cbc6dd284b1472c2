//! The cage: what the kernel still lets this process do, whoever has taken it over.
//!
//! Landlock leaves it the log folders to read and its own folder to write, and takes TCP, abstract sockets and signals to
//! others. It does not stop `connect` to a UNIX socket by its path, so seccomp leaves only the system calls that serving
//! pages takes: no new socket, no program, no look into another process.

mod calls;

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, Scope,
};

use crate::ViewError;

/// Shuts the cage around every thread that is made from now on; it cannot be opened again.
///
/// It has to be called while the process has one thread, and after it listens.
///
/// # Errors
/// [`ViewError::NoCage`] where the system lacks a part.
pub fn shut(logs: &[&Path], data: &Path) -> Result<(), ViewError> {
    shut_files(logs, data).map_err(|why| ViewError::NoCage {
        what: "Landlock",
        why,
    })?;
    calls::shut().map_err(|why| ViewError::NoCage {
        what: "seccomp",
        why,
    })
}

/// Landlock: files, TCP, abstract sockets, signals.
fn shut_files(logs: &[&Path], data: &Path) -> Result<(), String> {
    // Demand every part: a kernel that leaves out half of them would be no cage.
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(LEAST)))
        .and_then(|rules| rules.scope(Scope::from_all(LEAST)))
        .and_then(Ruleset::create);
    let mut rules = made.map_err(|error| error.to_string())?;
    let reads = AccessFs::ReadFile | AccessFs::ReadDir;
    let keeps =
        reads | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::Truncate;
    for (path, rights) in logs.iter().map(|log| (*log, reads)).chain([(data, keeps)]) {
        let folder = PathFd::new(path).map_err(|error| format!("{}: {error}", path.display()))?;
        rules = rules
            .add_rule(PathBeneath::new(folder, rights))
            .map_err(|error| error.to_string())?;
    }
    rules
        .restrict_self()
        .map(drop)
        .map_err(|error| error.to_string())
}

/// The version that has everything that is asked for here: Linux 6.12.
const LEAST: ABI = ABI::V6;
