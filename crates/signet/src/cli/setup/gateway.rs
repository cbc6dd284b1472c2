//! The program beside this one that speaks foreign protocols, and holds no key.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli::CliError;
use crate::hint;

/// The path of the gateway program.
pub(crate) fn program() -> Result<PathBuf, CliError> {
    let gateway = this_program()?.with_file_name("signet-gateway");
    match gateway.is_file() {
        true => Ok(gateway),
        false => {
            let what = format!(
                "there is no {}, which speaks foreign protocols",
                gateway.display()
            );
            Err(CliError::usage(what, INSTALL_IT))
        }
    }
}

/// The path of the program that runs now.
pub(crate) fn this_program() -> Result<PathBuf, CliError> {
    std::env::current_exe().map_err(|error| {
        let what = format!("this program does not find itself: {error}");
        CliError::refused(what, "run it where /proc is mounted")
    })
}

/// The path from the root: the program that gets it may have another working directory.
pub(crate) fn whole_path(path: &Path) -> Result<PathBuf, CliError> {
    std::path::absolute(path).map_err(|error| {
        let what = format!("{}: {error}", path.display());
        CliError::usage(what, "name it by its whole path")
    })
}

/// Takes the place of this program: gives back why it could not.
pub(crate) fn take_over(mut command: Command) -> CliError {
    let error = command.envs(hint::handed_over()).exec();
    let program = PathBuf::from(command.get_program());
    let what = format!("{} cannot be started: {error}", program.display());
    CliError::usage(what, INSTALL_IT)
}

const INSTALL_IT: &str = "install it beside signet: make install brings both";
