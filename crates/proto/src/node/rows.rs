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
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, to_value};

use crate::certificate::Certificate;
use crate::envelope::Message;
use crate::handshake::Handshake;
use crate::ids::{AgentId, Digest, KeyId, MessageId, SessionId};
use crate::json::canonical;
use crate::reject::Reason;
use crate::session::Session;
use crate::stored::Stored;
use crate::time::Timestamp;
use crate::trust::TrustView;

use super::decrees::Pausing;
use super::inbox::Inbox;
use super::link::{Approving, Link};
use super::strangers::Strangers;
use super::tasks::Tasks;
use super::trail::Trail;
use super::{Alarms, Node, OpenRequest};

pub use restore::{Read, RestoreError};

/// The version of the rows: others are not read, and the log is told whole again.
pub const ROWS_VERSION: u32 = 2;

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
pub const TABLES: [&str; 21] = [
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

/// What a node remembers, cheap to take and to hand to another thread.
#[derive(Clone, Debug)]
pub struct Snapshot {
    now: Timestamp,
    written: Timestamp,
    recorded: Option<Certificate>,
    trust: TrustView,
    links: BTreeMap<AgentId, Link>,
    inbox: Inbox,
    open: BTreeMap<MessageId, OpenRequest>,
    pings: BTreeMap<(AgentId, MessageId), Arc<Message>>,
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
    arrivals: u64,
    pausing: Pausing,
}

/// What lies between us and one peer, but for what has rows of its own.
#[derive(Serialize, Deserialize)]
struct LinkRow {
    handshake: Handshake,
    lost: Vec<(MessageId, Reason)>,
    announced: Option<Timestamp>,
    heard_announce: Option<Timestamp>,
    receipted: Option<Timestamp>,
    greets: bool,
    trail: Trail,
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
struct Name {
    hash: Digest,
    until: Timestamp,
}

impl Node {
    /// What it remembers at `now`.
    pub fn snapshot(&self, now: Timestamp) -> Snapshot {
        Snapshot {
            now,
            written: self.written,
            recorded: self.recorded.clone(),
            trust: self.trust().clone(),
            links: self.links.clone(),
            inbox: self.inbox.clone(),
            open: self.open.clone(),
            pings: self.pings.clone(),
            tasks: self.tasks.clone(),
            waiting_room: self.waiting_room.clone(),
            pausing: self.pausing.clone(),
            alarms: self.alarms.clone(),
        }
    }
}

impl Snapshot {
    /// All of it as rows, each key once in its table, in no order.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = Rows(Vec::new());
        rows.put(NODE, "node", &self.lone());
        rows.put(PASSING, "written", &self.written);
        self.put_trust(&mut rows);
        for (peer, link) in &self.links {
            self.put_link(peer, link, &mut rows);
        }
        self.put_inbox(&mut rows);
        for (name, open) in self.open.iter().filter(|(_, open)| self.now < open.closes) {
            rows.put(REQUESTS, &name.to_string(), open);
        }
        for ((peer, name), ping) in &self.pings {
            rows.put_value(PINGS, format!("{peer} {name}"), &ping.to_stored());
        }
        for task in self.tasks.iter() {
            let direction = task.direction.to_stored();
            let direction = direction.as_str().unwrap_or_default();
            let key = format!("{direction} {} {}", task.id(), task.peer);
            rows.put(TASKS, &key, task);
        }
        rows.0
    }

    fn lone(&self) -> Lone {
        Lone {
            recorded: self.recorded.clone(),
            arrivals: self.inbox.arrivals(),
            pausing: self.pausing.clone(),
        }
    }

    fn put_trust(&self, rows: &mut Rows) {
        let trust = self.trust.parts();
        for (name, principal) in trust.principals {
            rows.put(PRINCIPALS, name.as_str(), principal);
        }
        for (name, peer) in trust.peers {
            rows.put(PEERS, name.as_str(), peer.as_ref());
        }
        for (root, agent) in trust.refused {
            rows.put(REFUSED, &format!("{root} {agent}"), &true);
        }
        for ((principal, agent), revocations) in trust.revoked {
            let key = format!("{principal} {agent}");
            rows.put_value(REVOCATIONS, key, &revocations.to_stored());
        }
        let (waiting, alarms) = self.waiting_room.parts();
        for stranger in waiting {
            let root: KeyId = stranger.certificate.root.id();
            rows.put(STRANGERS, &format!("waits {root}"), stranger);
        }
        for (root, since) in alarms {
            rows.put(STRANGERS, &format!("alarm {root}"), since);
        }
        for ((what, peer), since) in &self.alarms {
            rows.put(ALARMS, &format!("{} {peer}", what.as_str()), since);
        }
    }

    fn put_link(&self, peer: &AgentId, link: &Link, rows: &mut Rows) {
        let (half, held) = link.handshake.halves(self.now);
        if !half.is_idle() {
            rows.put(PASSING, &format!("half {peer}"), &half);
        }
        let row = LinkRow {
            handshake: held,
            lost: link.lost.clone(),
            announced: link.announced,
            heard_announce: link.heard_announce,
            receipted: link.receipted,
            greets: link.greets,
            trail: link.trail.clone(),
        };
        rows.put(LINKS, peer.as_str(), &row);
        for (place, session) in link.sessions.iter().enumerate() {
            put_session(peer, place, session, rows);
        }
        for (place, waiting) in link.drafts.iter().enumerate() {
            let row = DraftRow {
                place,
                until: waiting.until,
                life: waiting.draft.life.as_secs(),
                value: waiting.value.as_ref().clone(),
                approval: waiting.approval.clone(),
            };
            rows.put(
                DRAFTS,
                &format!("{peer} {}", waiting.draft.message_id),
                &row,
            );
        }
        for (until, name, hash) in link.names.iter() {
            rows.put(NAMES, &format!("{peer} {name}"), &Name { hash, until });
        }
        for (name, (since, state)) in link.fates.iter() {
            rows.put(FATES, &format!("{peer} {name}"), &(since, state));
        }
    }

    fn put_inbox(&self, rows: &mut Rows) {
        for item in self.inbox.after(0) {
            let headers = &item.message.headers;
            let tries = self.inbox.tries(&headers.agent_id, headers.message_id);
            let value = json!({"message": item.message.to_stored(), "tries": to_value(tries).unwrap_or_default()});
            rows.put_value(INBOX, item.number.to_string(), &value);
        }
        for shelved in self.inbox.quarantine().iter() {
            let headers = &shelved.message.headers;
            let key = format!("{} {}", headers.agent_id, headers.message_id);
            rows.put(QUARANTINE, &key, shelved);
        }
        for (place, message) in self.inbox.aside().enumerate() {
            rows.put_value(ASIDE, place.to_string(), &message.to_stored());
        }
    }
}

fn put_session(peer: &AgentId, place: usize, session: &Session, rows: &mut Rows) {
    let id: SessionId = session.id;
    let mut bare = session.clone();
    (bare.window, bare.ledger) = (session.window.bare(), session.ledger.bare());
    let row = SessionRow {
        place,
        session: bare,
    };
    rows.put(SESSIONS, &format!("{peer} {id}"), &row);
    for (number, slot) in session.window.slots() {
        rows.put(WINDOWS, &format!("{peer} {id} {number}"), slot);
    }
    for (number, waiting) in session.ledger.waiting() {
        let key = format!("{peer} {id} {number}");
        rows.put_value(OUTBOX, key, &waiting.message().to_stored());
    }
}

struct Rows(Vec<Row>);

impl Rows {
    fn put(&mut self, table: &'static str, key: &str, value: &impl Serialize) {
        // What is remembered consists of texts, numbers and maps with text keys: all of it has a value.
        let value = to_value(value).unwrap_or_default();
        self.put_value(table, key.to_owned(), &value);
    }

    fn put_value(&mut self, table: &'static str, key: String, value: &Value) {
        let value = String::from_utf8(canonical(value)).unwrap_or_default();
        self.0.push(Row { table, key, value });
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
