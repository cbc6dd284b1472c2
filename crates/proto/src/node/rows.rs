//! All that must survive a restart, as rows: a start reads them and then only the lines of the log
//! that came after, instead of every line there ever was. The log stays the truth.
//!
//! ```text
//! Node ──snapshot──▶ Snapshot ──rows──▶ (table, key, value) ──restore──▶ Node ──recall──▶ …
//! ```
//!
//! What follows from time alone (resends, half-open handshakes that are over) stands in no row, so
//! that the rows are the same whether a node lived through its past or was told it.

mod restore;
pub(super) mod tables;
mod trust;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::certificate::Certificate;
use crate::time::Timestamp;
use crate::trust::TrustView;

use super::inbox::Inbox;
use super::peers::PeersShot;
use super::people::{Pausing, Strangers};
use super::sent::Sent;
use super::tasks::Tasks;
use super::{Alarms, Node};

pub use restore::Read;
use tables::*;
pub use tables::{RestoreError, Row, TABLES};

/// The version of the rows: others are not read, and the log is told whole again.
pub const ROWS_VERSION: u32 = 5;

/// What a node remembers, cheap to take and to hand to another thread.
#[derive(Clone, Debug)]
pub struct Snapshot {
    written: Timestamp,
    recorded: Option<Certificate>,
    rekeyed: Option<Timestamp>,
    trust: TrustView,
    peers: PeersShot,
    inbox: Inbox,
    sent: Sent,
    tasks: Tasks,
    waiting_room: Strangers,
    pausing: Pausing,
    alarms: Alarms,
}

/// What stands alone.
#[derive(Serialize, Deserialize)]
struct Lone {
    #[serde(with = "crate::stored")]
    recorded: Option<Certificate>,
    rekeyed: Option<Timestamp>,
    arrivals: u64,
    pausing: Pausing,
}

impl Node {
    /// What it remembers at `now`.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        Snapshot {
            written: self.clock.written(),
            recorded: self.me.recorded().cloned(),
            rekeyed: self.me.rekeyed(),
            trust: self.trust().clone(),
            peers: self
                .peers
                .snapshot(now, |peer| self.sent.drafts().lost(peer).to_vec()),
            inbox: self.inbox.clone(),
            sent: self.sent.clone(),
            tasks: self.tasks.clone(),
            waiting_room: self.people.strangers().clone(),
            pausing: self.people.pausing().clone(),
            alarms: self.alarms.clone(),
        }
    }
}

impl Snapshot {
    /// All of it as rows, each key once in its table.
    pub fn rows(&self) -> Vec<Row> {
        self.each_row().collect()
    }

    /// The same, one after another: all of them at once would be several times as large as what they are made of.
    pub fn each_row(&self) -> impl Iterator<Item = Row> {
        let tables = TABLES.into_iter();
        tables.flat_map(|table| self.table(table))
    }

    /// Half of the SHA-256 of each row that [`differences`] looks at, sorted: enough to say whether two snapshots differ, in a
    /// small part of the room that their rows take.
    pub fn sums(&self) -> Vec<[u8; 16]> {
        let tables = TABLES.into_iter().filter(|table| *table != PASSING);
        let rows = tables.flat_map(|table| self.table(table));
        let mut sums: Vec<_> = rows.map(|row| row.sum()).collect();
        sums.sort_unstable();
        sums
    }

    /// The rows of one table, by key, made one after another.
    pub fn table(&self, table: &'static str) -> Lines<'_> {
        match table {
            NODE => all(|rows| rows.put(NODE, "node", &self.lone())),
            // The state's database takes rows in the order of their keys. In this table each peer's key begins with `half`,
            // which sorts before `written`: so the row `written` comes last.
            PASSING => {
                let written = row(PASSING, "written", &self.written);
                Box::new(self.peers.table(PASSING).chain([written]))
            }
            PRINCIPALS | PEERS | REFUSED | REVOCATIONS => trust::table(&self.trust, table),
            STRANGERS => self.waiting_room.rows(),
            ALARMS => self.alarms.rows(),
            LINKS | SESSIONS | WINDOWS | OUTBOX | NAMES => self.peers.table(table),
            INBOX | QUARANTINE | ASIDE => self.inbox.table(table),
            DRAFTS | FATES | REQUESTS | PINGS | KEYED => self.sent.table(table),
            TASKS => self.tasks.rows(),
            _ => Box::new(std::iter::empty()),
        }
    }

    fn lone(&self) -> Lone {
        Lone {
            recorded: self.recorded.clone(),
            rekeyed: self.rekeyed,
            arrivals: self.inbox.arrivals(),
            pausing: self.pausing.clone(),
        }
    }
}

/// The rows of one snapshot that another has not, and the other way round: for tests and for repair.
/// What passes makes no difference.
pub fn differences(ours: &[Row], theirs: &[Row]) -> Vec<Row> {
    let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) =
        (ours.iter().collect(), theirs.iter().collect());
    let differ = ours.symmetric_difference(&theirs);
    let differ = differ.filter(|row| row.table != PASSING);
    differ.map(|row| (*row).clone()).collect()
}
