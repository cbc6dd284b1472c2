//! `signet send`: through the running daemon to a peer, and back.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use serde_json::{Map, Value, json};

use super::ask::{acknowledge, connect, parse_json, print_json, safe_json, text};
use super::whereabouts::Whereabouts;
use super::{Exit, Failure, exit, print};

/// See `signet send --help`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
#[command(group(ArgGroup::new("what").required(true).args(["request", "notify"])))]
pub(super) struct SendArgs {
    /// The peer's agent-id
    #[arg(value_name = "PEER")]
    peer: String,
    /// Ask for an answer
    #[arg(long, value_name = "JSON")]
    request: Option<String>,
    /// Tell, and want no answer
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
    /// How long to wait for the answer or the receipt; 0 for not at all
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    wait: f64,
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
    put("body", Some(parse_json(body)?));
    put("summary", args.summary.as_deref().map(Into::into));
    put("capability", args.capability.as_deref().map(Into::into));
    put(
        "conversation-id",
        args.conversation.as_deref().map(Into::into),
    );
    put("continues", args.continues.as_deref().map(Into::into));
    put("data-tier", args.tier.map(Into::into));
    put("life", args.life.map(Into::into));
    put("wait", Some(args.wait.into()));
    let wait = Duration::try_from_secs_f64(args.wait).map_err(|_| {
        Failure::new(
            Exit::Usage,
            "--wait is not a number of seconds",
            "give for example --wait 10",
        )
    })?;
    let mut client = connect(home, wait)?;
    let start = Instant::now();
    let sent = client.call("send", &Value::Object(params))?;
    let took = start.elapsed();
    // While we waited it may have moved without an end: a receipt is none for a request.
    let now = match text(&sent, "state") {
        "queued" | "published" if args.wait > 0.0 => {
            let name = json!({"message-id": text(&sent, "message-id")});
            client.call("message.status", &name).ok()
        }
        _ => None,
    };
    let told = tell(&args, &sent, now.as_ref(), took);
    if let Some(answer) = sent.get("answer") {
        acknowledge(&mut client, answer)?;
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
        ("received", _) => done(format!("received by {}, durably: {id}\n", args.peer)),
        ("queued", _) if place.waits_for == "alarm" => {
            let next = place.next().unwrap_or_default();
            done(format!("queued: {id}\n  {sentence}\n  next: {next}\n"))
        }
        ("queued", _) if !["session", "-"].contains(&place.waits_for) => {
            let next = place.next().unwrap_or_default();
            done(format!(
                "queued: {id} waits for {}\n  next: {next}\n",
                place.waits_for
            ))?;
            Err(Failure::Ended(Exit::Waiting))
        }
        ("queued" | "published", _) if args.wait == 0.0 => {
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
    let what = format!(
        "{}: {} is refused: {}",
        place.reason,
        place.id,
        place.sentence()
    );
    let next = place.next();
    let next =
        next.unwrap_or_else(|| "docs/protocol.md lists the reasons and what to do".to_owned());
    Failure::new(Exit::Refused, what, next)
}

fn no_answer(args: &SendArgs, place: &Whereabouts<'_>) -> Failure {
    let (peer, wait, id) = (&args.peer, args.wait, place.id);
    let what = format!(
        "no-answer: nothing came from {peer} within {wait} s; {id} is {}: {}",
        place.word,
        place.sentence()
    );
    let next = format!("signet status {id} says where it is; a late answer stands in signet inbox");
    Failure::new(Exit::NotReachable, what, next)
}

fn tell_answer(args: &SendArgs, answer: &Value, took: Duration) -> Result<(), Failure> {
    if let Some(error) = answer.get("error") {
        // The words that decline a sealed request came sealed, as the summary.
        let sealed = answer.get("summary").and_then(Value::as_str);
        let words = sealed.unwrap_or_else(|| text(error, "message"));
        let what = format!("{}: {words}", text(error, "reason"));
        return Err(Failure::new(
            Exit::Refused,
            what,
            format!("ask {}'s person, or send something else", args.peer),
        ));
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
        (Exit::Done, "answered, or received for a notification"),
        (Exit::Refused, "refused, by the reason that is printed"),
        (
            Exit::NotReachable,
            "no answer or receipt in time; a late answer comes into the inbox",
        ),
        (Exit::Waiting, "queued until people have decided"),
    ]);
    format!("{codes}\n{EXAMPLE}")
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet send agent-bob-001 --request '{\"week\": \"2026-W07\"}' --summary 'Asks for free evenings'
  signet send agent-bob-001 --notify '{\"dinner\": \"19:30\"}' --wait 10";
