//! One agent's state, told again from its log: the log is the truth.

use signet_audit::{CheckpointKeys, Log, LogError};
use signet_proto::entry::Entry;
use signet_proto::ids::AgentId;
use signet_proto::node::{Node, Outcome};
use signet_proto::time::Timestamp;
use zeroize::Zeroizing;

use crate::clock;
use crate::config::Config;
use crate::keystore::{Keys, KeystoreError};
use crate::lock::HomeLock;
use crate::random;

/// A node that remembers everything, and the log it goes on in.
#[derive(Debug)]
pub struct Memory {
    /// The node.
    pub node: Node,
    /// Its log.
    pub log: Log,
}

/// The state cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The keys.
    #[error(transparent)]
    Keys(#[from] KeystoreError),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(#[from] std::io::Error),
    /// The log in this directory is another agent's.
    #[error(
        "the log is that of {found}, not of {expected}; set [audit] dir to a directory of its own"
    )]
    OtherAgent {
        /// Whose log it is.
        found: AgentId,
        /// Whose home it is.
        expected: AgentId,
    },
}

impl Memory {
    /// Opens keys and log of a locked home, and tells the node its whole past.
    ///
    /// # Errors
    /// What stands in the way, and what to do about it.
    pub fn open(lock: &HomeLock, config: &Config) -> Result<Self, MemoryError> {
        let now = clock::now();
        let keys = Keys::settle(lock, &config.agent, now)?;
        let checkpoint_keys = CheckpointKeys::new(lock.home().join("checkpoint-keys"), || {
            random::bytes().map(Zeroizing::new)
        });
        let genesis = Entry::Genesis(keys.certificate.clone());
        let log = Log::open_with(&config.audit_dir, now, &genesis, checkpoint_keys)?;
        if log.lacks_checkpoint_key() {
            tracing::warn!(
                "the key of this month's checkpoints is gone: until the next month only the chain, \
                 and what peers remember, prove the log"
            );
        }
        let identity = keys.into_identity(config.agent.layers);
        let mut node = Node::new(identity, config.policy.clone(), random::bytes()?);
        for line in signet_audit::read(&config.audit_dir)? {
            let line = line?;
            if let Some(Entry::Genesis(certificate)) = &line.entry
                && certificate.agent != config.agent.agent
            {
                let (found, expected) = (certificate.agent.clone(), config.agent.agent.clone());
                return Err(MemoryError::OtherAgent { found, expected });
            }
            if let Some(entry) = &line.entry {
                node.recall(line.ts, entry);
            }
        }
        Ok(Self { node, log })
    }

    /// Writes what a person decided while no daemon runs. What would have been sent is not written:
    /// the next start sends it.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn write(&mut self, now: Timestamp, outcome: &Outcome) -> Result<(), MemoryError> {
        let sent = |entry: &&Entry| matches!(entry, Entry::Message(_));
        for entry in outcome.entries.iter().filter(|entry| !sent(entry)) {
            self.log.append(now, entry)?;
        }
        self.log.commit()?;
        self.log.checkpoint()?;
        Ok(())
    }
}
