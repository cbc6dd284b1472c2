//! `signet send`: through the running daemon to a peer, and back.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use serde_json::{Map, Value, json};

use super::ask::{acknowledge_read, change, connect, print_json, safe_json, text};
use super::input::Input;
use super::refusal;
use super::whereabouts::Whereabouts;
use super::{Exit, Failure, exit, print};

/// How long a caller waits who does not say, in seconds.
const WAIT: f64 = 30.0;
/// After so many seconds it is enough that the peer's mailbox holds a notification.
const MAILBOX_AFTER: f64 = 2.0;

/// See `signet send --help`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
#[command(group(ArgGroup::new("what").required(true).args(["request", "notify"])))]
pub(super) struct SendArgs {
    /// The peer's agent-id
    #[arg(value_name = "PEER")]
    peer: String,
    /// Ask for an answer; - reads the question from standard input, @FILE from a file
    #[arg(long, value_name = "JSON")]
    request: Option<String>,
    /// Tell, and want no answer; - and @FILE as above
    #[arg(long, value_name = "JSON")]
    notify: Option<String>,
    /// One line for the people who read the log
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The capability that is asked for
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// The conversation that it belongs to
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// The message-id of the call that this one follows from: its hops and conversation go on
    #[arg(long, value_name = "ID")]
    continues: Option<String>,
    /// The data tier: 1 public, 2 household, 3 sensitive, 4 restricted; 3 and 4 leave sealed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: Option<u8>,
    /// How long it may wait and live, a week at most [default: 72 hours]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=604_800))]
    life: Option<u64>,
    /// The peer is somebody new, whatever its id resembles
    #[arg(long)]
    introduce: bool,
    /// How long to wait for the answer or the receipt; 0 for not at all [default: 30, and for a
    /// notification 2 once the peer's mailbox holds it]
    #[arg(long, value_name = "SECONDS")]
    wait: Option<f64>,
    /// Print all that is known of it as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: SendArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let (kind, body) = match (&args.request, &args.notify) {
        (Some(body), _) => ("request", body),
        (None, Some(body)) => ("notification", body),
        (None, None) => {
            return Err(Failure::new(
                Exit::Usage,
                "nothing to send",
                "give --request or --notify",
            ));
        }
    };
    let mut params = Map::new();
    let mut put =
        |name: &str, value: Option<Value>| value.map(|value| params.insert(name.to_owned(), value));
    put("peer", Some(args.peer.as_str().into()));
    put("kind", Some(kind.into()));
    put("body", Some(Input::default().json(body)?));
    put("summary", args.summary.as_deref().map(Into::into));
    put("capability", args.capability.as_deref().map(Into::into));
    put(
        "conversation-id",
        args.conversation.as_deref().map(Into::into),
    );
    put("continues", args.continues.as_deref().map(Into::into));
    put("data-tier", args.tier.map(Into::into));
    put("life", args.life.map(Into::into));
    put("introduce", args.introduce.then(|| true.into()));
    let seconds = args.wait.unwrap_or(WAIT);
    put("wait", Some(seconds.into()));
    put(
        "mailbox-after",
        (args.wait.is_none() && args.notify.is_some()).then(|| MAILBOX_AFTER.into()),
    );
    let wait = Duration::try_from_secs_f64(seconds).map_err(|_| {
        Failure::new(
            Exit::Usage,
            "--wait is not a number of seconds",
            "give for example --wait 10",
        )
    })?;
    let mut client = connect(home, wait)?;
    let start = Instant::now();
    let sent = change(&mut client, "send", &Value::Object(params))?;
    let took = start.elapsed();
    // While we waited it may have moved without an end: a receipt is none for a request.
    let now = match text(&sent, "state") {
        "queued" | "published" if seconds > 0.0 && !Whereabouts::of(&sent, "").stopping => {
            let name = json!({"message-id": text(&sent, "message-id")});
            client.raw("message.status", &name).ok()
        }
        _ => None,
    };
    let told = tell(&args, &sent, now.as_ref(), took);
    if let Some(answer) = sent.get("answer") {
        acknowledge_read(&mut client, answer);
    }
    told
}

