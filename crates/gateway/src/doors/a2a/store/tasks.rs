//! Tasks: changed, found, listed, and forgotten when there are too many.

use rusqlite::{params, params_from_iter};

use super::super::clock::Moment;
use super::super::fault::A2aError;
use super::super::task::{Change, Record};
use super::super::words::model::{A2aEvent, A2aTask, A2aTaskState};
use super::db::{Db, EVENTS_MAX, number, parse, row, write};
use super::{Owner, Seen};

/// Which tasks of a caller.
pub(crate) struct Query {
    pub(crate) owner: Owner,
    pub(crate) context: Option<String>,
    pub(crate) state: Option<A2aTaskState>,
    /// Milliseconds since 1970: only what changed then or later.
    pub(crate) since: Option<i64>,
    /// Only what stands behind this one: when it changed, and its id.
    pub(crate) after: Option<(i64, String)>,
    pub(crate) limit: usize,
}

/// A part of a list, the newest first.
pub(crate) struct Page {
    pub(crate) tasks: Vec<A2aTask>,
    /// Behind which one the next part begins.
    pub(crate) next: Option<(i64, String)>,
    pub(crate) total: u64,
}

impl Db {
    pub(super) fn change(
        &mut self,
        task: &str,
        change: Change,
    ) -> Result<Option<A2aTaskState>, A2aError> {
        let Some((mut record, seq)) = self.found(task)? else {
            return Ok(None);
        };
        let before = record.clone();
        let events = record.apply(change, Moment::read());
        let state = record.task.status.state;
        // Write a changed record even if the change makes no event: the record may now hold a part that waits for
        // earlier parts, and without this write that part would be missing when they come.
        if !events.is_empty() || record != before {
            self.put(&record, events, seq, None)?;
        }
        Ok(Some(state))
    }

    /// The caller's task, with all that is known of it.
    pub(super) fn owned(&self, owner: &Owner, task: &str) -> Result<(Record, u64), A2aError> {
        let found = self.found(task)?;
        // The caller must not learn of tasks of others, nor of its own above its tier, which may have been lowered: it gets the
        // same answer as for an unknown task.
        let is_theirs = |record: &Record| {
            record.caller == owner.caller && record.peer == owner.peer && record.tier <= owner.tier
        };
        found
            .filter(|(record, _)| is_theirs(record))
            .ok_or_else(|| A2aError::no_task(task))
    }

    pub(super) fn seen(&self, task: &str, after: u64) -> Result<Seen, A2aError> {
        let (record, seq) = self.found(task)?.ok_or_else(|| A2aError::no_task(task))?;
        let events: Vec<(u64, A2aEvent)> = match self.unwritten.of(task) {
            Some(words) => {
                let later = words.events.iter().filter(|(number, _)| *number > after);
                later.cloned().collect()
            }
            None => self.events(task, after)?,
        };
        // Only the newest events are kept. If the next event that the reader needs is gone, which a gap in the numbers shows,
        // the reader gets the whole task instead.
        let first = events.first().map_or(seq + 1, |(number, _)| *number);
        let is_whole = after >= seq || first == after + 1;
        Ok(Seen {
            whole: (!is_whole).then(|| record.task.clone()),
            events,
            seq,
            state: record.task.status.state,
        })
    }

