//! What the state says, held against what the whole log says.

use signet_audit::LogOpening;
use signet_proto::entry::Entry;
use signet_proto::node::{Row, differences};

use super::past::{recall_all, recall_rows};
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
        let keys = || AgentKeys::settle(lock, &config.agent, now);
        let genesis = Entry::Genesis(keys()?.certificate);
        let store = StateStore::open(&lock.home().state_file(), &config.agent.agent)?;
        let position = store.position()?.ok_or(StateError::Missing)?;
        store.demand_whole()?;
        let custody = custody(lock.home(), config)?.knowing(Some(position.clone()));
        let opening = LogOpening::look(&config.audit_dir, &genesis, custody)?;
        let kept = || {
            let mut rows = store.each_row()?;
            let past = recall_rows(rows.by_ref(), &position, keys()?, config, &opening)?;
            rows.end()?;
            Ok::<_, MemoryError>(past.node.snapshot(now))
        };
        let sums = kept()?.sums();
        let told = recall_all(keys()?, config, &opening)?.node.snapshot(now);
        match told.sums() == sums {
            true => Ok(Vec::new()),
            false => Ok(differences(&kept()?.rows(), &told.rows())),
        }
    }
}
