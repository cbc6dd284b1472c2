//! Numbers for names: a peer stands in the index once, however many lines are about it.

use std::collections::HashMap;

use rusqlite::Transaction;

/// Numbers for names that come again and again.
#[derive(Default)]
pub(super) struct Names(HashMap<String, i64>);

impl Names {
    /// The number of a name, given to it now where it has none.
    pub(super) fn of(&mut self, turn: &Transaction<'_>, text: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.0.get(text) {
            return Ok(*id);
        }
        // Strangers choose names: keep no more of them in memory than this, and ask the table for the others.
        if self.0.len() >= MOST_NAMES {
            self.0.clear();
        }
        let id = turn
            .prepare_cached(
                "INSERT INTO name (text) VALUES (?1) ON CONFLICT DO UPDATE SET text = excluded.text RETURNING id",
            )?
            .query_row([text], |row| row.get(0))?;
        self.0.insert(text.to_owned(), id);
        Ok(id)
    }

    /// As [`Names::of`], where there is a name.
    pub(super) fn maybe(
        &mut self,
        turn: &Transaction<'_>,
        text: Option<&str>,
    ) -> rusqlite::Result<Option<i64>> {
        text.map(|text| self.of(turn, text)).transpose()
    }

    /// Forgets all numbers: after a transaction that failed, some of them were never given.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

const MOST_NAMES: usize = 10_000;
