//! `signet policy …`: who may get what from us and send what to us, and why.

mod page;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use signet_api::{Answered, By, CheckPolicy, Finding, Rule, ShowPolicy, Way};
use signet_proto::headers::CapabilityName;

use crate::cli::ask::decide_in;
use crate::cli::print::{or_dash, print_as, print_json};
use crate::cli::{CliError, Exit, exit, print, visible_lines};
use crate::home::Home;

pub(crate) use page::{bracketed, of_offers};

/// See `signet policy --help`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    /// Show what each peer may send to this agent and get from it, and why
    #[command(after_help = "EXAMPLE:\n  signet policy show")]
    Show {
        /// Print it as one line of JSON
        #[arg(long)]
        json: bool,
    },
    /// Say whether a message would be allowed, before it is sent
    #[command(after_help = check_help())]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
struct CheckArgs {
    /// The peer's agent-id
    #[arg(value_name = "PEER")]
    peer: String,
    /// The data tier: 1 public, 2 household, 3 sensitive, 4 restricted
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    tier: u8,
    /// The capability that is asked for
    #[arg(long, value_name = "NAME")]
    capability: Option<String>,
    /// Only a message of this agent to the peer
    #[arg(long, conflicts_with = "receive")]
    send: bool,
    /// Only a message of the peer to this agent
    #[arg(long)]
    receive: bool,
    /// Print the answer as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: PolicyArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let home = Home::find(home)?;
    match args.command {
        PolicyCommand::Show { json } => show(&home, json),
        PolicyCommand::Check(args) => check(&home, &args),
    }
}

fn show(home: &Home, json: bool) -> Result<(), CliError> {
    let policy = decide_in(home, ShowPolicy {})?;
    print_as(json, &policy, || page::page(&policy))
}

fn check(home: &Home, args: &CheckArgs) -> Result<(), CliError> {
    let way = match (args.send, args.receive) {
        (true, _) => Some(Way::Send),
        (_, true) => Some(Way::Receive),
        _ => None,
    };
    let asked = CheckPolicy {
        peer: args.peer.clone(),
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
            let reason = or_dash(finding.reason.as_deref());
            let what = format!("{reason}: {}", finding.text);
            Err(CliError::refused(what, next(&answer, way, finding)))
        }
    }
}

fn capability(args: &CheckArgs) -> Result<Option<CapabilityName>, CliError> {
    let name = args.capability.as_deref().map(str::parse).transpose();
    name.map_err(|_| {
        let what = "the capability has not the form of a name";
        CliError::usage(
            what,
            "small letters, digits, dots and hyphens, such as calendar.free-busy",
        )
    })
}

/// The rule to change first. One that a session fixes comes last: a new session would bring the same again as long as
/// the configuration says so.
fn first_against(answer: &Answered) -> Option<(Way, &Finding)> {
    answer.checks.iter().find_map(|check| {
        let against = || check.findings.iter().filter(|finding| !finding.holds);
        let lasting = against().find(|finding| finding.by != Some(By::Session));
        let finding = lasting.or_else(|| against().next());
        finding.map(|finding| (check.way, finding))
    })
}

/// Every rule on a line.
fn told(answer: &Answered) -> String {
    let mut page = String::new();
    for check in &answer.checks {
        let sends = check.way == Way::Send;
        let what = if sends { "to" } else { "from" };
        let verdict = if check.allowed { "allowed" } else { "refused" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "tier {} {what} {}: {verdict}",
            answer.tier, answer.peer
        );
        for finding in &check.findings {
            let mark = if finding.holds { "yes" } else { " no" };
            let source = source(sends, finding);
            let _ = writeln!(page, "  {mark}  {}{source}", finding.text);
        }
        if sends && !answer.session {
            page.push_str("       what it grants is known after the first handshake; a message waits for it\n");
        }
    }
    visible_lines(&page)
}

/// Where a finding comes from.
fn source(sends: bool, finding: &Finding) -> &'static str {
    match (finding.rule, finding.by) {
        (Rule::Layers, _) => " (its certificate, our [tiers])",
        (_, Some(By::Session)) if sends => " (its grant to us, in the session)",
        (_, Some(By::Session)) => " (our grant to it, in the session)",
        (_, Some(By::Grant)) => " (our [grant])",
        (_, Some(By::Peer)) => " (our [[peer]])",
        (_, Some(By::Offer)) => " (our [[capability]])",
        (_, Some(By::Other) | None) => " (the capability's own tier)",
    }
}

/// The command or the line of the configuration that changes it.
fn next(answer: &Answered, way: Way, finding: &Finding) -> String {
    let (me, peer, tier) = (&answer.agent, &answer.peer, answer.tier);
    let person = or_dash(answer.principal.as_deref());
    let name = or_dash(answer.capability.as_deref());
    match (finding.rule, way, finding.by) {
        (Rule::Layers, ..) => {
            let row = match tier {
                2 => "household",
                3 => "sensitive",
                4 => "restricted",
                _ => "public",
            };
            let missing = bracketed(finding.missing.as_deref());
            let has = bracketed(finding.has.as_deref());
            format!(
                "ask {person} for a certificate with the layers {missing} too; or trust it with less: `{row} = {has}` in [tiers] of config.toml"
            )
        }
        (Rule::Tier, Way::Send, _) => format!(
            "ask {person} to write `tier = {tier}` below [[peer]] id = \"{me}\" in their config.toml"
        ),
        (Rule::Capability, Way::Send, _) => format!(
            "ask {person} to offer {name} and to name it in `capabilities` below [[peer]] id = \"{me}\" in their config.toml"
        ),
        (Rule::CapabilityTier, Way::Send, _) => {
            format!("send less, or ask {person} to raise `tier` of the [[capability]] {name}")
        }
        (Rule::Tier, Way::Receive, Some(By::Grant)) => format!(
            "write `tier = {tier}` in [grant] of config.toml, or below [[peer]] id = \"{peer}\", then: signet reload"
        ),
        (Rule::Tier, Way::Receive, Some(By::Peer)) => format!(
            "write `tier = {tier}` below [[peer]] id = \"{peer}\" in config.toml, then: signet reload"
        ),
        (Rule::Capability, Way::Receive, Some(By::Offer)) => {
            format!(
                "add `[[capability]]` with `name = \"{name}\"` to config.toml, then: signet reload"
            )
        }
        (Rule::Capability, Way::Receive, Some(by @ (By::Grant | By::Peer))) => {
            let place = match by {
                By::Grant => "[grant]".to_owned(),
                By::Session | By::Peer | By::Offer | By::Other => {
                    format!("[[peer]] id = \"{peer}\"")
                }
            };
            format!(
                "add \"{name}\" to `capabilities` below {place} in config.toml, then: signet reload"
            )
        }
        (Rule::CapabilityTier, Way::Receive, _) => format!(
            "write `tier = {tier}` below the [[capability]] {name} in config.toml, then: signet reload"
        ),
        _ => "signet reload  # the peer then hears what the configuration grants now".to_owned(),
    }
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
