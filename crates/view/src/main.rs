//! The `signet-view` binary: what must hold before anything else runs, then [`signet_view::cli`].
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit, umask,
};

fn main() -> ExitCode {
    // The index holds what agents told each other in clear: no other user may read it, whatever the umask of the shell is.
    umask(Mode::from_raw_mode(0o077));
    std::panic::set_hook(Box::new(report));
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let is_shut = setrlimit(Resource::Core, none)
        .and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    if is_shut.is_err() {
        let _ = std::io::stderr().write_all(
            b"error: this system does not let signet-view keep its memory private, and messages are in it\n  \
              next: run it where prctl(PR_SET_DUMPABLE) and setrlimit(RLIMIT_CORE) are allowed\n",
        );
        return ExitCode::FAILURE;
    }
    signet_view::cli::main()
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
        "error: a fault in signet-view itself{place}\n  next: start it again, and tell the maintainers this line"
    );
}
