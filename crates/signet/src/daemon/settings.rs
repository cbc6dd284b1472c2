//! The configuration that is in force, and what became of the one that was read last.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use signet_api::ConfigWaits;
use signet_proto::carrier::Routes;
use tracing::error;

use crate::config::{CardConfig, Changes, Config, ConfigError, Sign};
use crate::home::Home;

/// The configuration, which some sections of a later one change while the daemon runs.
pub(super) struct LiveConfig {
    config: Config,
    /// Why the one that was read last is not in force.
    fault: Option<String>,
    /// The sections of the file with this stamp that are not in force.
    waits: Option<(ConfigStamp, ConfigWaits)>,
}

/// When a file was written (seconds and nanoseconds), its length and its inode: with all of them as before, it was not written since.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ConfigStamp(i64, i64, u64, u64);

impl ConfigStamp {
    fn of(path: &Path) -> Option<Self> {
        let facts = path.metadata().ok()?;
        Some(Self(
            facts.mtime(),
            facts.mtime_nsec(),
            facts.len(),
            facts.ino(),
        ))
    }
}

impl LiveConfig {
    pub(super) const fn of(config: Config) -> Self {
        Self {
            config,
            fault: None,
            waits: None,
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
        let read = self.compare(home);
        self.fault = read.as_ref().err().map(ToString::to_string);
        read.inspect_err(|error| {
            error!(%error, next = error.next(), "the configuration before it stays in force");
        })
    }

    /// The sections of the file of `home`, as it is written now, that are not in force; none of a file that has a fault.
    pub(super) fn waits(&mut self, home: &Home) -> ConfigWaits {
        // Read the file and its schemas only when they can be others: the status is asked for again and again.
        let stamp = ConfigStamp::of(&home.config_file());
        if let (Some(stamp), Some((of, waits))) = (stamp, &self.waits)
            && stamp == *of
        {
            return waits.clone();
        }
        let changes = self.compare(home).map(|(_, changes)| changes);
        let Changes { live, fixed } = changes.unwrap_or_default();
        let waits = ConfigWaits {
            reload: owned(&live),
            restart: owned(&fixed),
        };
        self.waits = stamp.map(|stamp| (stamp, waits.clone()));
        waits
    }

    fn compare(&self, home: &Home) -> Result<(Config, Changes), ConfigError> {
        let mut new = Config::load(home)?;
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
        self.waits = None;
    }
}

/// The names of sections as an answer to a caller has them.
pub(super) fn owned(sections: &[&str]) -> Vec<String> {
    sections.iter().map(|&name| name.to_owned()).collect()
}
