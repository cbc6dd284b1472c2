//! The `signet` binary: what must hold before anything else runs, then [`signet::cli`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, setrlimit, umask};

fn main() -> ExitCode {
    umask(Mode::from_raw_mode(0o077));
    let no_core_dump = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    if setrlimit(Resource::Core, no_core_dump).is_err() {
        anstream::eprintln!("error: core dumps cannot be turned off, and one would hold the keys");
        return ExitCode::from(1);
    }
    signet::cli::main()
}
