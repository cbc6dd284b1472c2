//! The questions that the pages ask of the index.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::batch::{QUARTER, SEQ_BITS};
use super::store::IndexStore;
use super::topic::{Act, LineTopic};
use crate::ViewError;
use crate::days::Days;

/// A log, and how far it is read.
#[derive(Clone, Debug)]
pub(crate) struct LogState {
    /// Its number in the index.
    pub(crate) id: i64,
    /// Its folder.
    pub(crate) dir: PathBuf,
    /// Whose it is: by its first line, or by the name of its folder until that is read.
    pub(crate) agent: String,
    /// For whom that agent acts, once its first line is read.
    pub(crate) person: Option<String>,
    /// The words of that person's root key, likewise.
    pub(crate) words: Option<String>,
    /// The newest line.
    pub(crate) top: u64,
    /// The oldest line that was read.
    pub(crate) low: u64,
    /// Whether all of it was read.
    pub(crate) is_whole: bool,
    /// The fault of the log, where it has one.
    pub(crate) fault: Option<String>,
}

impl LogState {
    /// For people: the person, or the agent.
    pub(crate) fn name(&self) -> &str {
        self.person.as_deref().unwrap_or(&self.agent)
    }
}

/// A line, as the index has it.
#[derive(Clone, Debug)]
pub(crate) struct IndexedLine {
    pub(crate) id: i64,
    /// Milliseconds since 1970.
    pub(crate) at: i64,
    pub(crate) what: LineTopic,
    pub(crate) act: Act,
    pub(crate) peer: Option<String>,
    pub(crate) tier: Option<u8>,
    pub(crate) sealed: bool,
    pub(crate) message: Option<String>,
    pub(crate) thread: Option<i64>,
    pub(crate) summary: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) count: u64,
    /// Where it stands in its log.
    pub(crate) place: LinePlace,
}

/// Where a line stands in its log.
#[derive(Clone, Debug)]
pub(crate) struct LinePlace {
    pub(crate) file: i64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// The first 64 bits of its hash.
    pub(crate) hash: i64,
}

impl IndexedLine {
    /// The number of its log in the index.
    pub(crate) const fn log(&self) -> i64 {
        self.id >> SEQ_BITS
    }

    /// Its own number in its log.
    pub(crate) const fn seq(&self) -> i64 {
        self.id & ((1 << SEQ_BITS) - 1)
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            at: row.get(1)?,
            what: LineTopic::of(row.get(2)?).unwrap_or(LineTopic::Note),
            act: Act::of(row.get(3)?),
            peer: row.get(4)?,
            tier: row.get(5)?,
            sealed: row.get(6)?,
            message: row.get(7)?,
            thread: row.get(8)?,
            summary: row.get(9)?,
            reason: row.get(10)?,
            count: row.get::<_, i64>(11)?.cast_unsigned(),
            place: LinePlace {
                file: row.get(12)?,
                offset: row.get::<_, i64>(13)?.cast_unsigned(),
                length: row.get(14)?,
                hash: row.get(15)?,
            },
        })
    }
}

/// The columns that [`IndexedLine::read`] wants.
pub(super) const COLUMNS: &str = "l.id, l.at, l.what, l.act, (SELECT text FROM name WHERE id = l.peer), l.tier, l.sealed, l.message,
    l.thread, l.summary, (SELECT text FROM name WHERE id = l.reason), l.count, l.file, l.offset, l.length, l.hash";

/// Messages that belong together, as the list of conversations shows them.
#[derive(Clone, Debug)]
pub(crate) struct IndexedThread {
    pub(crate) id: i64,
    pub(crate) log: i64,
    pub(crate) key: String,
    pub(crate) peer: Option<String>,
    pub(crate) at: i64,
    pub(crate) messages: i64,
    /// Whether something in it was asked and not answered.
    pub(crate) is_open: bool,
    pub(crate) tier: u8,
    /// The newest line.
    pub(crate) last: i64,
}

/// Everything that waits for the person, as far as the log knows.
#[derive(Debug, Default)]
pub(crate) struct WaitingForPerson {
    /// Strangers, with log and name.
    pub(crate) strangers: Vec<(i64, String)>,
    /// Drafts that want approval, and until when.
    pub(crate) drafts: Vec<(IndexedLine, i64)>,
    /// Alarms that ring.
    pub(crate) alarms: Vec<IndexedLine>,
    /// Requests of others that nobody answered.
    pub(crate) asked: Vec<IndexedThread>,
}

