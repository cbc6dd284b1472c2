//! How far each log is read, as the index keeps it.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};
use signet_audit::LogPosition;

use super::batch::{BLOCK_BITS, SEQ_BITS};
use super::reading::Low;

/// Where a log's newest line was read, and when it was written.
pub(super) fn put_top(
    turn: &Transaction<'_>,
    log: i64,
    top: &LogPosition,
    at: i64,
) -> rusqlite::Result<()> {
    turn.prepare_cached(
        "UPDATE log SET top_file = ?2, top_offset = ?3, top_seq = ?4, top_hash = ?5, top_at = ?6, fault = NULL WHERE id = ?1",
    )?
    .execute(params![
        log, top.file, top.offset.cast_signed(), top.head.seq.cast_signed(), top.head.hash.as_bytes(), at
    ])
    .map(drop)
}

/// Where a log's oldest line was read.
pub(super) fn put_low(
    turn: &Transaction<'_>,
    log: i64,
    low: &Low,
    is_whole: bool,
) -> rusqlite::Result<()> {
    turn.prepare_cached(
        "UPDATE log SET low_file = ?2, low_offset = ?3, low_seq = ?4, low_prev = ?5, whole = ?6 WHERE id = ?1",
    )?
    .execute(params![
        log, low.file, low.offset.cast_signed(), low.seq.cast_signed(), low.prev.as_bytes(), is_whole
    ])
    .map(drop)
}

/// Removes all that the index has of a log.
pub(super) fn forget(db: &mut Connection, log: i64) -> rusqlite::Result<()> {
    let turn = db.transaction()?;
    let (from, to) = (log << SEQ_BITS, (log + 1) << SEQ_BITS);
    turn.execute("DELETE FROM line WHERE id >= ?1 AND id < ?2", [from, to])?;
    turn.execute(
        "DELETE FROM post WHERE block >= ?1 AND block < ?2",
        [from >> BLOCK_BITS, to >> BLOCK_BITS],
    )?;
    for table in [
        "thread", "peer", "draft", "alarm", "tally", "file", "proof", "sent", "excepted",
    ] {
        turn.execute(&format!("DELETE FROM {table} WHERE log = ?1"), [log])?;
    }
    turn.execute(
        "UPDATE log SET agent = NULL, person = NULL, words = NULL, top_file = NULL, top_offset = NULL, top_seq = NULL,
             top_hash = NULL, top_at = NULL, low_file = NULL, low_offset = NULL, low_seq = NULL, low_prev = NULL,
             whole = 0, fault = NULL WHERE id = ?1",
        [log],
    )?;
    turn.commit()
}

/// Sets or clears what is wrong with a log.
pub(super) fn tell_fault(db: &Connection, dir: &Path, fault: Option<&str>) -> rusqlite::Result<()> {
    let name = dir.to_string_lossy();
    let held = db
        .query_row("SELECT fault FROM log WHERE dir = ?1", [&name], |row| {
            row.get::<_, Option<String>>(0)
        })
        .optional()?;
    if held.flatten().as_deref() != fault {
        db.execute(
            "UPDATE log SET fault = ?2 WHERE dir = ?1",
            params![name, fault],
        )?;
    }
    Ok(())
}
