//! The demonstration: two people, three agents, each a real daemon, and three attacks.
//!
//! Every line that it prints is about something that has just happened and was looked up in a log or
//! an answer; the first thing that does not happen ends it with an error.

mod attack;
mod household;
mod process;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::control::ClientError;

use attack::Attacker;
use household::{Household, Member};
use process::NatsServer;

/// A step of the demonstration did not do what it says.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// No broker on this machine.
    #[error("no nats-server found in $NATS_SERVER, PATH, /usr/sbin or .tools")]
    NoServer,
    /// A process could not be started or ended early.
    #[error("{what}: {why}")]
    Process {
        /// Which.
        what: String,
        /// Why.
        why: String,
    },
    /// The logs' place is taken by something else.
    #[error("{} holds a log that is not of an earlier demo", .0.display())]
    InTheWay(PathBuf),
    /// A file.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A daemon did not do as it was asked.
    #[error("a daemon: {0}")]
    Daemon(#[from] ClientError),
    /// Something that should have happened did not.
    #[error("this did not happen: {0}")]
    Missed(String),
}

impl DemoError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::NoServer => {
                "install it (Debian: nats-server), or use make demo, which fetches one".to_owned()
            }
            Self::InTheWay(_) => "name another directory with --audit".to_owned(),
            Self::Io { .. } => {
                "run it where you may write, or name a directory with --audit".to_owned()
            }
            _ => "run it again; if it stays, report what it printed".to_owned(),
        }
    }
}

/// Runs the whole demonstration; the logs are left in `audit`.
///
/// # Errors
/// At the first step that does not do what it says.
pub fn run(audit: &Path) -> Result<(), DemoError> {
    let start = Instant::now();
    say("A household: alice with two agents, bob with one. Each agent has a daemon of its own.\n");
    let scratch = process::Scratch::new()?;
    let nats = NatsServer::start(scratch.path())?;
    let house = Household::found(scratch.path(), audit, &nats.url)?;
    step(&format!(
        "a private nats-server, {} daemons, every certificate exchanged",
        house.members().len()
    ));
    converse(&house)?;
    attack(&house, &nats)?;
    let alice_log = house.alice.log_file()?;
    house.stop()?;
    nats.stop();
    prove(audit)?;
    say(&format!(
        "\n{:.1} s. The logs stay:\n",
        start.elapsed().as_secs_f64()
    ));
    for member in house_files(audit)? {
        say(&format!("  {}\n", member.display()));
    }
    say(&format!("\nTry:\n{}", recipes(&alice_log, audit)));
    Ok(())
}

fn converse(house: &Household) -> Result<(), DemoError> {
    let Household {
        alice, bob, helper, ..
    } = house;
    let answering = bob.answer_next(json!({"evenings": ["Tue", "Thu"]}));
    let request = json!({
        "peer": bob.id, "kind": "request", "wait": 10, "summary": "Asks for free evenings next week",
        "capability": "calendar.free-busy", "data-tier": 2, "body": {"week": "2026-W07"},
    });
    let sent = alice.call("send", &request)?;
    let answer = sent.pointer("/answer/body").cloned().unwrap_or_default();
    expect(
        answer == json!({"evenings": ["Tue", "Thu"]}),
        "alice's agent is answered",
    )?;
    answering
        .join()
        .map_err(|_| DemoError::Missed("bob's agent answers".into()))??;
    let flights =
        alice.count(|line| method_of(line).is_some_and(|method| FLIGHTS.contains(&method)))?;
    expect(
        flights == FLIGHTS.len(),
        "a handshake of four flights comes first",
    )?;
    step("handshake: announce, verify, capability, trust: one session on both sides");
    step(&format!(
        "request \"Asks for free evenings next week\", answered {answer}, both signatures verified"
    ));

    let notification = json!({
        "peer": helper.id, "kind": "notification", "wait": 10, "summary": "Dinner is at half past seven",
        "body": {"dinner": "19:30"},
    });
    let told = bob.call("send", &notification)?;
    expect(
        told.get("state") == Some(&json!("received")),
        "the notification is received durably",
    )?;
    step(&format!(
        "notification from {} to {}, received durably (signed receipt)",
        bob.id, helper.id
    ));
    let pinged = helper.call(
        "send",
        &json!({"peer": alice.id, "kind": "ping", "wait": 10}),
    )?;
    expect(
        pinged.get("state") == Some(&json!("answered")),
        "one agent of alice reaches the other",
    )?;
    Ok(())
}

