//! The database: one table a kind of row, and where in the log they end.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, params};
use sha2::{Digest as _, Sha256};
use signet_audit::{Head, LogPosition};
use signet_proto::ids::{AgentId, Digest};
use signet_proto::node::{ROWS_VERSION, Read, Row, TABLES};

/// The state cannot be used, or not be written. The log has everything.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// There is none yet.
    #[error("there is no state yet")]
    Missing,
    /// Nothing was written to it that reached the disk.
    #[error(
        "the state is empty: what was written to it never reached the disk, as after a power cut"
    )]
    Empty,
    /// In the place of one of its files stands something that never ends, or leads elsewhere.
    #[error("{}: it is no plain file, and the state is made of plain files", .0.display())]
    NotPlain(PathBuf),
    /// An earlier release wrote it.
    #[error("the state was written by an earlier release")]
    Older,
    /// A later release wrote it: what this one made of it would lack what that one knows.
    #[error(
        "{}: the state is of version {version}, from a newer signet; this one reads version {ROWS_VERSION}", path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// Of another agent.
    #[error("the state is another agent's")]
    OtherAgent,
    /// It is no database, or a damaged one.
    #[error("the state is damaged: {0}")]
    Damaged(String),
    /// Its rows go to a line that the log does not have.
    #[error("the state does not fit the log")]
    Unfit,
    /// A row cannot be read.
    #[error(transparent)]
    Row(#[from] signet_proto::node::RestoreError),
    /// There is no room to open it or to write it.
    #[error("the disk is full where the state is")]
    Full,
    /// The database or the system, which may be sound another time.
    #[error("the state cannot be read or written: {0}")]
    Refused(String),
}

impl StateError {
    /// Whether the rows are of no use, so that they are made again; else they may be sound another time.
    pub const fn is_lost(&self) -> bool {
        !matches!(
            self,
            Self::Full | Self::Refused(_) | Self::Newer { .. } | Self::NotPlain(_)
        )
    }
}

/// An open database.
#[derive(Debug)]
pub struct StateStore {
    db: Connection,
}

