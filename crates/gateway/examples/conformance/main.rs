//! A server with the tools, prompts and resources that the conformance kit of MCP asks for by name, served by the file that is
//! its argument: `scripts/try-mcp` runs the kit against it.
//!
//! What it says stands in `fixture.json`; what it does besides saying something, here.
#![forbid(unsafe_code)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

mod acts;
mod fixture;
mod rounds;
mod server;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use fixture::Fixture;
use server::{Server, Shared};

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("error: no file\n  next: conformance gateway.toml");
        return ExitCode::from(2);
    };
    match serve(Path::new(&file)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}

fn serve(file: &Path) -> Result<(), String> {
    let fixture = Fixture::read().map_err(|error| format!("fixture.json: {error}"))?;
    let shared = Arc::new(Shared::new(fixture));
    signet_gateway::conformance::serve(file, move || Server::new(Arc::clone(&shared)))
}
