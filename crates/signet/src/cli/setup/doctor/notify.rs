//! The command of `[notify]`: whether it is there, whether somebody else can change it, and whether it tells.

use signet_api::{Attention, AttentionKind};
use signet_audit::counted;

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::finding::{CheckResult, DoctorCheck};
use super::scene::Scene;
use crate::clock;
use crate::config::NotifyCommand;
use crate::hint;
use crate::programs::is_program;

pub(super) fn command(scene: &Scene) -> CheckResult {
    let check = DoctorCheck::of(
        "notify",
        "the command that tells the person, [notify] in config.toml",
    );
    let Some(command) = &scene.config.notify else {
        return check.well("none is configured; signet watch tells the same at a terminal");
    };
    let Some(program) = found(command) else {
        return check.fault(
            format!("{} is no program that may be run here", command.program), 
                NOBODY,
                &format!(
                    "grep -n command {}  # shows where it is named: correct that, or install the program; then: signet \
                     reload",
                    hint::word(&scene.home.config_file())
                ),
        );
    };
    if let Some(mode) = mode_for_others(&program) {
        return check.fault(
            format!(
                "{} has mode {mode:04o}: others may change it",
                program.display()
            ),
            "whoever changes it acts as the daemon's user, who may read the keys",
            &format!("chmod go-w {}", hint::word(&program)),
        );
    }
    // Only a running daemon knows whether its notify command works, because the daemon starts that command. Without a daemon,
    // only the command's program file is checked, which was done above.
    let state = scene.status.as_ref().ok();
    let state = state.and_then(|status| status.private.as_ref()?.notify.as_ref());
    match state.and_then(|state| Some((state, state.fault.as_ref()?))) {
        Some((state, why)) => check.fault(
            format!("{} failed {}: {why}", state.program, counted(state.tries.into(), "time")), 
                NOBODY,
                &format!(
                    "run it by hand, as the daemon's user: echo {} | COMMAND; what came waits for it; signet reload takes \
                     another one",
                    hint::word(Path::new(&trial(scene)))
                ),
        ),
        None => check.well(format!("{} tells", program.display())),
    }
}

/// A record as the command is given it, which says that it is a trial.
fn trial(scene: &Scene) -> String {
    let record = Attention {
        version: 1,
        kind: AttentionKind::Certificate,
        time: clock::now().to_string(),
        agent: scene.config.agent.agent.to_string(),
        id: Some("0".repeat(16)),
        alarm: None,
        peer: None,
        principal: None,
        verified: false,
        count: 1,
        still: true,
        text: "this is a trial, and nothing is the matter".to_owned(),
        next: "signet doctor".to_owned(),
    };
    // A record of texts and numbers always becomes JSON; an empty line would be refused by the command, and say so.
    serde_json::to_string(&record).unwrap_or_default()
}

/// The file of the program, as the daemon finds it.
fn found(command: &NotifyCommand) -> Option<PathBuf> {
    if command.program.starts_with('/') {
        return Some(PathBuf::from(&command.program)).filter(|file| is_program(file));
    }
    // If PATH is not set, execvp(3) looks for a program in these two directories: so look there, too.
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut files = std::env::split_paths(&path).map(|place| place.join(&command.program));
    files.find(|file| is_program(file))
}

fn mode_for_others(program: &Path) -> Option<u32> {
    let mode = program.metadata().ok()?.mode() & 0o7777;
    (mode & 0o022 != 0).then_some(mode)
}

const NOBODY: &str = "strangers, drafts and alarms wait, and nobody is told";
