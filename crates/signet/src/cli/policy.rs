//! `signet policy …`: who may get what from us and send what to us, and why.

mod page;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;
use signet_api::{CheckPolicy, ShowPolicy, Way};
use signet_audit::visible;
use signet_proto::headers::CapabilityName;
use signet_proto::ids::AgentId;

use super::ask::{decide_in, print_json, text};
use super::{Exit, Failure, exit, print};
use crate::home::Home;

pub(super) use page::of_capabilities;

/// See `signet policy --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Who may get what from us and send what to us, and why
    #[command(after_help = "EXAMPLE:\n  signet policy show")]
    Show {
        /// Print it as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Whether a message would be allowed, before it is sent
    #[command(after_help = check_help())]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The peer's agent-id
    #[arg(value_name = "PEER")]
    peer: AgentId,
    /// The data tier: 1 public, 2 household, 3 sensitive, 4 restricted
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: u8,
    /// The capability that is asked for
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// Only what we would send to it
    #[arg(long, conflicts_with = "receive")]
    send: bool,
    /// Only what it would send to us
    #[arg(long)]
    receive: bool,
    /// Print the answer as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: PolicyArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let home = Home::find(home)?;
    match args.command {
        PolicyCommand::Show { json } => show(&home, json),
        PolicyCommand::Check(args) => check(&home, &args),
    }
}

fn show(home: &Home, json: bool) -> Result<(), Failure> {
    let policy = decide_in(home, ShowPolicy {})?;
    if json {
        return print_json(&policy);
    }
    print(&page::page(&policy))
}

fn check(home: &Home, args: &CheckArgs) -> Result<(), Failure> {
    let way = match (args.send, args.receive) {
        (true, _) => Some(Way::Send),
        (_, true) => Some(Way::Receive),
        _ => None,
    };
    let asked = CheckPolicy {
        peer: args.peer.to_string(),
        tier: args.tier,
        capability: capability(args)?.map(|name| name.to_string()),
        way,
    };
    let answer = decide_in(home, asked)?;
    if args.json {
        print_json(&answer)?;
    } else {
        print(&told(&answer))?;
    }
    match first_against(&answer) {
        None => Ok(()),
        Some((way, finding)) => {
            let what = format!("{}: {}", text(finding, "reason"), text(finding, "text"));
            Err(Failure::new(
                Exit::Refused,
                what,
                next(&answer, way, finding),
            ))
        }
    }
}

fn capability(args: &CheckArgs) -> Result<Option<CapabilityName>, Failure> {
    let name = args.capability.as_deref().map(str::parse).transpose();
    name.map_err(|_| {
        let what = "the capability has not the form of a name";
        Failure::new(
            Exit::Usage,
            what,
            "small letters, digits, dots and hyphens, such as calendar.free-busy",
        )
    })
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(name)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn is(value: &Value, name: &str) -> bool {
    value.get(name).and_then(Value::as_bool) == Some(true)
}

fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

/// What to change first: a new session brings nothing while the configuration says the same.
fn first_against(answer: &Value) -> Option<(&str, &Value)> {
    list(answer, "checks").find_map(|check| {
        let against = || list(check, "findings").filter(|finding| !is(finding, "holds"));
        let lasting = against().find(|finding| text(finding, "by") != "session");
        let finding = lasting.or_else(|| against().next());
        finding.map(|finding| (text(check, "way"), finding))
    })
}

/// Every rule on a line.
fn told(answer: &Value) -> String {
    let mut page = String::new();
    let (peer, tier) = (
        text(answer, "peer"),
        number(answer, "tier").unwrap_or_default(),
    );
    for check in list(answer, "checks") {
        let sends = text(check, "way") == "send";
        let what = if sends { "to" } else { "from" };
        let verdict = if is(check, "allowed") {
            "allowed"
        } else {
            "refused"
        };
        // Writing to a String cannot fail.
        let _ = writeln!(page, "tier {tier} {what} {peer}: {verdict}");
        for finding in list(check, "findings") {
            let mark = if is(finding, "holds") { "yes" } else { " no" };
            let _ = writeln!(
                page,
                "  {mark}  {}{}",
                text(finding, "text"),
                source(sends, finding)
            );
        }
        if sends && !is(answer, "session") {
            page.push_str("       what it grants is known after the first handshake; a message waits for it\n");
        }
    }
    visible_lines(&page)
}

/// Where a finding comes from.
fn source(sends: bool, finding: &Value) -> &'static str {
    match (text(finding, "rule"), text(finding, "by")) {
        ("layers", _) => " (its certificate, our [tiers])",
        (_, "session") if sends => " (its grant to us, in the session)",
        (_, "session") => " (our grant to it, in the session)",
        (_, "grant") => " (our [grant])",
        (_, "peer") => " (our [[peer]])",
        (_, "offer") => " (our [[capability]])",
        _ => " (the capability's own tier)",
    }
}

