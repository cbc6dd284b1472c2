//! `signet handle`: a command handles what comes, in a process of its own that talks to the agent's socket
//! alone. It can open neither keys nor the person's socket where it runs under another user id.

mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::signal::unix::{SignalKind, signal};

use super::{Exit, Failure};
use crate::config::Config;
use crate::handler::Handler;
use crate::home::Home;
use worker::Worker;

/// See `signet handle --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct HandleArgs {
    /// The agent's socket, where the handler may not read the home; that of the home's configuration when absent
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Only calls that ask for this capability; may be given several times
    #[arg(long = "capability", value_name = "NAME")]
    capabilities: Vec<String>,
    /// How many messages are handled at once
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=32))]
    parallel: u8,
    /// How long one try may take before it is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    timeout: f64,
    /// End when nothing waits any more
    #[arg(long)]
    once: bool,
    /// The command and its arguments, as they are; no shell reads them
    #[arg(last = true, value_name = "COMMAND", required = true)]
    command: Vec<OsString>,
}

pub(super) fn run(args: &HandleArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let timeout = seconds(args.timeout)?;
    let (socket, home) = match &args.socket {
        Some(socket) => (socket.clone(), None),
        None => {
            let home = Home::find(home)?;
            let config = Config::load(&home)?;
            let agent = config.agent_socket.map(|socket| socket.path);
            let socket = agent.unwrap_or(config.control_socket);
            (socket, Some(home.path().to_owned()))
        }
    };
    let home = home.map(std::path::absolute).transpose().map_err(no_room)?;
    let workers = (0..args.parallel).map(|_| Worker {
        socket: socket.clone(),
        handler: Handler {
            command: args.command.clone(),
            home: home.clone(),
            timeout,
        },
        capabilities: (!args.capabilities.is_empty()).then(|| args.capabilities.clone()),
        once: args.once,
    });
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().map_err(no_room)?;
    let ended = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_room)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_room)?;
        let mut working: FuturesUnordered<_> = workers.map(Worker::work).collect();
        let handle = async {
            while let Some(ended) = working.next().await {
                ended?;
            }
            Ok(())
        };
        tokio::select! {
            done = handle => done,
            // A try that is under way is killed, and counts.
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
        }
    });
    // A call that waits for what comes has nothing to lose.
    runtime.shutdown_background();
    ended
}

fn seconds(number: f64) -> Result<Duration, Failure> {
    let seconds = Duration::try_from_secs_f64(number).ok();
    seconds
        .filter(|seconds| *seconds <= LONGEST && !seconds.is_zero())
        .ok_or_else(|| {
            let what = "--timeout is not a number of seconds up to a day";
            Failure::new(Exit::Usage, what, "give for example --timeout 10")
        })
}

fn no_room(error: std::io::Error) -> Failure {
    let next = "free memory or threads, then try again";
    Failure::new(Exit::Refused, error, next)
}

/// As long as a lease can be.
const LONGEST: Duration = Duration::from_secs(24 * 3600 - 60);

const EXAMPLE: &str = "\
HANDLERS:
  COMMAND runs once for each message, which it reads as JSON on its standard input, --parallel of them at once.
  Exit status 0 means handled: what wants no answer leaves the inbox, and for a request the JSON that the command
  printed (240 KiB at most) is the answer; without output the request stays for signet reply. Any other end is a
  failed try: the next comes after a pause that doubles, and after five the message is in the quarantine
  (signet quarantine) and holds up nothing. Nobody else gets a message while a try lasts; a try that is cut short counts,
  so a command may see a message again, and tells it by `key`. What the command says on standard error goes to
  standard error; only how it ended stands in the log.

EXAMPLE:
  signet handle --capability calendar.free-busy -- /usr/local/bin/calendar-handler --week-starts monday
  signet handle --socket /run/signet/agent.sock --parallel 8 --timeout 10 -- jq -c '{seen: .body}'";
