//! `signet reply`: answer a request that waits in the inbox.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};

use super::ask::{ask, parse_json, print_json, text};
use super::{Exit, Failure, print};

/// See `signet reply --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct ReplyArgs {
    /// The request, as signet inbox shows it
    #[arg(value_name = "MESSAGE-ID")]
    message_id: String,
    /// The answer
    #[arg(value_name = "JSON", required_unless_present = "decline")]
    body: Option<String>,
    /// Decline instead, and say why
    #[arg(long, value_name = "TEXT", conflicts_with = "body")]
    decline: Option<String>,
    /// Whose request, when two peers used one id
    #[arg(long, value_name = "PEER")]
    from: Option<String>,
    /// One line for the people who read the log
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Print the answer's message-id as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: ReplyArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let mut params = Map::new();
    let mut put =
        |name: &str, value: Option<Value>| value.map(|value| params.insert(name.to_owned(), value));
    put("message-id", Some(args.message_id.as_str().into()));
    put("body", args.body.as_deref().map(parse_json).transpose()?);
    put("decline", args.decline.as_deref().map(Into::into));
    put("from", args.from.as_deref().map(Into::into));
    put("summary", args.summary.as_deref().map(Into::into));
    if args.body.is_none() && args.decline.is_none() {
        return Err(Failure::new(
            Exit::Usage,
            "no answer",
            "give JSON, or --decline TEXT",
        ));
    }
    let replied = ask(home, "reply", &Value::Object(params))?;
    if args.json {
        print_json(&replied)
    } else {
        print(&format!("answered with {}\n", text(&replied, "message-id")))
    }
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet reply 0192f0c1-0000-7000-8000-000000000000 '{\"evenings\": [\"Tue\", \"Thu\"]}'";
