//! `signet handoff …`: give work to a peer, take it, say how it goes, and see who gave what to whom.

mod show;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::ask::{acknowledge_read, ask, change, connect, items, print_each, print_json, text};
use super::input::Input;
use super::refusal;
use super::whereabouts::Whereabouts;
use super::{Exit, Failure, exit, print};

/// See `signet handoff --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct HandoffArgs {
    #[command(subcommand)]
    command: HandoffCommand,
}

#[derive(Debug, Subcommand)]
enum HandoffCommand {
    /// Hand work to a peer, within limits
    #[command(after_help = send_help())]
    Send(SendArgs),
    /// Take a task that was offered
    #[command(
        after_help = "EXAMPLE:\n  signet handoff accept 0192f0c1-0000-7000-8000-000000000000"
    )]
    Accept(TaskArgs),
    /// Do not take a task that was offered, and say why
    #[command(
        after_help = "EXAMPLE:\n  signet handoff decline 0192f0c1-0000-7000-8000-000000000000 --why 'no calendar here'"
    )]
    Decline {
        #[command(flatten)]
        task: TaskArgs,
        /// For the giver's agent and person; - reads it from standard input, @FILE from a file
        #[arg(long, value_name = "TEXT")]
        why: String,
    },
    /// Tell the giver how a task goes
    #[command(
        after_help = "EXAMPLE:\n  signet handoff report 0192f0c1-0000-7000-8000-000000000000 working\n  signet handoff report 0192f0c1-0000-7000-8000-000000000000 completed --result '{\"evening\": \"Tue\"}'"
    )]
    Report(ReportArgs),
    /// The tasks given to this agent and by it, the newest first
    #[command(after_help = "EXAMPLE:\n  signet handoff list")]
    List {
        /// Print each as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// One task: who gave what to whom, what narrowed, where it stands, what can follow
    #[command(after_help = "EXAMPLE:\n  signet handoff show 0192f0c1-0000-7000-8000-000000000000")]
    Show(TaskArgs),
}

#[derive(Debug, Args)]
struct TaskArgs {
    /// The task, as signet handoff list shows it
    #[arg(value_name = "TASK")]
    task: String,
    /// Print the task as one line of JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ReportArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Where it is now
    #[arg(value_name = "STATE", value_parser = ["working", "completed", "failed", "returned"])]
    state: String,
    /// For people, at most 500 characters; - reads it from standard input, @FILE from a file
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// What came of it; - reads it from standard input, @FILE from a file
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
}

#[derive(Debug, Args)]
struct SendArgs {
    /// The peer's agent-id
    #[arg(value_name = "PEER")]
    peer: String,
    /// What is to be done, at most 2,000 characters; - reads it from standard input, @FILE from a file
    #[arg(long, value_name = "TEXT")]
    goal: String,
    /// What the work needs; - and @FILE as for the goal
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// A capability that the peer may ask others for; once for each [default: those of --under, else none]
    #[arg(long = "capability", value_name = "NAME")]
    capabilities: Vec<String>,
    /// The highest data tier of what it may say [default: that of --under, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: Option<u8>,
    /// How often it may be handed on from there [default: 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    depth: Option<u8>,
    /// When the authority ends, in UTC [default: with --under, else in 24 hours]
    #[arg(long, value_name = "TIME", conflicts_with = "lasts")]
    until: Option<String>,
    /// How long the authority lasts, such as 90m, 12h or 7d
    #[arg(long = "for", value_name = "DURATION", value_parser = parse_duration)]
    lasts: Option<Duration>,
    /// Hand on this task, which this agent holds
    #[arg(long, value_name = "TASK")]
    under: Option<String>,
    /// One line for the people who read the log
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// The data tier of goal and input: 1 public, 2 household, 3 sensitive, 4 restricted; 3 and 4 leave sealed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    data_tier: Option<u8>,
    /// The peer is somebody new, whatever its id resembles
    #[arg(long)]
    introduce: bool,
    /// How long to wait until the peer has it; 0 for not at all
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    wait: f64,
    /// Print all that is known of it as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: HandoffArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    match args.command {
        HandoffCommand::Send(args) => send(&args, home),
        HandoffCommand::Accept(args) => decide(home, "handoff.accept", &args, Map::new()),
        HandoffCommand::Decline { task, why } => {
            let why = Input::default().words(&why)?;
            let params = Map::from_iter([("why".to_owned(), why.into())]);
            decide(home, "handoff.decline", &task, params)
        }
        HandoffCommand::Report(args) => {
            let mut params = Map::from_iter([("state".to_owned(), args.state.as_str().into())]);
            let mut input = Input::default();
            let result = args.result.as_deref().map(|result| input.json(result));
            let result = result.transpose()?;
            let note = args.note.as_deref().map(|note| input.words(note));
            let note = note.transpose()?;
            params.extend(note.map(|note| ("note".to_owned(), note.into())));
            params.extend(result.map(|result| ("result".to_owned(), result)));
            decide(home, "handoff.report", &args.task, params)
        }
        HandoffCommand::List { json } => {
            let tasks = ask(home, "handoff.list", &json!({}))?;
            if json {
                print_each(items(&tasks, "tasks"))
            } else {
                print(&show::list(&tasks))
            }
        }
        HandoffCommand::Show(args) => {
            let task = ask(home, "handoff.show", &json!({"task": args.task}))?;
            if args.json {
                print_json(&task)
            } else {
                print(&show::page(&task))
            }
        }
    }
}

