//! `signet trust …`: whom this person's agent may know, decided by the person.

mod page;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;
use signet_api::{
    ApproveStranger, ListPending, ListTrust, Pending, RefuseStranger, ReplaceRoot, RootAlarm,
    TakeRevocation, Withdraw,
};
use signet_audit::describe;
use signet_proto::ids::AgentId;

use crate::cli::ask::{decide, decide_signed};
use crate::cli::person::control_key::ControlKey;
use crate::cli::person::key::read_json;
use crate::cli::person::peer::read_certificate;
use crate::cli::print::{print_as, print_each_as};
use crate::cli::{CliError, print};
use crate::config::Config;
use crate::home::Home;
use crate::memory::MemoryError;

/// See `signet trust --help`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLE:\n  signet trust pending\n  signet trust approve agent-bob-001")]
pub(crate) struct TrustArgs {
    #[command(subcommand)]
    command: TrustCommand,
    /// Print the result as one line of JSON; of a list each item
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TrustCommand {
    /// List the strangers that wait for an introduction, and what to type about each
    #[command(after_help = "EXAMPLE:\n  signet trust pending")]
    Pending,
    /// Trust a stranger, or again an agent that was withdrawn
    #[command(after_help = "EXAMPLE:\n  signet trust approve agent-bob-001")]
    Approve(StrangerRow),
    /// Refuse a stranger; signet does not ask about it again
    #[command(after_help = "EXAMPLE:\n  signet trust refuse agent-mallory")]
    Refuse(StrangerRow),
    /// Take back the trust in an agent, here alone
    #[command(after_help = "EXAMPLE:\n  signet trust withdraw agent-bob-001")]
    Withdraw {
        /// The agent
        #[arg(value_name = "ID")]
        id: String,
        #[command(flatten)]
        control: ControlKey,
    },
    /// Hand in a revocation that a root key signed: it counts everywhere and for good
    #[command(after_help = "EXAMPLE:\n  signet trust revoke --statement revocation.json")]
    Revoke {
        /// As `signet trust withdraw ID`, for whoever learnt that of an older release
        #[arg(
            value_name = "ID",
            required_unless_present = "statement",
            conflicts_with = "statement",
            hide = true
        )]
        id: Option<String>,
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
    /// List every agent that is or was trusted, and how it stands
    #[command(after_help = "EXAMPLE:\n  signet trust list")]
    List,
    /// List every change of trust, approval and pause that the log holds
    #[command(
        after_help = "EXAMPLE:\n  signet trust log\n  signet trust log --json | jq 'select(.kind == \"trust\")'"
    )]
    Log,
}

#[derive(Debug, Args)]
struct StrangerRow {
    /// The agent-id that it claims
    #[arg(value_name = "ID")]
    agent: AgentId,
    /// Its root key, when more than one claims the id: `ed25519:…`, as `pending` shows it
    #[arg(long, value_name = "KEY-ID")]
    root: Option<String>,
    #[command(flatten)]
    control: ControlKey,
}

pub(crate) fn run(args: TrustArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let json = args.json;
    match args.command {
        TrustCommand::Pending => {
            let waiting = decide(home, ListPending {})?;
            print_each_as(json, of_both_kinds(&waiting), || page::pending(&waiting))
        }
        TrustCommand::Approve(stranger) => {
            let approve = ApproveStranger {
                agent: stranger.agent.to_string(),
                root: stranger.root,
                decision: None,
            };
            let decided = decide_signed(&Home::find(home)?, approve, &stranger.control)?;
            print_as(json, &decided, || page::approved(&decided))
        }
        TrustCommand::Refuse(stranger) => {
            let refuse = RefuseStranger {
                agent: stranger.agent.to_string(),
                root: stranger.root,
                decision: None,
            };
            let decided = decide_signed(&Home::find(home)?, refuse, &stranger.control)?;
            print_as(json, &decided, || page::refused(&decided))
        }
        TrustCommand::Withdraw { id, control }
        | TrustCommand::Revoke {
            id: Some(id),
            control,
            ..
        } => {
            let withdraw = Withdraw {
                peer: id,
                decision: None,
            };
            let withdrawn = decide_signed(&Home::find(home)?, withdraw, &control)?;
            print_as(json, &withdrawn, || page::withdrawn(&withdrawn))
        }
        TrustCommand::Revoke { statement, .. } => {
            let statement = read_json(&statement.unwrap_or_default())?;
            let revoked = decide(home, TakeRevocation { statement })?;
            print_as(json, &revoked, || page::revoked(&revoked))
        }
        TrustCommand::ReplaceRoot { file, control } => {
            let replace = ReplaceRoot {
                certificate: read_certificate(&file)?.to_value(),
                decision: None,
            };
            let bound = decide_signed(&Home::find(home)?, replace, &control)?;
            print_as(json, &bound, || page::replaced(&bound))
        }
        TrustCommand::List => {
            let known = decide(home, ListTrust {})?;
            print_each_as(json, &known, || page::list(&known))
        }
        TrustCommand::Log => log(home, json),
    }
}

/// Who waits for a decision, in one list.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum WaitingRow<'a> {
    Stranger(&'a signet_api::Stranger),
    RootAlarm(&'a RootAlarm),
}

/// Strangers and root alarms in one list, told apart by `kind`.
fn of_both_kinds(waiting: &Pending) -> impl Iterator<Item = WaitingRow<'_>> {
    let strangers = waiting.pending.iter().map(WaitingRow::Stranger);
    strangers.chain(waiting.root_alarms.iter().map(WaitingRow::RootAlarm))
}

fn log(home: Option<PathBuf>, json: bool) -> Result<(), CliError> {
    let home = Home::find(home)?;
    let config = Config::load(&home)?;
    let mut is_empty = true;
    // Before the first start there is no log, and so no change of trust to show.
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
