//! How the daemon does, in the one line that `systemctl status` shows.

use crate::attention::StandingCounts;
use crate::manager::Manager;

/// The line as the service manager was last told it.
pub(super) struct StatusLine {
    manager: Manager,
    told: Option<DaemonCondition>,
}

impl StatusLine {
    pub(super) const fn of(manager: Manager) -> Self {
        Self {
            manager,
            told: None,
        }
    }

    /// Whether anybody reads the status line.
    pub(super) fn is_read(&self) -> bool {
        self.manager.listens()
    }

    /// Tells it, where it is another than before; `servers` as for [`DaemonCondition::words`].
    pub(super) fn tell(&mut self, condition: DaemonCondition, servers: &str) {
        if self.told.as_ref() != Some(&condition) {
            self.manager.status(&condition.words(servers));
            self.told = Some(condition);
        }
    }
}

/// The facts that the status line is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DaemonCondition {
    pub(super) is_full: bool,
    pub(super) is_connected: bool,
    pub(super) login_refused: bool,
    /// Another program reads the mailbox of the agent.
    pub(super) is_shared: bool,
    pub(super) is_paused: bool,
    pub(super) is_revoked: bool,
    pub(super) log_changed: bool,
    /// Counts of what stands until the person acts.
    pub(super) stands: StandingCounts,
    /// Why the configuration that was last read is not in force.
    pub(super) fault: Option<String>,
}

impl DaemonCondition {
    /// `servers` names what the daemon is to be connected with.
    pub(super) fn words(&self, servers: &str) -> String {
        let mut words = match (self.is_full, self.is_connected) {
            (true, _) => FULL.to_owned(),
            (false, true) => "running, connected".to_owned(),
            (false, false) if self.login_refused => {
                format!("running; the {servers} refuses the login of this agent, trying again")
            }
            (false, false) => format!("running; no {servers} answers, trying again"),
        };
        for (holds, what) in [
            (self.is_revoked, "; its certificate was revoked"),
            (
                self.is_shared,
                "; another program reads its mailbox: signet doctor",
            ),
            (self.is_paused, "; the agents of its person pause"),
            (self.log_changed, "; ALARM: the log was changed"),
        ] {
            words.push_str(if holds { what } else { "" });
        }
        let stands = self.stands.words();
        if !stands.is_empty() {
            words.push_str("; for its person: ");
            words.push_str(&stands);
        }
        if let Some(fault) = &self.fault {
            words.push_str("; the configuration before it stays in force: ");
            words.push_str(fault);
        }
        words
    }
}

/// The status line on a full disk, also of a start that waits for room.
pub(super) const FULL: &str =
    "the disk is full; waiting, and nothing is taken in, answered or sent until there is room";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worst_comes_first_and_nothing_is_left_out() {
        let servers = "NATS server at nats://127.0.0.1:4222";
        let mut condition = DaemonCondition::default();
        assert_eq!(
            condition.words(servers),
            "running; no NATS server at nats://127.0.0.1:4222 answers, trying again"
        );
        condition.login_refused = true;
        assert_eq!(
            condition.words(servers),
            "running; the NATS server at nats://127.0.0.1:4222 refuses the login of this agent, trying again"
        );
        condition.is_connected = true;
        assert_eq!(condition.words(servers), "running, connected");
        condition.is_paused = true;
        condition.is_shared = true;
        condition.stands.introductions = 2;
        condition.fault = Some("config.toml line 3: unknown key".to_owned());
        let said = condition.words(servers);
        assert!(
            said.contains("another program reads its mailbox")
                && said.contains("pause; for its person: 2 introductions; ")
                && said.ends_with("line 3: unknown key"),
            "{said}"
        );
        condition.is_full = true;
        assert!(condition.words(servers).starts_with("the disk is full"));
    }
}
