//! The index: what the pages ask, made from the logs and never more than they are. Whoever doubts it removes it.

mod ask;
mod batch;
mod follow;
mod kept;
mod names;
mod people;
mod place;
mod reading;
mod row;
mod search;
mod store;
mod topic;
mod words;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

pub(crate) use ask::{IndexReader, IndexedLine, IndexedThread, LogState, Tally, WaitingForPerson};
pub(crate) use people::AgentOfLog;
pub(crate) use place::short;
pub(crate) use search::WantedLines;
pub(crate) use store::IndexStore;
pub(crate) use topic::{Act, LineTopic};

use crate::ViewError;
use follow::{FollowStep, LogFollower};
use kept::tell_fault;
use names::Names;

/// Follows the logs for as long as somebody listens; `changed` counts up with everything that was added.
///
/// # Errors
/// When the index cannot be opened. A fault of one log stands in the index, and the others go on.
pub(crate) fn follow(
    store: &IndexStore,
    logs: &[PathBuf],
    changed: &watch::Sender<u64>,
) -> Result<(), ViewError> {
    let mut db = store.writer()?;
    let mut names = Names::default();
    let mut followers = Vec::new();
    for dir in logs {
        let follower = LogFollower::open(&db, dir).map_err(|source| store.fault(source))?;
        followers.push((dir, follower));
    }
    while !changed.is_closed() {
        let mut is_idle = true;
        for (dir, follower) in &mut followers {
            let fault = match follower.step(store, &mut db, &mut names) {
                Ok(FollowStep::Idle) => None,
                Ok(FollowStep::Read) => {
                    is_idle = false;
                    changed.send_modify(|count| *count += 1);
                    continue;
                }
                Err(fault @ ViewError::Index { .. }) => return Err(fault),
                Err(fault) => Some(fault.to_string()),
            };
            tell_fault(&db, dir, fault.as_deref()).map_err(|source| store.fault(source))?;
        }
        if is_idle {
            thread::sleep(PAUSE);
        }
    }
    Ok(())
}

/// The logs, each followed once, as long as the sender of `changed` has somebody who listens.
pub(crate) type IndexChanges = Arc<watch::Sender<u64>>;

/// How long a reader of logs waits before it looks again.
const PAUSE: Duration = Duration::from_millis(400);
