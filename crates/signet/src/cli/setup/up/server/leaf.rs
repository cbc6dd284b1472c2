//! A home's own NATS server as a leaf of a hub, which carries mail to and from other households.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use signet_proto::ids::AgentId;
use zeroize::Zeroizing;

use super::hub_log::{HubState, is_contested, since_last_event, state_of};
use super::{Facts, OwnServer, program, version};
use crate::cli::CliError;
use crate::cli::setup::nats::hub::line::HubAccess;
use crate::cli::setup::up::interrupt::Interrupts;
use crate::cli::setup::up::removal::remove;
use crate::files::private;
use crate::hint;

impl Facts {
    /// Refuses a login for an agent that the line does not name: mail to it could leave the household, and at the hub it is
    /// nobody. It cannot be told to a server that runs either. `keeper` is the home of this server.
    pub(super) fn refuse_beyond_the_line(
        &self,
        agent: &AgentId,
        keeper: &Path,
    ) -> Result<(), CliError> {
        let Some(hub) = self.hub.as_ref().filter(|hub| !hub.agents.contains(agent)) else {
            return Ok(());
        };
        let household = &hub.household;
        let what = format!(
            "{agent} is no agent of {household} at the hub that this NATS server is a leaf of"
        );
        let home = hint::word(keeper);
        let next = format!(
            "whoever keeps the hub makes a line that names it, by their signet nats hub --file HUB.CONF --remove {household} --add \
             {household}=…,{agent}; the home of this server takes it: signet up --home {home} --join @FILE; then repeat this command"
        );
        Err(CliError::refused(what, next))
    }
}

impl OwnServer {
    /// The hub that it is a leaf of.
    pub(in crate::cli) fn hub(&self) -> Result<Option<HubAccess>, CliError> {
        Ok(self.facts()?.hub)
    }

    /// Refuses the nats-server of this machine where a household behind a hub would lose mail by it.
    pub(in crate::cli::setup::up) fn refuse_old_leaf() -> Result<(), CliError> {
        version::refuse_old_leaf(&program()?)
    }

    /// What joining that hub would change: `None` where it is its leaf already, by this very line.
    pub(in crate::cli::setup::up) fn joined(
        &self,
        access: &HubAccess,
    ) -> Result<Option<HubAccess>, CliError> {
        let facts = self.facts()?;
        // Mail between agents with a login here is none of the hub's business, whatever the line says of them.
        let agents: BTreeSet<AgentId> = access
            .agents
            .iter()
            .chain(facts.users.keys())
            .cloned()
            .collect();
        let access = HubAccess {
            agents: agents.into_iter().collect(),
            ..access.clone()
        };
        match facts.hub {
            Some(hub) if hub == access => Ok(None),
            Some(hub) if hub.hub != access.hub || hub.household != access.household => {
                let what = format!(
                    "the NATS server of this home is a leaf of the hub {} already, as {}",
                    hub.hub.address(),
                    hub.household
                );
                let next =
                    "signet up --leave  # mail and mailboxes stay; then the same command again";
                Err(CliError::refused(what, next))
            }
            _ => Ok(Some(access)),
        }
    }

    /// Starts the server anew as a leaf of that hub, or of none. Where it does not start so, it is again as it was.
    pub(in crate::cli::setup::up) fn restart_under(
        &self,
        hub: Option<HubAccess>,
        interrupts: &Interrupts,
    ) -> Result<(), CliError> {
        let before = self.facts()?;
        let mut facts = self.facts()?;
        facts.hub = hub;
        self.write(&facts)?;
        // A reload takes over neither another JetStream domain nor another hub.
        self.stop();
        let Err(failure) = self.start(interrupts) else {
            return Ok(());
        };
        self.write(&before)?;
        self.start(interrupts)?;
        let why = match &failure {
            CliError::Told { what, .. } => what.as_str(),
            _ => "it does not start",
        };
        let what = format!(
            "the hub was not changed, since the NATS server of this home does not start with that: {why}"
        );
        Err(CliError::refused(
            what,
            "ask whoever keeps the hub for another line; the server runs as before",
        ))
    }

