//! What people decide: whom we trust and who waits for it, and whether we pause.

mod orders;
mod strangers;
mod trust_changes;

use crate::entry::{Entry, Flood};
use crate::ids::Digest;

use crate::statement::PauseStatement;
use crate::time::Timestamp;

use super::budget::Budget;
use super::rows::tables::{Restored, Tables};

pub use orders::Pausing;
pub(super) use orders::carried_revocations;
pub use strangers::Stranger;
pub(super) use strangers::Strangers;

/// Who waits for our person's decision, what strangers may cost us, and whether our person lets us speak.
#[derive(Debug, Default)]
pub struct People {
    strangers: Strangers,
    pausing: Pausing,
    budget: Budget,
}

impl People {
    /// Whether we pause, and by whose word.
    pub fn pausing(&self) -> &Pausing {
        &self.pausing
    }

    /// Who waits, for a snapshot.
    pub(super) fn strangers(&self) -> &Strangers {
        &self.strangers
    }

    /// Counts an input of nobody whom we know, that was over the budget.
    pub(super) fn count(&mut self, now: Timestamp, bytes: u64, hash: Digest) {
        self.budget.count(now, bytes, hash);
    }

    /// Whether a line about a stranger's input is allowed at `now`; it is paid then.
    pub(super) fn spend(&mut self, now: Timestamp, entry: &Entry) -> bool {
        self.budget.spend(now, entry)
    }

    /// A pause that is said again holds back what came since the first: `arrivals` is the number of the last
    /// message that came.
    pub(super) fn apply_pause(&mut self, statement: &PauseStatement, arrivals: u64) {
        if !self.pausing.is_paused() {
            self.pausing.arrivals = arrivals;
        }
        self.pausing.statement = Some(statement.clone());
    }

    /// When the line is due that says how much of strangers was counted.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.budget.due()
    }

    /// That line, when it is due.
    pub(super) fn overdue(&mut self, now: Timestamp) -> Option<Flood> {
        self.budget.overdue(now)
    }

    /// That line, now: at a clean stop.
    pub(super) fn flush(&mut self) -> Option<Flood> {
        self.budget.flush()
    }

    /// Our clock was put back.
    pub(super) fn put_clock_back(&mut self, now: Timestamp) {
        self.budget.put_back(now);
    }

    /// Puts back whether we pause.
    pub(super) fn put_back(&mut self, pausing: Pausing) {
        self.pausing = pausing;
    }

    /// Takes back what the rows say of strangers.
    pub(super) fn put_back_strangers(&mut self, tables: &mut Tables) -> Restored {
        self.strangers.put_back(tables)
    }
}
