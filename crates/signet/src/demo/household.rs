//! Three people, four agents, and their homes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::DemoError;
use super::member::Member;

/// The agents, by the names of their logs.
pub(super) const AGENTS: [&str; 4] = [
    "agent-alice-001",
    "agent-alice-002",
    "agent-bob-001",
    "agent-carol-001",
];
/// Marks a log directory as the demonstration's own, to be replaced by the next one.
const MARK: &str = "made-by-signet-demo";

/// The household.
pub(super) struct Household {
    /// Alice's first agent.
    pub(super) alice: Member,
    /// Alice's second agent.
    pub(super) helper: Member,
    /// Bob's agent.
    pub(super) bob: Member,
    /// The agent of carol, whom bob knows and alice does not.
    pub(super) carol: Member,
}

impl Household {
    /// Makes homes, exchanges certificates, and starts the daemons.
    pub(super) fn found(scratch: &Path, audit: &Path, nats: &str) -> Result<Self, DemoError> {
        let audit = std::path::absolute(audit).map_err(|source| DemoError::Io {
            path: audit.to_owned(),
            source,
        })?;
        for agent in AGENTS {
            clear(&audit.join(agent))?;
        }
        let homes = AGENTS.map(|agent| scratch.join(agent));
        let [alice, helper, bob, carol] = &homes;
        init(alice, AGENTS[0], "alice", None, &audit)?;
        init(
            helper,
            AGENTS[1],
            "alice",
            Some(&alice.join("keys/root.pem")),
            &audit,
        )?;
        init(bob, AGENTS[2], "bob", None, &audit)?;
        init(carol, AGENTS[3], "carol", None, &audit)?;
        introduce(&[alice, helper, bob])?;
        introduce(&[bob, carol])?;
        let mut setup = signet(alice)?;
        setup.args(["nats", "setup", "--server", nats]).args(AGENTS);
        output("signet nats setup", &mut setup)?;
        let member = |home: &PathBuf, id: &str| Member::start(id, home, &audit.join(id), nats);
        Ok(Self {
            alice: member(alice, AGENTS[0])?,
            helper: member(helper, AGENTS[1])?,
            bob: member(bob, AGENTS[2])?,
            carol: member(carol, AGENTS[3])?,
        })
    }

    pub(super) fn members(&self) -> [&Member; 4] {
        [&self.alice, &self.helper, &self.bob, &self.carol]
    }

    /// Stops every daemon cleanly.
    pub(super) fn stop(self) -> Result<(), DemoError> {
        for member in [self.alice, self.helper, self.bob, self.carol] {
            member.stop()?;
        }
        Ok(())
    }
}

fn init(
    home: &Path,
    agent: &str,
    principal: &str,
    root: Option<&Path>,
    audit: &Path,
) -> Result<(), DemoError> {
    let mut command = signet(home)?;
    command.args(["init", "--agent", agent, "--principal", principal]);
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    output("signet init", &mut command)?;
    let path = home.join("config.toml");
    let io = |source| DemoError::Io {
        path: path.clone(),
        source,
    };
    let text = std::fs::read_to_string(&path).map_err(io)?;
    let text = text.replacen(
        "[audit]\n",
        &format!("[audit]\ndir = {}\n", json!(audit)),
        1,
    );
    let offer = "\n[[capability]]\nname = \"calendar.free-busy\"\n";
    std::fs::write(&path, text + offer).map_err(io)
}

/// Each of them exports its certificate, and the others add it.
fn introduce(homes: &[&PathBuf]) -> Result<(), DemoError> {
    for home in homes {
        let certificate = output("signet peer export", signet(home)?.args(["peer", "export"]))?;
        let path = home.with_extension("json");
        std::fs::write(&path, certificate).map_err(|source| DemoError::Io {
            path: path.clone(),
            source,
        })?;
        for other in homes.iter().filter(|other| *other != home) {
            let mut command = signet(other)?;
            output("signet peer add", command.args(["peer", "add"]).arg(&path))?;
        }
    }
    Ok(())
}

/// This very program, on one home.
pub(super) fn signet(home: &Path) -> Result<Command, DemoError> {
    let this = std::env::current_exe().map_err(|source| DemoError::Io {
        path: PathBuf::from("signet"),
        source,
    })?;
    let mut command = Command::new(this);
    command
        .arg("--home")
        .arg(home)
        .env_remove("SIGNET_HOME")
        .env_remove("SIGNET_LOG");
    // The login of whoever watches is none for the demonstration's own server.
    for variable in ["NATS_CONTEXT", "NATS_CREDS", "NATS_NKEY"] {
        command.env_remove(variable);
    }
    Ok(command)
}

pub(super) fn output(what: &str, command: &mut Command) -> Result<Vec<u8>, DemoError> {
    let failed = |why: String| DemoError::Process {
        what: what.to_owned(),
        why,
    };
    let output = command
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(failed(
        String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    ))
}

/// Makes an empty log directory, in the place of an earlier demonstration's only.
fn clear(dir: &Path) -> Result<(), DemoError> {
    let io = |source| DemoError::Io {
        path: dir.to_owned(),
        source,
    };
    if dir.exists() {
        if !dir.join(MARK).exists() {
            return Err(DemoError::InTheWay(dir.to_owned()));
        }
        std::fs::remove_dir_all(dir).map_err(io)?;
    }
    std::fs::create_dir_all(dir).map_err(io)?;
    std::fs::write(
        dir.join(MARK),
        "The next `signet demo` replaces this directory.\n",
    )
    .map_err(io)
}