    /// Waits for what becomes of the connection to the hub. `since` is the length of the log before the server was started.
    pub(in crate::cli::setup::up) fn hub_state(&self, since: usize) -> HubState {
        let start = Instant::now();
        loop {
            let state = state_of(&self.said_since(since)).unwrap_or(HubState::Away);
            if state != HubState::Away || start.elapsed() > PATIENCE {
                return state;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The present state of the connection to the hub, by the server's log; `None` where that says nothing of it.
    pub(in crate::cli::setup) fn hub_state_now(&self) -> Option<HubState> {
        // The file begins anew at a certain size, and then what was said of the connection stands in one before.
        let before = self.full_logs().into_iter().rev();
        let mut logs = std::iter::once(self.log_file()).chain(before);
        logs.find_map(|log| {
            let said = std::fs::read_to_string(&log).ok()?;
            let state = state_of(&said)?;
            // The servers that log in as one household throw each other out within seconds: what stands now may not stand then.
            let is_new = || {
                let written = log.metadata().and_then(|facts| facts.modified()).ok()?;
                let stands_for = since_last_event(&said) + written.elapsed().unwrap_or_default();
                Some(stands_for < CONTESTED)
            };
            match state == HubState::Connected && is_contested(&said) && is_new()? {
                true => Some(HubState::Contested),
                false => Some(state),
            }
        })
    }

    /// The length of its log.
    pub(in crate::cli::setup::up) fn log_length(&self) -> usize {
        self.said_since(0).len()
    }

    fn said_since(&self, since: usize) -> String {
        // Without a log nothing is known, which is what `Away` says.
        let said = std::fs::read_to_string(self.log_file()).unwrap_or_default();
        said.get(since..).unwrap_or(&said).to_owned()
    }

    /// Writes what the server reads of its hub, or takes it away; the configuration is written behind it.
    pub(super) fn write_leaf(&self, facts: &Facts) -> Result<(), CliError> {
        let Some(hub) = &facts.hub else {
            return Ok(());
        };
        let authority = self.directory.join(AUTHORITY);
        if let Some(certificates) = &hub.authority {
            private::replace(&authority, certificates.pem().as_bytes())?;
        }
        let text = leaf_conf(hub, &authority.to_string_lossy());
        Ok(private::replace(
            &self.directory.join(LEAF),
            text.as_bytes(),
        )?)
    }

    /// Takes away what no configuration names any more.
    pub(super) fn remove_leaf(&self) -> Result<(), CliError> {
        remove(&self.directory.join(LEAF))?;
        remove(&self.directory.join(AUTHORITY))
    }
}

/// The file by which the server is a leaf; `authority` is the file of the hub's authority.
fn leaf_conf(access: &HubAccess, authority: &str) -> Zeroizing<String> {
    let HubAccess {
        hub,
        household,
        password,
        agents,
        ..
    } = access;
    let file = access.authority.as_ref();
    let file = file.map_or_else(String::new, |_| format!("ca_file: \"{authority}\", "));
    let inboxes = agents.iter().fold(String::new(), |mut all, agent| {
        // Writing to a String cannot fail.
        let _ = write!(all, ", \"agent.{agent}.inbox\"");
        all
    });
    let (address, password) = (hub.address(), password.as_str());
    Zeroizing::new(format!(
        "{HEAD}      url: \"tls://{household}:{password}@{address}\"\n      account: AGENTS\n      tls {{ {file}timeout: 5 }}\n\
         {DENY}{inboxes} ]\n    }}\n  ]\n}}\n"
    ))
}

const HEAD: &str = "\
# A household's server is a leaf of the hub: beside its nats.conf, and readable by nats-server alone (0600).
leafnodes {
  remotes: [
    {
";
const DENY: &str = "      \
      # Whatever the hub allows: nobody beyond it calls this JetStream, and mail between the household's own agents stays here.
      deny_imports: [ \"$JS.>\" ]
      deny_exports: [ \"$JS.>\"";
/// The configuration names it.
pub(super) const LEAF: &str = "leaf.conf";
const AUTHORITY: &str = "hub-ca.pem";
/// A connection that has stood for so long is no longer thrown out for another.
const CONTESTED: Duration = Duration::from_secs(10);
/// How long the hub may take to let the server in.
const PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_page_is_what_is_written() {
        let access = r#"{"hub":"tls://hub.example:7422","household":"house-one","password":"PASSWORD-ONE",
            "agents":["agent-alice-001"]}"#;
        let mut access: HubAccess = serde_json::from_str(access).unwrap();
        let page = include_str!("../../../../../../../docs/scale/leaf.conf");
        let public = page.replace("ca_file: \"hub-ca.pem\", ", "");
        assert_ne!(public, page);
        assert_eq!(*leaf_conf(&access, "hub-ca.pem"), public);
        let pem = "-----BEGIN CERTIFICATE-----\nMDAwMA==\n-----END CERTIFICATE-----\n";
        access.authority = Some(pem.to_owned().try_into().unwrap());
        assert_eq!(*leaf_conf(&access, "hub-ca.pem"), page);
    }
}
