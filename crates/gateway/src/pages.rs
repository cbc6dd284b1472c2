//! What the installed program brings beside itself: manual pages, and what shells complete command lines by.

use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_complete::Shell;

use crate::say::{REFUSED, failed, told};

/// Writes a page for each command into a directory.
pub(crate) fn man(command: Command, out: &Path) -> ExitCode {
    let written =
        std::fs::create_dir_all(out).and_then(|()| clap_mangen::generate_to(command, out));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let what = format!("{}: {error}", out.display());
            failed(
                &told(&what, "name a directory that can be written"),
                REFUSED,
            )
        }
    }
}

/// Prints the script of a shell.
pub(crate) fn completions(mut command: Command, shell: Shell) -> ExitCode {
    // The generator panics if writing fails, for instance to a closed pipe: so it writes into memory first.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "signet-gateway", &mut script);
    match std::io::Write::write_all(&mut std::io::stdout(), &script) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(
            &told(&error.to_string(), "let it print where something reads"),
            REFUSED,
        ),
    }
}
