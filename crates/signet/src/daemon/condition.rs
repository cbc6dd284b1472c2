//! How the daemon does, in the one line that `systemctl status` shows.

use std::fmt;

use crate::attention::Counts;

/// What the line depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) is_full: bool,
    pub(super) is_connected: bool,
    pub(super) login_refused: bool,
    pub(super) is_paused: bool,
    pub(super) is_revoked: bool,
    pub(super) log_changed: bool,
    /// What only the person ends.
    pub(super) stands: Counts,
    /// Why the configuration that was last read is not in force.
    pub(super) fault: Option<String>,
}

impl Condition {
    /// `ways` names what the daemon is to be connected with.
    pub(super) fn words(&self, ways: &impl fmt::Display) -> String {
        let mut words = match (self.is_full, self.is_connected) {
            (true, _) => FULL.to_owned(),
            (false, true) => "running, connected".to_owned(),
            (false, false) if self.login_refused => {
                format!("running; the {ways} refuses the login of this agent, trying again")
            }
            (false, false) => format!("running; no {ways} answers, trying again"),
        };
        for (holds, what) in [
            (self.is_revoked, "; its certificate was revoked"),
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

/// Also of a start that waits for room.
pub(super) const FULL: &str =
    "the disk is full; waiting, and nothing is taken in, answered or sent until there is room";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_worst_comes_first_and_nothing_is_left_out() {
        let ways = "NATS server at nats://127.0.0.1:4222";
        let mut condition = Condition::default();
        assert_eq!(
            condition.words(&ways),
            "running; no NATS server at nats://127.0.0.1:4222 answers, trying again"
        );
        condition.login_refused = true;
        assert_eq!(
            condition.words(&ways),
            "running; the NATS server at nats://127.0.0.1:4222 refuses the login of this agent, trying again"
        );
        condition.is_connected = true;
        assert_eq!(condition.words(&ways), "running, connected");
        condition.is_paused = true;
        condition.stands.introductions = 2;
        condition.fault = Some("config.toml line 3: unknown key".to_owned());
        let said = condition.words(&ways);
        assert!(
            said.contains("pause; for its person: 2 introductions; ")
                && said.ends_with("line 3: unknown key"),
            "{said}"
        );
        condition.is_full = true;
        assert!(condition.words(&ways).starts_with("the disk is full"));
    }
}
