//! What other programs of the agent are told by files: the gateway and the handlers. Their start refuses a file that it
//! cannot use, and the daemon never reads it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::finding::{CheckResult, DoctorCheck};
use super::scene::Scene;
use crate::cli::CliError;
use crate::cli::setup::gateway;
use crate::hint::{self, DaemonKeeper};

/// Checks both files, where they exist.
pub(super) fn all(scene: &Scene) -> Vec<CheckResult> {
    let gateway = DoorFile {
        check: "gateway-file",
        name: "gateway",
        option: "--config",
        means: "no program with a token is let in",
    };
    let handlers = DoorFile {
        check: "handlers-file",
        name: "handlers",
        option: "--handlers",
        means: "nothing is handled by it, and who asks waits",
    };
    vec![look(scene, &gateway), look(scene, &handlers)]
}

/// A file that tells another program what to do.
struct DoorFile {
    check: &'static str,
    /// The name of the settings file without `.toml`.
    name: &'static str,
    /// The option of `signet-gateway check` that reads it.
    option: &'static str,
    /// What does not work where the file cannot be used.
    means: &'static str,
}

fn look(scene: &Scene, door: &DoorFile) -> CheckResult {
    let DoorFile {
        check,
        name: file,
        option,
        means,
    } = *door;
    let check = DoctorCheck::of(check, format!("{file}.toml, where there is one"));
    let files: Vec<PathBuf> = places(scene, file)
        .into_iter()
        .filter(|place| place.exists())
        .collect();
    if let Some(file) = files.iter().find(|file| is_of_another_user(scene, file)) {
        let look = format!("signet-gateway check {option} {}", hint::word(file));
        let what = format!("{} is for another user to read", file.display());
        return check.unknown(what, "nobody looked at it here", &hint::as_root(&look));
    }
    let told: Result<Vec<String>, _> = files.iter().map(|place| read(option, place)).collect();
    match told {
        Ok(told) => match told.into_iter().find(|words| !words.is_empty()) {
            None => check.well("it is not there, or can be used"),
            Some(words) => check.well(format!("it can be used; {words}")),
        },
        Err((what, next)) => check.fault(what, means, &next),
    }
}

/// The unit of a gateway reads its file as a user of its own, whose tokens it may hold.
fn is_of_another_user(scene: &Scene, file: &Path) -> bool {
    // A file in the home that cannot be read is a fault; a file elsewhere may rightly be closed to this user.
    let is_refused = access(file, Access::READ_OK) == Err(Errno::ACCESS);
    is_refused && !file.starts_with(scene.home.path())
}

/// Where that file is: in the home, or where the units of an installed agent have it.
fn places(scene: &Scene, file: &str) -> Vec<PathBuf> {
    let mut places = vec![scene.home.join(format!("{file}.toml"))];
    if let DaemonKeeper::SystemUnit(unit) = DaemonKeeper::of(scene.home.path()) {
        let instance = unit
            .trim_start_matches("signet@")
            .trim_end_matches(".service");
        places.push(PathBuf::from(format!("/etc/signet/{file}-{instance}.toml")));
    }
    places
}

/// Lets `signet-gateway check` read the file, and gives what it says of one that can be used. The error is what is wrong with the
/// file, and what to do about it.
fn read(option: &str, file: &Path) -> Result<String, (String, String)> {
    let unasked = || format!("ls -l {}", hint::word(file));
    let program = gateway::program().map_err(|failure| match failure {
        CliError::Told { what, next, .. } => (what, next),
        CliError::Ended(_) | CliError::Unread | CliError::Unwritten(_) => {
            ("its program cannot be asked".to_owned(), unasked())
        }
    })?;
    let mut command = Command::new(program);
    command.arg("check").arg(option).arg(file);
    // Let the gateway itself read the file, so that doctor and gateway never differ about a file.
    let output = command.env_clear().stdin(Stdio::null()).output();
    let output = output.map_err(|error| (error.to_string(), unasked()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let part = |name: &str| {
        let mut lines = said.lines().map(str::trim_start);
        let line = lines.find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().to_owned()
    };
    Err((part("error: "), part("next: ")))
}
