//! `signet handle`: a command handles what comes, in a process of its own that talks to the agent's socket
//! alone. It can open neither keys nor the person's socket where it runs under another user id. What a file says
//! in the place of a command, `signet-gateway` does, which speaks the protocols of foreign agents.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process;
use std::time::Duration;

use clap::Args;
use signet_handlers::{Command, Environment, Stopped, Worker, look_up, work_all};

use crate::cli::talk::handler::FILE;
use crate::cli::{CliError, Exit, setup::gateway};
use crate::config::Config;
use crate::home::Home;

/// See `signet handle --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct HandleMessagesArgs {
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
    /// The pause before the second try; it doubles with each
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    retry_after: f64,
    /// End when nothing waits any more, and what failed is handled after all or in the quarantine
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

pub(crate) fn run(args: &HandleMessagesArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let timeout = tried_for(args.timeout)?;
    let retry_after = retried_after(args.retry_after)?;
    let (socket, home) = match &args.socket {
        Some(socket) => (socket.clone(), None),
        None => {
            let home = Home::find(home)?;
            let config = Config::load(&home)?;
            let agent = config.agent_socket.map(|socket| socket.path);
            // An agent has no socket of its own if the home's path is too long for one: then use the person's socket.
            let socket = agent.unwrap_or(config.control_socket);
            (socket, Some(home.path().to_owned()))
        }
    };
    let home = home.map(std::path::absolute).transpose().map_err(no_room)?;
    if args.command.is_empty() {
        return Err(by_file(args, socket, home));
    }
    let handling = Handling {
        socket,
        home,
        command: args.command.clone(),
        capabilities: (!args.capabilities.is_empty()).then(|| args.capabilities.clone()),
        parallel: args.parallel,
        timeout,
        retry_after,
        once: args.once,
    };
    handling.run()
}

/// Lets `signet-gateway` handle what comes, as the file says. It keeps this environment, which the commands of the file
/// and their tokens may need.
fn by_file(args: &HandleMessagesArgs, socket: PathBuf, home: Option<PathBuf>) -> CliError {
    if !args.capabilities.is_empty() {
        let what = "--capability is for a COMMAND; the file names the capabilities";
        return CliError::usage(what, "leave it out, or give a COMMAND behind --");
    }
    let beside = home.as_ref().map(|home| home.join(FILE));
    let Some(file) = args.handlers.clone().or(beside) else {
        let what = "neither a COMMAND nor a file says how messages are handled";
        return CliError::usage(what, "add --handlers FILE, or -- and a COMMAND");
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

/// A command that handles what comes: `signet handle` and `signet inbox --each`.
pub(crate) struct Handling {
    pub(crate) socket: PathBuf,
    /// The home that the command finds in SIGNET_HOME.
    pub(crate) home: Option<PathBuf>,
    pub(crate) command: Vec<OsString>,
    /// Only calls that ask for these.
    pub(crate) capabilities: Option<Vec<String>>,
    pub(crate) parallel: u8,
    pub(crate) timeout: Duration,
    /// The pause before the second try.
    pub(crate) retry_after: Duration,
    pub(crate) once: bool,
}

impl Handling {
    pub(crate) fn run(self) -> Result<(), CliError> {
        let program = self
            .command
            .first()
            .map_or(OsStr::new(""), OsString::as_os_str);
        let unusable = |fault: &dyn std::fmt::Display| {
            let what = format!("{} {fault}", program.display());
            let next = "name a program that is there and may be executed, behind --";
            CliError::usage(what, next)
        };
        look_up(program).map_err(|fault| unusable(&fault))?;
        let workers = (0..self.parallel).map(|_| Worker {
            socket: self.socket.clone(),
            handler: Box::new(Command {
                command: self.command.clone(),
                home: self.home.clone(),
                timeout: self.timeout,
                environment: Environment::Whole,
            }),
            timeout: self.timeout,
            capabilities: self.capabilities.clone(),
            offer: None,
            retry_after: Some(self.retry_after),
            once: self.once,
            stops: true,
        });
        work_all(workers.collect())
            .map_err(no_room)?
            .map_err(|stopped| match stopped {
                Stopped::Daemon(error) => error.into(),
                Stopped::Unusable(fault) => unusable(&fault),
                Stopped::Told => {
                    let next = "the same command goes on from there";
                    CliError::new(Exit::Waiting, stopped, next)
                }
                Stopped::Quarantined(_) => CliError::refused(stopped, "signet quarantine list"),
            })
    }
}

/// How long one try may take.
pub(crate) fn tried_for(seconds: f64) -> Result<Duration, CliError> {
    let timeout = Duration::try_from_secs_f64(seconds).ok();
    // Refuse a limit of zero: every try would fail at once, and five failed tries put a message into the quarantine.
    let timeout = timeout.filter(|timeout| *timeout <= LONGEST && !timeout.is_zero());
    timeout.ok_or_else(|| no_seconds("--timeout"))
}

/// The pause before the second try.
pub(crate) fn retried_after(seconds: f64) -> Result<Duration, CliError> {
    let pause = Duration::try_from_secs_f64(seconds).ok();
    let pause = pause.filter(|pause| *pause <= LONGEST);
    pause.ok_or_else(|| no_seconds("--retry-after"))
}

fn no_seconds(option: &str) -> CliError {
    let what = format!("{option} is not a number of seconds up to a day");
    CliError::usage(what, format!("give for example {option} 10"))
}

pub(crate) fn no_room(error: std::io::Error) -> CliError {
    let next = "free memory or threads, then try again";
    CliError::refused(error, next)
}

/// The longest time for a try or a pause: the longest lease is 24 hours, and a try has to end before it.
const LONGEST: Duration = Duration::from_secs(24 * 3600 - 60);

const EXAMPLE: &str = "\
HANDLERS:
  COMMAND runs once for each message, which it reads as JSON on its standard input, --parallel of them at once.
  Exit status 0 means handled: what wants no answer leaves the inbox, and for a request the JSON that the command
  printed (240 KiB at most) is the answer; without output the request stays for signet reply. Any other end is a
  failed try: the next comes after a pause that doubles (--retry-after), and after five the message is in the quarantine
  (signet quarantine) and holds up nothing; --once then ends with exit code 1. An answer that no message holds, because it is too large or not JSON, refuses
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
