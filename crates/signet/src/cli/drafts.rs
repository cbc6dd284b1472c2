//! `signet drafts` and `signet approve`: what waits to leave, and the person's decision about it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use signet_api::{DecideDraft, DropDraft, ListDrafts};
use signet_proto::json::{self, Limits};
use signet_proto::node::hash_of_draft;
use signet_proto::statement::{Approval, Decision};

use super::ask::{decide, print_each, print_json, read_as, safe_json, text};
use super::person::{ControlKey, control_of, foreign_key};
use super::trust::visible_lines;
use super::whereabouts::Whereabouts;
use super::{Exit, Failure, print};
use crate::clock;
use crate::private;

/// See `signet drafts --help`.
#[derive(Debug, Args)]
#[command(after_help = DRAFTS, args_conflicts_with_subcommands = true)]
pub(super) struct DraftsArgs {
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
pub(super) struct ApproveArgs {
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

pub(super) fn drafts(args: DraftsArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(DraftsCommand::Drop { draft, json }) = &args.command {
        return drop_draft(draft, *json, home);
    }
    let waiting = all(home)?;
    if args.json {
        return print_each(&alone(&waiting));
    }
    let mut page = String::new();
    for draft in list(&waiting) {
        describe(draft, &mut page);
        let _ = writeln!(page, "  next: {}", next_for(draft));
    }
    match page.is_empty() {
        true => print("nothing waits to leave\n"),
        false => print(&visible_lines(&page)),
    }
}

/// No key is asked for: who may let a message be written may also let it lie.
fn drop_draft(name: &str, json: bool, home: Option<PathBuf>) -> Result<(), Failure> {
    let waiting = decide(home.clone(), drafts_named(name))?;
    let message_id = text(named(&waiting, name)?, "message-id").to_owned();
    let dropped = decide(home, DropDraft { message_id })?;
    match json {
        true => print_json(&dropped),
        false => print(&format!(
            "dropped: {} never leaves for {}\n",
            text(&dropped, "message-id"),
            text(&dropped, "peer"),
        )),
    }
}

pub(super) fn approve(args: &ApproveArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(file) = &args.statement {
        return hand_in(args, home, &super::key::read_json(file)?);
    }
    let name = args.draft.as_deref().unwrap_or_default();
    let waiting = match &args.drafts {
        Some(file) => read_drafts(file)?,
        None => decide(home.clone(), drafts_named(name))?,
    };
    let draft = named(&waiting, name)?;
    let value = what_is_signed(draft)?;
    // The list says with each draft whose word it waits for, the daemon once for all.
    let holder = draft.get("control").map_or(&waiting, |_| draft);
    let (control, key) = control_of(holder, &args.control, home.clone())?;
    let decision = match args.refuse {
        true => Decision::Refused,
        false => Decision::Approved,
    };
    let hash = hash_of_draft(value);
    let signed = Approval::sign(hash, decision, clock::now(), &control, &key);
    let signed = signed.map_err(|_| foreign_key())?;
    let signed = json!({"statement": signed.to_value(), "control": control.to_value()});
    if !args.json {
        let mut page = String::new();
        describe(draft, &mut page);
        print(&visible_lines(&page))?;
    }
    match &args.out {
        Some(file) => write_out(file, &signed),
        None => hand_in(args, home, &signed),
    }
}

fn drafts_named(name: &str) -> ListDrafts {
    ListDrafts {
        name: name.to_owned(),
        ..ListDrafts::default()
    }
}

/// Each draft with all that a machine without the daemon needs to sign the decision about it.
fn alone(waiting: &Value) -> Vec<Value> {
    let control = waiting.get("control").filter(|control| !control.is_null());
    let with_control = |draft: &Value| {
        let mut draft = draft.clone();
        if text(&draft, "waits-for") == "approval"
            && let (Some(control), Some(members)) = (control, draft.as_object_mut())
        {
            members.insert("control".to_owned(), control.clone());
        }
        draft
    };
    list(waiting).map(with_control).collect()
}

/// Every draft: the daemon gives them page by page.
fn all(home: Option<PathBuf>) -> Result<Value, Failure> {
    let mut all = decide(home.clone(), ListDrafts::default())?;
    loop {
        let seen = list(&all).count();
        let waiting = all.get("waiting").and_then(Value::as_u64);
        if waiting.is_none_or(|waiting| u64::try_from(seen).is_ok_and(|seen| seen >= waiting)) {
            return Ok(all);
        }
        let page = ListDrafts {
            skip: seen,
            ..ListDrafts::default()
        };
        let mut next = decide(home.clone(), page)?;
        let more = next.get_mut("drafts").and_then(Value::as_array_mut);
        let have = all.get_mut("drafts").and_then(Value::as_array_mut);
        match (have, more) {
            (Some(have), Some(more)) if !more.is_empty() => have.append(more),
            // Some of them have left since.
            _ => return Ok(all),
        }
    }
}

fn list(waiting: &Value) -> impl Iterator<Item = &Value> {
    let drafts = waiting.get("drafts").and_then(Value::as_array);
    drafts.into_iter().flatten()
}

fn named<'a>(waiting: &'a Value, name: &str) -> Result<&'a Value, Failure> {
    let mut found = list(waiting).filter(|draft| text(draft, "message-id").starts_with(name));
    match (found.next(), found.next()) {
        (Some(draft), None) => Ok(draft),
        (Some(_), Some(_)) => Err(Failure::new(
            Exit::Usage,
            format!("more than one draft is named {name}…"),
            "give more of its message-id, as signet drafts shows it",
        )),
        (None, _) => Err(Failure::new(
            Exit::Refused,
            format!("draft-unknown: no draft {name} waits"),
            "signet drafts shows what waits; where a message is that has left says signet status ID",
        )),
    }
}

