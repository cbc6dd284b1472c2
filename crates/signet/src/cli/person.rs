//! What a person signs with the control key: approvals of drafts, pause and resume.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use signet_proto::certificate::ControlCertificate;
use signet_proto::keys::SigningKey;
use signet_proto::node::hash_of_draft;
use signet_proto::statement::{Approval, Decision, PauseStatement};

use super::ask::{decide, print_json, safe_json, text};
use super::trust::{read_statement, visible_lines};
use super::{Exit, Failure, print};
use crate::clock;
use crate::home::Home;
use crate::keystore::read_signing_key;

/// Where the control key is.
#[derive(Debug, Args)]
pub(super) struct ControlKey {
    /// The person's control key [default: keys/control.pem in the home]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

/// See `signet drafts --help`.
#[derive(Debug, Args)]
#[command(
    after_help = "EXAMPLE:\n  signet drafts\n  signet drafts --json | jq '.drafts[] | select(.\"waits-for\" == \"approval\")'"
)]
pub(super) struct DraftsArgs {
    /// Print them as one line of JSON
    #[arg(long)]
    json: bool,
}

/// See `signet approve --help`.
#[derive(Debug, Args)]
#[command(after_help = APPROVE)]
pub(super) struct ApproveArgs {
    /// The draft: its message-id, or as much of it as is unambiguous
    #[arg(
        value_name = "DRAFT",
        required_unless_present = "statement",
        conflicts_with = "statement"
    )]
    draft: Option<String>,
    /// It may not leave
    #[arg(long)]
    refuse: bool,
    #[command(flatten)]
    control: ControlKey,
    /// The output of `signet drafts --json`, to sign on a machine without the daemon
    #[arg(long, value_name = "FILE", requires = "out")]
    drafts: Option<PathBuf>,
    /// Write the signed decision there instead of handing it in
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Hand in a decision that was signed elsewhere
    #[arg(long, value_name = "FILE")]
    statement: Option<PathBuf>,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

/// See `signet pause --help` and `signet resume --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet pause\n  signet resume --key /media/stick/control.pem")]
pub(super) struct PauseArgs {
    #[command(flatten)]
    control: ControlKey,
    /// Print what was done as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn drafts(args: &DraftsArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let waiting = decide(home, "drafts.list", &json!({}))?;
    if args.json {
        return print_json(&waiting);
    }
    let mut page = String::new();
    for draft in list(&waiting) {
        describe(draft, &mut page);
    }
    match page.is_empty() {
        true => print("no draft waits\n"),
        false => print(&visible_lines(&page)),
    }
}

pub(super) fn approve(args: &ApproveArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    if let Some(file) = &args.statement {
        let signed = read_statement(file)?;
        return hand_in(args, home, &signed);
    }
    let waiting = match &args.drafts {
        Some(file) => read_statement(file)?,
        None => decide(home.clone(), "drafts.list", &json!({}))?,
    };
    let draft = named(&waiting, args.draft.as_deref().unwrap_or_default())?;
    let value = draft.get("draft").filter(|value| !value.is_null());
    let value = value.ok_or_else(|| {
        let what = format!("{} waits for no approval", text(draft, "message-id"));
        Failure::new(
            Exit::Refused,
            what,
            "signet drafts says what each one waits for",
        )
    })?;
    let decision = match args.refuse {
        true => Decision::Refused,
        false => Decision::Approved,
    };
    let (control, key) = control_of(&waiting, &args.control, home.clone())?;
    let hash = hash_of_draft(value);
    let signed = Approval::sign(hash, decision, clock::now(), &control, &key);
    let signed = signed.map_err(|_| foreign_key())?;
    let signed = json!({"statement": signed.to_value(), "control": control.to_value()});
    let mut page = String::new();
    describe(draft, &mut page);
    anstream::eprint!("{}", visible_lines(&page));
    match &args.out {
        Some(file) => write_out(file, &signed),
        None => hand_in(args, home, &signed),
    }
}

