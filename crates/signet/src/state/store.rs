//! The database: one table a kind of row, and where in the log they end.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use signet_audit::{Head, LogPosition};
use signet_proto::ids::{AgentId, Digest};
use signet_proto::node::{ROWS_VERSION, Read, Row, TABLES};

use super::each_row::{EachRow, add};
use super::error::{StateError, damaged};
use super::open::{
    FLAGS, below_its_folder, demand_present, is_there, open_untouched, refuse_newer, version_of,
};
use super::rows::{StoredRows, put};

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
        // Check before SQLite opens the file for writing: opening alone may already write what is in a `-wal` file into it.
        refuse_newer(path)?;
        let db = Connection::open_with_flags(below_its_folder(path), FLAGS).map_err(damaged)?;
        // A newer release that was killed may leave its last writes in a `-wal` file. Closing the database would write them
        // into the database file, which has to stay as it is: so forbid that until the version is known.
        let keep = |keeps| db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps);
        keep(true).map_err(damaged)?;
        let version = version_of(&db, path)?;
        keep(false).map_err(damaged)?;
        let store = Self { db };
        // One fault is enough to make the state again, so the check ends at the first.
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
        // Remove the `-wal` of an old database too: SQLite would write it into the new database.
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
        // Make the file before SQLite opens it: SQLite would make it with the mode that the umask leaves.
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
        // Make the tables in one transaction: a crash leaves all of them, or a database of version 0, which counts as empty.
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
        // Compare the position with its checksum, if there is one: an older release wrote none, so a missing one is no damage.
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
        let mut each = self.each_row()?;
        let rows = each.by_ref().collect();
        each.end().map(|()| rows)
    }

    /// Looks at every row, and keeps none.
    ///
    /// # Errors
    /// [`StateError::Damaged`].
    pub fn demand_whole(&self) -> Result<(), StateError> {
        let mut each = self.each_row()?;
        each.by_ref().for_each(drop);
        each.end()
    }

    /// Every row, one after another. What is damaged ends them early, and `EachRow::end` says so.
    ///
    /// # Errors
    /// [`StateError::Damaged`].
    pub fn each_row(&self) -> Result<EachRow<'_>, StateError> {
        Ok(EachRow::of(&self.db, self.meta("rows")?))
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
                // All rows that are left here have keys after the snapshot's last one: the node has forgotten them, so delete
                // them.
                changed += kept.drop_rest()?;
            }
            let sum = HEXLOWER.encode(&hash.finalize());
            let (seq, hash) = (position.head.seq.to_string(), position.head.hash.to_hex());
            let offset = position.offset.to_string();
            // Write the sum and the position in the log in the transaction of the rows: after a
            // crash, all three are of the same moment.
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
            // A failed write does not mean that the stored rows are damaged: report it as refused, so that the state is not
            // thrown away.
            StateError::Damaged(what) => StateError::Refused(what),
            other => other,
        })
    }

    /// A crash of the machine may cost the newest rows, never the rest of them: the log goes on from
    /// where they end.
    fn prepare(&self) -> Result<(), StateError> {
        let mode: String = self.pragma("PRAGMA journal_mode = WAL")?;
        // A lost newest transaction costs only lines to read again, so do not fsync for each. Deleted rows held words of
        // messages, so overwrite them. A large snapshot must not leave its large `-wal` behind.
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
}

/// A wrong byte in the state's place in the log must not pass for a log that went back.
fn sum_of(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, META, parts.iter().map(|part| (*part, "")));
    HEXLOWER.encode(&hash.finalize())
}

/// About the rows themselves.
const META: &str = "meta";
