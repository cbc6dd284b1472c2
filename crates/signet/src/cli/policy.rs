//! `signet policy …`: who may get what from us and send what to us, and why.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use signet_audit::visible;
use signet_proto::headers::CapabilityName;
use signet_proto::ids::AgentId;
use signet_proto::node::Way;

use super::ask::with_daemon;
use super::ask::{print_json, safe_json, text};
use super::{Exit, Failure, print};
use crate::clock;
use crate::home::Home;
use crate::permission::{self, Question};

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
    /// Whether a message would be allowed, before it is sent: code 0 allowed, 1 refused
    #[command(after_help = "EXAMPLE:\n  signet policy check agent-bob-001 --tier 3 --send")]
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
    let policy = with_daemon(home, "policy.show", &json!({}), |memory| {
        Ok(permission::show(&memory.node, clock::now()))
    })?;
    if json {
        return print_json(&policy);
    }
    print(&page(&policy))
}

fn check(home: &Home, args: &CheckArgs) -> Result<(), Failure> {
    let way = match (args.send, args.receive) {
        (true, _) => Some(Way::Send),
        (_, true) => Some(Way::Receive),
        _ => None,
    };
    let mut params = json!({"peer": args.peer.as_str(), "tier": args.tier});
    if let Some(members) = params.as_object_mut() {
        let name = |way| if way == Way::Send { "send" } else { "receive" };
        way.map(|way| members.insert("way".into(), name(way).into()));
        let capability = args.capability.as_deref();
        capability.map(|capability| members.insert("capability".into(), capability.into()));
    }
    let answer = with_daemon(home, "policy.check", &params, |memory| {
        let question = Question {
            peer: args.peer.clone(),
            tier: args.tier,
            capability: capability(args)?,
            way,
        };
        permission::answer(&memory.node, clock::now(), &question).ok_or_else(|| {
            let what = format!("peer-unknown: no peer {}", args.peer);
            Failure::new(Exit::Refused, what, "signet peer list shows who is known")
        })
    })?;
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

fn first_against(answer: &Value) -> Option<(&str, &Value)> {
    list(answer, "checks").find_map(|check| {
        let against = list(check, "findings").find(|finding| !is(finding, "holds"));
        against.map(|finding| (text(check, "way"), finding))
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

fn page(policy: &Value) -> String {
    let mut page = String::from("TIERS  what a peer must have before anything of a tier passes\n");
    for tier in list(policy, "tiers") {
        let _ = writeln!(
            page,
            "  {} {:<10} layers {:<14} {}",
            number(tier, "tier").unwrap_or_default(),
            text(tier, "name"),
            numbers(tier.get("layers")),
            text(tier, "meaning"),
        );
    }
    page.push_str("\nEVERY PEER  unless a [[peer]] says otherwise\n");
    let grant = policy.get("grant").unwrap_or(&Value::Null);
    let _ = writeln!(page, "  may send   {}", of_grant(grant));
    let conversation = number(grant, "conversation-messages-per-minute");
    if let Some(conversation) = conversation {
        let _ = writeln!(
            page,
            "             {conversation} messages a minute in one conversation"
        );
    }
    page.push_str("\nOFFERED BY US\n");
    page.push_str(&of_capabilities(
        policy,
        "none; [[capability]] in config.toml\n",
    ));
    if list(policy, "peers").next().is_none() {
        page.push_str("\nNO PEERS YET  signet peer add FILE\n");
    }
    for peer in list(policy, "peers") {
        page.push_str(&of_peer(peer));
    }
    visible_lines(&page)
}

fn of_peer(peer: &Value) -> String {
    let mut page = format!("\n{} of {}\n", text(peer, "peer"), text(peer, "principal"));
    let layers = numbers(peer.get("certificate-layers"));
    let _ = writeln!(page, "  certificate proves the layers {layers}");
    for (name, verb) in [("sends", "may send us"), ("gets", "may get from us")] {
        let side = peer.get(name).unwrap_or(&Value::Null);
        let most = match number(side, "highest-tier").unwrap_or_default() {
            0 => "nothing".to_owned(),
            1 => "tier 1".to_owned(),
            most => format!("tiers 1 to {most}"),
        };
        let _ = writeln!(page, "  {verb:<15} {most}");
        for limit in list(side, "limits") {
            let _ = writeln!(
                page,
                "    not more: {}{}",
                text(limit, "text"),
                source(name == "gets", limit)
            );
        }
        let grant = side.get("grant").filter(|grant| !grant.is_null());
        match grant {
            Some(grant) if name == "sends" => {
                let own = if text(peer, "by") == "peer" {
                    " (its [[peer]])"
                } else {
                    ""
                };
                let _ = writeln!(page, "    we grant: {}{own}", of_grant(grant));
            }
            Some(grant) => {
                let _ = writeln!(page, "    it grants: {}", of_grant(grant));
            }
            None => page.push_str("    what it grants is known after the first handshake\n"),
        }
    }
    page.push_str(&of_capabilities(peer, ""));
    page
}

/// Capabilities on a line each, with the schema as text below.
pub(super) fn of_capabilities(holder: &Value, none: &str) -> String {
    let mut page = String::new();
    for capability in list(holder, "capabilities") {
        let description = capability.get("description").and_then(Value::as_str);
        let _ = writeln!(
            page,
            "  offers {} up to tier {}{}",
            text(capability, "name"),
            number(capability, "tier").unwrap_or_default(),
            description
                .map(|text| format!(": {text}"))
                .unwrap_or_default(),
        );
        let schema = match capability.get("schema") {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) => text.clone(),
            Some(schema) => safe_json(schema),
        };
        let _ = writeln!(page, "    body: {schema}");
    }
    if page.is_empty() && !none.is_empty() {
        return format!("  {none}");
    }
    page
}

fn of_grant(grant: &Value) -> String {
    let names: Vec<&str> = list(grant, "capabilities")
        .filter_map(Value::as_str)
        .collect();
    let names = match grant.get("capabilities") {
        Some(Value::Array(_)) if names.is_empty() => "no capabilities".to_owned(),
        Some(Value::Array(_)) => names.join(", "),
        _ => "every capability".to_owned(),
    };
    let budget = number(grant, "messages-per-minute");
    let budget = budget.map_or("any number of messages".to_owned(), |number| {
        format!("{number} messages a minute")
    });
    format!(
        "up to tier {}, {names}, {budget}",
        number(grant, "tier").unwrap_or_default()
    )
}

fn numbers(layers: Option<&Value>) -> String {
    let layers = layers.and_then(Value::as_array).into_iter().flatten();
    let layers: Vec<String> = layers.map(Value::to_string).collect();
    layers.join(", ")
}

/// A peer's words cannot drive a terminal.
fn visible_lines(page: &str) -> String {
    page.lines()
        .map(|line| format!("{}\n", visible(line)))
        .collect()
}

const EXAMPLE: &str = "\
EXIT CODES of `check`:
  0  allowed
  1  refused, with the command or the line of config.toml that changes it

EXAMPLE:
  signet policy show
  signet policy check agent-bob-001 --tier 2 --capability calendar.free-busy --send";
