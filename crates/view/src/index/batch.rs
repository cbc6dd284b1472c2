//! Lines on their way into the index: gathered, then written in one transaction.

mod refusals;

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use signet_audit::LogLine;

use super::names::Names;
use super::place::short;
use super::row::LineRow;
use super::topic::{Act, LineTopic};

/// How many bits of a line's id are its number in its log.
pub(super) const SEQ_BITS: u32 = 40;
/// How many bits of a line's id are its place in a block of the words' table.
pub(super) const BLOCK_BITS: u32 = 12;
/// Milliseconds of a quarter of an hour: days begin at one of them, wherever a person is.
pub(super) const QUARTER: i64 = 900_000;

/// Lines of one log that are not written yet, in any order.
pub(super) struct IndexBatch {
    log: i64,
    lines: Vec<HeldLine>,
    threads: BTreeMap<String, Thread>,
    tally: BTreeMap<(i64, u8, String, u8), u64>,
    post: BTreeMap<(String, i64), Vec<u8>>,
    peers: BTreeMap<String, PeerAdded>,
    /// The messages that receipts refuse, and when.
    excepted: Vec<(i64, i64, String, i64)>,
    /// Whose log it is, where the first line was among them.
    pub(super) owner: Option<(String, String, String)>,
}

struct HeldLine {
    row: LineRow,
    id: i64,
    at: i64,
    file: String,
    offset: u64,
    length: u32,
    hash: i64,
    life: u64,
}

#[derive(Default)]
struct Thread {
    peer: Option<String>,
    last: i64,
    at: i64,
    messages: u64,
    asked: u64,
    answered: u64,
    tier: u8,
}

#[derive(Default)]
struct PeerAdded {
    person: Option<String>,
    words: Option<String>,
    change: Option<&'static str>,
    standing: i64,
    first: Option<i64>,
    heard: i64,
    theirs: GrantTold,
    ours: GrantTold,
}

/// The capabilities that one side grants the other, and the line that says so.
#[derive(Default)]
struct GrantTold {
    line: i64,
    text: Option<String>,
}

/// The id of a line.
pub(super) fn id_of(log: i64, seq: u64) -> i64 {
    log << SEQ_BITS | i64::try_from(seq).unwrap_or(i64::MAX >> 24)
}

impl IndexBatch {
    pub(super) fn new(log: i64) -> Self {
        Self {
            log,
            lines: Vec::new(),
            threads: BTreeMap::new(),
            tally: BTreeMap::new(),
            post: BTreeMap::new(),
            peers: BTreeMap::new(),
            excepted: Vec::new(),
            owner: None,
        }
    }

    /// Takes a line that stands at `offset` of `file`.
    pub(super) fn take(&mut self, line: &LogLine, file: &str, offset: u64) {
        let row = LineRow::of(line);
        let (id, at) = (id_of(self.log, line.seq), line.ts.as_millis());
        self.take_peer(&row, id, at);
        let excepted = row.excepted.iter().cloned();
        self.excepted
            .extend(excepted.map(|(session, number, reason)| (session, number, reason, at)));
        let Some(what) = row.what else { return };
        self.take_thread(&row, what, id, at);
        let name = match what {
            LineTopic::Came | LineTopic::Left => row.peer.clone(),
            _ => row.reason.clone(),
        };
        let counted = (
            at.div_euclid(QUARTER),
            what as u8,
            name.unwrap_or_default(),
            row.tier.unwrap_or(0),
        );
        *self.tally.entry(counted).or_default() += row.count;
        let place = u16::try_from(id & ((1 << BLOCK_BITS) - 1)).unwrap_or_default();
        for word in row.words.iter() {
            let list = self
                .post
                .entry((word.clone(), id >> BLOCK_BITS))
                .or_default();
            list.extend_from_slice(&place.to_le_bytes());
        }
        let life = match &line.entry {
            Some(signet_proto::entry::Entry::Draft(draft)) => draft.life,
            _ => 0,
        };
        self.lines.push(HeldLine {
            id,
            at,
            file: file.to_owned(),
            offset,
            length: u32::try_from(line.raw.len()).unwrap_or(u32::MAX),
            hash: short(&line.hash),
            life,
            row,
        });
    }

