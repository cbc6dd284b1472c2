//! The file of the index, and who may read it.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::ViewError;
use crate::fault::at;

/// Where the index stands.
#[derive(Clone, Debug)]
pub(crate) struct IndexStore {
    path: PathBuf,
}

impl IndexStore {
    /// The index in this folder, made where it is missing: mode 0700 the folder, 0600 the file.
    ///
    /// An index of another release, or a damaged one, is removed: it is made from the logs again.
    ///
    /// # Errors
    /// When the folder cannot be made, others may write in it, or SQLite refuses.
    pub(crate) fn open(folder: &Path) -> Result<Self, ViewError> {
        use std::os::unix::fs::DirBuilderExt as _;
        let mut make = fs::DirBuilder::new();
        make.recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(at(folder))?;
        // SQLite reads whatever file it finds: a file that another user put there would be that user's word about the log.
        let facts = fs::metadata(folder).map_err(at(folder))?;
        if facts.mode() & 0o022 != 0 {
            return Err(ViewError::OpenFolder(folder.to_owned()));
        }
        let store = Self {
            path: folder.join(NAME),
        };
        if !store.is_sound() {
            store.forget()?;
        }
        // Make the file here: SQLite would take its mode from the umask. SQLite gives the files beside it the mode of
        // this file.
        let made = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&store.path)
            .map_err(at(&store.path))?;
        let facts = made.metadata().map_err(at(&store.path))?;
        if facts.mode() & 0o077 != 0 {
            use std::os::unix::fs::PermissionsExt as _;
            let private = fs::Permissions::from_mode(0o600);
            made.set_permissions(private).map_err(at(&store.path))?;
        }
        let db = store.writer()?;
        db.execute_batch(SCHEMA)
            .map_err(|source| store.fault(source))?;
        Ok(store)
    }

    /// Removes the index and what SQLite keeps beside it.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn forget(&self) -> Result<(), ViewError> {
        for end in ["", "-wal", "-shm", "-journal"] {
            let mut name = self.path.as_os_str().to_owned();
            name.push(end);
            let path = PathBuf::from(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(at(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The one connection that writes.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub(crate) fn writer(&self) -> Result<Connection, ViewError> {
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        // The index may lose its newest lines in a power cut: the log is durable, and the index reads them from it
        // again.
        let set = db.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;
             PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000;",
        );
        set.map_err(|source| self.fault(source))?;
        Ok(db)
    }

    /// A connection that reads.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub(crate) fn reader(&self) -> Result<Connection, ViewError> {
        let db = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let set = db.execute_batch(
            "PRAGMA query_only = ON; PRAGMA cache_size = -4000; PRAGMA temp_store = MEMORY;",
        );
        set.map_err(|source| self.fault(source))?;
        Ok(db)
    }

    /// A connection that writes what a proof found, beside the one that writes lines.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub(crate) fn proofs(&self) -> Result<Connection, ViewError> {
        self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// As [`ViewError::Index`] of this file.
    pub(crate) fn fault(&self, source: rusqlite::Error) -> ViewError {
        ViewError::Index {
            path: self.path.clone(),
            source,
        }
    }

    fn connect(&self, how: OpenFlags) -> Result<Connection, ViewError> {
        let flags = how
            .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
        let db = Connection::open_with_flags(&self.path, flags);
        let db = db.map_err(|source| self.fault(source))?;
        let waits = db.busy_timeout(Duration::from_secs(5));
        waits.map_err(|source| self.fault(source))?;
        db.set_prepared_statement_cache_capacity(64);
        Ok(db)
    }

    /// Whether there is no index yet, or one that this release can go on with.
    fn is_sound(&self) -> bool {
        if fs::symlink_metadata(&self.path).is_err() {
            return true;
        }
        let found = self
            .connect(OpenFlags::SQLITE_OPEN_READ_WRITE)
            .and_then(|db| {
                let version = db.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0));
                version.map_err(|source| self.fault(source))
            });
        matches!(found, Ok(0 | VERSION))
    }
}