impl StateStore {
    /// Opens the database in `path`, as [`StateStore::replace`] left it.
    ///
    /// # Errors
    /// [`StateError::Missing`], [`StateError::Damaged`], [`StateError::Older`] or
    /// [`StateError::OtherAgent`]: then [`StateStore::create`] makes a new one. [`StateError::Newer`]: then nothing was
    /// written to it.
    pub fn open(path: &Path, agent: &AgentId) -> Result<Self, StateError> {
        if !is_there(path)? {
            return Err(StateError::Missing);
        }
        refuse_newer(path)?;
        let db = Connection::open_with_flags(below_its_folder(path), FLAGS).map_err(damaged)?;
        // What a newer release was killed over waits beside the file, and stays there: closing would move it in.
        let keep = |keeps| db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps);
        keep(true).map_err(damaged)?;
        let version = version_of(&db, path)?;
        keep(false).map_err(damaged)?;
        let store = Self { db };
        let sound: String = store.pragma("PRAGMA quick_check(1)")?;
        if sound != "ok" {
            return Err(StateError::Damaged(sound));
        }
        demand_present(version)?;
        if store.meta("agent")?.as_deref() != Some(agent.as_str()) {
            return Err(StateError::OtherAgent);
        }
        store.prepare()?;
        Ok(store)
    }

    /// Position and rows of a database that nobody has open, without a write: what a killed daemon left
    /// beside the file is not read, and the log tells it again.
    ///
    /// # Errors
    /// As for [`StateStore::open`].
    pub fn glance(path: &Path, agent: &AgentId) -> Result<(LogPosition, Vec<Read>), StateError> {
        if !is_there(path)? {
            return Err(StateError::Missing);
        }
        let db = open_untouched(path)?;
        demand_present(version_of(&db, path)?)?;
        let store = Self { db };
        if store.meta("agent")?.as_deref() != Some(agent.as_str()) {
            return Err(StateError::OtherAgent);
        }
        let position = store.position()?.ok_or(StateError::Missing)?;
        Ok((position, store.rows()?))
    }

    /// An empty database in `path`, for its owner alone. What is there goes.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(path: &Path, agent: &AgentId) -> Result<Self, StateError> {
        let refused = |what: &dyn std::fmt::Display| StateError::Refused(what.to_string());
        for end in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(end);
            match fs::remove_file(PathBuf::from(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(refused(&error));
                }
                _ => {}
            }
        }
        let mut options = fs::OpenOptions::new();
        let options = options.write(true).create_new(true).mode(0o600);
        options.open(path).map_err(|error| refused(&error))?;
        let db = Connection::open_with_flags(below_its_folder(path), FLAGS)
            .map_err(|error| refused(&error))?;
        let store = Self { db };
        store.prepare()?;
        let mut schema = format!("PRAGMA user_version = {ROWS_VERSION};");
        for table in TABLES.into_iter().chain([META]) {
            schema.push_str(&format!(
                "CREATE TABLE {table} (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
            ));
        }
        let made = store.db.execute_batch(&format!("BEGIN; {schema} COMMIT;"));
        made.and_then(|()| put(&store.db, META, "agent", agent.as_str()))
            .map_err(|error| refused(&error))?;
        Ok(store)
    }

    /// Renames the database in `path`: it knows of lines that the log has lost.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_aside(path: &Path) -> Result<(), StateError> {
        for end in ["", "-wal", "-shm"] {
            let name = |stem: &str| {
                let mut name = path.as_os_str().to_owned();
                name.push(stem);
                name.push(end);
                PathBuf::from(name)
            };
            match fs::rename(name(""), name(".lost")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StateError::Refused(error.to_string()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where in the log the rows end; `None` before the first [`StateStore::replace`].
    ///
    /// # Errors
    /// [`StateError::Damaged`].
    pub fn position(&self) -> Result<Option<LogPosition>, StateError> {
        let mut members = BTreeMap::new();
        for name in ["file", "offset", "seq", "sha256"] {
            members.insert(name, self.meta(name)?);
        }
        let mut text = |name| members.remove(name).flatten();
        let (file, offset, seq, hash) = (text("file"), text("offset"), text("seq"), text("sha256"));
        let (Some(file), Some(offset), Some(seq), Some(hash)) = (file, offset, seq, hash) else {
            return Ok(None);
        };
        let number = |text: &str| {
            let number = text.parse::<u64>();
            number.map_err(|_| StateError::Damaged("a position is no number".to_owned()))
        };
        // An older release wrote no sum.
        let sum = sum_of(&[&file, &offset, &seq, &hash]);
        if self.meta("position")?.is_some_and(|kept| kept != sum) {
            return Err(StateError::Damaged(
                "its place in the log was changed".to_owned(),
            ));
        }
        let hash = Digest::from_hex(&hash);
        let hash = hash.map_err(|_| StateError::Damaged("a hash is none".to_owned()))?;
        let seq = number(&seq)?;
        Ok(Some(LogPosition {
            file,
            offset: number(&offset)?,
            head: Head { seq, hash },
        }))
    }

    /// Every row.
    ///
    /// # Errors
    /// [`StateError::Damaged`].
    pub fn rows(&self) -> Result<Vec<Read>, StateError> {
        let mut rows = Vec::new();
        let mut hash = Sha256::new();
        for table in TABLES {
            let read = self.table(table)?;
            let known = read
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()));
            add(&mut hash, table, known);
            rows.extend(
                read.into_iter()
                    .map(|(key, value)| (table.to_owned(), key, value)),
            );
        }
        let hash = HEXLOWER.encode(&hash.finalize());
        match self.meta("rows")? {
            Some(kept) if kept == hash => Ok(rows),
            _ => Err(StateError::Damaged("rows were changed or lost".to_owned())),
        }
    }

    /// Makes the rows those of a snapshot that ends at `position`: what is the same stays untouched,
    /// and a crash leaves the rows as they were before or as they are now. They come by the order of
    /// [`TABLES`] and by their keys, and are never all in memory. Returns how many changed.
    ///
    /// # Errors
    /// When the database or the system refuses; then the rows are as they were.
    pub fn replace(
        &mut self,
        position: &LogPosition,
        rows: impl IntoIterator<Item = Row>,
    ) -> Result<usize, StateError> {
        let mut rows = rows.into_iter().peekable();
        let mut hash = Sha256::new();
        let changed = self.db.transaction().and_then(|deal| {
            let mut changed = 0;
            for table in TABLES {
                let mut kept = StoredRows::of(&deal, table);
                while let Some(row) = rows.next_if(|row| row.table == table) {
                    let parts = (row.key.as_str(), row.value.as_str());
                    add(&mut hash, table, [parts].into_iter());
                    changed += kept.replace(&row)?;
                }
                changed += kept.drop_rest()?;
            }
            let sum = HEXLOWER.encode(&hash.finalize());
            let (seq, hash) = (position.head.seq.to_string(), position.head.hash.to_hex());
            let offset = position.offset.to_string();
            put(&deal, META, "rows", &sum)?;
            let place = sum_of(&[&position.file, &offset, &seq, &hash]);
            put(&deal, META, "position", &place)?;
            put(&deal, META, "file", &position.file)?;
            put(&deal, META, "offset", &offset)?;
            put(&deal, META, "seq", &seq)?;
            put(&deal, META, "sha256", &hash)?;
            deal.commit().map(|()| changed)
        });
        changed.map_err(|error| match damaged(error) {
            StateError::Damaged(what) => StateError::Refused(what),
            other => other,
        })
    }

    /// A crash of the machine may cost the newest rows, never the rest of them: the log goes on from
    /// where they end.
    fn prepare(&self) -> Result<(), StateError> {
        let mode: String = self.pragma("PRAGMA journal_mode = WAL")?;
        let pragmas = "PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST; \
                       PRAGMA journal_size_limit = 16777216;";
        if mode != "wal" {
            return Err(StateError::Damaged(format!("journal mode {mode}")));
        }
        self.db.execute_batch(pragmas).map_err(damaged)
    }

    fn pragma<T: rusqlite::types::FromSql>(&self, pragma: &str) -> Result<T, StateError> {
        self.db
            .query_row(pragma, [], |row| row.get(0))
            .map_err(damaged)
    }

    fn meta(&self, name: &str) -> Result<Option<String>, StateError> {
        let query = format!("SELECT value FROM {META} WHERE key = ?1");
        let found = self.db.query_row(&query, params![name], |row| row.get(0));
        found.optional().map_err(damaged)
    }

    fn table(&self, table: &str) -> Result<Vec<(String, String)>, StateError> {
        let query = format!("SELECT key, value FROM {table} ORDER BY key");
        let mut query = self.db.prepare(&query).map_err(damaged)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let rows = rows.map_err(damaged)?;
        rows.collect::<Result<_, _>>().map_err(damaged)
    }
}

