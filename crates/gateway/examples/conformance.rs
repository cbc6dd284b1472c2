//! Serves the conformance kit of MCP by the file that is its argument: `scripts/try-mcp` runs the kit against it.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("error: no file\n  next: conformance gateway.toml");
        return ExitCode::from(2);
    };
    match signet_gateway::conformance::serve(Path::new(&file)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("error: {what}");
            ExitCode::FAILURE
        }
    }
}