/// The command or the line of the configuration that changes it.
fn next(answer: &Value, way: &str, finding: &Value) -> String {
    let (peer, tier) = (
        text(answer, "peer"),
        number(answer, "tier").unwrap_or_default(),
    );
    let person = text(answer, "principal");
    let me = text(answer, "agent");
    let name = text(answer, "capability");
    match (text(finding, "rule"), way, text(finding, "by")) {
        ("layers", ..) => {
            let row = ["public", "household", "sensitive", "restricted"];
            let row = usize::try_from(tier)
                .ok()
                .and_then(|tier| row.get(tier.checked_sub(1)?));
            let missing = finding.get("missing").unwrap_or(&Value::Null);
            let has = finding.get("has").unwrap_or(&Value::Null);
            let row = row.unwrap_or(&"public");
            format!(
                "ask {person} for a certificate with the layers {missing} too; or trust it with less: `{row} = {has}` in [tiers] of config.toml"
            )
        }
        ("tier", "send", _) => format!(
            "ask {person} to write `tier = {tier}` below [[peer]] id = \"{me}\" in their config.toml"
        ),
        ("capability", "send", _) => format!(
            "ask {person} to offer {name} and to name it in `capabilities` below [[peer]] id = \"{me}\" in their config.toml"
        ),
        ("capability-tier", "send", _) => {
            format!("send less, or ask {person} to raise `tier` of the [[capability]] {name}")
        }
        ("tier", _, "grant") => format!(
            "write `tier = {tier}` in [grant] of config.toml, or below [[peer]] id = \"{peer}\", and restart"
        ),
        ("tier", _, "peer") => format!(
            "write `tier = {tier}` below [[peer]] id = \"{peer}\" in config.toml, and restart"
        ),
        ("capability", _, "offer") => {
            format!("add `[[capability]]` with `name = \"{name}\"` to config.toml, and restart")
        }
        ("capability", _, by @ ("grant" | "peer")) => {
            let place = if by == "grant" {
                "[grant]".to_owned()
            } else {
                format!("[[peer]] id = \"{peer}\"")
            };
            format!("add \"{name}\" to `capabilities` below {place} in config.toml, and restart")
        }
        ("capability-tier", ..) => format!(
            "write `tier = {tier}` below the [[capability]] {name} in config.toml, and restart"
        ),
        _ => "restart the daemon: it makes a new session by the configuration of now".to_owned(),
    }
}

/// A peer's words cannot drive a terminal.
fn visible_lines(page: &str) -> String {
    page.lines()
        .map(|line| format!("{}\n", visible(line)))
        .collect()
}

fn check_help() -> String {
    let codes = exit::section([
        (Exit::Done, "allowed"),
        (
            Exit::Refused,
            "refused, with the command or the line of config.toml that changes it",
        ),
    ]);
    format!("{codes}\nEXAMPLE:\n  signet policy check agent-bob-001 --tier 3 --send")
}

const EXAMPLE: &str = "\
EXAMPLE:
  signet policy show
  signet policy check agent-bob-001 --tier 2 --capability calendar.free-busy --send";
