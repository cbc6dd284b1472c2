//! `signet reply`: answer a request that waits in the inbox.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signet_api::{RequestName, Respond};

use crate::cli::ask::{change, connect};
use crate::cli::input::{CommandInput, short};
use crate::cli::print::print_as;
use crate::cli::{CliError, names};

/// See `signet reply --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ReplyArgs {
    /// The request, as signet inbox shows it, or as much of its id as is unambiguous
    #[arg(value_name = "MESSAGE-ID")]
    message_id: String,
    /// The answer; - reads it from standard input, @FILE from a file
    #[arg(value_name = "JSON", required_unless_present = "decline")]
    body: Option<String>,
    /// Decline instead, and say why; - and @FILE as above, @@ for words that begin with @
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

pub(crate) fn run(args: ReplyArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    if args.body.is_none() && args.decline.is_none() {
        return Err(CliError::usage("no answer", "give JSON, or --decline TEXT"));
    }
    short("--summary", args.summary.as_deref())?;
    let mut input = CommandInput::default();
    let body = args.body.as_deref().map(|body| input.json(body));
    // Refuse a body that is not JSON before the daemon is asked: no search through the inbox is needed for it.
    let body = body.transpose()?;
    let decline = args.decline.as_deref().map(|why| input.words(why));
    let mut client = connect(home, Duration::ZERO)?;
    let among = || names::in_inbox(&mut client, args.from.as_deref());
    let request = RequestName {
        message_id: names::one(&args.message_id, among, "signet inbox")?,
        from: args.from,
    };
    let answer = Respond {
        lease: None,
        message: Some(request),
        body,
        decline: decline.transpose()?,
        summary: args.summary,
    };
    let replied = change(&mut client, &answer)?;
    print_as(args.json, &replied, || {
        format!("answered with {}\n", replied.message_id)
    })
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet reply 0192f0c1-0000-7000-8000-000000000000 '{\"evenings\": [\"Tue\", \"Thu\"]}'
  signet reply 0192f0c1-0000-7000-8000-000000000000 @answer.json";
