//! The `signet` binary: what must hold before anything else runs, then [`signet::cli`].
#![forbid(unsafe_code)]

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

// glibc hands the piece out again that was freed longest ago: beside 10,000 peers nearly each message then lies in memory that
// no cache holds.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    if signet::startup::shut().is_err() {
        return signet::startup::refused();
    }
    signet::cli::main()
}
