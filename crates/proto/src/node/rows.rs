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

use std::collections::BTreeSet;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, to_value};

use crate::certificate::Certificate;
use crate::ids::{AgentId, KeyId};
use crate::stored::Stored;
use crate::time::Timestamp;
use crate::trust::TrustView;

use super::inbox::{Inbox, Item};
use super::peers::PeersShot;
use super::people::{Pausing, Strangers};
use super::sent::{Approving, PeerDrafts, Sent};
use super::tasks::Tasks;
use super::{Alarms, Node};

pub use restore::Read;
use tables::*;
pub use tables::{RestoreError, Row, TABLES};

/// The version of the rows: others are not read, and the log is told whole again.
pub const ROWS_VERSION: u32 = 4;

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

#[derive(Serialize, Deserialize)]
struct DraftRow {
    place: usize,
    until: Timestamp,
    /// How long it may live once it is signed, in seconds.
    life: u64,
    value: Value,
    approval: Option<Approving>,
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
        let tables = TABLES.into_iter();
        tables.flat_map(|table| self.table(table)).collect()
    }

    /// The rows of one table, by key. They are made one after another: all of them at once would be
    /// several times as large as what they are made of.
    pub fn table(&self, table: &'static str) -> Lines<'_> {
        match table {
            LINKS | SESSIONS | WINDOWS | OUTBOX | NAMES => self.peers.table(table),
            // Rows are in the order of their keys: those of handshakes begin with `half`, which comes before `written`.
            PASSING => {
                let written = row(PASSING, "written", &self.written);
                Box::new(self.peers.table(PASSING).chain([written]))
            }
            DRAFTS => of_peers(self.sent.drafts().iter(), put_drafts),
            FATES => of_peers(self.sent.results().iter(), |peer, results, rows| {
                for (name, (since, state)) in results.iter() {
                    rows.put(FATES, &format!("{peer} {name}"), &(since, state));
                }
            }),
            INBOX => {
                let mut items: Vec<_> = self.inbox.after(0).collect();
                items.sort_by_cached_key(|item| item.number.to_string());
                Box::new(items.into_iter().map(|item| self.inbox_row(&item)))
            }
            _ => {
                let mut rows = Rows(Vec::new());
                self.put(table, &mut rows);
                rows.sorted()
            }
        }
    }

    /// What is small enough to be made at once.
    fn put(&self, table: &'static str, rows: &mut Rows) {
        match table {
            NODE => rows.put(NODE, "node", &self.lone()),
            PRINCIPALS | PEERS | REFUSED | REVOCATIONS | STRANGERS | ALARMS => {
                self.put_trust(table, rows);
            }
            QUARANTINE => {
                for shelved in self.inbox.quarantine().iter() {
                    let headers = &shelved.message.headers;
                    let key = format!("{} {}", headers.agent_id, headers.message_id);
                    rows.put(QUARANTINE, &key, shelved);
                }
            }
            ASIDE => {
                let before = self.inbox.gone().count();
                for (place, gone) in self.inbox.gone().enumerate() {
                    rows.put(ASIDE, &place.to_string(), gone);
                }
                for (place, message) in self.inbox.aside().enumerate() {
                    rows.put_value(ASIDE, (before + place).to_string(), &message.to_stored());
                }
            }
            REQUESTS => {
                for (name, open) in self.sent.requests().iter() {
                    rows.put(REQUESTS, &name.to_string(), open);
                }
            }
            PINGS => {
                for ping in self.sent.pings() {
                    let headers = &ping.headers;
                    let key = format!("{} {}", headers.agent_id, headers.message_id);
                    rows.put_value(PINGS, key, &ping.to_stored());
                }
            }
            KEYED => {
                for (key, keyed) in self.sent.keys().iter() {
                    rows.put(KEYED, &HEXLOWER.encode(key), keyed);
                }
            }
            TASKS => {
                for task in self.tasks.iter() {
                    let direction = task.direction.to_stored();
                    let direction = direction.as_str().unwrap_or_default();
                    let key = format!("{direction} {} {}", task.id(), task.peer);
                    rows.put(TASKS, &key, task);
                }
            }
            _ => {}
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

    fn put_trust(&self, table: &'static str, rows: &mut Rows) {
        let trust = self.trust.parts();
        let (waiting, alarms) = self.waiting_room.parts();
        match table {
            PRINCIPALS => {
                for (name, principal) in trust.principals {
                    rows.put(PRINCIPALS, name.as_str(), principal);
                }
            }
            PEERS => {
                for (name, peer) in trust.peers {
                    rows.put(PEERS, name.as_str(), peer.as_ref());
                }
            }
            REFUSED => {
                for (root, agent) in trust.refused {
                    rows.put(REFUSED, &format!("{root} {agent}"), &true);
                }
            }
            REVOCATIONS => {
                for ((principal, agent), revocations) in trust.revoked {
                    let key = format!("{principal} {agent}");
                    rows.put_value(REVOCATIONS, key, &revocations.to_stored());
                }
            }
            STRANGERS => {
                for stranger in waiting {
                    let root: KeyId = stranger.certificate.root.id();
                    rows.put(STRANGERS, &format!("waits {root}"), stranger);
                }
                for (root, since) in alarms {
                    rows.put(STRANGERS, &format!("alarm {root}"), since);
                }
            }
            _ => {
                for ((what, peer), since) in self.alarms.iter() {
                    rows.put(ALARMS, &format!("{} {peer}", what.as_str()), since);
                }
            }
        }
    }

    fn inbox_row(&self, item: &Item) -> Row {
        let headers = &item.message.headers;
        let tries = self.inbox.tries(&headers.agent_id, headers.message_id);
        let tries = to_value(tries).unwrap_or_default();
        let value = json!({"message": item.message.to_stored(), "tries": tries});
        row_of(INBOX, item.number.to_string(), &value)
    }
}

fn put_drafts(peer: &AgentId, drafts: &PeerDrafts, rows: &mut Rows) {
    for (place, waiting) in drafts.waiting().enumerate() {
        let row = DraftRow {
            place,
            until: waiting.until,
            life: waiting.draft.life.as_secs(),
            value: waiting.value.as_ref().clone(),
            approval: waiting.approval.clone(),
        };
        let name = waiting.draft.message_id;
        rows.put(DRAFTS, &format!("{peer} {name}"), &row);
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
