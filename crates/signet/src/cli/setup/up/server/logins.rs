//! The logins of a home's own NATS server: one for each agent.

use rustix::process::Signal;
use signet_proto::ids::AgentId;

use super::{OwnServer, SHARES};
use crate::cli::CliError;
use crate::cli::nats::mailboxes;

impl OwnServer {
    /// The public key by which `agent` logs in, where it has a login.
    pub(in crate::cli) fn login_of(&self, agent: &AgentId) -> Result<Option<String>, CliError> {
        Ok(self.facts()?.users.remove(agent))
    }

    /// The agents besides `agent` that have a login.
    pub(in crate::cli::setup::up) fn others(
        &self,
        agent: &AgentId,
    ) -> Result<Vec<AgentId>, CliError> {
        let users = self.facts()?.users.into_keys();
        Ok(users.filter(|user| user != agent).collect())
    }

    /// Gives `agent` a login by the public key `nkey`, and a mailbox; the server must run.
    pub(in crate::cli) fn admit(
        &self,
        agent: &AgentId,
        nkey: &str,
    ) -> Result<LoginResult, CliError> {
        let mut facts = self.facts()?;
        let keeper = self.directory.parent().unwrap_or(&self.directory);
        facts.refuse_beyond_the_line(agent, keeper)?;
        let before = facts.users.insert(agent.clone(), nkey.to_owned());
        // The store has room for `SHARES` mailboxes of a gigabyte each, which `signet nats setup --mailbox-mib` may give them,
        // and a running server takes over no greater limit.
        if facts.users.len() > SHARES {
            let what =
                format!("this server has room for {SHARES} agents, and all of it is given away");
            let next = "keep a server for the household: signet nats config --help";
            return Err(CliError::refused(what, next));
        }
        let all: Vec<AgentId> = facts.users.keys().cloned().collect();
        mailboxes::make_patiently(self.url()?, "signet up", self.admin_seed(), &all)?;
        if before.as_deref() == Some(nkey) {
            // Let the server read the login again: a command that was killed between `write` and the signal left a login on the
            // disk that the running server does not know.
            self.signal(Signal::HUP);
            return Ok(LoginResult::Known);
        }
        // Write the login only after the mailbox was made: if a step before fails, nobody gets a login.
        self.write(&facts)?;
        self.signal(Signal::HUP);
        Ok(match before {
            Some(_) => LoginResult::Anew,
            None => LoginResult::New,
        })
    }
}

/// What became of an agent's login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum LoginResult {
    /// It had none.
    New,
    /// It had another one, which has ended.
    Anew,
    /// It had this one.
    Known,
}
