//! The `signet-gateway` binary: what must hold before anything else runs, then [`signet_gateway::cli`].
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit, umask,
};

fn main() -> ExitCode {
    // Other users must not read the files that the gateway makes, whatever the umask of the shell is.
    umask(Mode::from_raw_mode(0o077));
    std::panic::set_hook(Box::new(report));
    if shut_memory().is_err() {
        let _ = std::io::stderr().write_all(
            b"error: this system does not let signet-gateway keep its memory private, and messages are in it\n  \
              next: run it where prctl(PR_SET_DUMPABLE) and setrlimit(RLIMIT_CORE) are allowed\n",
        );
        return ExitCode::FAILURE;
    }
    signet_gateway::cli::main()
}

/// Messages pass through: no core dump holds them, and no other program of the same user reads them from memory
/// (ptrace(2), proc(5)).
fn shut_memory() -> rustix::io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// Prints where the program panicked, but not the text of the panic, which can hold a message.
fn report(fault: &PanicHookInfo<'_>) {
    let place = fault.location().map_or_else(String::new, |place| {
        format!(" at {}:{}", place.file(), place.line())
    });
    // `eprintln!` panics when standard error is closed, and a panic within a panic aborts. So write, and ignore the
    // error.
    let _ = writeln!(
        std::io::stderr(),
        "error: a fault in signet-gateway itself{place}\n  next: start it again, and tell the maintainers this line"
    );
}
