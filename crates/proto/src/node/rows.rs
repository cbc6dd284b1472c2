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

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, to_value};
use signet_json::canonical;

use crate::certificate::Certificate;
use crate::envelope::Message;
use crate::handshake::Handshake;
use crate::ids::{AgentId, Digest, KeyId, MessageId, SessionId};
use crate::reject::Reason;
use crate::session::Session;
use crate::stored::Stored;
use crate::time::Timestamp;
use crate::trust::TrustView;

use super::inbox::{Inbox, Item};
use super::offers::ToldOffers;
use super::peers::hops::Trail;
use super::peers::peer::Peer;
use super::peers::seen::Shared;
use super::people::{Pausing, Strangers};
use super::sent::{Approving, PeerDrafts, Sent};
use super::tasks::Tasks;
use super::{Alarms, Node};

pub use restore::{Read, RestoreError};

/// The version of the rows: others are not read, and the log is told whole again.
pub const ROWS_VERSION: u32 = 4;

/// One row: the table, a key that is its only one there, and a JSON value in canonical form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// See [`TABLES`].
    pub table: &'static str,
    /// The parts of the key, with a space between.
    pub key: String,
    /// What is remembered.
    pub value: String,
}

/// Every table.
pub const TABLES: [&str; 22] = [
    PASSING,
    NODE,
    PRINCIPALS,
    PEERS,
    REFUSED,
    REVOCATIONS,
    STRANGERS,
    ALARMS,
    LINKS,
    SESSIONS,
    WINDOWS,
    OUTBOX,
    DRAFTS,
    NAMES,
    FATES,
    INBOX,
    QUARANTINE,
    ASIDE,
    REQUESTS,
    PINGS,
    TASKS,
    KEYED,
];

const NODE: &str = "node";
const PRINCIPALS: &str = "principals";
const PEERS: &str = "peers";
const REFUSED: &str = "refused";
const REVOCATIONS: &str = "revocations";
const STRANGERS: &str = "strangers";
const ALARMS: &str = "alarms";
const LINKS: &str = "links";
/// What a node that lived and one that was told its log need not agree on: handshakes of ours that are
/// under way, which every start drops, though the lines behind the rows may end one in a session; and
/// the time of the last line.
const PASSING: &str = "passing";
const SESSIONS: &str = "sessions";
const WINDOWS: &str = "windows";
const OUTBOX: &str = "outbox";
const DRAFTS: &str = "drafts";
const NAMES: &str = "names";
const FATES: &str = "fates";
const INBOX: &str = "inbox";
const QUARANTINE: &str = "quarantine";
const ASIDE: &str = "aside";
const REQUESTS: &str = "requests";
const PINGS: &str = "pings";
const TASKS: &str = "handoffs";
const KEYED: &str = "keyed";

/// What a node remembers, cheap to take and to hand to another thread.
#[derive(Clone, Debug)]
pub struct Snapshot {
    written: Timestamp,
    recorded: Option<Certificate>,
    rekeyed: Option<Timestamp>,
    trust: TrustView,
    peers: BTreeMap<AgentId, LinkShot>,
    inbox: Inbox,
    sent: Sent,
    tasks: Tasks,
    waiting_room: Strangers,
    pausing: Pausing,
    alarms: Alarms,
}

/// What rows are made of that lies between us and one peer.
#[derive(Clone, Debug)]
struct LinkShot {
    row: LinkRow,
    /// A handshake of ours that is under way.
    half: Handshake,
    sessions: Vec<Session>,
    names: Shared,
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

/// What lies between us and one peer, but for what has rows of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LinkRow {
    handshake: Handshake,
    lost: Vec<(MessageId, Reason)>,
    announced: Option<Timestamp>,
    heard_announce: Option<Timestamp>,
    receipted: Option<Timestamp>,
    greets: bool,
    trail: Trail,
    told_offers: Option<ToldOffers>,
}

#[derive(Serialize, Deserialize)]
struct SessionRow {
    /// Its place among the sessions with the peer, the oldest first.
    place: usize,
    session: Session,
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

#[derive(Serialize, Deserialize)]
struct NameRow {
    hash: Digest,
    until: Timestamp,
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
                .iter()
                .map(|(peer, link)| {
                    let drafts = self.sent.drafts().of_peer(peer);
                    (peer.clone(), LinkShot::of(link, drafts, now))
                })
                .collect(),
            inbox: self.inbox.clone(),
            sent: self.sent.clone(),
            tasks: self.tasks.clone(),
            waiting_room: self.people.strangers().clone(),
            pausing: self.people.pausing().clone(),
            alarms: self.alarms.clone(),
        }
    }
}

