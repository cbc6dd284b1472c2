//! Facts that are put together of two lines, whichever of them is read first: refusals by receipts, and how everybody stands.

use rusqlite::{OptionalExtension as _, Transaction, params};

use super::super::names::Names;
use super::super::topic::LineTopic;
use super::{IndexBatch, QUARTER};

impl IndexBatch {
    /// Messages that peers refused by their receipts: whichever of message and receipt is read first, the message is marked.
    pub(super) fn write_refusals(
        &self,
        turn: &Transaction<'_>,
        names: &mut Names,
    ) -> rusqlite::Result<()> {
        for line in &self.lines {
            let Some((session, number)) = line.row.number else {
                continue;
            };
            let key = params![self.log, session, number, line.id];
            turn.prepare_cached("INSERT OR IGNORE INTO sent VALUES (?1, ?2, ?3, ?4)")?
                .execute(key)?;
            let told = turn
                .prepare_cached("SELECT reason, at FROM excepted WHERE log = ?1 AND session = ?2 AND number = ?3")?
                .query_row(params![self.log, session, number], |row| {
                    Ok((row.get::<_, String>(0)?, row.get(1)?))
                })
                .optional()?;
            if let Some((reason, at)) = told {
                self.mark_refused(turn, names, line.id, &reason, at)?;
            }
        }
        for (session, number, reason, at) in &self.excepted {
            let is_new = turn
                .prepare_cached("INSERT OR IGNORE INTO excepted VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![self.log, session, number, reason, at])?;
            let sent = turn
                .prepare_cached(
                    "SELECT line FROM sent WHERE log = ?1 AND session = ?2 AND number = ?3",
                )?
                .query_row(params![self.log, session, number], |row| row.get(0))
                .optional()?;
            if let Some(id) = sent.filter(|_| is_new > 0) {
                self.mark_refused(turn, names, id, reason, *at)?;
            }
        }
        Ok(())
    }

    fn mark_refused(
        &self,
        turn: &Transaction<'_>,
        names: &mut Names,
        id: i64,
        reason: &str,
        at: i64,
    ) -> rusqlite::Result<()> {
        let name = names.of(turn, reason)?;
        let there = LineTopic::RefusedThere as u8;
        let marked = turn
            .prepare_cached("UPDATE line SET what = ?2, reason = ?3 WHERE id = ?1 AND what = 1 RETURNING ifnull(tier, 0)")?
            .query_row(params![id, there, name], |row| row.get::<_, u8>(0))
            .optional()?;
        if let Some(tier) = marked {
            let quarter = at.div_euclid(QUARTER);
            turn.prepare_cached("INSERT INTO tally VALUES (?1, ?2, ?3, ?4, ?5, 1) ON CONFLICT DO UPDATE SET n = n + 1")?
                .execute(params![self.log, quarter, there, name, tier])?;
        }
        Ok(())
    }

    /// The standing of agents, when each was heard, and what each grants: the newest line counts, whichever is read first.
    pub(super) fn write_standings(
        &self,
        turn: &Transaction<'_>,
        names: &mut Names,
    ) -> rusqlite::Result<()> {
        for (name, peer) in &self.peers {
            let name = names.of(turn, name)?;
            turn.prepare_cached(
                "INSERT INTO peer VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO UPDATE SET
                     person = CASE WHEN excluded.standing > standing OR person IS NULL
                         THEN ifnull(excluded.person, person) ELSE person END,
                     words = CASE WHEN excluded.standing > standing THEN ifnull(excluded.words, words) ELSE words END,
                     change = CASE WHEN excluded.standing > standing THEN excluded.change ELSE change END,
                     standing = max(standing, excluded.standing),
                     first = min(ifnull(first, excluded.first), ifnull(excluded.first, first)),
                     heard = max(heard, excluded.heard),
                     they_grant = CASE WHEN excluded.theirs > theirs THEN excluded.they_grant ELSE they_grant END,
                     we_grant = CASE WHEN excluded.ours > ours THEN excluded.we_grant ELSE we_grant END,
                     theirs = max(theirs, excluded.theirs), ours = max(ours, excluded.ours)",
            )?
            .execute(params![
                self.log, name, peer.person, peer.words, peer.change, peer.standing, peer.first, peer.heard,
                peer.theirs.line, peer.ours.line, peer.theirs.text, peer.ours.text
            ])?;
        }
        Ok(())
    }
}
