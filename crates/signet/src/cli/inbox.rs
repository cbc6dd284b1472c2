//! `signet inbox`: what arrived and waits.

mod each;
mod round;
mod tries;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};
use signet_audit::{printable, visible};

use super::ask::{acknowledge, connect, print_json, safe_json, text};
use super::refusal::refused_by;
use super::{Failure, print};
use crate::control::Client;

/// See `signet inbox --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct InboxArgs {
    /// Go on with what arrives, until interrupted
    #[arg(long)]
    follow: bool,
    /// Take out of the inbox what wants no answer, once it is printed
    #[arg(long)]
    take: bool,
    /// What agents sent whose trust was taken back since: for you, not for your agent
    #[arg(long, conflicts_with_all = ["follow", "take"])]
    set_aside: bool,
    /// Print each message as one line of JSON
    #[arg(long)]
    json: bool,
    /// Let a command handle each message, which it reads as JSON on its standard input
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

pub(super) fn run(args: InboxArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    if args.each {
        return each::run(&args, home);
    }
    let mut client = connect(home.clone(), Duration::ZERO)?;
    if args.set_aside {
        return set_aside(&args, &mut client);
    }
    let listed = client.raw(
        if args.follow {
            "inbox.follow"
        } else {
            "inbox.list"
        },
        &json!({}),
    )?;
    let mut page = listed;
    let mut seen = 0;
    loop {
        let messages = page
            .get("messages")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let Some(last) = messages.last() else { break };
        seen = last
            .get("number")
            .and_then(Value::as_u64)
            .unwrap_or(u64::MAX);
        for message in &messages {
            show(&args, &mut client, message)?;
        }
        page = client.raw("inbox.list", &json!({"after": seen}))?;
    }
    if !args.follow {
        return if seen == 0 && !args.json {
            print("nothing waits\n")
        } else {
            Ok(())
        };
    }
    // Taking needs a connection of its own: this one only listens from here on.
    let mut taking = connect(home, Duration::ZERO)?;
    for arrived in client.notifications() {
        show(&args, &mut taking, &arrived?.params)?;
    }
    Ok(())
}

fn set_aside(args: &InboxArgs, client: &mut Client) -> Result<(), Failure> {
    let mut seen = 0;
    loop {
        let page = client.raw("inbox.aside", &json!({ "skip": seen }))?;
        let messages = page.get("messages").and_then(Value::as_array);
        let messages = messages.map(Vec::as_slice).unwrap_or_default();
        if messages.is_empty() {
            break;
        }
        for message in messages {
            show(args, client, message)?;
        }
        seen += messages.len();
    }
    match seen == 0 && !args.json {
        true => print("nothing is set aside\n"),
        false => Ok(()),
    }
}

fn show(args: &InboxArgs, client: &mut Client, message: &Value) -> Result<(), Failure> {
    if args.json {
        print_json(message)?
    } else {
        print(&line(message))?
    }
    if args.take && !["request", "handoff"].contains(&text(message, "type")) {
        acknowledge(client, message)?;
    }
    Ok(())
}

fn line(message: &Value) -> String {
    let what = match (
        message.get("error"),
        message.get("shut"),
        message.get("body"),
    ) {
        (Some(error), _, _) => refused_by(text(message, "from"), error, None),
        (None, Some(_), _) => format!("({})", text(message, "shut")),
        (None, None, Some(body)) if text(message, "type") == "handoff" => offer(body),
        (None, None, body) => safe_json(body.unwrap_or(&Value::Null)),
    };
    let what = cut(&what);
    let summary = message
        .get("summary")
        .and_then(Value::as_str)
        .map(|summary| format!("\"{}\"  ", printable(summary)));
    let line = format!(
        "{}  {:<12}  {}  {}{}",
        text(message, "message-id"),
        text(message, "type"),
        text(message, "from"),
        summary.unwrap_or_default(),
        what,
    );
    format!("{}\n", visible(&line))
}

/// The goal, and where the rest of it is to be seen: the chain alone would fill the screen.
fn offer(body: &Value) -> String {
    let (goal, task) = (text(body, "goal"), text(body, "task"));
    format!("signet handoff show {task}  \"{}\"", printable(goal))
}

/// The whole of it is for --json.
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
  --each runs COMMAND once for each message, one after the other. Exit status 0 means handled: what wants no
  answer leaves the inbox, and for a request the JSON that the command printed (240 KiB at most) is the answer;
  without output the request stays for signet reply. Any other end is a failed try: the next one comes after a
  pause that doubles, and after five the message is set aside (signet quarantine) and holds up nothing. Each try
  is a line in the log before the command starts, so that one cut short counts as well: a command may see a
  message again, and tells it by `from` and `message-id`. What the command says on standard error goes to
  standard error; only how it ended stands in the log. Without --follow it ends when every message was handled,
  kept or set aside, with exit code 1 if one was set aside. SIGNET_HOME is set for the command.

EXAMPLE:
  signet inbox
  signet inbox --follow --take --json | jq .body
  signet inbox --follow --each -- /usr/local/bin/calendar-handler --week-starts monday
  signet inbox --each --timeout 10 -- jq -c '{seen: .body}'";
