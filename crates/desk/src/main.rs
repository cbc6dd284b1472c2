//! The `signet-desk` binary: what must hold before anything else runs, then [`signet_desk::main`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    if signet::startup::shut().is_err() {
        return signet::startup::refused();
    }
    signet_desk::main()
}