    pub(super) fn list(&self, query: &Query) -> Result<Page, A2aError> {
        let (time, id) = query.after.clone().unwrap_or((i64::MAX, String::new()));
        let state = query.state.map(state_name);
        let filter = "caller = ?1 AND peer = ?2 AND (?3 IS NULL OR context = ?3) AND (?4 IS NULL OR state = ?4) \
                      AND updated >= ?5 AND json_extract(record, '$.tier') <= ?6";
        let bound = params![
            query.owner.caller,
            query.owner.peer,
            query.context,
            state,
            query.since.unwrap_or(0),
            query.owner.tier,
        ];
        let count = format!("SELECT count(*) FROM tasks WHERE {filter}");
        let total = self
            .sql
            .query_row(&count, bound, |row| row.get(0))
            .map(number)?;
        // Several tasks can change in the same millisecond, so a page ends at a pair of time and id: by the time alone, the
        // next page would leave some of them out.
        let text = format!(
            "SELECT id, updated FROM tasks WHERE {filter} AND (updated, id) < (?7, ?8) \
             ORDER BY updated DESC, id DESC LIMIT ?9"
        );
        let mut names = self.rows(
            &text,
            params![
                query.owner.caller,
                query.owner.peer,
                query.context,
                state,
                query.since.unwrap_or(0),
                query.owner.tier,
                time,
                id,
                row(query.limit as u64 + 1),
            ],
            |row| Ok((row.get::<_, i64>(1)?, row.get::<_, String>(0)?)),
        )?;
        // The query asks for one row more than a page holds: if that row is there, another page follows.
        let has_more = names.len() > query.limit;
        names.truncate(query.limit);
        let next = names.last().filter(|_| has_more).cloned();
        let mut tasks = Vec::with_capacity(names.len());
        for (_, id) in names {
            tasks.extend(self.found(&id)?.map(|(record, _)| record.task));
        }
        Ok(Page { tasks, next, total })
    }

    /// Any task, and the number of its newest event; with its words from memory where those are not written.
    pub(super) fn found(&self, task: &str) -> Result<Option<(Record, u64)>, A2aError> {
        let written = self.written(task)?;
        Ok(written.map(|(record, seq)| match self.unwritten.of(task) {
            Some(words) => (words.record.clone(), seq),
            None => (record, seq),
        }))
    }

    /// Writes the task with its new events, and tells whoever waits for them.
    pub(super) fn put(
        &mut self,
        record: &Record,
        events: Vec<A2aEvent>,
        seq: u64,
        call: Option<(&str, Option<String>)>,
    ) -> Result<u64, A2aError> {
        let task = &record.task;
        let numbered: Vec<(u64, A2aEvent)> = (seq + 1..).zip(events).collect();
        let seq = numbered.last().map_or(seq, |(number, _)| *number);
        let written = match record.is_kept {
            true => write(record)?,
            false => write(&record.without_words())?,
        };
        let transaction = self.sql.transaction()?;
        transaction.prepare_cached(PUT_TASK)?.execute(params![
            task.id,
            record.caller,
            record.peer,
            task.context_id,
            state_name(task.status.state),
            task.status.state.is_terminal(),
            Moment::read().millis(),
            row(seq),
            row(written.len() as u64),
            written,
        ])?;
        if let Some((key, request)) = call {
            transaction.execute(
                "INSERT INTO calls (key, task, is_open, request) VALUES (?1, ?2, 1, ?3)",
                params![key, task.id, request],
            )?;
        }
        for (number, event) in numbered.iter().filter(|_| record.is_kept) {
            transaction.execute(
                "INSERT INTO events (task, seq, event) VALUES (?1, ?2, ?3)",
                params![task.id, row(*number), write(event)?],
            )?;
        }
        transaction.execute(
            "DELETE FROM events WHERE task = ?1 AND seq <= ?2",
            params![task.id, row(seq) - row(EVENTS_MAX as u64)],
        )?;
        transaction.commit()?;
        if !record.is_kept {
            self.unwritten.put(record.clone(), numbered);
        }
        // Wake the readers only after the commit: they read the database at once, and a failed write must wake nobody.
        self.live.tell(&task.id, seq);
        Ok(seq)
    }

