//! The demonstration: three people, four agents, each a real daemon, and what attackers try.
//!
//! Every line that it prints is about something that has just happened and was looked up in a log or
//! an answer; the first thing that does not happen ends it with an error.
//!
//! It runs the program that it is given and knows nothing of its inside: people use the command line, agents the typed
//! calls of `signet-api`, and attackers the bus and the keys that they stole. `signet-driver` starts and ends processes,
//! for the demonstration as for the tests.
#![forbid(unsafe_code)]

mod attack;
mod converse;
mod decrees;
mod handoff;
mod household;
mod member;
mod scratch;
mod secrets;
mod trust;

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use serde_json::Value;
use signet_api::ClientError;
use signet_audit::LogError;
use signet_driver::{DriverError, MAILBOXES, NatsServer, find_nats_server};
use signet_proto::certificate::CertificateError;

use household::Household;
use scratch::Scratch;

/// A step of the demonstration did not do what it says.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A process, a file or a daemon did not do as it was asked.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The logs' place is taken by something else.
    #[error("{} holds a log that is not of an earlier demo", .0.display())]
    InTheWay(PathBuf),
    /// What an attacker wanted to sign.
    #[error("a statement: {0}")]
    Statement(#[from] CertificateError),
    /// A log.
    #[error("a log: {0}")]
    Log(#[from] LogError),
    /// What is told finds no place.
    #[error("standard output: {0}")]
    Output(std::io::Error),
    /// Something that should have happened did not.
    #[error("this did not happen: {0}")]
    Missed(String),
}

impl DemoError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Driver(DriverError::NoServer) => {
                "install it (Debian: nats-server), or use make demo, which fetches one".to_owned()
            }
            Self::Output(_) => "send the output elsewhere".to_owned(),
            Self::InTheWay(_) => "name another directory with --audit".to_owned(),
            Self::Driver(DriverError::Io { .. }) => {
                "run it where you may write, or name a directory with --audit".to_owned()
            }
            Self::Driver(_) | Self::Statement(_) | Self::Log(_) | Self::Missed(_) => {
                "run it again; if it stays, report what it printed".to_owned()
            }
        }
    }
}

impl From<ClientError> for DemoError {
    fn from(error: ClientError) -> Self {
        Self::Driver(error.into())
    }
}

/// Runs the whole demonstration with `program`, which is `signet`; the logs are left in `audit`.
///
/// # Errors
/// At the first step that does not do what it says.
pub fn run(program: &Path, audit: &Path) -> Result<(), DemoError> {
    let start = Instant::now();
    say(
        "Alice has two agents, bob one, carol one; alice does not know carol. Each runs a daemon.\n",
    )?;
    let scratch = Scratch::new()?;
    let server = find_nats_server(Path::new(".tools"))?;
    let nats = NatsServer::start(&server, scratch.path(), MAILBOXES)?;
    let house = Household::found(program, scratch.path(), audit, &nats.url())?;
    step(&format!(
        "a private nats-server with a mailbox for each of {} daemons; alice and bob, bob and carol exchanged certificates",
        household::AGENTS.len()
    ))?;
    converse::converse(&house)?;
    secrets::seal(&house)?;
    trust::introduce(&house)?;
    trust::release(&house)?;
    let task = handoff::hand_on(&house)?;
    let mut attacker = attack::Attacker::connect(nats.port())?;
    attack::attack(&house, &mut attacker)?;
    handoff::steal(&house, &mut attacker, &task)?;
    decrees::pause(&house)?;
    decrees::revoke(&house, &mut attacker)?;
    let alice_log = house.alice.log_file()?;
    // Stop cleanly first: a clean stop makes a checkpoint of the last lines, so that the proof below covers them.
    house.stop()?;
    // Stop the server last: a daemon that stops asks the server whether everything has arrived.
    nats.stop();
    prove(audit)?;
    say(&format!(
        "\n{:.1} s. The logs stay:\n",
        start.elapsed().as_secs_f64()
    ))?;
    for member in house_files(audit)? {
        say(&format!("  {}\n", member.display()))?;
    }
    say(&format!("\nTry:\n{}", recipes(&alice_log, audit)))?;
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
    ))?;
    Ok(())
}

fn recipes(log: &Path, audit: &Path) -> String {
    let (log, all) = (log.display(), audit.display());
    format!(
        "  jq . {log}\n  \
         cat {all}/*/inter-agent-*.jsonl | jq -r 'select(.verdict == \"rejected\") | [.ts, .peer, .reason] | @tsv'\n  \
         jq -r 'select(.kind == \"trust\") | [.ts, .change, .peer, .fingerprint] | @tsv' {log}\n  \
         cat {all}/*/inter-agent-*.jsonl | jq -r 'select(.kind == \"handoff\") | [.ts, .dir, .change, .peer, .goal // .note // \"-\"] | @tsv' | sort\n  \
         jq -r 'select(.summary) | [.ts, .dir, .peer, .summary] | @tsv' {log}\n"
    )
}

fn house_files(audit: &Path) -> Result<Vec<PathBuf>, DemoError> {
    let mut files = Vec::new();
    for agent in household::AGENTS {
        let dir = audit.join(agent);
        let listed = std::fs::read_dir(&dir).map_err(DriverError::io(&dir))?;
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

fn step(what: &str) -> Result<(), DemoError> {
    let done = AnsiColor::Green.on_default().bold();
    let plain = Style::new();
    say(&format!(
        "{done}  ok{done:#} {plain}{}\n",
        signet_audit::visible(what)
    ))
}

fn say(text: &str) -> Result<(), DemoError> {
    let mut out = anstream::stdout().lock();
    let said = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match said {
        // The reader may have closed the pipe. Ignore that, so that the demonstration still ends with the proof of its logs.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        said => said.map_err(DemoError::Output),
    }
}

/// How long a step may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(15);