fn attack(house: &Household, nats: &NatsServer) -> Result<(), DemoError> {
    let attacker = Attacker::connect(&nats.url)?;
    let Household {
        alice, bob, helper, ..
    } = house;
    let request = alice.sent_message(|line| method_of(line) == Some("agent.request"))?;
    let refused =
        |member: &Member, bytes: Vec<u8>, reasons: &[&str], what: &str| -> Result<(), DemoError> {
            let before = member.inbox()?;
            let reason = member.refusal_after(|| attacker.publish(&member.id, bytes))?;
            expect(reasons.contains(&reason.as_str()), what)?;
            expect(
                member.inbox()? == before,
                "nothing that was refused reaches the agent",
            )?;
            step(&format!("{what}: refused ({reason}), logged, not answered"));
            Ok(())
        };
    let impostor = attacker.impostor(&alice.id, &bob.id)?;
    refused(
        bob,
        impostor,
        &["root-changed"],
        "an impostor announces itself as alice's agent",
    )?;
    let tampered = String::from_utf8_lossy(&request)
        .replace("2026-W07", "2026-W08")
        .into_bytes();
    refused(
        bob,
        tampered,
        &["signature-invalid"],
        "alice's request with one digit changed",
    )?;
    refused(
        bob,
        request.clone(),
        &["duplicate"],
        "alice's request once more",
    )?;
    refused(
        helper,
        request,
        &["wrong-recipient"],
        "alice's request redirected to another agent",
    )?;
    Ok(())
}

/// The logs prove themselves, with nothing but the files.
fn prove(audit: &Path) -> Result<(), DemoError> {
    let report = signet_audit::verify(&[audit.to_owned()]);
    expect(report.holds(), "signet audit verify: everything holds")?;
    say(&format!(
        "\nsignet audit verify {}\n  {}\n",
        audit.display(),
        report.to_string().replace('\n', "\n  ").trim_end()
    ));
    Ok(())
}

fn recipes(log: &Path, audit: &Path) -> String {
    let (log, all) = (log.display(), audit.display());
    format!(
        "  jq . {log}\n  \
         cat {all}/*/inter-agent-*.jsonl | jq -r 'select(.verdict == \"rejected\") | [.ts, .peer, .reason] | @tsv'\n  \
         jq -r 'select(.summary) | [.ts, .dir, .peer, .summary] | @tsv' {log}\n"
    )
}

fn house_files(audit: &Path) -> Result<Vec<PathBuf>, DemoError> {
    let mut files = Vec::new();
    for agent in household::AGENTS {
        let dir = audit.join(agent);
        let listed = std::fs::read_dir(&dir).map_err(|source| DemoError::Io {
            path: dir.clone(),
            source,
        })?;
        let logs = listed.flatten().map(|entry| entry.path());
        files.extend(logs.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")));
    }
    files.sort();
    Ok(files)
}

fn method_of(line: &Value) -> Option<&str> {
    line.pointer("/message/method")?.as_str()
}

fn expect(happened: bool, what: &str) -> Result<(), DemoError> {
    if happened {
        Ok(())
    } else {
        Err(DemoError::Missed(what.to_owned()))
    }
}

fn step(what: &str) {
    let done = AnsiColor::Green.on_default().bold();
    let plain = Style::new();
    say(&format!(
        "{done}  ok{done:#} {plain}{}\n",
        signet_audit::visible(what)
    ));
}

fn say(text: &str) {
    // Whoever closed the pipe has seen enough.
    let _ = anstream::stdout().write_all(text.as_bytes());
}

const FLIGHTS: [&str; 4] = [
    "agent.announce",
    "agent.verify",
    "agent.capability",
    "agent.trust",
];

/// How long a step may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(15);
