//! `signet trust …`: whom this person's agent may know, decided by the person.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;
use signet_api::{
    ApproveStranger, ListPending, ListTrust, RefuseStranger, ReplaceRoot, TakeRevocation, Withdraw,
};
use signet_audit::{describe, visible};
use signet_proto::ids::AgentId;

use super::ask::{decide, decide_signed, items, print_each, print_json, text};
use super::key::read_json;
use super::peer::read_certificate;
use super::person::ControlKey;
use super::{Failure, print};
use crate::config::Config;
use crate::home::Home;
use crate::memory::MemoryError;

/// See `signet trust --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet trust pending\n  signet trust approve agent-bob-001")]
pub(super) struct TrustArgs {
    #[command(subcommand)]
    command: TrustCommand,
    /// Print the result as one line of JSON; of a list each item
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// Strangers that ask to be known, and what to type about each
    #[command(after_help = "EXAMPLE:\n  signet trust pending")]
    Pending,
    /// Trust a stranger, or again an agent that was revoked here
    #[command(after_help = "EXAMPLE:\n  signet trust approve agent-bob-001")]
    Approve(Stranger),
    /// Refuse a stranger; it is not asked about again
    #[command(after_help = "EXAMPLE:\n  signet trust refuse agent-mallory")]
    Refuse(Stranger),
    /// Take back the trust in an agent, or hand in a revocation that a root key signed
    #[command(
        after_help = "EXAMPLE:\n  signet trust revoke agent-bob-001\n  signet trust revoke --statement revocation.json"
    )]
    Revoke {
        /// The agent
        #[arg(
            value_name = "ID",
            required_unless_present = "statement",
            conflicts_with = "statement"
        )]
        id: Option<AgentId>,
        /// A revocation that `signet key revoke` made, from whomever it came
        #[arg(long, value_name = "FILE")]
        statement: Option<PathBuf>,
        #[command(flatten)]
        control: ControlKey,
    },
    /// Go on with another root key of a person, which the old one had not named
    #[command(
        after_help = "EXAMPLE:\n  signet trust replace-root bob-new.json\n\nAsk the person in person first: this is what an attacker wants you to do."
    )]
    ReplaceRoot {
        /// The new certificate that the person handed over
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        control: ControlKey,
    },
    /// Every agent that is or was trusted, and how it stands
    #[command(after_help = "EXAMPLE:\n  signet trust list")]
    List,
    /// Every change of trust, approval and pause that the log holds
    #[command(
        after_help = "EXAMPLE:\n  signet trust log\n  signet trust log --json | jq 'select(.kind == \"trust\")'"
    )]
    Log,
}

#[derive(Debug, Args)]
struct Stranger {
    /// The agent-id that it claims
    #[arg(value_name = "ID")]
    agent: AgentId,
    /// Its root key, when more than one claims the id: `ed25519:…`, as `pending` shows it
    #[arg(long, value_name = "KEY-ID")]
    root: Option<String>,
    #[command(flatten)]
    control: ControlKey,
}

pub(super) fn run(args: TrustArgs, home: Option<PathBuf>) -> Result<(), Failure> {
    let json = args.json;
    let show = |value: &Value, words: String| match json {
        true => print_json(value),
        false => print(&words),
    };
    match args.command {
        TrustCommand::Pending => {
            let value = decide(home, ListPending {})?;
            match json {
                true => print_each(&of_both_kinds(&value)),
                false => print(&pending(&value)),
            }
        }
        TrustCommand::Approve(stranger) => {
            let (agent, root) = (stranger.agent.to_string(), stranger.root.clone());
            let value = decide_signed(home, approve(agent, root), &stranger.control)?;
            show(&value, approved(&value))
        }
        TrustCommand::Refuse(stranger) => {
            let (agent, root) = (stranger.agent.to_string(), stranger.root.clone());
            let value = decide_signed(home, refuse(agent, root), &stranger.control)?;
            let words = format!(
                "{} is refused under this root key, and you are not asked about it again\n  \
                   if you change your mind: signet peer add THEIR-CERTIFICATE.json\n",
                stranger.agent
            );
            show(&value, words)
        }
        TrustCommand::Revoke {
            id: Some(id),
            control,
            ..
        } => {
            let value = decide_signed(home, withdraw(&id), &control)?;
            show(&value, withdrawn(&value))
        }
        TrustCommand::Revoke { statement, .. } => {
            let statement = read_json(&statement.unwrap_or_default())?;
            let value = decide(home, TakeRevocation { statement })?;
            show(&value, revoked(&value))
        }
        TrustCommand::ReplaceRoot { file, control } => {
            let certificate = read_certificate(&file)?.to_value().clone();
            let value = decide_signed(home, replace(certificate), &control)?;
            show(&value, replaced(&value))
        }
        TrustCommand::List => {
            let value = decide(home, ListTrust {})?;
            match json {
                true => print_each(items(&value, "agents")),
                false => print(&list(&value)),
            }
        }
        TrustCommand::Log => log(home, json),
    }
}

fn approve(agent: String, root: Option<String>) -> ApproveStranger {
    let decision = None;
    ApproveStranger {
        agent,
        root,
        decision,
    }
}

fn refuse(agent: String, root: Option<String>) -> RefuseStranger {
    let decision = None;
    RefuseStranger {
        agent,
        root,
        decision,
    }
}

fn withdraw(peer: &AgentId) -> Withdraw {
    Withdraw {
        peer: peer.to_string(),
        decision: None,
    }
}