impl WaitingForPerson {
    /// How much waits for a decision of the person's.
    pub(crate) fn decisions(&self) -> usize {
        self.strangers.len() + self.drafts.len() + self.alarms.len()
    }
}

/// A connection that asks.
pub(crate) struct IndexReader {
    pub(super) db: Connection,
    store: IndexStore,
}

impl IndexReader {
    /// Opens one.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub(crate) fn open(store: &IndexStore) -> Result<Self, ViewError> {
        Ok(Self {
            db: store.reader()?,
            store: store.clone(),
        })
    }

    pub(super) fn fault(&self, source: rusqlite::Error) -> ViewError {
        self.store.fault(source)
    }

    /// Every row of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &str,
        with: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ViewError> {
        let rows = || -> rusqlite::Result<Vec<T>> {
            self.db
                .prepare_cached(sql)?
                .query_map(with, read)?
                .collect()
        };
        rows().map_err(|source| self.fault(source))
    }

    /// The first row of a query, where it has one.
    pub(super) fn row<T>(
        &self,
        sql: &str,
        with: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, ViewError> {
        let row = || {
            self.db
                .prepare_cached(sql)?
                .query_row(with, read)
                .optional()
        };
        row().map_err(|source| self.fault(source))
    }

    /// Every log.
    pub(crate) fn logs(&self) -> Result<Vec<LogState>, ViewError> {
        let sql = "SELECT id, dir, agent, person, words, ifnull(top_seq, 0), ifnull(low_seq, 0), whole, fault FROM log
                   ORDER BY id";
        self.rows(sql, [], |row| {
            let dir = PathBuf::from(row.get::<_, String>(1)?);
            let name = dir
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            Ok(LogState {
                id: row.get(0)?,
                agent: row.get::<_, Option<String>>(2)?.unwrap_or(name),
                dir,
                person: row.get(3)?,
                words: row.get(4)?,
                top: row.get::<_, i64>(5)?.cast_unsigned(),
                low: row.get::<_, i64>(6)?.cast_unsigned(),
                is_whole: row.get(7)?,
                fault: row.get(8)?,
            })
        })
    }

    /// One line.
    pub(crate) fn line(&self, id: i64) -> Result<Option<IndexedLine>, ViewError> {
        let sql = format!("SELECT {COLUMNS} FROM line l WHERE l.id = ?1");
        self.row(&sql, [id], IndexedLine::read)
    }

    /// The name of a month's file.
    pub(crate) fn file(&self, id: i64) -> Result<Option<String>, ViewError> {
        self.row("SELECT name FROM file WHERE id = ?1", [id], |row| {
            row.get(0)
        })
    }

    /// Conversations, newest first, those before a moment, with one peer or all.
    pub(crate) fn conversations(
        &self,
        peer: Option<&str>,
        before: i64,
        most: u32,
    ) -> Result<Vec<IndexedThread>, ViewError> {
        let all = format!("{THREADS} WHERE t.at < ?1 ORDER BY t.at DESC LIMIT ?2");
        let one = format!(
            "{THREADS} WHERE t.peer = (SELECT id FROM name WHERE text = ?3) AND t.at < ?1 ORDER BY t.at DESC LIMIT ?2"
        );
        match peer {
            None => self.rows(&all, params![before, most], conversation),
            Some(peer) => self.rows(&one, params![before, most, peer], conversation),
        }
    }

    /// One conversation.
    pub(crate) fn conversation(&self, id: i64) -> Result<Option<IndexedThread>, ViewError> {
        self.row(&format!("{THREADS} WHERE t.id = ?1"), [id], conversation)
    }

    /// The lines of a conversation in their order, from behind `after` on.
    pub(crate) fn thread(
        &self,
        id: i64,
        after: i64,
        most: u32,
    ) -> Result<Vec<IndexedLine>, ViewError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM line l WHERE l.thread = ?1 AND l.id > ?2 ORDER BY l.id LIMIT ?3"
        );
        self.rows(&sql, params![id, after, most], IndexedLine::read)
    }

    /// Everything that waits for the person at a moment.
    pub(crate) fn waiting(&self, now: i64) -> Result<WaitingForPerson, ViewError> {
        let strangers = self.rows(
            "SELECT p.log, n.text FROM peer p JOIN name n ON n.id = p.name WHERE p.change = ?1
             ORDER BY p.standing DESC LIMIT 40",
            [STRANGER],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let sql = format!(
            "SELECT {COLUMNS}, d.until FROM draft d JOIN line l ON l.id = d.line
             WHERE d.decided IS NULL AND d.until > ?1 ORDER BY l.at DESC LIMIT 40"
        );
        let drafts = self.rows(&sql, [now], |row| {
            Ok((IndexedLine::read(row)?, row.get(16)?))
        })?;
        let sql = format!(
            "SELECT {COLUMNS} FROM alarm a JOIN line l ON l.id = a.line WHERE a.rings ORDER BY l.at DESC LIMIT 40"
        );
        let alarms = self.rows(&sql, [], IndexedLine::read)?;
        // Look at the newest conversations only: what nobody answered for long is found in their list.
        let sql = format!(
            "{THREADS} JOIN line l ON l.id = t.last WHERE t.id IN (SELECT id FROM thread ORDER BY at DESC LIMIT 400)
             AND t.asked > t.answered AND l.what = 0 ORDER BY t.at DESC LIMIT 12"
        );
        let asked = self.rows(&sql, [], conversation)?;
        Ok(WaitingForPerson {
            strangers,
            drafts,
            alarms,
            asked,
        })
    }

    /// So many lines of a kind by the person's day, name and tier, from a day on.
    pub(crate) fn tally(
        &self,
        what: LineTopic,
        days: &Days,
        from: i64,
    ) -> Result<Vec<Tally>, ViewError> {
        let sql = "SELECT t.quarter, t.name, t.tier, t.n FROM tally t WHERE t.what = ?1 AND t.quarter >= ?2";
        let first = days.begin(from).div_euclid(QUARTER);
        let mut counts: BTreeMap<(i64, i64, u8), u64> = BTreeMap::new();
        self.rows(sql, params![what as u8, first], |row| {
            let day = days.day(row.get::<_, i64>(0)?.saturating_mul(QUARTER));
            let counted = counts.entry((day, row.get(1)?, row.get(2)?)).or_default();
            *counted += row.get::<_, i64>(3)?.cast_unsigned();
            Ok(())
        })?;
        let mut tallies = Vec::with_capacity(counts.len());
        for ((day, name, tier), n) in counts {
            let sql = "SELECT text FROM name WHERE id = ?1";
            let text = self.row(sql, [name], |row| row.get(0))?;
            tallies.push(Tally {
                day,
                name: text.unwrap_or_default(),
                tier,
                n,
            });
        }
        Ok(tallies)
    }

    /// The newest moment of any log.
    pub(crate) fn newest(&self) -> Result<Option<i64>, ViewError> {
        let found = self.row("SELECT max(top_at) FROM log", [], |row| {
            row.get::<_, Option<i64>>(0)
        })?;
        Ok(found.flatten())
    }

    /// The report of the last proof of a log, and when it was made.
    pub(crate) fn proof(&self, log: i64) -> Result<Option<(i64, String)>, ViewError> {
        let sql = "SELECT at, report FROM proof WHERE log = ?1";
        self.row(sql, [log], |row| Ok((row.get(0)?, row.get(1)?)))
    }
}

/// So many lines of one day, name and tier.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// Days since 1970, as the person has them.
    pub(crate) day: i64,
    /// A peer, or a reason.
    pub(crate) name: String,
    pub(crate) tier: u8,
    pub(crate) n: u64,
}

/// The name that the log has for an agent that waits for an introduction.
pub(super) const STRANGER: &str = "pending";
const THREADS: &str =
    "SELECT t.id, t.log, t.key, (SELECT text FROM name WHERE id = t.peer), t.at, t.messages,
    t.asked > t.answered, t.tier, t.last FROM thread t";

fn conversation(row: &Row<'_>) -> rusqlite::Result<IndexedThread> {
    Ok(IndexedThread {
        id: row.get(0)?,
        log: row.get(1)?,
        key: row.get(2)?,
        peer: row.get(3)?,
        at: row.get(4)?,
        messages: row.get(5)?,
        is_open: row.get(6)?,
        tier: row.get(7)?,
        last: row.get(8)?,
    })
}
