//! What a node is told of its past: by the state, and by the lines of the log behind it.

use std::path::Path;

use signet_audit::{LogError, LogLine, LogOpening, LogPosition};
use signet_proto::entry::Entry;
use signet_proto::ids::AgentId;
use signet_proto::node::{Node, Read};

use super::MemoryError;
use crate::config::Config;
use crate::keystore::AgentKeys;
use crate::random;
use crate::state::{StateError, StateStore};

/// A state that can be read, and how far in the log it goes.
pub(super) struct StoredState {
    store: StateStore,
    pub(super) position: LogPosition,
    rows: Vec<Read>,
}

/// How far the log went when the state was written.
pub(super) fn known(stored: &Result<StoredState, StateError>) -> Option<LogPosition> {
    let stored = stored.as_ref().ok();
    stored.map(|stored| stored.position.clone())
}

impl StoredState {
    /// The state, or what makes it useless. One that may be sound another time is an error of its own.
    pub(super) fn read_if_sound(
        path: &Path,
        config: &Config,
    ) -> Result<Result<Self, StateError>, StateError> {
        match Self::read(path, config) {
            Err(fault) if !fault.is_lost() => Err(fault),
            read => Ok(read),
        }
    }

    pub(super) fn read(path: &Path, config: &Config) -> Result<Self, StateError> {
        let store = StateStore::open(path, &config.agent.agent)?;
        let position = store.position()?.ok_or(StateError::Missing)?;
        let rows = store.rows()?;
        Ok(Self {
            store,
            position,
            rows,
        })
    }

    /// What the state says, and the lines behind it.
    pub(super) fn recall(
        self,
        keys: AgentKeys,
        config: &Config,
        opening: &LogOpening,
    ) -> Result<(Past, StateStore), MemoryError> {
        let past = recall_rows(self.rows, &self.position, keys, config, opening)?;
        // A state that began under version 0.1.0 lacks changes of the keys, because its node was
        // not told the log's first line: refuse it, so that the state is made again from the log.
        past.node.me().recorded().ok_or(StateError::Unfit)?;
        Ok((past, self.store))
    }
}

/// A node by the rows of a state that goes up to `position`, and by the lines behind it.
pub(super) fn recall_rows(
    rows: impl IntoIterator<Item = Read>,
    position: &LogPosition,
    keys: AgentKeys,
    config: &Config,
    opening: &LogOpening,
) -> Result<Past, MemoryError> {
    let lines = signet_audit::read_from(&config.audit_dir, position)?;
    let lines = lines.ok_or(StateError::Unfit)?;
    let identity = keys.into_identity(config.agent.layers);
    let (policy, seed) = (config.policy.clone(), random::bytes()?);
    let node = Node::restore(identity, policy, seed, rows).map_err(StateError::Row)?;
    recall(node, lines, position.head.seq, config, opening)
}

/// Tells a node what lines say, up to the first that cannot be read.
pub(super) fn tell(node: &mut Node, lines: impl Iterator<Item = Result<LogLine, LogError>>) {
    for line in lines.map_while(Result::ok) {
        if let Some(entry) = &line.entry {
            node.recall(line.ts, entry);
        }
    }
}

/// A node that was told its past.
pub(super) struct Past {
    pub(super) node: Node,
    /// How many lines it was told.
    pub(super) told: u64,
    /// Whether one of them is a message.
    pub(super) has_run: bool,
}

pub(super) fn recall_all(
    keys: AgentKeys,
    config: &Config,
    opening: &LogOpening,
) -> Result<Past, MemoryError> {
    recall_each(
        signet_audit::read(&config.audit_dir)?,
        keys,
        config,
        opening,
    )
}

/// As [`recall_all`], and what `opening` left unread is held against its tree on the way.
pub(super) fn recall_and_inspect(
    keys: AgentKeys,
    config: &Config,
    opening: &LogOpening,
) -> Result<Past, MemoryError> {
    recall_each(opening.lines()?, keys, config, opening)
}

fn recall_each(
    lines: impl Iterator<Item = Result<LogLine, LogError>>,
    keys: AgentKeys,
    config: &Config,
    opening: &LogOpening,
) -> Result<Past, MemoryError> {
    // Refuse a log without its first months: it does not say whom the agent knows, who was revoked and what was received.
    if let Some(Ok(first)) = signet_audit::read(&config.audit_dir)?.next()
        && first.seq != 1
    {
        return Err(MemoryError::NoBeginning(first.seq));
    }
    let identity = keys.into_identity(config.agent.layers);
    let node = Node::new(identity, config.policy.clone(), random::bytes()?);
    recall(node, lines, 0, config, opening)
}

/// Tells the node the lines behind line `from`, up to the last that stays.
fn recall(
    mut node: Node,
    lines: impl Iterator<Item = Result<LogLine, LogError>>,
    from: u64,
    config: &Config,
    opening: &LogOpening,
) -> Result<Past, MemoryError> {
    let (mut told, mut has_run) = (0, false);
    let left = opening.end().saturating_sub(from);
    // Read no line beyond the end that was found to be good: the lines after it are about to be set aside, so the node must not
    // obey them.
    for line in lines.take(usize::try_from(left).unwrap_or(usize::MAX)) {
        let line = line?;
        if let Some(Entry::Genesis(certificate)) = &line.entry
            && certificate.agent != config.agent.agent
        {
            let (found, expected) = (certificate.agent.clone(), config.agent.agent.clone());
            return Err(MemoryError::OtherAgent { found, expected });
        }
        // Verifying signatures takes long, so skip it for lines that the anchor, the state or a checkpoint already vouches for.
        if line.seq > opening.trusted() {
            prove(&node, &line, &config.agent.agent)?;
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

/// What nothing in the home vouches for has to prove itself, as `signet audit verify` would ask.
fn prove(node: &Node, line: &LogLine, me: &AgentId) -> Result<(), MemoryError> {
    let said = line
        .entry
        .as_ref()
        .map_or(Ok(()), |entry| node.judge(line.ts).prove(entry));
    let fault = line.fault(me).or_else(|| said.err().map(str::to_owned));
    match fault {
        Some(what) => Err(MemoryError::Unproven {
            line: line.seq,
            what,
        }),
        None => Ok(()),
    }
}