const NAME: &str = "view.db";
/// Rises with every change of the tables.
const VERSION: u32 = 2;

/// A line's `id` is its log's number and its own: `log << 40 | seq`, so that the lines of one log stand in their order.
/// `post` has, for each word and each 4,096 lines, which of them have the word, two bytes each.
const SCHEMA: &str = "
PRAGMA user_version = 2;
CREATE TABLE IF NOT EXISTS log (
    id INTEGER PRIMARY KEY, dir TEXT NOT NULL UNIQUE, agent TEXT, person TEXT, words TEXT,
    top_file TEXT, top_offset INTEGER, top_seq INTEGER, top_hash BLOB, top_at INTEGER,
    low_file TEXT, low_offset INTEGER, low_seq INTEGER, low_prev BLOB,
    whole INTEGER NOT NULL DEFAULT 0, fault TEXT);
CREATE TABLE IF NOT EXISTS name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS file (id INTEGER PRIMARY KEY, log INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (log, name));
CREATE TABLE IF NOT EXISTS line (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,
    length INTEGER NOT NULL, hash INTEGER NOT NULL, what INTEGER NOT NULL, act INTEGER NOT NULL,
    peer INTEGER, tier INTEGER, sealed INTEGER NOT NULL, message TEXT, thread INTEGER,
    summary TEXT, reason INTEGER, count INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS line_thread ON line (thread, id) WHERE thread IS NOT NULL;
CREATE INDEX IF NOT EXISTS line_peer ON line (peer, id) WHERE peer IS NOT NULL;
CREATE INDEX IF NOT EXISTS line_rare ON line (what, id) WHERE what > 1;
CREATE INDEX IF NOT EXISTS line_tier ON line (tier, id) WHERE tier > 2;
CREATE TABLE IF NOT EXISTS thread (
    id INTEGER PRIMARY KEY, log INTEGER NOT NULL, key TEXT NOT NULL, peer INTEGER, last INTEGER NOT NULL,
    at INTEGER NOT NULL, messages INTEGER NOT NULL, asked INTEGER NOT NULL, answered INTEGER NOT NULL,
    tier INTEGER NOT NULL, UNIQUE (log, key));
CREATE INDEX IF NOT EXISTS thread_at ON thread (at);
CREATE INDEX IF NOT EXISTS thread_peer ON thread (peer, at);
CREATE TABLE IF NOT EXISTS peer (
    log INTEGER NOT NULL, name INTEGER NOT NULL, person TEXT, words TEXT, change TEXT, standing INTEGER NOT NULL DEFAULT 0,
    first INTEGER, heard INTEGER NOT NULL DEFAULT 0, theirs INTEGER NOT NULL DEFAULT 0, ours INTEGER NOT NULL DEFAULT 0,
    they_grant TEXT, we_grant TEXT, PRIMARY KEY (log, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS draft (
    log INTEGER NOT NULL, message TEXT NOT NULL, line INTEGER, until INTEGER, decided INTEGER,
    PRIMARY KEY (log, message)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS alarm (
    log INTEGER NOT NULL, peer INTEGER NOT NULL, what TEXT NOT NULL, line INTEGER NOT NULL, rings INTEGER NOT NULL,
    PRIMARY KEY (log, peer, what)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sent (
    log INTEGER NOT NULL, session INTEGER NOT NULL, number INTEGER NOT NULL, line INTEGER NOT NULL,
    PRIMARY KEY (log, session, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS excepted (
    log INTEGER NOT NULL, session INTEGER NOT NULL, number INTEGER NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (log, session, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tally (
    log INTEGER NOT NULL, quarter INTEGER NOT NULL, what INTEGER NOT NULL, name INTEGER NOT NULL, tier INTEGER NOT NULL,
    n INTEGER NOT NULL, PRIMARY KEY (log, quarter, what, name, tier)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS post (
    word TEXT NOT NULL, block INTEGER NOT NULL, lines BLOB NOT NULL, PRIMARY KEY (word, block)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS proof (log INTEGER PRIMARY KEY, at INTEGER NOT NULL, report TEXT NOT NULL);
";