pub(super) fn pause(args: &PauseArgs, home: Option<PathBuf>, paused: bool) -> Result<(), Failure> {
    let state = decide(home.clone(), "pause.show", &json!({}))?;
    let (control, key) = control_of(&state, &args.control, home.clone())?;
    let now = clock::now();
    let last = state
        .get("serial")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let since_epoch = u64::try_from(now.as_millis() / 1000).unwrap_or_default();
    let serial = since_epoch.max(last.saturating_add(1));
    let signed = PauseStatement::sign(paused, serial, now, &control, &key);
    let signed = signed.map_err(|_| foreign_key())?;
    let params = json!({"statement": signed.to_value(), "control": control.to_value()});
    let state = decide(home, "pause.tell", &params)?;
    if args.json {
        return print_json(&state);
    }
    let waiting = state
        .get("waiting")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    print(&match paused {
        true => format!(
            "every agent of {} pauses from now on: nothing is handed over, nothing leaves\n  \
               the others are told as they are reached; to go on: signet resume\n",
            control.principal
        ),
        false => format!(
            "the agents of {} go on; {waiting} messages wait in the inbox\n",
            control.principal
        ),
    })
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
            "signet drafts lists them; it may have expired: silence is no",
        )),
    }
}

fn describe(draft: &Value, page: &mut String) {
    let id = text(draft, "message-id");
    let tier = draft.get("data-tier").and_then(Value::as_u64).unwrap_or(1);
    let next = match text(draft, "waits-for") {
        "approval" => format!("signet approve {id}   or   signet approve {id} --refuse"),
        "introduction" => "signet trust pending, here and at the other side".to_owned(),
        "resume" => "signet resume".to_owned(),
        _ => "nothing; it goes out by itself".to_owned(),
    };
    // Writing to a String cannot fail.
    let _ = write!(
        page,
        "{id}\n  {} to {}, tier {tier}, waits for {}, until {}\n",
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
    let _ = writeln!(page, "  next: {next}");
}

fn hand_in(args: &ApproveArgs, home: Option<PathBuf>, signed: &Value) -> Result<(), Failure> {
    let done = decide(home, "drafts.decide", signed)?;
    if args.json {
        return print_json(&done);
    }
    let sent = done.get("sent").and_then(Value::as_bool) == Some(true);
    print(match (text(&done, "decision"), sent) {
        ("approved", true) => "approved, and on its way\n",
        ("approved", false) => "approved; it leaves as soon as there is a session\n",
        _ => "refused; it does not leave\n",
    })
}

/// The control certificate that the daemon goes by, and the key that it names.
fn control_of(
    shown: &Value,
    key: &ControlKey,
    home: Option<PathBuf>,
) -> Result<(ControlCertificate, SigningKey), Failure> {
    let control = shown.get("control").filter(|control| !control.is_null());
    let control = control.and_then(|control| ControlCertificate::parse(control).ok());
    let control = control.ok_or_else(|| {
        Failure::new(
            Exit::Refused,
            "no control certificate: this person has no control key yet",
            "signet key rotate control --root FILE makes one",
        )
    })?;
    let path = match &key.key {
        Some(path) => path.clone(),
        None => Home::find(home)?.key_file("control.pem"),
    };
    if key.key.is_none() && !path.exists() {
        return Err(Failure::new(
            Exit::Usage,
            "this home does not hold the person's control key",
            "name it with --key FILE, such as a file on a stick",
        ));
    }
    let key = read_signing_key(&path)?;
    match *key.public() == control.control_key {
        true => Ok((control, key)),
        false => Err(foreign_key()),
    }
}

fn foreign_key() -> Failure {
    Failure::new(
        Exit::Refused,
        "statement-invalid: this is not the control key that the person's root key certified",
        "name the right one with --key; signet key show says which it is",
    )
}

fn write_out(file: &std::path::Path, signed: &Value) -> Result<(), Failure> {
    let text = format!("{signed}\n");
    std::fs::write(file, text).map_err(|error| {
        let what = format!("{}: {error}", file.display());
        Failure::new(
            Exit::Refused,
            what,
            "name a file that can be written with --out",
        )
    })?;
    print(&format!(
        "signed; hand it in with: signet approve --statement {}\n",
        file.display()
    ))
}

const APPROVE: &str = "\
EXAMPLE:
  signet approve 0192f0c1
  signet approve 0192f0c1 --refuse
  signet approve 0192f0c1 --drafts drafts.json --key control.pem --out approval.json   (another machine)
  signet approve --statement approval.json";
