//! The check of the daemon, by what it answers itself.

use signet_api::Status;

use super::finding::{CheckResult, DoctorCheck};
use super::scene::Scene;
use crate::hint::{self, DaemonKeeper};

/// Whether the daemon runs, works and is of this release.
pub(super) fn all(scene: &Scene) -> Vec<CheckResult> {
    let check = DoctorCheck::of("daemon", scene.config.control_socket.display());
    match &scene.status {
        Err(why) => vec![check.fault(
            why,
            "nothing is taken in and nothing is sent; mail waits in the mailbox, or at its senders",
            &DaemonKeeper::of(scene.home.path()).start(),
        )],
        Ok(status) => vec![
            works(check, status, scene),
            release(status, scene),
            config_in_force(status, scene),
        ],
    }
}

fn works(check: DoctorCheck, status: &Status, scene: &Scene) -> CheckResult {
    let private = status.private.as_ref();
    if let Some(refusing) = &status.refusing {
        return check.fault(
            format!(
                "it refuses everything since {}: the disk is full",
                refusing.since
            ),
            "its log cannot grow, so nothing is taken in, answered or sent",
            &format!(
                "df -h {}  # make room there; it goes on by itself",
                hint::word(&scene.config.audit_dir)
            ),
        );
    }
    if let Some(fault) = private.and_then(|private| private.log_fault.as_ref()) {
        return check.fault(
            format!("it found the log changed: {fault}"), 
                "a finished month is not what this agent wrote, or the log's anchor was taken away",
                &format!("signet audit verify {}  # says where; then find out who writes in the log's folder", hint::word(&scene.config.audit_dir)),
        );
    }
    if status.revoked {
        return check.fault(
            "this agent's certificate was revoked by its person",
            "peers refuse what it signs",
            "signet key rotate signing",
        );
    }
    match status.paused {
        true => check.warning(
            "it runs, and the agents of this person pause",
            "nothing is handed out and nothing is sent",
            "signet resume",
        ),
        false => check.well(format!(
            "it runs as process {}",
            private.map_or(0, |private| private.pid)
        )),
    }
}

fn release(status: &Status, scene: &Scene) -> CheckResult {
    let check = DoctorCheck::of("release", "the daemon's release and this command's");
    let mine = env!("CARGO_PKG_VERSION");
    match status.version == mine {
        true => check.well(mine),
        false => check.warning(
            format!("the daemon is {}, this command {mine}", status.version),
            "the daemon was not started anew since signet was installed",
            &DaemonKeeper::of(scene.home.path()).restart(),
        ),
    }
}

/// Whether the daemon runs by the configuration as it is written.
fn config_in_force(status: &Status, scene: &Scene) -> CheckResult {
    let check = DoctorCheck::of(
        "config-in-force",
        "whether the daemon runs by config.toml as it is written",
    );
    let waits = { status.private.as_ref() }
        .map_or_else(Default::default, |private| private.config_waits.clone());
    let (sections, next) = match (waits.restart.is_empty(), waits.reload.is_empty()) {
        (true, true) => return check.well("it does"),
        (true, false) => (waits.reload, "signet reload".to_owned()),
        // A start takes over what a reload would.
        (false, _) => (
            [waits.restart, waits.reload].concat(),
            DaemonKeeper::of(scene.home.path()).restart(),
        ),
    };
    check.warning(
        format!("not in {}", sections.join(", ")),
        "config.toml was changed there, and the daemon runs by what stood there before",
        &next,
    )
}