fn decide(
    home: Option<PathBuf>,
    method: &str,
    args: &TaskArgs,
    mut params: Map<String, Value>,
) -> Result<(), Failure> {
    params.insert("task".to_owned(), args.task.as_str().into());
    let mut client = connect(home, Duration::ZERO)?;
    let task = change(&mut client, method, &Value::Object(params))?;
    if args.json {
        return print_json(&task);
    }
    print(&format!(
        "task {} is {}; {} is told\n  next: {}\n",
        text(&task, "task"),
        text(&task, "state"),
        text(&task, "peer"),
        text(&task, "next"),
    ))
}

fn send(args: &SendArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let mut params = Map::new();
    let mut put =
        |name: &str, value: Option<Value>| value.map(|value| params.insert(name.to_owned(), value));
    put("peer", Some(args.peer.as_str().into()));
    let mut given = Input::default();
    put("goal", Some(given.words(&args.goal)?.into()));
    let input = args.input.as_deref().map(|input| given.json(input));
    put("input", input.transpose()?);
    put("introduce", args.introduce.then(|| true.into()));
    let named = !args.capabilities.is_empty();
    put(
        "capabilities",
        named.then(|| args.capabilities.clone().into()),
    );
    put("tier", args.tier.map(Into::into));
    put("depth", args.depth.map(Into::into));
    put("not-after", args.until.as_deref().map(Into::into));
    put("lasts", args.lasts.map(|lasts| lasts.as_secs().into()));
    put("under", args.under.as_deref().map(Into::into));
    put("summary", args.summary.as_deref().map(Into::into));
    put("data-tier", args.data_tier.map(Into::into));
    put("wait", Some(args.wait.into()));
    let wait = Duration::try_from_secs_f64(args.wait).map_err(|_| {
        let what = "--wait is not a number of seconds";
        Failure::new(Exit::Usage, what, "give for example --wait 10")
    })?;
    let mut client = connect(home, wait)?;
    let sent = change(&mut client, "handoff.send", &Value::Object(params))?;
    let told = tell(args, &sent);
    if let Some(answer) = sent.get("answer") {
        acknowledge_read(&mut client, answer);
    }
    told
}

fn tell(args: &SendArgs, sent: &Value) -> Result<(), Failure> {
    if args.json {
        print_json(sent)?;
    }
    let (task, peer) = (text(sent, "task"), &args.peer);
    let answer = sent.get("answer");
    let error = answer.and_then(|answer| answer.get("error"));
    let place = Whereabouts::of(sent, peer);
    let next =
        format!("signet handoff show {task} says what was offered; hand it to somebody else");
    if let Some(error) = error {
        let sealed = answer.and_then(|answer| answer.get("summary")?.as_str());
        let what = refusal::refused_by(peer, error, sealed);
        return Err(Failure::new(Exit::Refused, what, next));
    }
    let how = match place.word {
        "refused" => {
            let what = format!("task {task} is refused: {}", place.sentence());
            return Err(Failure::new(Exit::Refused, what, next));
        }
        "expired" | "unknown" => {
            let what = format!("task {task} is {}: {}", place.word, place.sentence());
            return Err(Failure::new(Exit::Refused, what, next));
        }
        word if place.stopping && word != "received" => {
            let what = format!(
                "no-answer: the daemon stopped first; task {task} is {word}: {}",
                place.sentence()
            );
            let next = format!("start the daemon again, then: signet handoff show {task}");
            return Err(Failure::new(Exit::NotReachable, what, next));
        }
        "answered" => "took it",
        "received" => "has it, durably, and has yet to take it",
        "published" => "was sent it, and has yet to confirm",
        _ if place.waits_for_people() => {
            if !args.json {
                let waits_for = place.waits_for;
                print(&format!(
                    "task {task}: it waits for {waits_for}\n  next: signet handoff show {task}\n"
                ))?;
            }
            return Err(Failure::Ended(Exit::Waiting));
        }
        _ => "gets it when there is a session",
    };
    if !args.json {
        print(&format!(
            "task {task}: {peer} {how}\n  next: signet handoff show {task}\n"
        ))?;
    }
    Ok(())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "a number and s, m, h or d, such as 90m, 12h or 7d".to_owned();
    let (digits, unit) = text.split_at(text.trim_end_matches(['s', 'm', 'h', 'd']).len());
    let count: u64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let lasts = count.checked_mul(seconds).ok_or_else(wrong)?;
    Ok(Duration::from_secs(lasts))
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet handoff send agent-bob-001 --goal 'Find an evening for dinner' --capability calendar.read
  signet handoff list";

fn send_help() -> String {
    let codes = exit::section([
        (Exit::Done, "the peer has it, or it waits for a session"),
        (
            Exit::Refused,
            "refused or declined, by the reason that is printed",
        ),
        (
            Exit::NotReachable,
            "the daemon stopped before the peer had it",
        ),
        (Exit::Waiting, "queued until people have decided"),
    ]);
    format!("{codes}\n{SEND_EXAMPLE}")
}

const SEND_EXAMPLE: &str = "\
Words that begin with @ are written with a second one: --goal @@home.

EXAMPLE:
  signet handoff send agent-bob-001 --goal 'Find an evening for dinner' \\
    --capability calendar.read --tier 2 --depth 1 --for 12h
  signet handoff send agent-carol-001 --goal 'Read your calendar' \\
    --under 0192f0c1-0000-7000-8000-000000000000";
