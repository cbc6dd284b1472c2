//! The configuration that is in force, and what became of the one that was read last.

use std::path::PathBuf;

use signet_proto::carrier::Routes;
use tracing::error;

use crate::config::{CardConfig, Changes, Config, ConfigError, Sign};
use crate::home::Home;

/// The configuration, which some sections of a later one change while the daemon runs.
pub(super) struct LiveConfig {
    config: Config,
    /// Why the one that was read last is not in force.
    fault: Option<String>,
}

impl LiveConfig {
    pub(super) const fn of(config: Config) -> Self {
        Self {
            config,
            fault: None,
        }
    }

    /// The person's socket.
    pub(super) const fn control_socket(&self) -> &PathBuf {
        &self.config.control_socket
    }

    /// Where the log is.
    pub(super) const fn audit_dir(&self) -> &PathBuf {
        &self.config.audit_dir
    }

    /// How the agent shows itself to A2A.
    pub(super) const fn card(&self) -> Option<&CardConfig> {
        self.config.card.as_ref()
    }

    /// Why the configuration that was read last is not in force.
    pub(super) fn fault(&self) -> Option<&String> {
        self.fault.as_ref()
    }

    /// Reads the file of `home`, and says what is another than in force.
    ///
    /// # Errors
    /// What is wrong with it; what is in force stays.
    pub(super) fn read(&mut self, home: &Home) -> Result<(Config, Changes), ConfigError> {
        let read = Config::load(home);
        self.fault = read.as_ref().err().map(ToString::to_string);
        let mut new = read.inspect_err(|error| {
            error!(%error, next = error.next(), "the configuration before it stays in force");
        })?;
        let mut changes = Changes::between(&self.config, &new);
        // Only a start may lift the demand for the person's signature: otherwise the right to
        // write the configuration would be enough to lift it in a daemon that runs.
        if self.config.people_sign == Sign::All && new.people_sign == Sign::Nothing {
            new.people_sign = Sign::All;
            changes.live.retain(|section| *section != "[people]");
            // Name [people] among the changes that wait for a start, so that nobody believes the lower demand to be in force.
            changes.fixed.push("[people]");
        }
        Ok((new, changes))
    }

    /// Whether `new` names another command in `[notify]`.
    pub(super) fn has_other_command(&self, new: &Config) -> bool {
        self.config.notify != new.notify
    }

    /// Where peers are found from now on, where that is somewhere else.
    pub(super) fn other_routes(&self, new: &Config) -> Option<Routes> {
        (self.config.carriers != new.carriers).then(|| new.carriers.routes())
    }

    /// Puts into force what can change while the daemon runs.
    pub(super) fn take(&mut self, new: Config) {
        // Take over single fields: sockets, log and NATS stay as the start opened them, whatever the new file says.
        self.config.people_sign = new.people_sign;
        self.config.notify = new.notify;
        self.config.policy = new.policy;
        self.config.carriers = new.carriers;
        self.config.card = new.card;
    }
}
