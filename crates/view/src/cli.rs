//! The command line: a log alone, or what the launcher says.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::ViewError;
use crate::run::{self, Alone};

/// Shows logs of signet as pages in a browser, without a key and without a daemon.
///
/// The address that it prints is good once, for a minute. It ends by itself after half an hour without use.
#[derive(Parser)]
#[command(
    name = "signet-view",
    version,
    after_help = "Example:\n  signet-view --log ~/alice/audit/agent-alice-001"
)]
struct ViewCli {
    /// A folder with the log of an agent; more than one are shown as one household
    #[arg(long, value_name = "DIR", required_unless_present_any = ["cord", "forget"])]
    log: Vec<PathBuf>,
    /// Where the index is kept [default: signet/view below $XDG_CACHE_HOME or ~/.cache]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Start also where Landlock or seccomp are missing: whoever takes the program over then has this user's files
    #[arg(long)]
    unconfined: bool,
    /// Remove the index, which holds names, summaries and words of what travels in clear, and end
    #[arg(long)]
    forget: bool,
    /// What `signet view` starts: logs and listener come on standard input
    #[arg(long, hide = true)]
    cord: bool,
}

/// Reads the command line and serves until nobody looks any more.
pub fn main() -> ExitCode {
    let cli = ViewCli::parse();
    let done = match cli.cord {
        true => run::by_cord(cli.unconfined),
        false => run::alone(Alone {
            logs: cli.log,
            data: cli.data,
            is_unconfined: cli.unconfined,
            forgets: cli.forget,
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &ViewError) -> ExitCode {
    let said = signet_text::visible(&error.to_string()).into_owned();
    // `eprintln!` panics where standard error is closed.
    let _ = writeln!(std::io::stderr(), "error: {said}\n  next: {}", error.next());
    ExitCode::FAILURE
}