/// Opens a database so that nothing beside it or in it is written, and what waits beside it is not read.
fn open_untouched(path: &Path) -> Result<Connection, StateError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        .union(OpenFlags::SQLITE_OPEN_URI)
        .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
    Connection::open_with_flags(uri(&below_its_folder(path)), flags).map_err(damaged)
}

/// Whether there is a state. SQLite waits for a writer where a pipe stands in the place of one of its files.
fn is_there(path: &Path) -> Result<bool, StateError> {
    for end in ["-wal", "-shm", "-journal", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        match fs::symlink_metadata(&name) {
            Ok(facts) if !facts.is_file() => return Err(StateError::NotPlain(name.into())),
            Ok(_) => {}
            Err(_) if end.is_empty() => return Ok(false),
            Err(_) => {}
        }
    }
    Ok(true)
}

/// SQLite says 0 of a database in which nothing was written yet.
fn demand_present(version: u32) -> Result<(), StateError> {
    match version {
        ROWS_VERSION => Ok(()),
        0 => Err(StateError::Empty),
        _ => Err(StateError::Older),
    }
}

/// Refuses what a newer release left by a clean stop, before SQLite makes a file beside it.
fn refuse_newer(path: &Path) -> Result<(), StateError> {
    match open_untouched(path).and_then(|db| version_of(&db, path)) {
        Err(newer @ StateError::Newer { .. }) => Err(newer),
        // What else is wrong with it shows when it is opened.
        _ => Ok(()),
    }
}

/// The version of the rows, if this release can know it.
fn version_of(db: &Connection, path: &Path) -> Result<u32, StateError> {
    let version = db.query_row("PRAGMA user_version", [], |row| row.get(0));
    match version.map_err(damaged)? {
        version if version > ROWS_VERSION => Err(StateError::Newer {
            path: path.to_owned(),
            version,
        }),
        version => Ok(version),
    }
}

/// The rows that a table has, by key, a page at a time, while others take their places.
struct StoredRows<'d> {
    deal: &'d Transaction<'d>,
    table: &'static str,
    page: VecDeque<(String, String)>,
    /// The last key that was read; none when all was.
    last: Option<String>,
}

impl<'d> StoredRows<'d> {
    fn of(deal: &'d Transaction<'d>, table: &'static str) -> Self {
        Self {
            deal,
            table,
            page: VecDeque::new(),
            last: Some(String::new()),
        }
    }

    /// Drops what stands before the row, and puts it into its place. Returns how many changed.
    fn replace(&mut self, row: &Row) -> rusqlite::Result<usize> {
        let mut changed = 0;
        while let Some((key, value)) = self.next_up_to(&row.key)? {
            if key == row.key && value == row.value {
                return Ok(changed);
            }
            if key == row.key {
                break;
            }
            changed += self.drop_row(&key)?;
        }
        put(self.deal, self.table, &row.key, &row.value)?;
        Ok(changed + 1)
    }

