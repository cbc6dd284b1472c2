//! The program beside this one that speaks foreign protocols, and holds no key.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::cli::Failure;
use crate::hint;

/// Where it is.
pub(crate) fn program() -> Result<PathBuf, Failure> {
    let gateway = this_program()?.with_file_name("signet-gateway");
    match gateway.is_file() {
        true => Ok(gateway),
        false => {
            let what = format!(
                "there is no {}, which speaks foreign protocols",
                gateway.display()
            );
            Err(Failure::usage(what, INSTALL_IT))
        }
    }
}

/// Where this program is.
pub(crate) fn this_program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        let what = format!("this program does not find itself: {error}");
        Failure::refused(what, "run it where /proc is mounted")
    })
}

/// Takes the place of this program: gives back why it could not.
pub(crate) fn take_over(mut command: Command) -> Failure {
    let error = command.envs(hint::handed_over()).exec();
    let program = PathBuf::from(command.get_program());
    let what = format!("{} cannot be started: {error}", program.display());
    Failure::usage(what, INSTALL_IT)
}

const INSTALL_IT: &str = "install it beside signet: make install brings both";