/// What became of it; `now` is where it is after a wait in vain.
fn tell(args: &SendArgs, sent: &Value, now: Option<&Value>, took: Duration) -> Result<(), Failure> {
    if args.json {
        print_json(sent)?;
    }
    let place = Whereabouts::of(sent, &args.peer);
    let (word, id, sentence) = (place.word, place.id, place.sentence());
    let done = |text: String| match args.json {
        true => Ok(()),
        false => print(&text),
    };
    match (word, sent.get("answer")) {
        ("answered", Some(answer)) => tell_answer(args, answer, took),
        ("refused", _) => Err(refused(&place)),
        ("received", _) if place.stopping && args.request.is_some() => Err(no_answer(args, &place)),
        ("received", _) => done(format!("received by {}, durably: {id}\n", args.peer)),
        ("queued" | "published", _) if place.stopping => Err(no_answer(args, &place)),
        ("published", _) if place.stored && args.notify.is_some() && args.wait.is_none() => {
            done(format!("the mailbox of {} holds it: {id}\n", args.peer))
        }
        ("queued", _) if place.waits_for == "alarm" => {
            let next = place.next().unwrap_or_default();
            done(format!("queued: {id}\n  {sentence}\n  next: {next}\n"))
        }
        ("queued", _) if place.waits_for_people() => {
            let next = place.next().unwrap_or_default();
            let waits_for = place.waits_for;
            done(format!(
                "queued: {id} waits for {waits_for}\n  next: {next}\n"
            ))?;
            Err(Failure::Ended(Exit::Waiting))
        }
        ("queued" | "published", _) if args.wait == Some(0.0) => {
            done(format!("{word}: {id}\n  {sentence}\n"))
        }
        ("queued" | "published", _) => {
            let now = now.map(|now| Whereabouts::of(now, &args.peer));
            Err(no_answer(args, &now.unwrap_or(place)))
        }
        _ => {
            let next = place.next().unwrap_or_default();
            let what = format!("{word}: {id}: {sentence}");
            Err(Failure::new(Exit::NotReachable, what, next))
        }
    }
}

fn refused(place: &Whereabouts<'_>) -> Failure {
    let told = format!("{} is refused: {}", place.id, place.sentence());
    let what = match place.here {
        true => format!("{}: {told}", place.reason),
        false => told,
    };
    let next = place.next();
    let next =
        next.unwrap_or_else(|| "docs/protocol.md lists the reasons and what to do".to_owned());
    Failure::new(Exit::Refused, what, next)
}

fn no_answer(args: &SendArgs, place: &Whereabouts<'_>) -> Failure {
    let (peer, wait, id) = (&args.peer, args.wait.unwrap_or(WAIT), place.id);
    let what = match place.stopping {
        true => format!("the daemon stopped before {peer} said anything"),
        false => format!("nothing came from {peer} within {wait} s"),
    };
    let what = format!(
        "no-answer: {what}; {id} is {}: {}",
        place.word,
        place.sentence()
    );
    let once = match place.stopping {
        true => "once the daemon runs again, ",
        false => "",
    };
    let next =
        format!("{once}signet status {id} says where it is; a late answer stands in signet inbox");
    Failure::new(Exit::NotReachable, what, next)
}

fn tell_answer(args: &SendArgs, answer: &Value, took: Duration) -> Result<(), Failure> {
    if let Some(error) = answer.get("error") {
        // The words that decline a sealed request came sealed, as the summary.
        let sealed = answer.get("summary").and_then(Value::as_str);
        let what = refusal::refused_by(&args.peer, error, sealed);
        let next = refusal::next(&args.peer, error);
        return Err(Failure::new(Exit::Refused, what, next));
    }
    if args.json {
        return Ok(());
    }
    let from = format!("{} of {}", text(answer, "from"), text(answer, "principal"));
    anstream::eprintln!(
        "answered by {from}, signature verified, {:.1} ms",
        took.as_secs_f64() * 1e3
    );
    print(&format!(
        "{}\n",
        safe_json(answer.get("body").unwrap_or(&Value::Null))
    ))
}

fn after_help() -> String {
    let codes = exit::section([
        (
            Exit::Done,
            "answered; for a notification received, or held by the peer's mailbox",
        ),
        (
            Exit::Refused,
            "refused: by the peer, in its own words, or here, by the reason that is printed",
        ),
        (
            Exit::NotReachable,
            "no answer or receipt in time, or the daemon stopped first; a late answer comes into the inbox",
        ),
        (Exit::Waiting, "queued until people have decided"),
    ]);
    format!("{codes}\n{EXAMPLE}")
}

const EXAMPLE: &str = "\
Arguments stand in the list of processes: a secret comes by @FILE or by - (standard input), 240 KiB at most. No \
JSON text begins with @; one that begins with - is written --notify=-1.

EXAMPLE:
  signet send agent-bob-001 --request '{\"week\": \"2026-W07\"}' --summary 'Asks for free evenings'
  signet send agent-bob-001 --notify '{\"dinner\": \"19:30\"}' --wait 10
  pass show door | jq -R '{pin: .}' | signet send agent-bob-001 --tier 3 --notify -
  signet send agent-bob-001 --notify @plan.json";