/// The draft itself, of which the hash is signed. What is shown beside it must be what it says: the
/// list may come from a machine that the person does not trust.
fn what_is_signed(draft: &Value) -> Result<&Value, Failure> {
    let value = draft.get("draft").filter(|value| !value.is_null());
    if text(draft, "waits-for") != "approval" {
        let what = format!(
            "draft-unknown: {} waits for no approval",
            text(draft, "message-id")
        );
        return Err(Failure::new(Exit::Refused, what, next_for(draft)));
    }
    let agrees = |value: &&Value| {
        let places = ["/params", "/result", "/error/data"];
        let envelope = places.iter().find_map(|place| value.pointer(place));
        let inside = |name: &str| envelope.and_then(|envelope| envelope.get(name));
        let header = |name: &str| inside("headers").and_then(|headers| headers.get(name));
        let same = |shown: &str, name: &str| draft.get(shown) == header(name);
        let in_clear = |name: &str| {
            let shown = draft.get(name).filter(|shown| !shown.is_null());
            inside("sealed").is_some() || shown == inside(name).filter(|value| !value.is_null())
        };
        let tier = header("data-tier").and_then(Value::as_u64).unwrap_or(1);
        same("peer", "recipient-id")
            && same("message-id", "message-id")
            && same("type", "message-type")
            && draft.get("data-tier").and_then(Value::as_u64) == Some(tier)
            && in_clear("summary")
            && in_clear("body")
    };
    value.filter(agrees).ok_or_else(|| {
        Failure::new(
            Exit::Refused,
            "the list of drafts shows something else than what would be signed",
            "make it anew with signet drafts --json, and see who could change it on its way",
        )
    })
}

fn describe(draft: &Value, page: &mut String) {
    let tier = draft.get("data-tier").and_then(Value::as_u64).unwrap_or(1);
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "{}\n  {} to {}, tier {tier}, waits for {}, until {}\n",
        text(draft, "message-id"),
        text(draft, "type"),
        text(draft, "peer"),
        text(draft, "waits-for"),
        text(draft, "until"),
    );
    if let Some(summary) = draft.get("summary").and_then(Value::as_str) {
        let _ = writeln!(page, "  summary: {summary}");
    }
    if let Some(body) = draft.get("body").filter(|body| !body.is_null()) {
        let _ = writeln!(page, "  body: {}", safe_json(body));
    }
}

fn next_for(draft: &Value) -> String {
    let place = Whereabouts {
        word: "queued",
        ..Whereabouts::of(draft, text(draft, "peer"))
    };
    let next = place.next();
    next.unwrap_or_else(|| "nothing; it leaves by itself".to_owned())
}

fn hand_in(args: &ApproveArgs, home: Option<PathBuf>, signed: &Value) -> Result<(), Failure> {
    let signed: DecideDraft = read_as(signed)?;
    let done = decide(home, signed)?;
    if args.json {
        return print_json(&done);
    }
    let sent = done.get("sent").and_then(Value::as_bool) == Some(true);
    print(match (text(&done, "decision"), sent) {
        ("approved", true) => "approved, and on its way\n",
        ("approved", false) => "approved; it leaves by itself as soon as it can\n",
        _ => "refused; it never leaves\n",
    })
}

/// The output of `signet drafts --json`, which may hold many messages.
fn read_drafts(file: &Path) -> Result<Value, Failure> {
    let fault = |what: String| {
        let what = format!("{}: {what}", file.display());
        Failure::new(
            Exit::Usage,
            what,
            "make it with: signet drafts --json > FILE",
        )
    };
    let size = std::fs::metadata(file).map_err(|error| fault(error.to_string()))?;
    if !size.is_file() || size.len() > LARGEST {
        return Err(fault("not a plain file of drafts".to_owned()));
    }
    let bytes = std::fs::read(file).map_err(|error| fault(error.to_string()))?;
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let drafts: Result<Vec<Value>, _> = lines.map(|line| json::parse(line, LISTED)).collect();
    let drafts = drafts.map_err(|error| fault(error.to_string()))?;
    Ok(json!({ "drafts": drafts }))
}

fn write_out(file: &Path, signed: &Value) -> Result<(), Failure> {
    private::create(file, format!("{signed}\n").as_bytes())?;
    print(&format!(
        "signed; where the daemon is, hand it in: signet approve --statement {}\n",
        file.display()
    ))
}

const LARGEST: u64 = 64 << 20;
const LISTED: Limits = Limits {
    bytes: 64 << 20,
    values: 4_000_000,
    ..Limits::LINE
};
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
  signet approve 0192f0c1 --drafts drafts.json --key control.pem --out approval.json   (another machine)
  signet approve --statement approval.json";
