//! The daemon itself: its state, and its keys.

use serde::{Deserialize, Serialize};

use crate::{Alarm, Peer, Reason};

/// How the daemon does.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShowStatus {}

/// How the daemon does. What is for the person alone is absent on the agent's socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Status {
    /// The agent.
    pub agent: String,
    /// The person for whom it acts.
    pub principal: String,
    /// The words of the person's root key.
    pub fingerprint: String,
    /// The release of the daemon.
    pub version: String,
    /// The versions of the protocol that the agent's certificate lists.
    #[serde(default)]
    pub versions: Vec<String>,
    /// Whether it is connected to a server.
    pub connected: bool,
    /// Why and since when it refuses everything, while it does.
    pub refusing: Option<Refusing>,
    /// Whether mail waits in a mailbox while the daemon is away.
    pub mailbox: bool,
    /// The readers of that mailbox.
    #[serde(default)]
    pub mailbox_readers: MailboxReaders,
    /// How many messages wait in the inbox.
    pub inbox: usize,
    /// Whether the person took the agent's certificate back.
    pub revoked: bool,
    /// What the clock says, where it stands outside the dates of the certificate.
    pub clock: Option<Clock>,
    /// Whether the agents of this person pause.
    pub paused: bool,
    /// The agents that are known.
    pub peers: Vec<Peer>,
    /// What is for the person alone.
    #[serde(flatten)]
    pub private: Option<Private>,
}

/// The readers of the mailbox of the agent. A mailbox gives each message to one reader alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum MailboxReaders {
    /// The daemon alone.
    #[default]
    Own,
    /// Another program beside the daemon: mail goes there, and comes here when its sender sends it again.
    Both,
    /// Another program, and the daemon reads when that ends.
    Other,
}

/// What of the status is for the person alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Private {
    /// The process of the daemon.
    pub pid: u32,
    /// How many messages of agents that are trusted no more nobody took.
    pub set_aside: usize,
    /// How many messages could not be handled.
    pub quarantine: usize,
    /// How many strangers wait for an introduction.
    pub pending: usize,
    /// How many alarms ring.
    pub alarms: usize,
    /// Which.
    pub ringing: Vec<Alarm>,
    /// How many known people's names are used with other root keys.
    pub root_alarms: usize,
    /// How many drafts wait.
    pub drafts: usize,
    /// What is wrong with finished months of the log.
    pub log_fault: Option<String>,
    /// The newest durable line of the log.
    pub log: Option<LogHead>,
    /// The command that tells the person, where the configuration names one.
    #[serde(default)]
    pub notify: Option<NotifyState>,
    /// The sections of the configuration that were changed and are not in force.
    #[serde(default)]
    pub config_waits: ConfigWaits,
}

/// The sections in which the configuration is written otherwise than the daemon runs by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct ConfigWaits {
    /// Those that `reload` takes over.
    pub reload: Vec<String>,
    /// Those that stay as they are until the daemon is started again.
    pub restart: Vec<String>,
}

/// How the command of `[notify]` does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct NotifyState {
    /// The program.
    pub program: String,
    /// How the last try failed; absent where it told what it was given.
    pub fault: Option<String>,
    /// How many tries in a row failed.
    pub tries: u32,
}

/// Nothing is taken in, answered or sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Refusing {
    /// Why.
    pub reason: Reason,
    /// Since when.
    pub since: String,
}

/// The clock stands outside the dates of the certificate: nothing is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Clock {
    /// What the clock says.
    pub now: String,
    /// When the certificate begins.
    pub not_before: String,
    /// When it ends.
    pub not_after: String,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct LogHead {
    /// Its number.
    pub seq: u64,
    /// Its hash.
    pub head: String,
}

/// Takes a change of keys into use that a command has staged.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AdoptKeys {}

/// The keys that are in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Adopted {
    /// Whether a change was staged.
    pub adopted: bool,
    /// The number of the certificate.
    pub serial: u64,
    /// The number of the key statement.
    pub keys_serial: u64,
}

/// Reads the configuration anew.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Reload {}

/// What changed in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub struct Reloaded {
    /// The sections that changed and are in force.
    pub changed: Vec<String>,
    /// The sections that changed and stay as they were until the daemon is started again.
    pub restart: Vec<String>,
    /// The peers that are told of it by a handshake that has begun.
    pub told: Vec<String>,
}

quiet!(ShowStatus, AdoptKeys, Reload);
