//! The database itself: its file, its form, and what every statement needs.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rusqlite::{Connection, ErrorCode, Params, Row};
use tokio::sync::watch;

use super::super::fault::A2aError;
use super::super::task::Record;
use super::super::words::model::A2aEvent;
use super::StoreLimits;
use crate::lock::Locked as _;

/// Why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// A second gateway would answer for tasks of the first.
    #[error("{}: another process has it open", .0.display())]
    Taken(PathBuf),
    #[error("{}: a newer signet-gateway wrote it (version {version}; this one reads {VERSION})", path.display())]
    Newer { path: PathBuf, version: i64 },
    #[error("{}: {source}", path.display())]
    Unusable {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the system gives no thread: {}", io::ErrorKind::OutOfMemory)]
    NoThread,
}

impl StoreError {
    /// What to do about it.
    pub(crate) const fn next(&self) -> &'static str {
        match self {
            Self::Taken(_) => {
                "stop the other gateway of this agent, or give this one another file: [a2a] state"
            }
            Self::Newer { .. } => {
                "use that release, or move the file away: its tasks are then unknown"
            }
            Self::Unusable { .. } => {
                "see to the disk and its rights; where the file is damaged, move it away: its tasks are then unknown"
            }
            Self::NoThread => "free memory or threads, then start it again",
        }
    }
}

/// Who waits for the next event of which task.
#[derive(Default)]
pub(crate) struct Live(Mutex<HashMap<String, watch::Sender<u64>>>);

impl Live {
    pub(super) fn follow(&self, task: &str) -> watch::Receiver<u64> {
        let mut all = self.0.locked();
        let sender = all.entry(task.to_owned());
        sender.or_insert_with(|| watch::channel(0).0).subscribe()
    }

    pub(super) fn tell(&self, task: &str, seq: u64) {
        let mut all = self.0.locked();
        // Drop the senders that nobody listens to: otherwise the map would keep one for every task.
        all.retain(|_, sender| sender.receiver_count() > 0);
        if let Some(sender) = all.get(task) {
            sender.send_replace(seq);
        }
    }
}

/// The connection, and the words that are not written.
pub(super) struct Db {
    pub(super) sql: Connection,
    pub(super) limits: StoreLimits,
    pub(super) live: Arc<Live>,
    pub(super) unwritten: Unwritten,
    /// Calls of each caller that are taken in before the tasks are counted again.
    pub(super) uncounted: HashMap<String, u64>,
}

/// What was said in tasks that are not kept: in memory alone, within [`UNWRITTEN_MAX`] bytes.
#[derive(Default)]
pub(super) struct Unwritten {
    tasks: HashMap<String, UnwrittenTask>,
    /// Oldest first.
    order: VecDeque<String>,
    bytes: usize,
}

/// One task that is not kept, with all that was said in it.
pub(super) struct UnwrittenTask {
    pub(super) record: Record,
    pub(super) events: Vec<(u64, A2aEvent)>,
    bytes: usize,
}

impl Unwritten {
    pub(super) fn of(&self, task: &str) -> Option<&UnwrittenTask> {
        self.tasks.get(task)
    }

    /// Takes the task as it is now, with its new events. Where all together are too large, the oldest tasks are forgotten.
    pub(super) fn put(&mut self, record: Record, new: Vec<(u64, A2aEvent)>) {
        let id = record.task.id.clone();
        let mut events = match self.remove(&id) {
            Some(words) => words.events,
            None => Vec::new(),
        };
        events.extend(new);
        let older = events.len().saturating_sub(EVENTS_MAX);
        events.drain(..older);
        let bytes = serde_json::to_string(&(
            &record,
            events.iter().map(|(_, event)| event).collect::<Vec<_>>(),
        ))
        .map_or(0, |text| text.len());
        self.bytes += bytes;
        self.order.push_back(id.clone());
        let words = UnwrittenTask {
            record,
            events,
            bytes,
        };
        self.tasks.insert(id, words);
        // `order.len() > 1` keeps the newest task, however large it is: its client is about to ask for it.
        while self.bytes > UNWRITTEN_MAX && self.order.len() > 1 {
            let oldest = self.order.front().cloned().unwrap_or_default();
            self.remove(&oldest);
        }
    }

    pub(super) fn remove(&mut self, task: &str) -> Option<UnwrittenTask> {
        let words = self.tasks.remove(task)?;
        self.order.retain(|known| known != task);
        self.bytes = self.bytes.saturating_sub(words.bytes);
        Some(words)
    }
}

