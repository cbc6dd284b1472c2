//! The rows that were stored, one after another and never all in memory.

use std::vec;

use data_encoding::HEXLOWER;
use rusqlite::{Connection, params};
use sha2::{Digest as _, Sha256};
use signet_proto::node::{Read, TABLES};

use super::error::{StateError, damaged};

/// Every row of a database, by table and key, with a sum over all of them.
pub struct EachRow<'d> {
    db: &'d Connection,
    tables: vec::IntoIter<&'static str>,
    /// The table that is read, and the last key that was read in it.
    table: Option<(&'static str, String)>,
    page: vec::IntoIter<(String, String)>,
    hash: Sha256,
    /// The sum that was written down with the rows.
    kept: Option<String>,
    fault: Option<StateError>,
}

impl<'d> EachRow<'d> {
    pub(super) fn of(db: &'d Connection, kept: Option<String>) -> Self {
        Self {
            db,
            tables: TABLES.to_vec().into_iter(),
            table: None,
            page: Vec::new().into_iter(),
            hash: Sha256::new(),
            kept,
            fault: None,
        }
    }

    /// Whether they were all there, as they were written: to be asked when they have been told.
    ///
    /// # Errors
    /// [`StateError::Damaged`].
    pub fn end(self) -> Result<(), StateError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let hash = HEXLOWER.encode(&self.hash.finalize());
        match self.kept {
            Some(kept) if kept == hash => Ok(()),
            _ => Err(StateError::Damaged("rows were changed or lost".to_owned())),
        }
    }

    fn read_page(&self, table: &str, last: &str) -> rusqlite::Result<Vec<(String, String)>> {
        let query =
            format!("SELECT key, value FROM {table} WHERE key > ?1 ORDER BY key LIMIT {PAGE}");
        let mut query = self.db.prepare_cached(&query)?;
        // Go on by the last key and not by an offset: SQLite would count up to the offset anew for each page.
        let rows = query.query_map(params![last], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }
}

impl Iterator for EachRow<'_> {
    type Item = Read;

    fn next(&mut self) -> Option<Read> {
        loop {
            if let (Some((table, last)), Some((key, value))) = (&mut self.table, self.page.next()) {
                add(
                    &mut self.hash,
                    table,
                    [(key.as_str(), value.as_str())].into_iter(),
                );
                last.clone_from(&key);
                return Some(((*table).to_owned(), key, value));
            }
            let (table, last) = match self.table.take() {
                Some(table) => table,
                None => (self.tables.next()?, String::new()),
            };
            match self.read_page(table, &last) {
                Ok(page) => {
                    self.table = (!page.is_empty()).then_some((table, last));
                    self.page = page.into_iter();
                }
                Err(error) => {
                    // An iterator of rows cannot give an error: let the rows end here, and keep the error for `end`.
                    self.fault = Some(damaged(error));
                    return None;
                }
            }
        }
    }
}

/// Every row counts, in the order of its table and key.
pub(super) fn add<'r>(
    hash: &mut Sha256,
    table: &str,
    rows: impl Iterator<Item = (&'r str, &'r str)>,
) {
    for (key, value) in rows {
        for part in [table, key, value] {
            // Hash the length of each part too: otherwise bytes could move from one part to the next without changing the sum.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
}

/// How many rows are read at once: one of message-ids has up to 19 KB, one of a message more.
const PAGE: usize = 32;
