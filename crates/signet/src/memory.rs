//! One agent's memory: its state, and the log that is the truth of it.

use std::path::Path;

use signet_audit::{CheckpointKeys, Line, Log, LogError};
use signet_proto::entry::Entry;
use signet_proto::ids::AgentId;
use signet_proto::node::{Node, Outcome, Row, differences};
use signet_proto::time::Timestamp;
use tracing::warn;
use zeroize::Zeroizing;

use crate::clock;
use crate::config::Config;
use crate::keystore::{Keys, KeystoreError};
use crate::lock::HomeLock;
use crate::random;
use crate::state::{StateError, Store};

/// A node that remembers everything, and the log it goes on in.
#[derive(Debug)]
pub struct Memory {
    /// The node.
    pub node: Node,
    /// Its log.
    pub log: Log,
    /// Where its state is kept.
    pub store: Store,
    /// How many lines the state lacks; all there can be when it has just been made and is empty.
    pub told: u64,
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
    /// The log's first months are not there, and the state cannot be used without them.
    #[error("the log begins with line {0}: its first months are missing, and the state needs them")]
    NoBeginning(u64),
    /// The state: it cannot be read now, or nothing else was asked for.
    #[error(transparent)]
    State(#[from] StateError),
    /// The log in this directory is another agent's.
    #[error("the log is that of {found}, not of {expected}")]
    OtherAgent {
        /// Whose log it is.
        found: AgentId,
        /// Whose home it is.
        expected: AgentId,
    },
}

impl MemoryError {
    /// What to do about it.
    pub fn next(&self) -> String {
        match self {
            Self::Keys(error) => error.next(),
            Self::Log(LogError::Held(_)) => {
                "stop the other one, or set `dir` in [audit] to a directory of its own".to_owned()
            }
            Self::Log(error) if error.is_of_the_disk() => DISK.to_owned(),
            Self::Log(error) => error.next(),
            Self::Random(_) => "try again when the system has started completely".to_owned(),
            Self::NoBeginning(_) => "put the log's first months back where they were".to_owned(),
            Self::State(StateError::Full | StateError::Refused(_)) => {
                "see to the disk that holds state.db, then try again".to_owned()
            }
            Self::State(_) => "make it again from the log: signet state rebuild".to_owned(),
            Self::OtherAgent { .. } => {
                "set `dir` in [audit] of config.toml to a directory of this agent's own".to_owned()
            }
        }
    }
}

/// Nothing that the log does not hold was answered: what to do when it can hold no more.
pub(crate) const DISK: &str = "look at `df` and `dmesg`, copy the home to a sound disk if this one fails, then start \
                               again: the start writes the end of the log anew before it trusts it";

impl Memory {
    /// Opens keys, log and state of a locked home. The node remembers what the state says, and is told
    /// the lines of the log behind it; a state that is lost, damaged or does not fit is made again from
    /// the whole log, and a `rebuilt` line says so.
    ///
    /// # Errors
    /// What stands in the way, and what to do about it.
    pub fn open(lock: &HomeLock, config: &Config) -> Result<Self, MemoryError> {
        let now = clock::now();
        let keys = Keys::settle(lock, &config.agent, now)?;
        let mut log = open_log(lock, config, &keys, now)?;
        let path = lock.home().state_file();
        match recall_from(&path, keys, config) {
            Ok((past, store)) => Ok(Self {
                node: past.node,
                log,
                store,
                told: past.told,
            }),
            Err(MemoryError::State(fault)) if fault.is_lost() => {
                let past = recall_all(Keys::settle(lock, &config.agent, now)?, config)?;
                // An agent that has never run has no state yet.
                if !matches!(fault, StateError::Missing) || past.has_run {
                    let cause = format!("{fault}; made again from {} lines of the log", past.told);
                    warn!("{cause}");
                    log.append(now, &Entry::Rebuilt { cause })?;
                    log.commit()?;
                }
                Ok(Self {
                    node: past.node,
                    log,
                    store: Store::create(&path, &config.agent.agent)?,
                    told: u64::MAX,
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes the rows of a locked home again from the whole log. Returns the lines read and the rows
    /// made.
    ///
    /// # Errors
    /// What stands in the way.
    pub fn rebuild(lock: &HomeLock, config: &Config) -> Result<(u64, usize), MemoryError> {
        let now = clock::now();
        let keys = Keys::settle(lock, &config.agent, now)?;
        let log = open_log(lock, config, &keys, now)?;
        let Past { node, told, .. } = recall_all(keys, config)?;
        let rows = node.snapshot(now).rows();
        let count = rows.len();
        let mut store = Store::create(&lock.home().state_file(), &config.agent.agent)?;
        store.replace(&log.position(), rows)?;
        Ok((told, count))
    }

    /// The rows in which the state, brought up to the end of the log, differs from what the whole log
    /// says: none, or something is wrong.
    ///
    /// # Errors
    /// What stands in the way; a state that cannot be read is one of them.
    pub fn compare(lock: &HomeLock, config: &Config) -> Result<Vec<Row>, MemoryError> {
        let now = clock::now();
        let keys = || Keys::settle(lock, &config.agent, now);
        let (kept, _) = recall_from(&lock.home().state_file(), keys()?, config)?;
        let told = recall_all(keys()?, config)?;
        Ok(differences(
            &kept.node.snapshot(now).rows(),
            &told.node.snapshot(now).rows(),
        ))
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

fn open_log(
    lock: &HomeLock,
    config: &Config,
    keys: &Keys,
    now: Timestamp,
) -> Result<Log, MemoryError> {
    let dir = lock.home().join("checkpoint-keys");
    let checkpoint_keys = CheckpointKeys::new(dir, || random::bytes().map(Zeroizing::new));
    let genesis = Entry::Genesis(keys.certificate.clone());
    let log = Log::open_with(&config.audit_dir, now, &genesis, checkpoint_keys)?;
    if log.lacks_checkpoint_key() {
        warn!(
            "the key of this month's checkpoints is gone: until the next month only the chain, \
             and what peers remember, prove the log"
        );
    }
    Ok(log)
}

/// A node that was told its past.
struct Past {
    node: Node,
    /// How many lines it was told.
    told: u64,
    /// Whether one of them is a message.
    has_run: bool,
}

fn recall_all(keys: Keys, config: &Config) -> Result<Past, MemoryError> {
    let identity = keys.into_identity(config.agent.layers);
    let node = Node::new(identity, config.policy.clone(), random::bytes()?);
    let mut lines = signet_audit::read(&config.audit_dir)?.peekable();
    // Whoever the missing months made known, revoked or receipted would be forgotten.
    if let Some(Ok(first)) = lines.peek()
        && first.seq != 1
    {
        return Err(MemoryError::NoBeginning(first.seq));
    }
    recall(node, lines, config)
}

/// The state, and the lines behind it.
fn recall_from(path: &Path, keys: Keys, config: &Config) -> Result<(Past, Store), MemoryError> {
    let store = Store::open(path, &config.agent.agent)?;
    let position = store.position()?.ok_or(StateError::Missing)?;
    let lines = signet_audit::read_from(&config.audit_dir, &position)?;
    let lines = lines.ok_or(StateError::Unfit)?;
    let identity = keys.into_identity(config.agent.layers);
    let (policy, seed) = (config.policy.clone(), random::bytes()?);
    let node = Node::restore(identity, policy, seed, store.rows()?).map_err(StateError::Row)?;
    Ok((recall(node, lines, config)?, store))
}

fn recall(
    mut node: Node,
    lines: impl Iterator<Item = Result<Line, LogError>>,
    config: &Config,
) -> Result<Past, MemoryError> {
    let (mut told, mut has_run) = (0, false);
    for line in lines {
        let line = line?;
        if let Some(Entry::Genesis(certificate)) = &line.entry
            && certificate.agent != config.agent.agent
        {
            let (found, expected) = (certificate.agent.clone(), config.agent.agent.clone());
            return Err(MemoryError::OtherAgent { found, expected });
        }
        if let Some(entry) = &line.entry {
            has_run |= matches!(entry, Entry::Message(_));
            node.recall(line.ts, entry);
        }
        told += 1;
    }
    Ok(Past {
        node,
        told,
        has_run,
    })
}
