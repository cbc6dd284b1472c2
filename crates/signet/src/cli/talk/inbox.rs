//! `signet inbox`: what arrived and waits.

mod done;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;
use signet_api::{FollowInbox, ListAside, ListInbox, Message, Notification, Waiting};
use signet_audit::{printable, visible};
use signet_proto::handoff::Offering;

use crate::cli::ask::{acknowledge, connect};
use crate::cli::pages::every;
use crate::cli::print::{print_json, safe_json};
use crate::cli::refusal::refused_by;
use crate::cli::talk::handle::{Handling, no_room, retried_after, tried_for};
use crate::cli::{CliError, print};
use crate::config::Config;
use crate::control::{Client, ClientError};
use crate::home::Home;
use crate::lock::refuse_foreign;

/// See `signet inbox --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE, args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    action: Option<InboxCommand>,
    /// Go on with each message that arrives, until interrupted
    #[arg(long)]
    follow: bool,
    /// Take each message that wants no answer out of the inbox, once it is printed
    #[arg(long)]
    take: bool,
    /// Show what agents had sent before they were withdrawn or revoked: your agent no longer gets it
    #[arg(long, conflicts_with_all = ["follow", "take"])]
    set_aside: bool,
    /// Print each message as one line of JSON
    #[arg(long)]
    json: bool,
    /// Run a command for each message, which it reads as JSON on its standard input
    #[arg(long, requires = "command", conflicts_with_all = ["take", "set_aside", "json"])]
    each: bool,
    /// With --each: how long one try may take before it is killed
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60.0,
        requires = "each"
    )]
    timeout: f64,
    /// With --each: the pause before the second try; it doubles with each
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, requires = "each")]
    retry_after: f64,
    /// With --each: the command and its arguments, as they are; no shell reads them
    #[arg(last = true, value_name = "COMMAND", requires = "each")]
    command: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
enum InboxCommand {
    /// Take one message out of the inbox: it is read, and wants no answer any more
    #[command(after_help = "EXAMPLE:\n  signet inbox done 0192f0c1")]
    Done(done::DoneArgs),
}

pub(crate) fn run(args: InboxArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    if let Some(InboxCommand::Done(args)) = &args.action {
        return done::run(args, home);
    }
    if args.each {
        return each(args, home);
    }
    let mut client = connect(home.clone(), Duration::ZERO)?;
    if args.set_aside {
        return set_aside(&args, &mut client);
    }
    let listed = match args.follow {
        // The daemon answers `None` if the person has paused their agents: then nothing is listed until the agents go on.
        true => client.call(&FollowInbox {})?.unwrap_or_default(),
        false => client.call(&ListInbox::default())?,
    };
    let (mut messages, mut seen) = (listed.messages, 0);
    while let Some(last) = messages.last() {
        seen = last.number;
        for waiting in messages {
            show(&args, &mut client, &waiting.into())?;
        }
        messages = client.call(&behind(seen))?.messages;
    }
    if !args.follow {
        return match seen == 0 && !args.json {
            true => print("nothing waits\n"),
            false => Ok(()),
        };
    }
    // Acknowledge messages by a second connection: from here on, the first connection waits in `notifications`.
    let mut taking = connect(home, Duration::ZERO)?;
    for arrived in client.notifications() {
        if let Some(arrived) = Arrived::of(arrived?) {
            show(&args, &mut taking, &arrived?)?;
        }
    }
    Ok(())
}

/// The same as `signet handle` with one command at a time, by the person's socket.
fn each(args: InboxArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    // Refuse to run as root in another user's home: files that the command makes there would lock the home's owner out.
    refuse_foreign(&home)?;
    let handling = Handling {
        socket: Config::load(&home)?.control_socket,
        home: Some(std::path::absolute(home.path()).map_err(no_room)?),
        command: args.command,
        capabilities: None,
        parallel: 1,
        timeout: tried_for(args.timeout)?,
        retry_after: retried_after(args.retry_after)?,
        once: !args.follow,
    };
    handling.run()
}

/// A message as it was listed, or as it arrived: then it has no number.
#[derive(Clone, Serialize)]
struct Arrived {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    #[serde(flatten)]
    message: Message,
}

impl Arrived {
    /// What a notification tells of; `None` where that is no message of the inbox.
    fn of(notification: Notification) -> Option<Result<Self, ClientError>> {
        let message = notification.into_message()?;
        Some(message.map(|message| Self {
            number: None,
            message,
        }))
    }
}

impl From<Waiting> for Arrived {
    fn from(waiting: Waiting) -> Self {
        Self {
            number: Some(waiting.number),
            message: waiting.message,
        }
    }
}

/// The call that lists what waits behind the message of that number.
fn behind(number: u64) -> ListInbox {
    ListInbox {
        after: number,
        ..ListInbox::default()
    }
}

fn set_aside(args: &InboxArgs, client: &mut Client) -> Result<(), CliError> {
    let name = |message: &Message| (message.from.clone(), message.message_id.clone());
    // The daemon does not say how many there are: the list ends at an empty page.
    let messages = every(name, |skip| {
        Ok((usize::MAX, client.call(&ListAside { skip })?.messages))
    })?;
    let is_empty = messages.is_empty();
    for message in messages {
        let number = None;
        show(args, client, &Arrived { number, message })?;
    }
    match is_empty && !args.json {
        true => print("nothing is set aside\n"),
        false => Ok(()),
    }
}

fn show(args: &InboxArgs, client: &mut Client, arrived: &Arrived) -> Result<(), CliError> {
    let message = &arrived.message;
    match args.json {
        true => print_json(arrived)?,
        false => print(&line(message))?,
    }
    match args.take && !message.is_request() && !message.is_handoff() {
        // Acknowledge only after the message is printed: a command that is killed in between then shows the
        // message again, and loses nothing.
        true => acknowledge(client, message),
        false => Ok(()),
    }
}

fn line(message: &Message) -> String {
    let what = match (&message.error, &message.shut, &message.body) {
        (Some(error), _, _) => refused_by(&message.from, error, None),
        (None, Some(why), _) => format!("({why})"),
        (None, None, Some(body)) if message.is_handoff() => offer(body),
        (None, None, body) => safe_json(body.as_ref().unwrap_or(&Value::Null)),
    };
    let summary = message.summary.as_deref();
    let summary = summary.map(|summary| format!("\"{}\"  ", printable(summary)));
    let line = format!(
        "{}  {:<12}  {}  {}{}",
        message.message_id,
        message.message_type,
        message.from,
        summary.unwrap_or_default(),
        cut(&what),
    );
    format!("{}\n", visible(&line))
}

/// The goal, and where the rest of it is to be seen: the chain alone would fill the screen.
fn offer(body: &Value) -> String {
    let Ok(offered) = Offering::parse(body) else {
        return safe_json(body);
    };
    let (goal, task) = (printable(&offered.goal), offered.chain.task());
    format!("signet handoff show {task}  \"{goal}\"")
}

/// The beginning of a body, with an ellipsis where it was cut; --json prints the whole of it.
fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// How many characters of a body one line shows.
const LONGEST: usize = 200;

const EXAMPLE: &str = "\
HANDLERS:
  --each is signet handle --parallel 1 for the messages of this home: COMMAND runs once for each message, one after the
  other (signet handle --help). Without --follow it is --once: it ends when every message was handled, kept or put
  into the quarantine, with exit code 1 if one was put there.

EXAMPLE:
  signet inbox
  signet inbox --follow --take --json | jq .body
  signet inbox --follow --each -- /usr/local/bin/calendar-handler --week-starts monday
  signet inbox --each --timeout 10 -- jq -c '{seen: .body}'";
