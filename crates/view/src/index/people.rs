//! Known agents, as the log has them.

use rusqlite::{Row, params};

use super::ask::{COLUMNS, IndexReader, IndexedLine, STRANGER};
use crate::ViewError;

/// Another agent, from the side of one log.
#[derive(Clone, Debug)]
pub(crate) struct AgentOfLog {
    pub(crate) log: i64,
    /// The agent.
    pub(crate) agent: String,
    /// For whom it acts, as far as it was proved or claimed with a certificate.
    pub(crate) person: Option<String>,
    /// The words of that person's root key.
    pub(crate) words: Option<String>,
    /// The last change of its standing, by its name in the log.
    pub(crate) change: Option<String>,
    /// The line with which it became known.
    pub(crate) first: Option<i64>,
    /// When it was heard last; 0 for never.
    pub(crate) heard: i64,
    /// The capabilities that it grants to this log's agent, as its last flight said.
    pub(crate) they_grant: Option<String>,
    /// The capabilities that this log's agent grants to it, likewise.
    pub(crate) we_grant: Option<String>,
}

impl AgentOfLog {
    /// For people: the person, or the agent.
    pub(crate) fn name(&self) -> &str {
        self.person.as_deref().unwrap_or(&self.agent)
    }

    /// Whether its messages are taken.
    pub(crate) fn is_trusted(&self) -> bool {
        matches!(
            self.change.as_deref(),
            Some("bound" | "root-succeeded" | "root-replaced")
        )
    }
}

const PEOPLE: &str =
    "SELECT p.log, n.text, p.person, p.words, p.change, p.first, p.heard, p.they_grant, p.we_grant
    FROM peer p JOIN name n ON n.id = p.name";

fn person(row: &Row<'_>) -> rusqlite::Result<AgentOfLog> {
    Ok(AgentOfLog {
        log: row.get(0)?,
        agent: row.get(1)?,
        person: row.get(2)?,
        words: row.get(3)?,
        change: row.get(4)?,
        first: row.get(5)?,
        heard: row.get(6)?,
        they_grant: row.get(7)?,
        we_grant: row.get(8)?,
    })
}

impl IndexReader {
    /// Those of whom a `trust` line speaks, or who were heard: who was heard last comes first.
    pub(crate) fn people(&self, most: u32) -> Result<Vec<AgentOfLog>, ViewError> {
        let sql = format!(
            "{PEOPLE} ORDER BY (p.change = ?2) DESC, p.heard DESC, p.standing DESC LIMIT ?1"
        );
        self.rows(&sql, params![most, STRANGER], person)
    }

    /// One of them.
    pub(crate) fn person(&self, log: i64, agent: &str) -> Result<Option<AgentOfLog>, ViewError> {
        let sql =
            format!("{PEOPLE} WHERE p.log = ?1 AND p.name = (SELECT id FROM name WHERE text = ?2)");
        self.row(&sql, params![log, agent], person)
    }

    /// The changes of its standing, newest first.
    pub(crate) fn standings(&self, log: i64, agent: &str) -> Result<Vec<IndexedLine>, ViewError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM line l INDEXED BY line_rare WHERE l.what = 5 AND l.what > 1
             AND l.peer = (SELECT id FROM name WHERE text = ?2) AND l.id >> 40 = ?1 ORDER BY l.id DESC LIMIT 20"
        );
        self.rows(&sql, params![log, agent], IndexedLine::read)
    }

    /// How many messages came from it and left to it.
    pub(crate) fn traffic(&self, log: i64, agent: &str) -> Result<(u64, u64), ViewError> {
        let sql = "SELECT ifnull(sum(CASE what WHEN 0 THEN n END), 0), ifnull(sum(CASE what WHEN 1 THEN n END), 0)
                   FROM tally WHERE log = ?1 AND name = (SELECT id FROM name WHERE text = ?2) AND what < 2";
        let found = self.row(sql, params![log, agent], |row| {
            Ok((
                row.get::<_, i64>(0)?.cast_unsigned(),
                row.get::<_, i64>(1)?.cast_unsigned(),
            ))
        })?;
        Ok(found.unwrap_or_default())
    }
}
