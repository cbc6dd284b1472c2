//! `signet handle`: a command handles what comes, in a process of its own that talks to the agent's socket
//! alone. It can open neither keys nor the person's socket where it runs under another user id. What a file says
//! in the place of a command, `signet-gateway` does, which speaks the protocols of foreign agents.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use clap::Args;
use signet_handlers::{Command, Environment, Stopped, Worker, look_up, work_all};

use super::handler::FILE;
use super::{Exit, Failure, gateway};
use crate::config::Config;
use crate::home::Home;

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
    /// Which capability is handled by what, where no COMMAND is given; handlers.toml in the home when absent
    #[arg(long, value_name = "FILE")]
    handlers: Option<PathBuf>,
    /// Where `signet handler trace` finds what goes to and fro; the same name with .trace when absent
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The command and its arguments, as they are; no shell reads them
    #[arg(last = true, value_name = "COMMAND")]
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
    match args.command.is_empty() {
        true => Err(by_file(args, socket, home)),
        false => by_command(args, &socket, home.as_ref(), timeout),
    }
}

/// The process of the handlers keeps our environment: commands and tokens may stand in it.
fn by_file(args: &HandleArgs, socket: PathBuf, home: Option<PathBuf>) -> Failure {
    if !args.capabilities.is_empty() {
        let what = "--capability is for a COMMAND; the file names the capabilities";
        return Failure::new(
            Exit::Usage,
            what,
            "leave it out, or give a COMMAND behind --",
        );
    }
    let beside = home.as_ref().map(|home| home.join(FILE));
    let Some(file) = args.handlers.clone().or(beside) else {
        let what = "neither a COMMAND nor a file says how messages are handled";
        return Failure::new(
            Exit::Usage,
            what,
            "add --handlers FILE, or -- and a COMMAND",
        );
    };
    let mut command = match gateway::program() {
        Ok(program) => process::Command::new(program),
        Err(failure) => return failure,
    };
    command.arg("handle").arg("--socket").arg(socket);
    command.arg("--handlers").arg(file);
    if let Some(trace) = &args.trace {
        command.arg("--trace").arg(trace);
    }
    if args.once {
        command.arg("--once");
    }
    if let Some(home) = home {
        command.env("SIGNET_HOME", home);
    }
    gateway::take_over(command)
}

fn by_command(
    args: &HandleArgs,
    socket: &Path,
    home: Option<&PathBuf>,
    timeout: Duration,
) -> Result<(), Failure> {
    let command = args
        .command
        .first()
        .map_or(OsStr::new(""), OsString::as_os_str);
    let unusable = |fault: &dyn std::fmt::Display| {
        let what = format!("{} {fault}", command.display());
        let next = "name a program that is there and may be executed, behind --";
        Failure::new(Exit::Usage, what, next)
    };
    look_up(command).map_err(|fault| unusable(&fault))?;
    let workers = (0..args.parallel).map(|_| Worker {
        socket: socket.to_owned(),
        handler: Box::new(Command {
            command: args.command.clone(),
            home: home.cloned(),
            timeout,
            environment: Environment::Whole,
        }),
        timeout,
        capabilities: (!args.capabilities.is_empty()).then(|| args.capabilities.clone()),
        offer: None,
        once: args.once,
        stops: true,
    });
    match work_all(workers.collect()).map_err(no_room)? {
        Ok(()) => Ok(()),
        Err(Stopped::Daemon(error)) => Err(error.into()),
        Err(stopped) => Err(unusable(&stopped)),
    }
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
  (signet quarantine) and holds up nothing. An answer that no message holds, because it is too large or not JSON, refuses
  the request at once. A COMMAND that is not there takes no message. Nobody else gets a message while a try lasts; a try that is cut short counts,
  so a command may see a message again, and tells it by `key`. What the command says on standard error goes to
  standard error; only how it ended stands in the log.

HANDLERS OF A FILE:
  Without COMMAND, handlers.toml says which capability is handled by a command, by an agent that speaks A2A or JSON-RPC,
  or by a tool of an MCP server (docs/handlers.md). signet-gateway does that, a program without keys that stands beside
  this one; signet handler tries one of them.

EXAMPLE:
  signet handle --capability calendar.free-busy -- /usr/local/bin/calendar-handler --week-starts monday
  signet handle --socket /run/signet/agent.sock --parallel 8 --timeout 10 -- jq -c '{seen: .body}'
  signet handle --handlers /etc/signet/handlers-alpha.toml --socket /run/signet/agent.sock";
