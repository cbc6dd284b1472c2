//! `signet doctor`: looks at everything an agent stands on, and says what is wrong, what that means and what to
//! do. It changes nothing, and works whether the daemon runs or not.

pub(crate) mod broker;
mod crossing;
mod daemon;
mod disk;
mod doors;
mod encryption;
mod finding;
pub(crate) mod keeper;
mod keys;
mod log;
mod notify;
mod people;
mod scene;
mod servers;
mod sockets;

use std::path::PathBuf;

use clap::Args;

use crate::cli::print::print_each_as;
use crate::cli::{CliError, Exit, exit};
use crate::home::Home;
use finding::{CheckResult, Health};
use scene::Scene;

/// See `signet doctor --help`.
#[derive(Debug, Args)]
#[command(after_help = after_help())]
pub(crate) struct DoctorArgs {
    /// Print also what is well
    #[arg(long)]
    all: bool,
    /// Print each check as one line of JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &DoctorArgs, home: Option<PathBuf>) -> Result<(), CliError> {
    let findings = look(&Home::find(home)?);
    print_each_as(args.json, &findings, || page(&findings, args.all))?;
    match findings
        .iter()
        .any(|finding| finding.health == Health::Fault)
    {
        true => Err(CliError::Ended(Exit::Refused)),
        false => Ok(()),
    }
}

/// Every check, those of the home first: what is wrong there is often why the rest is.
fn look(home: &Home) -> Vec<CheckResult> {
    let mut findings = vec![keys::home(home), keys::files(home)];
    let (configured, scene) = Scene::open(home);
    findings.push(configured);
    // Without a readable configuration, end here: all further checks need it, and would only repeat that it cannot be read.
    let Some(mut scene) = scene else {
        return findings;
    };
    findings.extend(keys::all(&scene));
    findings.push(disk::space(&scene));
    findings.extend(log::all(&scene));
    findings.extend(daemon::all(&scene));
    findings.push(sockets::all(&scene));
    findings.extend(doors::all(&scene));
    findings.extend(people::all(&mut scene));
    findings.push(notify::command(&scene));
    findings.extend(broker::all(&mut scene));
    findings
}

fn page(findings: &[CheckResult], all: bool) -> String {
    let shown = findings
        .iter()
        .filter(|finding| all || finding.health != Health::Well);
    let mut page: String = shown.map(CheckResult::page).collect();
    page.push_str(&summary(findings));
    page
}

fn summary(findings: &[CheckResult]) -> String {
    let count = |health| {
        findings
            .iter()
            .filter(|finding| finding.health == health)
            .count()
    };
    let counts = [
        (count(Health::Fault), "to be done"),
        (count(Health::Warning), "to be watched"),
        (count(Health::Unknown), "could not be looked at"),
        (count(Health::Advice), "advised"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match counts.is_empty() {
        true => format!("{} checks: all is well\n", findings.len()),
        false => format!("{} checks: {}\n", findings.len(), counts.join(", ")),
    }
}

fn after_help() -> String {
    let codes = exit::section([
        (
            Exit::Done,
            "nothing has to be done; there may be warnings and advice",
        ),
        (Exit::Refused, "something has to be done"),
        (Exit::Usage, "no home was named"),
    ]);
    format!("{codes}\n{EXAMPLE}")
}

const EXAMPLE: &str = "\
It writes nothing, and says nothing secret. It reads the end of the log and its newest month: signet audit
verify proves all of it. On the NATS server it opens a connection of its own with the login of the agent.

EXAMPLE:
  signet doctor
  signet doctor --json | jq -r 'select(.health == \"fault\") | .next'";