    fn drop_rest(&mut self) -> rusqlite::Result<usize> {
        let mut changed = 0;
        while self.fill()? {
            for (key, _) in std::mem::take(&mut self.page) {
                changed += self.drop_row(&key)?;
            }
        }
        Ok(changed)
    }

    fn next_up_to(&mut self, key: &str) -> rusqlite::Result<Option<(String, String)>> {
        self.fill()?;
        let front = self.page.front();
        let is_next = front.is_some_and(|(known, _)| known.as_str() <= key);
        Ok(is_next.then(|| self.page.pop_front()).flatten())
    }

    /// Reads on when a page is used up. Says whether there is anything.
    fn fill(&mut self) -> rusqlite::Result<bool> {
        if let Some(last) = self.last.take_if(|_| self.page.is_empty()) {
            let query = format!(
                "SELECT key, value FROM {} WHERE key > ?1 ORDER BY key LIMIT {PAGE}",
                self.table
            );
            let mut query = self.deal.prepare_cached(&query)?;
            let page = query.query_map(params![last], |row| Ok((row.get(0)?, row.get(1)?)))?;
            self.page = page.collect::<Result<_, _>>()?;
            self.last = self.page.back().map(|(key, _)| key.clone());
        }
        Ok(!self.page.is_empty())
    }

    fn drop_row(&self, key: &str) -> rusqlite::Result<usize> {
        let remove = format!("DELETE FROM {} WHERE key = ?1", self.table);
        self.deal.prepare_cached(&remove)?.execute(params![key])
    }
}

fn put(db: &Connection, table: &str, key: &str, value: &str) -> rusqlite::Result<()> {
    let insert = format!("INSERT OR REPLACE INTO {table} (key, value) VALUES (?1, ?2)");
    db.prepare_cached(&insert)?
        .execute(params![key, value])
        .map(drop)
}

/// A wrong byte in the state's place in the log must not pass for a log that went back.
fn sum_of(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, META, parts.iter().map(|part| (*part, "")));
    HEXLOWER.encode(&hash.finalize())
}

/// Every row counts, in the order of its table and key.
fn add<'r>(hash: &mut Sha256, table: &str, rows: impl Iterator<Item = (&'r str, &'r str)>) {
    for (key, value) in rows {
        for part in [table, key, value] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
}

/// What the disk or the system refuses is no damage: the rows may be sound.
fn damaged(error: rusqlite::Error) -> StateError {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, OutOfMemory, PermissionDenied,
        ReadOnly, SystemIoFailure,
    };
    match error.sqlite_error_code() {
        Some(DiskFull) => StateError::Full,
        Some(SystemIoFailure) if NO_ROOM.contains(&extended(&error)) => StateError::Full,
        Some(
            CannotOpen | DatabaseBusy | DatabaseLocked | OutOfMemory | PermissionDenied | ReadOnly
            | SystemIoFailure,
        ) => StateError::Refused(error.to_string()),
        _ => StateError::Damaged(error.to_string()),
    }
}

fn extended(error: &rusqlite::Error) -> i32 {
    let error = error.sqlite_error();
    error.map_or(0, |error| error.extended_code)
}

/// The shared memory beside the database could not be made or grown (SQLITE_IOERR_SHMOPEN,
/// SQLITE_IOERR_SHMSIZE), or a write found no room (SQLITE_IOERR_WRITE).
const NO_ROOM: [i32; 3] = [4618, 4874, 778];

/// How many rows are read at once.
const PAGE: usize = 256;
/// About the rows themselves.
const META: &str = "meta";
/// SQLite follows no link on the whole way to a file. Which folder the home is, its person said: a link at the
/// place of the file itself is what would lead to somebody else's.
fn below_its_folder(path: &Path) -> PathBuf {
    let folder = path.parent().map(fs::canonicalize).and_then(Result::ok);
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// SQLite's name for a file that does not change meanwhile.
fn uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    fn said(extended: i32) -> StateError {
        damaged(rusqlite::Error::SqliteFailure(
            ffi::Error::new(extended),
            None,
        ))
    }

    #[test]
    fn a_full_or_refusing_disk_is_no_damage_and_costs_no_rows() {
        for full in [ffi::SQLITE_FULL, 4618, 4874, 778] {
            assert!(matches!(said(full), StateError::Full), "{full}");
        }
        for refused in [ffi::SQLITE_IOERR, ffi::SQLITE_CANTOPEN, ffi::SQLITE_BUSY] {
            assert!(matches!(said(refused), StateError::Refused(_)), "{refused}");
        }
        for lost in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_ERROR] {
            assert!(said(lost).is_lost(), "{lost}");
        }
    }
}
