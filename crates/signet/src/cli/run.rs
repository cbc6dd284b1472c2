//! `signet run`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use tracing::Level;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::{Exit, Failure};
use crate::daemon;
use crate::home::Home;

/// See `signet run --help`.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct RunArgs {
    /// How many threads verify signatures [default: one a core, at most 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: Option<u8>,
}

pub(super) fn run(args: &RunArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    run_until(args, &Home::find(home)?, std::future::pending())
}

/// Runs the daemon of `home` until a signal, or until `asked` is ready.
pub(super) fn run_until(
    args: &RunArgs,
    home: &Home,
    asked: impl Future<Output = ()>,
) -> Result<(), Failure> {
    // The client library tells of every dropped message; a `gap` line does so once a second.
    let filter = EnvFilter::try_from_env("SIGNET_LOG")
        .unwrap_or_else(|_| EnvFilter::new("info,async_nats=warn"));
    // … and at `trace` it tells every message, word for word: nobody may ask for that.
    let telling = filter_fn(|event| {
        *event.level() < Level::TRACE || !event.target().starts_with("async_nats")
    });
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(is_coloured())
        // The terminal may be gone; that is no reason to say so there.
        .log_internal_errors(false)
        .finish()
        .with(telling)
        .init();
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let workers = args.workers.map_or_else(|| cores.clamp(1, 8), usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| {
        Failure::new(
            Exit::Refused,
            error,
            "free memory or threads, then try again",
        )
    })?;
    let ended = runtime.block_on(daemon::run(home, asked));
    ended.map_err(Failure::from)
}

/// A file and a service manager want no colours, and neither does whoever says so.
fn is_coloured() -> bool {
    std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|text| text.is_empty())
}

const EXAMPLE: &str = "\
The daemon stops cleanly on SIGTERM and Ctrl-C, and stays when its terminal closes.
SIGNET_LOG sets what it tells on standard error: error, warn, info (default), debug.

EXAMPLE:
  signet run --home alice";
