//! `signet-gateway handle` and `handler`: handlers by a file. `signet` finds file and socket, and starts this program in its
//! own place, so that what reads the answers of foreign agents never shared memory with keys.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use signet_api::ClientError;
use signet_handlers::{Done, Stopped, work_all};
use signet_json::{Limits, parse_foreign};
use signet_text::visible;

use super::trial::try_once;
use super::{Handlers, Trace, TraceFault};
use crate::{hint, say};

/// Handle what comes to the agent, as a file says
#[derive(Debug, Args)]
pub(crate) struct HandlersArgs {
    /// The agent's socket (agent.sock), as `signet handle` finds it
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,
    /// Which capability is handled by what
    #[arg(long, value_name = "FILE")]
    handlers: PathBuf,
    /// Where what goes to and fro is written, while that file is there; beside the handlers' file when absent
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// End when nothing waits any more
    #[arg(long)]
    once: bool,
}

/// Try one handler, or look at what it says
#[derive(Debug, Subcommand)]
pub(crate) enum HandlerCommand {
    /// Let the handler of a capability try a body, without a peer
    Test(TrialArgs),
    /// Switch on, switch off or show what goes to and fro
    Trace(SwitchTraceArgs),
}

#[derive(Debug, Args)]
pub(crate) struct TrialArgs {
    /// Which capability is handled by what
    #[arg(long, value_name = "FILE")]
    handlers: PathBuf,
    /// The capability
    capability: String,
    /// The body of the request: JSON, @FILE, or - for standard input
    body: String,
}

#[derive(Debug, Args)]
pub(crate) struct SwitchTraceArgs {
    /// The file
    #[arg(long, value_name = "FILE")]
    trace: PathBuf,
    #[arg(value_enum)]
    switch: TraceSwitch,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum TraceSwitch {
    On,
    Off,
    Show,
}

/// How a command ends that does not end well: its code, what is wrong, and what to do.
struct CommandFault(u8, String, String);

fn failed(code: u8, what: String, next: &str) -> CommandFault {
    CommandFault(code, what, next.to_owned())
}

pub(crate) fn handle(args: &HandlersArgs) -> ExitCode {
    ended(handle_all(args))
}

pub(crate) fn handler(command: &HandlerCommand) -> ExitCode {
    ended(match command {
        HandlerCommand::Test(args) => try_one(args),
        HandlerCommand::Trace(args) => trace(args),
    })
}

fn handle_all(args: &HandlersArgs) -> Result<(), CommandFault> {
    let handlers = load(&args.handlers)?;
    let place = args.trace.clone();
    let place = place.unwrap_or_else(|| args.handlers.with_extension("trace"));
    let trace = Trace::file(place);
    let workers = handlers.workers(&args.socket, &trace, args.once);
    match work_all(workers).map_err(no_room)? {
        Ok(()) => Ok(()),
        Err(Stopped::Daemon(ClientError::Refused(refused))) => {
            Err(failed(REFUSED, refused.message, LATER))
        }
        Err(stopped) => {
            let (code, next) = match stopped {
                Stopped::Daemon(_) => (AWAY, START_IT),
                Stopped::Quarantined(_) => (REFUSED, "signet quarantine list"),
                Stopped::Told => (WAITING, LATER),
                Stopped::Unusable(_) => (USAGE, MEND_IT),
            };
            Err(failed(code, stopped.to_string(), next))
        }
    }
}

fn try_one(args: &TrialArgs) -> Result<(), CommandFault> {
    let handlers = load(&args.handlers)?;
    let section = handlers.get(&args.capability);
    let section = section.ok_or_else(|| {
        let what = format!(
            "{} has no handler of `{}`",
            args.handlers.display(),
            args.capability
        );
        failed(USAGE, what, "name one of the capabilities in the file")
    })?;
    let body = body(&args.body)?;
    match try_once(section, body).map_err(no_room)? {
        Ok(done) => print(&told(done)),
        Err(fault) => Err(failed(REFUSED, fault.to_string(), LOOK)),
    }
}

/// What a peer would read.
fn told(done: Done) -> Value {
    match done {
        Done::Answer(body) => json!({ "answered": body }),
        Done::Declined(words) => json!({ "declined": words }),
        Done::Unfinished { text, body } => json!({ "declined": text, "body": body }),
        Done::Nothing => {
            json!({ "left": "there is no answer; the request would wait for somebody else's" })
        }
    }
}

fn trace(args: &SwitchTraceArgs) -> Result<(), CommandFault> {
    let of_file = |fault: TraceFault| failed(USAGE, fault.to_string(), RIGHTS);
    match args.switch {
        TraceSwitch::On => Trace::switch_on(&args.trace).map_err(of_file),
        TraceSwitch::Off => Trace::switch_off(&args.trace).map_err(of_file),
        TraceSwitch::Show => {
            match Trace::show(&args.trace, &mut io::stdout().lock()).map_err(of_file)? {
                true => Ok(()),
                false => Err(failed(
                    REFUSED,
                    "nothing is traced".to_owned(),
                    "signet handler trace on",
                )),
            }
        }
    }
}

fn load(path: &Path) -> Result<Handlers, CommandFault> {
    Handlers::load(path).map_err(|fault| failed(USAGE, fault.to_string(), &fault.next()))
}

/// Nothing that is longer than a message is read.
fn body(given: &str) -> Result<Value, CommandFault> {
    let mut bytes = Vec::new();
    // Read one byte more than a message may have: a longer text is then refused below, and not cut off silently.
    let most = Limits::MESSAGE.bytes as u64 + 1;
    let read = match (given, given.strip_prefix('@')) {
        ("-", _) => io::stdin().lock().take(most).read_to_end(&mut bytes),
        (_, Some(file)) => {
            std::fs::File::open(file).and_then(|file| file.take(most).read_to_end(&mut bytes))
        }
        (text, None) => {
            bytes.extend_from_slice(text.as_bytes());
            Ok(bytes.len())
        }
    };
    let unread = |error: io::Error| {
        failed(
            USAGE,
            format!("the body: {error}"),
            "name a file that can be read",
        )
    };
    read.map_err(unread)?;
    parse_foreign(&bytes, Limits::MESSAGE).map_err(|_| {
        let what = "the body is not JSON of at most 240 KiB".to_owned();
        failed(USAGE, what, "give one JSON text, such as '{\"week\": 7}'")
    })
}

fn print(value: &Value) -> Result<(), CommandFault> {
    // The answer comes from another program, which may repeat what others wrote: escape its hidden characters, which could
    // control the terminal.
    let said = writeln!(io::stdout(), "{}", visible(&value.to_string()));
    said.map_err(|error| {
        failed(
            DISK,
            format!("standard output: {error}"),
            "send the output elsewhere",
        )
    })
}

fn ended(result: Result<(), CommandFault>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(CommandFault(code, what, next)) => say::failed(&say::told(&what, &next), code),
    }
}

fn no_room(error: io::Error) -> CommandFault {
    failed(REFUSED, error.to_string(), say::NO_ROOM)
}

/// The codes of `signet`.
const REFUSED: u8 = 1;
const USAGE: u8 = 2;
const AWAY: u8 = 3;
const DISK: u8 = 4;
const WAITING: u8 = 5;
const LATER: &str = "the same command goes on from there";
const START_IT: &str = hint::STARTS;
const MEND_IT: &str = "name a program that is there and may be executed";
const LOOK: &str = "docs/handlers.md says what each name means";
const RIGHTS: &str = "do it as the user whose process handles";
