//! The rows of one table, brought to what a snapshot says without ever having all of them in memory.

use std::collections::VecDeque;

use rusqlite::{CachedStatement, Connection, Transaction, params};
use signet_proto::node::Row;

/// The rows that a table has, by key, a page at a time, while others take their places.
pub(super) struct StoredRows<'d> {
    deal: &'d Transaction<'d>,
    table: &'static str,
    page: VecDeque<(String, String)>,
    /// The last key that was read; none when all was.
    last: Option<String>,
    /// What puts a row in, once one was.
    insert: Option<CachedStatement<'d>>,
}

impl<'d> StoredRows<'d> {
    pub(super) fn of(deal: &'d Transaction<'d>, table: &'static str) -> Self {
        Self {
            deal,
            table,
            page: VecDeque::new(),
            last: Some(String::new()),
            insert: None,
        }
    }

    /// Drops what stands before the row, and puts it into its place. Returns how many changed.
    pub(super) fn replace(&mut self, row: &Row) -> rusqlite::Result<usize> {
        let mut changed = 0;
        while let Some((key, value)) = self.next_up_to(&row.key)? {
            // Most rows stay the same from one snapshot to the next: do not write a row anew that is equal.
            if key == row.key && value == row.value {
                return Ok(changed);
            }
            if key == row.key {
                break;
            }
            changed += self.drop_row(&key)?;
        }
        let insert = match &mut self.insert {
            Some(insert) => insert,
            none => none.insert(prepare(self.deal, self.table)?),
        };
        insert.execute(params![row.key, row.value])?;
        Ok(changed + 1)
    }

    pub(super) fn drop_rest(&mut self) -> rusqlite::Result<usize> {
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

pub(super) fn put(db: &Connection, table: &str, key: &str, value: &str) -> rusqlite::Result<()> {
    let mut insert = prepare(db, table)?;
    insert.execute(params![key, value]).map(drop)
}

fn prepare<'d>(db: &'d Connection, table: &str) -> rusqlite::Result<CachedStatement<'d>> {
    let insert = format!("INSERT OR REPLACE INTO {table} (key, value) VALUES (?1, ?2)");
    db.prepare_cached(&insert)
}

/// How many rows are read at once: one of message-ids has up to 19 KB, one of a message more.
const PAGE: usize = 32;