    fn events(&self, task: &str, after: u64) -> Result<Vec<(u64, A2aEvent)>, A2aError> {
        let query = "SELECT seq, event FROM events WHERE task = ?1 AND seq > ?2 ORDER BY seq";
        let rows = self.rows(query, params![task, row(after)], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        let events = rows.into_iter();
        events
            .map(|(seq, text)| Ok((number(seq), parse(&text)?)))
            .collect()
    }

    /// Makes room, but counts the tasks only now and then: counting reads the whole table, and `uncounted` says how many calls of
    /// this caller certainly still fit.
    pub(super) fn make_room_now_and_then(&mut self, caller: &str) -> Result<(), A2aError> {
        match self.uncounted.get_mut(caller) {
            Some(left) if *left > 0 => {
                *left -= 1;
                Ok(())
            }
            _ => self.make_room(caller),
        }
    }

    /// Forgets the oldest tasks that are over, where the file holds as many as it may; refuses a caller who has their share.
    fn make_room(&mut self, caller: &str) -> Result<(), A2aError> {
        let count = |query: &str, bound: &[&str]| {
            let mut statement = self.sql.prepare_cached(query)?;
            statement.query_row(params_from_iter(bound), |row| {
                Ok((number(row.get(0)?), number(row.get(1)?)))
            })
        };
        let (tasks, bytes) = count(ALL_TASKS, &[])?;
        let under_way = count(UNDER_WAY, &[])?;
        let theirs = count(UNDER_WAY_OF, &[caller])?;
        let (open, their_open) = count(OPEN_CALLS, &[caller])?;
        let limits = self.limits;
        let shares = [
            (limits.open as u64, open, their_open),
            (limits.tasks as u64, under_way.0, theirs.0),
            (limits.bytes, under_way.1, theirs.1),
        ];
        let lefts = shares.map(|(most, all, theirs)| left_of_share(most, all, theirs));
        let [open_left, tasks_left, bytes_left] = lefts;
        if open_left == 0 {
            return Err(too_many("messages of this token wait for their answers"));
        }
        if tasks_left == 0 || bytes_left == 0 {
            return Err(too_many("tasks of this token are under way"));
        }
        if tasks < limits.tasks as u64 && bytes < limits.bytes {
            let left = (limits.tasks as u64 - tasks).min(open_left).min(tasks_left);
            // `uncounted` says how many calls each caller may still begin before the next count. Clear it when it gets long:
            // that is harmless, because each caller is then counted again at its next call.
            if self.uncounted.len() > COUNTED_MAX {
                self.uncounted.clear();
            }
            self.uncounted
                // Count again after an eighth of the calls for which there is room now, and not only after all of them: other
                // callers use up the same room meanwhile.
                .insert(caller.to_owned(), (left / 8).min(COUNT_AGAIN));
            return Ok(());
        }
        // Delete up to 64 old tasks at once: the count above reads the whole table, and should not be needed for each new task.
        let query = "SELECT id FROM tasks WHERE is_over = 1 ORDER BY updated LIMIT 64";
        let oldest: Vec<String> = self.rows(query, [], |row| row.get(0))?;
        if oldest.is_empty() {
            return Err(too_many("tasks are under way"));
        }
        for task in oldest {
            self.unwritten.remove(&task);
            self.run("DELETE FROM tasks WHERE id = ?1", [&task])?;
        }
        Ok(())
    }
}

/// How much more a caller may have of what is not over: at most three times as much as is free.
const fn left_of_share(most: u64, all: u64, theirs: u64) -> u64 {
    let free = most.saturating_sub(all);
    let share = free.saturating_mul(3).saturating_sub(theirs);
    if share < free { share } else { free }
}

fn too_many(of_what: &str) -> A2aError {
    A2aError::internal(format!(
        "Internal error: as many {of_what} as this gateway keeps; try again later"
    ))
    .with("reason", "TOO_MANY_TASKS")
}

pub(super) fn state_name(state: A2aTaskState) -> &'static str {
    state.v03()
}

/// Calls between two counts: a task has at most two megabytes, and the limit of bytes is none to the byte.
const COUNT_AGAIN: u64 = 32;
/// Callers of whom it is known how many more they may have.
const COUNTED_MAX: usize = 1_000;
const ALL_TASKS: &str = "SELECT count(*), coalesce(sum(bytes), 0) FROM tasks";
const UNDER_WAY: &str = "SELECT count(*), coalesce(sum(bytes), 0) FROM tasks WHERE is_over = 0";
const UNDER_WAY_OF: &str =
    "SELECT count(*), coalesce(sum(bytes), 0) FROM tasks WHERE is_over = 0 AND caller = ?1";
const OPEN_CALLS: &str = "\
    SELECT count(*), coalesce(sum(tasks.caller = ?1), 0) FROM calls JOIN tasks ON tasks.id = calls.task \
    WHERE calls.is_open = 1";
const PUT_TASK: &str = "\
    INSERT INTO tasks (id, caller, peer, context, state, is_over, updated, seq, bytes, record)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
    ON CONFLICT (id) DO UPDATE SET state = ?5, is_over = ?6, updated = ?7, seq = ?8, bytes = ?9, record = ?10";
