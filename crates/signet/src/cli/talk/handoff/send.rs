//! `signet handoff send`: work for a peer, within limits.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use signet_api::{SendHandoff, Sent, State, WaitsFor};

use crate::cli::ask::{acknowledge_read, change, connect};
use crate::cli::input::{CommandInput, short};
use crate::cli::print::{or_dash, print_json};
use crate::cli::talk::message_status::MessageReport;
use crate::cli::{CliError, Exit, exit, print, refusal};
use crate::hint;

/// See `signet handoff send --help`.
#[derive(Debug, Args)]
pub(super) struct HandoffSendArgs {
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

pub(super) fn run(args: &HandoffSendArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    short("--summary", args.summary.as_deref())?;
    let mut given = CommandInput::default();
    let goal = given.words(&args.goal)?;
    let input = args.input.as_deref().map(|input| given.json(input));
    let handoff = SendHandoff {
        peer: args.peer.clone(),
        goal,
        input: input.transpose()?,
        capabilities: (!args.capabilities.is_empty()).then(|| args.capabilities.clone()),
        tier: args.tier,
        depth: args.depth,
        not_after: args.until.clone(),
        lasts: args.lasts.map(|lasts| lasts.as_secs()),
        under: args.under.clone(),
        summary: args.summary.clone(),
        data_tier: args.data_tier,
        wait: args.wait,
        introduce: args.introduce,
    };
    let wait = Duration::try_from_secs_f64(args.wait).map_err(|_| {
        let what = "--wait is not a number of seconds";
        CliError::usage(what, "give for example --wait 10")
    })?;
    let mut client = connect(home, wait)?;
    let sent = change(&mut client, &handoff)?;
    let told = tell(args, &sent);
    if let Some(answer) = &sent.answer {
        acknowledge_read(&mut client, answer, &told);
    }
    told
}

fn tell(args: &HandoffSendArgs, sent: &Sent) -> Result<(), CliError> {
    if args.json {
        print_json(sent)?;
    }
    let (task, peer) = (or_dash(sent.task.as_deref()), &args.peer);
    let place = MessageReport::of_sent(sent, peer);
    let next =
        format!("signet handoff show {task}  # says what was offered; hand it to somebody else");
    if let Some(answer) = &sent.answer
        && let Some(error) = &answer.error
    {
        let what = refusal::refused_by(peer, error, answer.summary.as_deref());
        return Err(CliError::refused(what, next));
    }
    let word = place.word();
    let how = match place.state {
        State::Refused | State::Expired | State::Unknown => {
            let what = format!("task {task} is {word}: {}", place.sentence());
            return Err(CliError::refused(what, next));
        }
        state if place.stopping && state != State::Received => {
            let what = format!(
                "no-answer: the daemon stopped first; task {task} is {word}: {}",
                place.sentence()
            );
            let next = format!("{}  # then: signet handoff show {task}", hint::start());
            return Err(CliError::not_reachable(what, next));
        }
        State::Answered => "took it",
        State::Received => "has it, durably, and has yet to take it",
        State::Published => "was sent it, and has yet to confirm",
        State::Queued if place.waits_for_people() => {
            if !args.json {
                let waits_for = place.waits_for.map_or("-", WaitsFor::as_str);
                print(&format!(
                    "task {task}: it waits for {waits_for}\n  next: signet handoff show {task}\n"
                ))?;
            }
            return Err(CliError::Ended(Exit::Waiting));
        }
        State::Queued => "gets it when there is a session",
    };
    match args.json {
        true => Ok(()),
        false => print(&format!(
            "task {task}: {peer} {how}\n  next: signet handoff show {task}\n"
        )),
    }
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
    // A huge number of days may overflow when counted in seconds: refuse it like any other wrong time.
    let lasts = count.checked_mul(seconds).ok_or_else(wrong)?;
    Ok(Duration::from_secs(lasts))
}

/// What the exit codes mean here, and examples.
pub(super) fn after_help() -> String {
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
    format!("{codes}\n{EXAMPLE}")
}

const EXAMPLE: &str = "\
Words that begin with @ are written with a second one: --goal @@home.

EXAMPLE:
  signet handoff send agent-bob-001 --goal 'Find an evening for dinner' \\
    --capability calendar.read --tier 2 --depth 1 --for 12h
  signet handoff send agent-carol-001 --goal 'Read your calendar' \\
    --under 0192f0c1-0000-7000-8000-000000000000";