impl Db {
    pub(super) fn open(
        path: &Path,
        limits: StoreLimits,
        live: Arc<Live>,
    ) -> Result<Self, StoreError> {
        let unusable = |source: rusqlite::Error| match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                StoreError::Taken(path.to_owned())
            }
            _ => StoreError::Unusable {
                path: path.to_owned(),
                source,
            },
        };
        let sql = Connection::open(path).map_err(unusable)?;
        let version: i64 = sql
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(unusable)?;
        // Check the version before anything is written: a file of a newer release must stay as it is.
        if version > VERSION {
            return Err(StoreError::Newer {
                path: path.to_owned(),
                version,
            });
        }
        sql.execute_batch(SETTINGS).map_err(unusable)?;
        // The first write locks the database, and `locking_mode = EXCLUSIVE` keeps it locked: no second
        // gateway can use it meanwhile.
        let created = sql.execute_batch(&format!("BEGIN IMMEDIATE; {SCHEMA} COMMIT;"));
        created.map_err(unusable)?;
        Ok(Self {
            sql,
            limits,
            live,
            unwritten: Unwritten::default(),
            uncounted: HashMap::new(),
        })
    }

    /// The task as it was written, and the number of its newest event.
    pub(super) fn written(&self, task: &str) -> Result<Option<(Record, u64)>, A2aError> {
        let query = "SELECT record, seq FROM tasks WHERE id = ?1";
        let found = self.rows(query, [task], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })?;
        let found = found.into_iter().next();
        found
            .map(|(text, seq)| Ok((parse(&text)?, number(seq))))
            .transpose()
    }

    /// All that a query finds, each row as `read` takes it.
    pub(super) fn rows<T>(
        &self,
        query: &str,
        bound: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, A2aError> {
        let mut statement = self.sql.prepare_cached(query)?;
        Ok(statement
            .query_map(bound, read)?
            .collect::<Result<_, _>>()?)
    }

    /// Runs a statement that finds nothing.
    pub(super) fn run(&self, statement: &str, bound: impl Params) -> Result<(), A2aError> {
        self.sql.prepare_cached(statement)?.execute(bound)?;
        Ok(())
    }

    /// What the peer offered when it last offered anything.
    pub(super) fn offered(&self, peer: &str) -> Result<Vec<String>, A2aError> {
        let query = "SELECT capabilities FROM offered WHERE peer = ?1";
        let found = self.rows(query, [peer], |row| row.get::<_, String>(0))?;
        found
            .first()
            .map_or_else(|| Ok(Vec::new()), |text| parse(text))
    }

    /// What the peer offers now.
    pub(super) fn note_offered(&self, peer: &str, capabilities: &[String]) -> Result<(), A2aError> {
        self.run(
            "INSERT OR REPLACE INTO offered (peer, capabilities) VALUES (?1, ?2)",
            [peer, &write(&capabilities)?],
        )
    }
}

pub(super) fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, A2aError> {
    serde_json::from_str(text)
        .map_err(|_| A2aError::internal("Internal error: a task on the disk cannot be read"))
}

pub(super) fn write(value: &impl serde::Serialize) -> Result<String, A2aError> {
    serde_json::to_string(value)
        .map_err(|_| A2aError::internal("Internal error: a task has no form to be written in"))
}

impl From<rusqlite::Error> for A2aError {
    /// Leaves out what SQLite says: its text may repeat words of a message.
    fn from(error: rusqlite::Error) -> Self {
        let is_full = error.sqlite_error_code() == Some(ErrorCode::DiskFull);
        Self::internal(match is_full {
            true => "Internal error: the disk is full where the tasks are",
            false => "Internal error: the database of the tasks cannot be read or written",
        })
    }
}

pub(super) fn number(value: i64) -> u64 {
    value.unsigned_abs()
}

pub(super) fn row(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The form of the database, as `SCHEMA` makes it.
const VERSION: i64 = 1;
/// Events of one task that a stream can resume from.
pub(super) const EVENTS_MAX: usize = 256;
/// Bytes of the words that are not written.
const UNWRITTEN_MAX: usize = 64 << 20;
// `secure_delete` overwrites the text of deleted tasks on disk. Without `foreign_keys`, SQLite ignores ON DELETE CASCADE.
const SETTINGS: &str = "\
    PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
    PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON;";
const SCHEMA: &str = "\
    PRAGMA user_version = 1;
    CREATE TABLE IF NOT EXISTS tasks (
        id TEXT PRIMARY KEY, caller TEXT NOT NULL, peer TEXT NOT NULL, context TEXT NOT NULL, state TEXT NOT NULL,
        is_over INTEGER NOT NULL, updated INTEGER NOT NULL, seq INTEGER NOT NULL, bytes INTEGER NOT NULL,
        record TEXT NOT NULL) STRICT;
    CREATE INDEX IF NOT EXISTS tasks_of ON tasks (caller, peer, updated DESC, id DESC);
    CREATE INDEX IF NOT EXISTS tasks_over ON tasks (is_over, updated);
    CREATE TABLE IF NOT EXISTS calls (
        key TEXT PRIMARY KEY, task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE, message TEXT,
        is_open INTEGER NOT NULL, request TEXT) STRICT;
    CREATE INDEX IF NOT EXISTS calls_open ON calls (is_open);
    CREATE INDEX IF NOT EXISTS calls_of ON calls (task);
    CREATE TABLE IF NOT EXISTS events (
        task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE, seq INTEGER NOT NULL, event TEXT NOT NULL,
        PRIMARY KEY (task, seq)) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS pushes (
        task TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE, id TEXT NOT NULL, is_v1 INTEGER NOT NULL,
        sent INTEGER NOT NULL, config TEXT NOT NULL, PRIMARY KEY (task, id)) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS offered (peer TEXT PRIMARY KEY, capabilities TEXT NOT NULL) STRICT, WITHOUT ROWID;
";