impl LinkShot {
    fn of(link: &Peer, drafts: Option<&PeerDrafts>, now: Timestamp) -> Self {
        let (half, held) = link.handshake.halves(now);
        Self {
            row: LinkRow {
                handshake: held,
                lost: drafts.map_or_else(Vec::new, |drafts| drafts.lost().to_vec()),
                announced: link.announced,
                heard_announce: link.heard_announce,
                receipted: link.receipted,
                greets: link.greets,
                trail: link.trail.clone(),
                told_offers: link.told_offers.clone(),
            },
            half,
            sessions: link.sessions.clone(),
            names: link.names.share(),
        }
    }
}

type Lines<'s> = Box<dyn Iterator<Item = Row> + 's>;

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
            SESSIONS => self.of_links(put_sessions),
            WINDOWS => self.of_links(put_windows),
            OUTBOX => self.of_links(put_outbox),
            DRAFTS => of_peers(self.sent.drafts().iter(), put_drafts),
            NAMES => Box::new(self.peers.iter().flat_map(|(peer, link)| {
                link.names.by_name().map(move |name| {
                    let (id, hash, until) = (name.name, name.hash, name.until);
                    row(NAMES, &format!("{peer} {id}"), &NameRow { hash, until })
                })
            })),
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
            PASSING => self.put_passing(rows),
            PRINCIPALS | PEERS | REFUSED | REVOCATIONS | STRANGERS | ALARMS => {
                self.put_trust(table, rows);
            }
            LINKS => {
                for (peer, link) in &self.peers {
                    rows.put(LINKS, peer.as_str(), &link.row);
                }
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
                for (name, open) in self.sent.requests() {
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

    /// The rows of one peer after the other. Names have no character below a hyphen, so that the space
    /// behind one sorts them as they are sorted themselves.
    fn of_links(&self, put: impl Fn(&AgentId, &LinkShot, &mut Rows) + 'static) -> Lines<'_> {
        of_peers(self.peers.iter(), put)
    }

    fn lone(&self) -> Lone {
        Lone {
            recorded: self.recorded.clone(),
            rekeyed: self.rekeyed,
            arrivals: self.inbox.arrivals(),
            pausing: self.pausing.clone(),
        }
    }

    fn put_passing(&self, rows: &mut Rows) {
        rows.put(PASSING, "written", &self.written);
        for (peer, link) in self.peers.iter().filter(|(_, link)| !link.half.is_idle()) {
            rows.put(PASSING, &format!("half {peer}"), &link.half);
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

fn put_sessions(peer: &AgentId, link: &LinkShot, rows: &mut Rows) {
    for (place, session) in link.sessions.iter().enumerate() {
        let id: SessionId = session.id;
        let session = session.bare();
        let row = SessionRow { place, session };
        rows.put(SESSIONS, &format!("{peer} {id}"), &row);
    }
}

fn put_windows(peer: &AgentId, link: &LinkShot, rows: &mut Rows) {
    for session in &link.sessions {
        for (number, slot) in session.window.slots() {
            rows.put(WINDOWS, &format!("{peer} {} {number}", session.id), slot);
        }
    }
}

fn put_outbox(peer: &AgentId, link: &LinkShot, rows: &mut Rows) {
    for session in &link.sessions {
        for (number, waiting) in session.ledger.waiting() {
            let key = format!("{peer} {} {number}", session.id);
            rows.put_value(OUTBOX, key, &waiting.message().to_stored());
        }
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

fn of_peers<'s, T>(
    peers: impl Iterator<Item = (&'s AgentId, &'s T)> + 's,
    put: impl Fn(&AgentId, &T, &mut Rows) + 'static,
) -> Lines<'s>
where
    T: 's,
{
    Box::new(peers.flat_map(move |(peer, of_peer)| {
        let mut rows = Rows(Vec::new());
        put(peer, of_peer, &mut rows);
        rows.sorted()
    }))
}

struct Rows(Vec<Row>);

impl Rows {
    fn put(&mut self, table: &'static str, key: &str, value: &impl Serialize) {
        self.0.push(row(table, key, value));
    }

    fn put_value(&mut self, table: &'static str, key: String, value: &Value) {
        self.0.push(row_of(table, key, value));
    }

    fn sorted<'s>(mut self) -> Lines<'s> {
        self.0
            .sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Box::new(self.0.into_iter())
    }
}

fn row(table: &'static str, key: &str, value: &impl Serialize) -> Row {
    // What is remembered consists of texts, numbers and maps with text keys: all of it has a value.
    let value = to_value(value).unwrap_or_default();
    row_of(table, key.to_owned(), &value)
}

fn row_of(table: &'static str, key: String, value: &Value) -> Row {
    let value = String::from_utf8(canonical(value)).unwrap_or_default();
    Row { table, key, value }
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