fn replace(certificate: Value) -> ReplaceRoot {
    ReplaceRoot {
        certificate,
        decision: None,
    }
}

/// Strangers and root alarms in one list, told apart by `kind`.
fn of_both_kinds(value: &Value) -> Vec<Value> {
    let kinds = [("pending", "stranger"), ("root-alarms", "root-alarm")];
    let of_a_kind = |(list, kind): (&str, &str)| {
        let mut those = items(value, list).to_vec();
        for one in those.iter_mut().filter_map(Value::as_object_mut) {
            one.insert("kind".to_owned(), kind.into());
        }
        those
    };
    kinds.into_iter().flat_map(of_a_kind).collect()
}

fn pending(value: &Value) -> String {
    let mut page = String::new();
    let list = |name: &str| value.get(name).and_then(Value::as_array);
    for one in list("pending").into_iter().flatten() {
        let (agent, root) = (text(one, "agent"), text(one, "root"));
        // Writing to a String cannot fail.
        let _ = write!(
            page,
            "{agent} says that it acts for \"{}\"; nobody has verified either name (since {})\n  \
               its root key reads: {}\n  \
               ask that person, by telephone or face to face, to read out the words of their own agent: signet status\n    \
               the same words:  signet trust approve {agent} --root {root}\n    \
               any other words: signet trust refuse {agent} --root {root}\n",
            text(one, "principal"),
            text(one, "since"),
            text(one, "fingerprint"),
        );
    }
    for one in list("root-alarms").into_iter().flatten() {
        let _ = write!(
            page,
            "ALARM, {}: somebody uses the name of a person you know with another root key, {}\n  \
               nothing was accepted; ask the person, by telephone or face to face\n    \
               a new key of theirs: signet trust replace-root THEIR-NEW-CERTIFICATE.json\n    \
               not their key:       somebody pretends to be them; there is nothing to do here\n",
            text(one, "since"),
            text(one, "root"),
        );
    }
    match page.is_empty() {
        true => "nobody waits for your decision\n".to_owned(),
        false => visible_lines(&page),
    }
}

fn approved(value: &Value) -> String {
    format!(
        "{} is trusted; its root key reads: {}\n  what waits for it leaves as soon as its person trusts you too\n  \
           to take the trust back: signet trust revoke {}\n",
        text(value, "agent"),
        text(value, "fingerprint"),
        text(value, "agent")
    )
}

fn withdrawn(value: &Value) -> String {
    let number = |name: &str| value.get(name).and_then(Value::as_u64).unwrap_or_default();
    format!(
        "{} is trusted no more\n  messages to it that ended: {}; messages of its that your agent no longer gets: {}\n  \
           to read those: signet inbox --set-aside\n  to trust it again: signet trust approve {}\n",
        text(value, "peer"),
        number("ended"),
        number("set-aside"),
        text(value, "peer")
    )
}

fn revoked(value: &Value) -> String {
    let serial = value
        .get("serial")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let known = value.get("changed").and_then(Value::as_bool) == Some(false);
    format!(
        "{} of {}: certificates up to serial {serial} are revoked{}\n",
        text(value, "agent"),
        text(value, "principal"),
        if known {
            ", as was known already"
        } else {
            ", for good"
        }
    )
}

fn replaced(value: &Value) -> String {
    format!(
        "{} goes on with the root key that reads: {}\n  \
           {} is bound to it; every other agent of {} must be added again: signet peer add FILE\n",
        text(value, "principal"),
        text(value, "fingerprint"),
        text(value, "peer"),
        text(value, "principal")
    )
}

fn list(value: &Value) -> String {
    let mut page = String::new();
    for peer in value.as_array().into_iter().flatten() {
        let agent = text(peer, "peer");
        let next = match text(peer, "trust") {
            "trusted" => format!("signet trust revoke {agent}"),
            "withdrawn" => format!("signet trust approve {agent}"),
            _ => "ask its person for a new certificate, then signet peer add FILE".to_owned(),
        };
        let _ = write!(
            page,
            "{agent} of {}: {}, serial {}, until {}\n  {}\n  next: {next}\n",
            text(peer, "principal"),
            text(peer, "trust"),
            peer.get("serial")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
            text(peer, "not-after"),
            text(peer, "fingerprint"),
        );
    }
    match page.is_empty() {
        true => "nobody is known yet\n  next: signet peer add FILE, or signet trust pending\n"
            .to_owned(),
        false => visible_lines(&page),
    }
}

fn log(home: Option<PathBuf>, json: bool) -> Result<(), Failure> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let mut is_empty = true;
    // Before the first start there is no log.
    let lines = config
        .audit_dir
        .exists()
        .then(|| signet_audit::read(&config.audit_dir));
    let lines = lines.transpose().map_err(MemoryError::from)?;
    for line in lines.into_iter().flatten() {
        let line = line.map_err(MemoryError::from)?;
        if !["trust", "approval", "pause"].contains(&line.kind.as_str()) {
            continue;
        }
        is_empty = false;
        match json {
            true => print(&format!("{}\n", String::from_utf8_lossy(&line.to_json())))?,
            false => print(&format!("{}\n", describe(&line)))?,
        }
    }
    match is_empty && !json {
        true => print("nobody was trusted, refused or revoked yet\n"),
        false => Ok(()),
    }
}

/// Every line safe for a terminal.
pub(super) fn visible_lines(page: &str) -> String {
    page.split_inclusive('\n')
        .map(|line| format!("{}\n", visible(line.trim_end_matches('\n'))))
        .collect()
}
