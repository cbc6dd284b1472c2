//! What must hold before a program that may read keys does anything else.

use std::io::Write as _;
use std::panic::{Location, PanicHookInfo};
use std::process::ExitCode;

use rustix::fs::Mode;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit, umask,
};

use crate::cli::Exit;

/// Shuts the process: its files are its owner's, a fault prints nothing of what it was about, and nobody reads its memory.
///
/// # Errors
/// Where the system does not let a process keep its memory private.
pub fn shut() -> rustix::io::Result<()> {
    // Set the umask before anything is made, so that a file whose code names no mode is for its owner alone.
    umask(Mode::from_raw_mode(0o077));
    // Set the hook before anything is read: the text of a panic can hold a part of a message.
    std::panic::set_hook(Box::new(report));
    shut_memory()
}

/// Says that the system does not allow it; the exit code.
pub fn refused() -> ExitCode {
    // If standard error is closed, there is nobody left to tell.
    let _ = anstream::stderr().write_all(
        b"error: this system does not let signet keep its memory private, and the keys are in it\n  \
          next: run it where prctl(PR_SET_DUMPABLE) and setrlimit(RLIMIT_CORE) are allowed\n",
    );
    Exit::Refused.into()
}

/// Every command may read secret keys and messages: no core dump holds them, and no other program
/// of the same user reads them from memory (ptrace(2), proc(5)).
fn shut_memory() -> rustix::io::Result<()> {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
}

/// Says where a fault of ours is and not what with: a panic's own text can hold a message.
fn report(fault: &PanicHookInfo<'_>) {
    // `eprintln!` would panic where standard error is closed, and a panic in this hook would abort the process.
    let _ = write!(anstream::stderr(), "{}", words_for(fault.location()));
}

fn words_for(place: Option<&Location<'_>>) -> String {
    let place = place.map_or_else(String::new, |place| {
        format!(" at {}:{}", place.file(), place.line())
    });
    format!(
        "error: a fault in signet itself{place}\n  next: start it again, and tell the maintainers this line\n"
    )
}
