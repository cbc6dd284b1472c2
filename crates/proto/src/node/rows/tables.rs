//! Tables of rows: how a row is made, and how it is read.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, to_value};
use signet_json::canonical;

use crate::envelope::Message;
use crate::ids::{AgentId, Digest};
use crate::stored::Stored;

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

impl Row {
    /// The first half of a hash over all of it.
    pub(super) fn sum(&self) -> [u8; 16] {
        // Join the parts with NUL, which no table name and no key contains: so no two rows give the same bytes.
        let parts = [self.table, "\0", &self.key, "\0", &self.value];
        let hash = Digest::of(&parts.map(str::as_bytes));
        hash.0.first_chunk().copied().unwrap_or_default()
    }
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

pub(in crate::node) const NODE: &str = "node";
pub(in crate::node) const PRINCIPALS: &str = "principals";
pub(in crate::node) const PEERS: &str = "peers";
pub(in crate::node) const REFUSED: &str = "refused";
pub(in crate::node) const REVOCATIONS: &str = "revocations";
pub(in crate::node) const STRANGERS: &str = "strangers";
pub(in crate::node) const ALARMS: &str = "alarms";
pub(in crate::node) const LINKS: &str = "links";
/// What a node that lived and one that was told its log need not agree on: handshakes of ours that are
/// under way, which every start drops, though the lines behind the rows may end one in a session; and
/// the time of the last line.
pub(in crate::node) const PASSING: &str = "passing";
pub(in crate::node) const SESSIONS: &str = "sessions";
pub(in crate::node) const WINDOWS: &str = "windows";
pub(in crate::node) const OUTBOX: &str = "outbox";
pub(in crate::node) const DRAFTS: &str = "drafts";
pub(in crate::node) const NAMES: &str = "names";
pub(in crate::node) const FATES: &str = "fates";
pub(in crate::node) const INBOX: &str = "inbox";
pub(in crate::node) const QUARANTINE: &str = "quarantine";
pub(in crate::node) const ASIDE: &str = "aside";
pub(in crate::node) const REQUESTS: &str = "requests";
pub(in crate::node) const PINGS: &str = "pings";
pub(in crate::node) const TASKS: &str = "handoffs";
pub(in crate::node) const KEYED: &str = "keyed";

/// A row does not say what its table must. The log has it all: the state is made again from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the row {key:?} of the table {table} cannot be read")]
pub struct RestoreError {
    /// The table.
    pub table: String,
    /// The key.
    pub key: String,
}

pub(in crate::node) type Restored<T = ()> = Result<T, RestoreError>;

/// The rows of a table that is small enough to be made at once.
pub(in crate::node) fn all<'s>(put: impl FnOnce(&mut Rows)) -> Lines<'s> {
    let mut rows = Rows(Vec::new());
    put(&mut rows);
    rows.sorted()
}

/// The rows of one peer after the other. Names have no character below a hyphen, so that the space
/// behind one sorts them as they are sorted themselves.
pub(in crate::node) fn of_peers<'s, T>(
    peers: impl Iterator<Item = (&'s AgentId, &'s T)> + 's,
    put: impl Fn(&AgentId, &T, &mut Rows) + 'static,
) -> Lines<'s>
where
    T: 's,
{
    Box::new(peers.flat_map(move |(peer, of_peer)| all(|rows| put(peer, of_peer, rows))))
}

/// The rows of one table, by key.
pub(in crate::node) type Lines<'s> = Box<dyn Iterator<Item = Row> + 's>;

/// Rows of one table, in no order.
pub(in crate::node) struct Rows(Vec<Row>);

impl Rows {
    pub(in crate::node) fn put(&mut self, table: &'static str, key: &str, value: &impl Serialize) {
        self.0.push(row(table, key, value));
    }

    pub(in crate::node) fn put_value(&mut self, table: &'static str, key: String, value: &Value) {
        self.0.push(row_of(table, key, value));
    }

    /// A row that is a message: what it is read from is in canonical form already, and there may be thousands, so no tree is
    /// made of it.
    pub(in crate::node) fn put_message(
        &mut self,
        table: &'static str,
        key: String,
        message: &Message,
    ) {
        let value = text_of(message).to_owned();
        self.0.push(Row { table, key, value });
    }

    fn sorted<'s>(mut self) -> Lines<'s> {
        self.0
            .sort_unstable_by(|one, other| one.key.cmp(&other.key));
        Box::new(self.0.into_iter())
    }
}

