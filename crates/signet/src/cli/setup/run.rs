//! `signet run`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use signet_audit::visible;
use tracing::{Level, warn};
use tracing_subscriber::filter::{LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cli::CliError;
use crate::daemon;
use crate::home::Home;

/// See `signet run --help`.
#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct RunArgs {
    /// How many threads verify signatures [default: one a core, at most 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: Option<u8>,
}

pub(crate) fn run(args: &RunArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    run_until(args, &Home::find(home)?, std::future::pending())
}

/// Runs the daemon of `home` until a signal, or until `asked` is ready.
pub(crate) fn run_until(
    args: &RunArgs,
    home: &Home,
    asked: impl Future<Output = ()>,
) -> Result<(), CliError> {
    // Without SIGNET_LOG, `USUAL` lets only warnings of the NATS client library through: below that level the library
    // also reports each dropped message, and the `gap` lines of the agent's log count these already.
    let told = std::env::var_os("SIGNET_LOG").map(|told| told.to_string_lossy().into_owned());
    let (filter, unfit) = filter_of(told.as_deref());
    // At level `trace` the NATS client library prints the text of every message: leave that out, whatever SIGNET_LOG says.
    let telling = filter_fn(|event| {
        *event.level() < Level::TRACE || !event.target().starts_with("async_nats")
    });
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(is_coloured())
        // Do not report a failed write to standard error: the report itself would go to standard error.
        .log_internal_errors(false)
        .finish()
        .with(filter)
        .with(telling)
        .init();
    if let Some(unfit) = unfit {
        warn!("{unfit}");
    }
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let workers = args.workers.map_or_else(|| cores.clamp(1, 8), usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build();
    let runtime = runtime
        .map_err(|error| CliError::refused(error, "free memory or threads, then try again"))?;
    let ended = runtime.block_on(daemon::run(home, asked));
    ended.map_err(CliError::from)
}

/// The filter that SIGNET_LOG asks for, or the usual one with a warning where its text cannot be meant: a misspelt level
/// would be taken for the name of a module, and everything else would be silent.
fn filter_of(asked: Option<&str>) -> (Targets, Option<String>) {
    let usual = || {
        Targets::new()
            .with_targets(USUAL)
            .with_default(LevelFilter::INFO)
    };
    let Some(asked) = asked.filter(|asked| !asked.trim().is_empty()) else {
        return (usual(), None);
    };
    let is_meant = |part: &str| {
        let part = part.trim();
        let is_module = || MODULES.iter().any(|module| part.starts_with(module));
        part.contains('=') || part.parse::<LevelFilter>().is_ok() || is_module()
    };
    match asked.split_whitespace().collect::<String>().parse() {
        Ok(filter) if asked.split(',').all(is_meant) => (filter, None),
        _ => {
            let asked = visible(asked);
            let unfit = format!(
                "SIGNET_LOG=\"{asked}\" says nothing that can be meant, and so info is told; next: set it to error, \
                 warn, info or debug, or to a filter such as info,async_nats=debug"
            );
            (usual(), Some(unfit))
        }
    }
}

/// Besides info of everything else. Each client of the library lives for one connection, so that its error over attempts to
/// reconnect says nothing: signet itself connects anew, and says so.
const USUAL: [(&str, LevelFilter); 2] = [
    ("async_nats", LevelFilter::WARN),
    ("async_nats::connector", LevelFilter::OFF),
];
/// How the modules begin that tell anything.
const MODULES: [&str; 2] = ["signet", "async_nats"];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_no_level_silences_nothing() {
        for unfit in ["loud", "verbose", "warn,loud", "signet=loud", "info;debug"] {
            let (filter, told) = filter_of(Some(unfit));
            assert_eq!(filter.to_string(), filter_of(None).0.to_string(), "{unfit}");
            assert!(told.is_some_and(|told| told.contains(unfit)), "{unfit}");
        }
        for fit in [
            "error",
            "WARN",
            "info",
            "debug",
            "off",
            "signet=debug",
            "warn, signet=debug",
            "warn,signet::daemon=debug",
            "signet",
        ] {
            let (filter, told) = filter_of(Some(fit));
            assert_eq!(told, None, "{fit}");
            assert_ne!(filter.to_string(), filter_of(None).0.to_string(), "{fit}");
        }
        for nothing in [None, Some(""), Some(" ")] {
            let (filter, told) = filter_of(nothing);
            assert!(
                told.is_none() && filter.to_string().contains("info"),
                "{nothing:?}"
            );
        }
    }
}
