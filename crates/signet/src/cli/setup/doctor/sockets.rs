//! The sockets: who may open them.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use super::finding::{CheckResult, DoctorCheck};
use super::scene::Scene;
use crate::config::Access;
use crate::config::Sign;
use crate::group;
use crate::hint;

/// All of them: the first thing that is wrong.
pub(super) fn all(scene: &Scene) -> CheckResult {
    let config = &scene.config;
    let check = DoctorCheck::of("sockets", "modes and groups of control.sock and agent.sock");
    let carrier = config.carrier_socket.as_ref();
    let agent = config.agent_socket.as_ref();
    let sockets = [
        Some(("control", &config.control_socket, &config.control_access)),
        agent.map(|agent| ("agent-socket", &agent.path, &agent.access)),
        carrier.map(|carrier| ("carrier-socket", &carrier.path, &carrier.access)),
    ];
    let runs = scene.status.is_ok();
    for (section, path, access) in sockets.into_iter().flatten() {
        if let Some(wrong) = wrong(path, access, runs) {
            let next = match is_in_the_way(path) {
                true => hint::away(path, "the daemon makes its sockets itself"),
                false => format!(
                    "correct `mode` and `group` in [{section}] of config.toml where they are wrong, then start the daemon \
                     anew: it makes its sockets itself"
                ),
            };
            let means = "whoever should reach the daemon may not, or others may";
            return check.fault(format!("{}: {wrong}", path.display()), means, &next);
        }
    }
    let shared = agent.is_some_and(|agent| number(&agent.access) == number(&config.control_access));
    match shared && config.people_sign == Sign::Nothing {
        true => check.advice(
            "the person's socket and the agent's have the same group, and no decision needs the person's key", 
                "a program that may open agent.sock may open control.sock as well, and decide as the person",
                "give each a `group` of its own, or set sign = \"all\" in [people] of config.toml",
        ),
        false => check.well("who may open them is as config.toml says"),
    }
}

/// Whether something that is no socket stands there.
fn is_in_the_way(path: &Path) -> bool {
    let found = fs::symlink_metadata(path);
    found.is_ok_and(|found| !found.file_type().is_socket())
}

fn number(access: &Access) -> Option<u32> {
    access.group.as_deref().and_then(group::number_of)
}

/// What is wrong with one socket, if anything is.
fn wrong(path: &Path, access: &Access, runs: bool) -> Option<String> {
    let wanted = match &access.group {
        Some(name) => match group::number_of(name) {
            Some(group) => Some(group),
            None => return Some(format!("there is no group {name}")),
        },
        None => None,
    };
    // Look at a link itself and not at its target: the daemon makes only sockets, so a link in their place is wrong.
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(_) if !runs => return None,
        Err(error) => return Some(error.to_string()),
    };
    let mode = found.mode() & 0o777;
    if !found.file_type().is_socket() {
        return Some("it is no socket".to_owned());
    }
    // Without a running daemon, this socket was left by an ended daemon. The next start makes it anew,
    // so its mode does not matter.
    if !runs {
        return None;
    }
    if mode != access.mode {
        return Some(format!("its mode is {mode:03o}, not {:03o}", access.mode));
    }
    let wanted = wanted?;
    if found.gid() != wanted {
        return Some(format!("its group is {}, not {wanted}", found.gid()));
    }
    let folder = path.parent().and_then(|folder| folder.metadata().ok())?;
    // Look at the socket's folder as well: if the group may not pass the folder, it cannot reach the socket, whatever the
    // socket's own mode.
    let enters =
        (folder.gid() == wanted && folder.mode() & 0o010 != 0) || folder.mode() & 0o001 != 0;
    (!enters).then(|| format!("its folder lets nobody of group {wanted} in"))
}
