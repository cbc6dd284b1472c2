//! `signet send`: through the running daemon to a peer, and back.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use serde_json::Value;
use signet_api::{Kind, Message, Outgoing, Send, Sent, ShowMessage, State, WaitsFor};
use signet_proto::reject::CAPABILITY_NEEDED;

use crate::cli::ask::{acknowledge_read, change, connect};
use crate::cli::input::{CommandInput, short};
use crate::cli::print::{print_json, safe_json};
use crate::cli::refusal;
use crate::cli::talk::message_status::MessageReport;
use crate::cli::{CliError, Exit, exit, print};

/// How long a caller waits who does not say, in seconds.
const WAIT: f64 = 30.0;
/// After so many seconds it is enough that the peer's mailbox holds a notification.
const MAILBOX_AFTER: f64 = 2.0;

/// See `signet send --help`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
#[command(group(ArgGroup::new("what").required(true).args(["request", "notify"])))]
pub(crate) struct SendArgs {
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
    /// The capability that is asked for; the only one that the peer offers when absent
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// It is for the people of the other side: no capability is asked for, whatever the peer offers
    #[arg(long, conflicts_with = "capability")]
    for_people: bool,
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

pub(crate) fn run(args: SendArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let (kind, body) = match (&args.request, &args.notify) {
        (Some(body), _) => (Kind::Request, body),
        (None, Some(body)) => (Kind::Notification, body),
        (None, None) => {
            return Err(CliError::usage(
                "nothing to send",
                "give --request or --notify",
            ));
        }
    };
    let body = CommandInput::default().json(body)?;
    short("--summary", args.summary.as_deref())?;
    let wait = args.wait.unwrap_or(WAIT);
    let message = Send {
        summary: args.summary.clone(),
        capability: args.capability.clone(),
        for_people: args.for_people,
        conversation_id: args.conversation.clone(),
        continues: args.continues.clone(),
        data_tier: args.tier,
        life: args.life,
        introduce: args.introduce,
        wait,
        // `mailbox_after` lets the daemon answer once a mailbox has the message. That is enough for a notification without
        // `--wait`: whoever gave `--wait` wants a receipt, and a request wants an answer.
        mailbox_after: (args.wait.is_none() && args.notify.is_some()).then_some(MAILBOX_AFTER),
        ..Send::new(&args.peer, kind, body)
    };
    let patience = Duration::try_from_secs_f64(wait).map_err(|_| {
        CliError::usage(
            "--wait is not a number of seconds",
            "give for example --wait 10",
        )
    })?;
    let mut client = connect(home.clone(), patience)?;
    let start = Instant::now();
    let sent = change(&mut client, &message)?;
    let took = start.elapsed();
    // After a wait in vain, the daemon's answer holds the state from before the wait. The peer may have
    // received the message meanwhile, so ask once more.
    let is_open = matches!(sent.state, State::Queued | State::Published);
    let now = match is_open && wait > 0.0 && sent.stopping != Some(true) {
        true => {
            let message_id = sent.message_id.clone();
            // The message is sent, so an error of this call is ignored: the daemon's first answer says
            // what was known before the wait.
            client.call(&ShowMessage { message_id }).ok()
        }
        false => None,
    };
    if sent.reason.as_deref() == Some(CAPABILITY_NEEDED) {
        return Err(several(
            &args.peer,
            sent.offers.as_deref().unwrap_or_default(),
        ));
    }
    // Print the answer before it is acknowledged: an answer that could not be printed stays in the inbox.
    let told = tell(&args, home, &sent, now.as_ref(), took);
    if let Some(answer) = &sent.answer {
        acknowledge_read(&mut client, answer, &told);
    }
    told
}

/// Prints what became of the message; `now` is its state after a wait in vain.
fn tell(
    args: &SendArgs,
    home: Option<PathBuf>,
    sent: &Sent,
    now: Option<&Outgoing>,
    took: Duration,
) -> Result<(), CliError> {
    if args.json {
        print_json(sent)?;
    }
    let place = MessageReport::of_sent(sent, &args.peer).by_way_of(home.clone());
    let (word, id, sentence) = (place.word(), place.id, place.sentence());
    let done = |text: String| match args.json {
        true => Ok(()),
        false => print(&text),
    };
    match (place.state, &sent.answer) {
        (State::Answered, Some(answer)) => tell_answer(args, answer, took),
        (State::Refused, _) => Err(refused(&place)),
        (State::Received, _) if place.stopping && args.request.is_some() => {
            Err(no_answer(args, &place))
        }
        (State::Received, _) => done(format!("received by {}, durably: {id}\n", args.peer)),
        (State::Queued | State::Published, _) if place.stopping => Err(no_answer(args, &place)),
        // A notification without `--wait` is done once a mailbox has it. A request is not done then, because its sender wants
        // the answer, and a message with `--wait` is not, because its sender wants the peer's receipt.
        (State::Published, _) if place.stored && args.notify.is_some() && args.wait.is_none() => {
            done(format!("{}: {id}\n", place.holder()))
        }
        (State::Queued, _) if place.waits_for == Some(WaitsFor::Alarm) => {
            let next = place.next().unwrap_or_default();
            done(format!("queued: {id}\n  {sentence}\n  next: {next}\n"))?;
            Err(CliError::Ended(Exit::Waiting))
        }
        (State::Queued, _) if place.waits_for_people() => {
            let next = place.next().unwrap_or_default();
            let waits_for = place.waits_for.map_or("-", WaitsFor::as_str);
            done(format!(
                "queued: {id} waits for {waits_for}\n  next: {next}\n"
            ))?;
            Err(CliError::Ended(Exit::Waiting))
        }
        (State::Queued | State::Published, _) if args.wait == Some(0.0) => {
            done(format!("{word}: {id}\n  {sentence}\n"))
        }
        (State::Queued | State::Published, _) => {
            let now = now.map(|now| MessageReport::from(now).by_way_of(home));
            Err(no_answer(args, &now.unwrap_or(place)))
        }
        (State::Answered | State::Expired | State::Unknown, _) => {
            let next = place.next().unwrap_or_default();
            let what = format!("{word}: {id}: {sentence}");
            Err(CliError::not_reachable(what, next))
        }
    }
}

/// The first request to a peer, which named no capability, and the peer turned out to offer several.
fn several(peer: &str, offers: &[String]) -> CliError {
    let what = format!(
        "{CAPABILITY_NEEDED}: {peer} offers {}, and the request names none of them; it never left",
        offers.join(", ")
    );
    let next =
        "name one with --capability, or say with --for-people that it is for the people there";
    CliError::refused(what, next)
}

fn refused(place: &MessageReport<'_>) -> CliError {
    let told = format!("{} is refused: {}", place.id, place.sentence());
    let what = match place.here {
        true => format!("{}: {told}", place.reason),
        false => told,
    };
    let next = place.next();
    let next =
        next.unwrap_or_else(|| "docs/protocol.md lists the reasons and what to do".to_owned());
    CliError::refused(what, next)
}

fn no_answer(args: &SendArgs, place: &MessageReport<'_>) -> CliError {
    let (peer, wait, id) = (&args.peer, args.wait.unwrap_or(WAIT), place.id);
    let what = match place.stopping {
        true => format!("the daemon stopped before {peer} said anything"),
        false => format!("nothing came from {peer} within {wait} s"),
    };
    let what = format!(
        "no-answer: {what}; {id} is {}: {}",
        place.word(),
        place.sentence()
    );
    let once = match place.stopping {
        true => ", once the daemon runs again",
        false => "",
    };
    let next = format!(
        "signet status {id}  # says where it is{once}; a late answer stands in the inbox: signet inbox"
    );
    CliError::not_reachable(what, next)
}

fn tell_answer(args: &SendArgs, answer: &Message, took: Duration) -> Result<(), CliError> {
    if let Some(error) = &answer.error {
        // The text of an error is never sealed. So if the peer sealed the words with which it declined, they are not in that
        // text: the daemon hands them over as the summary.
        let what = refusal::refused_by(&args.peer, error, answer.summary.as_deref());
        let next = refusal::next(&args.peer, error);
        return Err(CliError::refused(what, next));
    }
    if args.json {
        return Ok(());
    }
    anstream::eprintln!(
        "answered by {} of {}, signature verified, {:.1} ms",
        answer.from,
        answer.principal,
        took.as_secs_f64() * 1e3
    );
    let body = answer.body.as_ref().unwrap_or(&Value::Null);
    print(&format!("{}\n", safe_json(body)))
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
