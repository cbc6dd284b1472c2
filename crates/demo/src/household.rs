//! Three people, four agents, and their homes.

use std::path::{Path, PathBuf};

use serde_json::json;
use signet_driver::{DriverError, Signet};

use crate::DemoError;
use crate::member::{Member, card};

/// The agents, by the names of their logs.
pub(crate) const AGENTS: [&str; 4] = [
    "agent-alice-001",
    "agent-alice-002",
    "agent-bob-001",
    "agent-carol-001",
];
/// Marks a log directory as the demonstration's own, to be replaced by the next one.
const MARK: &str = "made-by-signet-demo";

/// The household.
pub(crate) struct Household {
    /// Alice's first agent.
    pub(crate) alice: Member,
    /// Alice's second agent.
    pub(crate) helper: Member,
    /// Bob's agent.
    pub(crate) bob: Member,
    /// The agent of carol, whom bob knows and alice does not.
    pub(crate) carol: Member,
}

impl Household {
    /// Makes homes with `program`, exchanges certificates, and starts the daemons.
    pub(crate) fn found(
        program: &Path,
        scratch: &Path,
        audit: &Path,
        nats: &str,
    ) -> Result<Self, DemoError> {
        let audit = std::path::absolute(audit).map_err(DriverError::io(audit))?;
        for agent in AGENTS {
            clear(&audit.join(agent))?;
        }
        let homes = AGENTS.map(|agent| Signet::new(program, scratch.join(agent), nats));
        let [alice, helper, bob, carol] = &homes;
        let root = alice.home().join("keys/root.pem");
        init(alice, AGENTS[0], "alice", None, &audit)?;
        init(helper, AGENTS[1], "alice", Some(&root), &audit)?;
        init(bob, AGENTS[2], "bob", None, &audit)?;
        init(carol, AGENTS[3], "carol", None, &audit)?;
        introduce(&[(alice, alice), (helper, alice), (bob, bob)])?;
        introduce(&[(bob, bob), (carol, carol)])?;
        // The mailboxes are made before the daemons start, so that each daemon finds its own mailbox at its first connect.
        let setup = ["nats", "setup", "--server", nats].into_iter();
        alice.output(&setup.chain(AGENTS).collect::<Vec<_>>())?;
        let [alice, helper, bob, carol] = homes;
        let keys = [&alice, &bob, &carol].map(control_key);
        let member = |signet, id: &str, key: &Path| Member::start(id, signet, key, &audit.join(id));
        Ok(Self {
            alice: member(alice, AGENTS[0], &keys[0])?,
            helper: member(helper, AGENTS[1], &keys[0])?,
            bob: member(bob, AGENTS[2], &keys[1])?,
            carol: member(carol, AGENTS[3], &keys[2])?,
        })
    }

    /// Stops every daemon cleanly.
    pub(crate) fn stop(self) -> Result<(), DemoError> {
        for member in [self.alice, self.helper, self.bob, self.carol] {
            member.stop()?;
        }
        Ok(())
    }
}

/// The control key of the person whose first home that is.
fn control_key(first: &Signet) -> PathBuf {
    first.home().join("keys/control.pem")
}

fn init(
    signet: &Signet,
    agent: &str,
    principal: &str,
    root: Option<&Path>,
    audit: &Path,
) -> Result<(), DemoError> {
    let mut args = vec!["init", "--agent", agent, "--principal", principal];
    let root = root.map(Path::to_string_lossy);
    args.extend(root.iter().flat_map(|root| ["--root", root]));
    signet.output(&args)?;
    let path = signet.home().join("config.toml");
    let text = std::fs::read_to_string(&path).map_err(DriverError::io(&path))?;
    // Write the path as a JSON string: that is a TOML string too, whatever quotes the path contains.
    let dir = format!("[audit]\ndir = {}\n", json!(audit));
    let text = text.replacen("[audit]\n", &dir, 1);
    let offer = "\n[[capability]]\nname = \"calendar.free-busy\"\n";
    std::fs::write(&path, text + offer).map_err(DriverError::io(&path))?;
    let card = card(signet.home());
    let certificate = signet.output(&["peer", "export"])?;
    Ok(std::fs::write(&card, certificate).map_err(DriverError::io(&card))?)
}

/// Each of them adds the others' certificates, with the control key that lies in its person's first home.
fn introduce(homes: &[(&Signet, &Signet)]) -> Result<(), DemoError> {
    for (one, first) in homes {
        for (other, _) in homes {
            if one.home() != other.home() {
                let (card, key) = (card(other.home()), control_key(first));
                let (card, key) = (card.to_string_lossy(), key.to_string_lossy());
                one.output(&["peer", "add", &card, "--key", &key])?;
            }
        }
    }
    Ok(())
}

/// Makes an empty log directory, in the place of an earlier demonstration's only.
fn clear(dir: &Path) -> Result<(), DemoError> {
    if dir.exists() {
        if !dir.join(MARK).exists() {
            return Err(DemoError::InTheWay(dir.to_owned()));
        }
        std::fs::remove_dir_all(dir).map_err(DriverError::io(dir))?;
    }
    std::fs::create_dir_all(dir).map_err(DriverError::io(dir))?;
    let said = "The next `signet demo` replaces this directory.\n";
    Ok(std::fs::write(dir.join(MARK), said).map_err(DriverError::io(dir))?)
}