    fn take_thread(&mut self, row: &LineRow, what: LineTopic, id: i64, at: i64) {
        let is_said = matches!(
            what,
            LineTopic::Came | LineTopic::Left | LineTopic::RefusedThere
        );
        let Some(key) = row.thread.as_ref().filter(|_| is_said) else {
            return;
        };
        let thread = self.threads.entry(key.clone()).or_default();
        if id > thread.last {
            (thread.last, thread.at) = (id, at);
        }
        thread.peer = thread.peer.take().or_else(|| row.peer.clone());
        thread.messages += 1;
        thread.asked += u64::from(row.opens);
        thread.answered += u64::from(matches!(row.act, Act::Answers | Act::Declines));
        thread.tier = thread.tier.max(row.tier.unwrap_or(1));
    }

    fn take_peer(&mut self, row: &LineRow, id: i64, at: i64) {
        if let Some(standing) = row
            .standing
            .as_ref()
            .filter(|standing| standing.change == "genesis")
        {
            let of = (&standing.agent, &standing.person, &standing.words);
            self.owner = Some((of.0.clone(), of.1.clone(), of.2.clone()));
            return;
        }
        let Some(name) = row.peer.as_ref().filter(|_| {
            row.heard
                || row.grant.is_some()
                || row.what == Some(LineTopic::Trust)
                || row.standing.is_some()
        }) else {
            return;
        };
        let peer = self.peers.entry(name.clone()).or_default();
        if row.heard {
            peer.heard = peer.heard.max(at);
        }
        if let Some(grant) = &row.grant {
            let held = if row.heard {
                &mut peer.theirs
            } else {
                &mut peer.ours
            };
            if id >= held.line {
                (held.line, held.text) = (id, Some(grant.clone()));
            }
        }
        let reason = row.reason.as_deref();
        let change = match (&row.standing, row.what, reason) {
            (Some(standing), ..) => Some(standing.change),
            (None, Some(LineTopic::Trust), Some(_)) => Some("revoked"),
            _ => None,
        };
        // Neither of the two changes whether the agent is trusted: a newer certificate, and a stranger under a known name.
        let change = change.filter(|change| !matches!(*change, "renewed" | "root-changed"));
        if let Some(change) = change
            && id >= peer.standing
        {
            (peer.change, peer.standing) = (Some(change), id);
            if let Some(standing) = &row.standing {
                peer.words = Some(standing.words.clone());
                peer.person = Some(standing.person.clone());
            }
        }
        if change == Some("bound") {
            peer.first = Some(peer.first.map_or(id, |first| first.min(id)));
        }
        if row.heard && peer.person.is_none() {
            peer.person = row.person.clone();
        }
    }