pub(in crate::node) fn row(table: &'static str, key: &str, value: &impl Serialize) -> Row {
    // `to_value` cannot fail here: what is remembered consists of texts, numbers and maps with text keys.
    let value = to_value(value).unwrap_or_default();
    row_of(table, key.to_owned(), &value)
}

pub(in crate::node) fn row_of(table: &'static str, key: String, value: &Value) -> Row {
    let value = written(value);
    Row { table, key, value }
}

/// The text of a value in canonical form, which is UTF-8.
pub(in crate::node) fn written(value: &Value) -> String {
    String::from_utf8(canonical(value)).unwrap_or_default()
}

/// The canonical form of a message, likewise.
pub(in crate::node) fn text_of(message: &Message) -> &str {
    std::str::from_utf8(message.canonical()).unwrap_or_default()
}

/// The rows that were not put back yet, by table.
#[derive(Default)]
pub(in crate::node) struct Tables(BTreeMap<String, Vec<(String, String)>>);

impl Tables {
    /// Gathers a row.
    pub(super) fn add(&mut self, table: String, key: String, value: String) {
        self.0.entry(table).or_default().push((key, value));
    }

    /// Nobody knows the rows that are left.
    pub(super) fn end(self) -> Restored {
        let mut left = self.0.into_iter();
        let row = left.find_map(|(table, rows)| Some((table, rows.into_iter().next()?.0)));
        row.map_or(Ok(()), |(table, key)| Err(unread(&table, &key)))
    }

    fn take<T: DeserializeOwned>(&mut self, table: &'static str) -> Restored<Vec<(String, T)>> {
        let rows = self.0.remove(table).unwrap_or_default().into_iter();
        let read = |(key, value): (String, String)| match serde_json::from_str(&value) {
            Ok(value) => Ok((key, value)),
            Err(_) => Err(unread(table, &key)),
        };
        rows.map(read).collect()
    }

    /// The rows of one table.
    pub(in crate::node) fn read<K: Key, T: DeserializeOwned>(
        &mut self,
        table: &'static str,
    ) -> Restored<Vec<(K, T)>> {
        let rows = self.take(table)?.into_iter();
        rows.map(|(key, value)| Ok((key_of(table, &key)?, value)))
            .collect()
    }

    /// As [`Tables::read`], for values that have a form of their own in rows.
    pub(in crate::node) fn read_stored<K: Key, T: Stored>(
        &mut self,
        table: &'static str,
    ) -> Restored<Vec<(K, T)>> {
        let rows = self.take::<Value>(table)?.into_iter();
        let read = |(key, value): (String, Value)| {
            let stored = T::from_stored(&value).ok_or_else(|| unread(table, &key))?;
            Ok((key_of(table, &key)?, stored))
        };
        rows.map(read).collect()
    }

    /// The row of that key alone, if there is one.
    pub(super) fn take_one<T: DeserializeOwned>(
        &mut self,
        table: &str,
        key: &str,
    ) -> Restored<Option<T>> {
        let Some(rows) = self.0.get_mut(table) else {
            return Ok(None);
        };
        let row = rows.extract_if(.., |(other, _)| other == key).next();
        let value = row.map(|(_, value)| serde_json::from_str(&value));
        value.transpose().map_err(|_| unread(table, key))
    }
}

/// What a key consists of.
pub(in crate::node) trait Key: Sized {
    fn parse(key: &str) -> Option<Self>;
}

impl<A: FromStr> Key for (A,) {
    fn parse(key: &str) -> Option<Self> {
        Some((key.parse().ok()?,))
    }
}

impl<A: FromStr, B: FromStr> Key for (A, B) {
    fn parse(key: &str) -> Option<Self> {
        let (one, two) = key.split_once(' ')?;
        Some((one.parse().ok()?, two.parse().ok()?))
    }
}

impl<A: FromStr, B: FromStr, C: FromStr> Key for (A, B, C) {
    fn parse(key: &str) -> Option<Self> {
        let (one, rest) = key.split_once(' ')?;
        let (two, three) = rest.split_once(' ')?;
        Some((one.parse().ok()?, two.parse().ok()?, three.parse().ok()?))
    }
}

/// Reads a key of a table.
pub(in crate::node) fn key_of<K: Key>(table: &str, key: &str) -> Restored<K> {
    K::parse(key).ok_or_else(|| unread(table, key))
}

pub(in crate::node) fn unread(table: &str, key: &str) -> RestoreError {
    let (table, key) = (table.to_owned(), key.to_owned());
    RestoreError { table, key }
}
