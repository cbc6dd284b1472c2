//! What the state says, held against what the whole log says.

use signet_audit::{Custody, LogOpening};
use signet_proto::entry::Entry;
use signet_proto::node::{Row, differences};

use super::past::{recall_and_inspect, recall_rows};
use super::{Memory, MemoryError, custody};
use crate::clock;
use crate::config::Config;
use crate::keystore::AgentKeys;
use crate::lock::HomeLock;
use crate::state::{StateError, StateStore};

impl Memory {
    /// The rows in which the state, brought up to the end of the log, differs from what the whole log
    /// says: none, or something is wrong. One of the two is in memory at a time, and of the other a sum of each row; where
    /// these differ, both are.
    ///
    /// # Errors
    /// What stands in the way; a state that cannot be read is one of them.
    pub fn compare(lock: &HomeLock, config: &Config) -> Result<Vec<Row>, MemoryError> {
        let now = clock::now();
        AgentKeys::settle(lock, &config.agent, now)?;
        let store = StateStore::open(&lock.home().state_file(), &config.agent.agent)?;
        // Read each row and each line once where all of them hold. Where one does not, look at the rows before the log, and at
        // both before a node is told anything: that says which fault comes first.
        Self::compare_with(&store, lock, config, Custody::reading_later).or_else(|_| {
            store.position()?.ok_or(StateError::Missing)?;
            store.demand_whole()?;
            Self::compare_with(&store, lock, config, |custody| custody)
        })
    }

    fn compare_with(
        store: &StateStore,
        lock: &HomeLock,
        config: &Config,
        reading: fn(Custody) -> Custody,
    ) -> Result<Vec<Row>, MemoryError> {
        let now = clock::now();
        let keys = || AgentKeys::settle(lock, &config.agent, now);
        let genesis = Entry::Genesis(keys()?.certificate);
        let position = store.position()?.ok_or(StateError::Missing)?;
        let custody = custody(lock.home(), config)?.knowing(Some(position.clone()));
        let opening = LogOpening::look(&config.audit_dir, &genesis, reading(custody))?;
        let kept = || {
            let mut rows = store.each_row()?;
            let past = recall_rows(rows.by_ref(), &position, keys()?, config, &opening)?;
            rows.end()?;
            Ok::<_, MemoryError>(past.node.snapshot(now))
        };
        let sums = kept()?.sums();
        let told = recall_and_inspect(keys()?, config, &opening)?;
        let told = told.node.snapshot(now);
        match told.sums() == sums {
            true => Ok(Vec::new()),
            false => Ok(differences(&kept()?.rows(), &told.rows())),
        }
    }
}