    /// How many lines wait.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Writes all of it, with what `also` writes, or nothing.
    pub(super) fn write(
        self,
        db: &mut Connection,
        names: &mut Names,
        also: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let turn = db.transaction()?;
        let threads = self.write_threads(&turn, names)?;
        self.write_lines(&turn, names, &threads)?;
        self.write_standings(&turn, names)?;
        self.write_refusals(&turn, names)?;
        for ((quarter, what, name, tier), n) in &self.tally {
            let name = names.of(&turn, name)?;
            turn.prepare_cached(
                "INSERT INTO tally VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            )?
            .execute(params![self.log, quarter, what, name, tier, n.cast_signed()])?;
        }
        for ((word, block), lines) in &self.post {
            turn.prepare_cached(
                "INSERT INTO post VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET lines = CAST(lines || excluded.lines AS BLOB)",
            )?
            .execute(params![word, block, lines])?;
        }
        if let Some((agent, person, words)) = &self.owner {
            turn.prepare_cached(
                "UPDATE log SET agent = ?2, person = ?3, words = ?4 WHERE id = ?1",
            )?
            .execute(params![self.log, agent, person, words])?;
        }
        also(&turn)?;
        turn.commit()
    }

    fn write_threads(
        &self,
        turn: &Transaction<'_>,
        names: &mut Names,
    ) -> rusqlite::Result<HashMap<&str, i64>> {
        let mut ids = HashMap::new();
        for (key, thread) in &self.threads {
            let peer = names.maybe(turn, thread.peer.as_deref())?;
            let id = turn
                .prepare_cached(
                    "INSERT INTO thread (log, key, peer, last, at, messages, asked, answered, tier)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                     ON CONFLICT DO UPDATE SET last = max(last, excluded.last), at = max(at, excluded.at),
                         messages = messages + excluded.messages, asked = asked + excluded.asked,
                         answered = answered + excluded.answered, tier = max(tier, excluded.tier)
                     RETURNING id",
                )?
                .query_row(
                    params![
                        self.log, key, peer, thread.last, thread.at, thread.messages.cast_signed(),
                        thread.asked.cast_signed(), thread.answered.cast_signed(), thread.tier
                    ],
                    |row| row.get(0),
                )?;
            ids.insert(key.as_str(), id);
        }
        Ok(ids)
    }

    fn write_lines(
        &self,
        turn: &Transaction<'_>,
        names: &mut Names,
        threads: &HashMap<&str, i64>,
    ) -> rusqlite::Result<()> {
        let mut files: HashMap<&str, i64> = HashMap::new();
        for line in &self.lines {
            let row = &line.row;
            let file = match files.get(line.file.as_str()) {
                Some(id) => *id,
                None => {
                    let id = file_id(turn, self.log, &line.file)?;
                    files.insert(&line.file, id);
                    id
                }
            };
            let thread = match row.thread.as_deref().map(|key| (key, threads.get(key))) {
                Some((_, Some(id))) => Some(*id),
                Some((key, None)) => self.known_thread(turn, key)?,
                None => None,
            };
            let (peer, reason) = (
                names.maybe(turn, row.peer.as_deref())?,
                names.maybe(turn, row.reason.as_deref())?,
            );
            let what = row.what.map_or(LineTopic::Note as u8, |what| what as u8);
            turn.prepare_cached(
                "INSERT OR REPLACE INTO line VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            )?
            .execute(params![
                line.id, line.at, file, line.offset.cast_signed(), line.length, line.hash, what, row.act as u8, peer,
                row.tier, row.sealed, row.message, thread, row.summary, reason, row.count.cast_signed()
            ])?;
            self.write_waiting(turn, line, peer)?;
        }
        Ok(())
    }

    /// The thread that an earlier batch made; lines of a task or a draft begin none.
    fn known_thread(&self, turn: &Transaction<'_>, key: &str) -> rusqlite::Result<Option<i64>> {
        turn.prepare_cached("SELECT id FROM thread WHERE log = ?1 AND key = ?2")?
            .query_row(params![self.log, key], |row| row.get(0))
            .optional()
    }

    /// Drafts and alarms that wait for the person, whichever of their lines is read first.
    fn write_waiting(
        &self,
        turn: &Transaction<'_>,
        line: &HeldLine,
        peer: Option<i64>,
    ) -> rusqlite::Result<()> {
        let row = &line.row;
        match row.what {
            Some(LineTopic::Draft) => {
                let until = line
                    .at
                    .saturating_add(line.life.cast_signed().saturating_mul(1000));
                turn.prepare_cached(
                    "INSERT INTO draft (log, message, line, until) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO UPDATE SET line = excluded.line, until = excluded.until",
                )?
                .execute(params![self.log, row.message, line.id, until])?;
            }
            Some(LineTopic::Approval | LineTopic::Outcome) if row.ends_draft() => {
                turn.prepare_cached(
                    "INSERT INTO draft (log, message, decided) VALUES (?1, ?2, ?3)
                     ON CONFLICT DO UPDATE SET decided = excluded.decided",
                )?
                .execute(params![self.log, row.message, line.id])?;
            }
            Some(LineTopic::Alarm) => {
                turn.prepare_cached(
                    "INSERT INTO alarm VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE
                     SET line = excluded.line, rings = excluded.rings WHERE excluded.line > line",
                )?
                .execute(params![
                    self.log,
                    peer.unwrap_or(0),
                    row.reason,
                    line.id,
                    row.opens
                ])?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn file_id(turn: &Transaction<'_>, log: i64, name: &str) -> rusqlite::Result<i64> {
    turn.prepare_cached(
        "INSERT INTO file (log, name) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id",
    )?
    .query_row(params![log, name], |row| row.get(0))
}
