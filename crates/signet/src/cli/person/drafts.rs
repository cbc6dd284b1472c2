//! `signet drafts` and `signet approve`: what waits to leave, and the person's decision about it.

mod listed;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use signet_api::{DecideDraft, Decided, Decision, Draft, DropDraft};
use signet_proto::node::hash_of_draft;
use signet_proto::statement::{self, Approval};

use crate::cli::ask::{decide, read_as};
use crate::cli::person::control_key::{ControlKey, control_of, foreign_key};
use crate::cli::print::{json_of, print_as, print_each, print_json, safe_json};
use crate::cli::talk::message_status::MessageReport;
use crate::cli::{CliError, print, visible_lines};
use crate::clock;
use crate::files::private;
pub(crate) use listed::{Listed, listed};

/// See `signet drafts --help`.
#[derive(Debug, Args)]
#[command(after_help = DRAFTS, args_conflicts_with_subcommands = true)]
pub(crate) struct DraftsArgs {
    #[command(subcommand)]
    command: Option<DraftsCommand>,
    /// Print each as one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum DraftsCommand {
    /// Take back a message that has not left
    #[command(after_help = "EXAMPLE:\n  signet drafts drop 0192f0c1")]
    Drop {
        /// The draft: its message-id, or as much of it as is unambiguous
        #[arg(value_name = "DRAFT", value_parser = NonEmptyStringValueParser::new())]
        draft: String,
        /// Print what was done as one line of JSON
        #[arg(long)]
        json: bool,
    },
}

/// See `signet approve --help`.
#[derive(Debug, Args)]
#[command(after_help = APPROVE)]
pub(crate) struct ApproveArgs {
    /// The draft: its message-id, or as much of it as is unambiguous
    #[arg(
        value_name = "DRAFT",
        required_unless_present = "statement",
        value_parser = NonEmptyStringValueParser::new()
    )]
    draft: Option<String>,
    /// Decide that it never leaves
    #[arg(long)]
    refuse: bool,
    #[command(flatten)]
    control: ControlKey,
    /// The output of `signet drafts --json`, to sign on a machine without the daemon
    #[arg(long, value_name = "FILE", requires = "out")]
    drafts: Option<PathBuf>,
    /// Write the signed decision to this new file instead of handing it in
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    out: Option<PathBuf>,
    /// Hand in a decision that was signed elsewhere
    #[arg(long, value_name = "FILE", conflicts_with_all = ["draft", "refuse", "key", "drafts", "out"])]
    statement: Option<PathBuf>,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn drafts(args: DraftsArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    if let Some(DraftsCommand::Drop { draft, json }) = &args.command {
        return drop_draft(draft, *json, home);
    }
    let waiting = listed::all(home)?;
    if args.json {
        return print_each(&waiting);
    }
    let mut page = String::new();
    for Listed { draft, .. } in &waiting {
        describe(draft, &mut page);
        // Writing to a String cannot fail.
        let _ = writeln!(page, "  next: {}", next_for(draft));
    }
    match page.is_empty() {
        true => print("nothing waits to leave\n"),
        false => print(&visible_lines(&page)),
    }
}

/// Takes a draft back. No key is asked for: whoever may write a message by this socket may also take it back.
fn drop_draft(name: &str, json: bool, home: Option<PathBuf>) -> Result<(), CliError> {
    let waiting = listed::named(home.clone(), name)?;
    let message_id = listed::only(waiting, name)?.draft.message_id;
    let dropped = decide(home, DropDraft { message_id })?;
    print_as(json, &dropped, || {
        format!(
            "dropped: {} never leaves for {}\n",
            dropped.message_id, dropped.peer,
        )
    })
}

pub(crate) fn approve(args: &ApproveArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    if let Some(file) = &args.statement {
        let signed = read_as(&crate::cli::person::key::read_json(file)?)?;
        return hand_in(args, home, signed);
    }
    let name = args.draft.as_deref().unwrap_or_default();
    let waiting = match &args.drafts {
        Some(file) => listed::read(file)?,
        None => listed::named(home.clone(), name)?,
    };
    let listed = listed::only(waiting, name)?;
    let decision = match args.refuse {
        true => statement::Decision::Refused,
        false => statement::Decision::Approved,
    };
    let signed = sign(&listed, decision, &args.control, home.clone())?;
    if !args.json {
        let mut page = String::new();
        describe(&listed.draft, &mut page);
        print(&visible_lines(&page))?;
    }
    match &args.out {
        Some(file) => write_out(file, &signed),
        None => hand_in(args, home, signed),
    }
}

/// The person's signed decision about a draft, as it was listed.
pub(crate) fn sign(
    listed: &Listed,
    decision: statement::Decision,
    key: &ControlKey,
    home: Option<PathBuf>,
) -> Result<DecideDraft, CliError> {
    let value = listed.what_is_signed()?;
    let (control, key) = control_of(listed.control.as_ref(), key, home)?;
    // Hash the draft that was shown. The hash in the list comes from the daemon and proves nothing: a daemon that lies
    // could have the person sign another draft.
    let hash = hash_of_draft(value);
    let signed = Approval::sign(hash, decision, clock::now(), &control, &key);
    let signed = signed.map_err(|_| foreign_key())?;
    Ok(DecideDraft {
        statement: signed.to_value(),
        control: control.to_value(),
    })
}

fn describe(draft: &Draft, page: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "{}\n  {} to {}, tier {}, waits for {}, until {}\n",
        draft.message_id,
        draft.message_type,
        draft.peer,
        draft.data_tier,
        draft.waits_for.as_str(),
        draft.until,
    );
    if let Some(summary) = &draft.summary {
        let _ = writeln!(page, "  summary: {summary}");
    }
    if !draft.body.is_null() {
        let _ = writeln!(page, "  body: {}", safe_json(&draft.body));
    }
}

fn next_for(draft: &Draft) -> String {
    let next = MessageReport::from(draft).next();
    next.unwrap_or_else(|| "nothing; it leaves by itself".to_owned())
}

fn hand_in(args: &ApproveArgs, home: Option<PathBuf>, signed: DecideDraft) -> Result<(), CliError> {
    let done = decide(home, signed)?;
    if args.json {
        return print_json(&done);
    }
    let Decided { decision, sent } = done;
    print(match (decision, sent) {
        (Decision::Approved, true) => "approved, and on its way\n",
        (Decision::Approved, false) => "approved; it leaves by itself as soon as it can\n",
        (Decision::Refused, _) => "refused; it never leaves\n",
    })
}

fn write_out(file: &Path, signed: &DecideDraft) -> Result<(), CliError> {
    private::create(file, format!("{}\n", json_of(signed)?).as_bytes())?;
    print(&format!(
        "signed; where the daemon is, hand it in: signet approve --statement {}\n",
        file.display()
    ))
}

const DRAFTS: &str = "\
EXAMPLE:
  signet drafts
  signet drafts --json | jq 'select(.\"waits-for\" == \"approval\")'
  signet drafts drop 0192f0c1";
const APPROVE: &str = "\
The decision is about the draft as it stands, to the last byte. Whoever signs elsewhere reads it on
that machine; a sealed draft shows the words that the daemon listed with it.

EXAMPLE:
  signet approve 0192f0c1
  signet approve 0192f0c1 --refuse
  signet approve 0192f0c1 --drafts drafts.json --key control.pem --out approval.json  # on another machine
  signet approve --statement approval.json";
