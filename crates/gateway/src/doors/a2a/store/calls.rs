//! The messages of tasks on their way to the daemon: taken in once, sent, sent once more, and settled.

use rusqlite::{OptionalExtension as _, params};
use signet_api::Send;

use super::super::clock::Now;
use super::super::fault::{A2aError, Kind};
use super::super::task::Record;
use super::super::words::model::TaskState;
use super::db::{Db, broken, parse, write};
use super::tasks::state_name;
use super::{Begin, Begun, Call, Said, daemon_key};

impl Db {
    pub(super) fn begin(&mut self, begin: Begin) -> Result<Begun, A2aError> {
        let now = Now::read();
        if let Some(task) = self.task_of(&begin.key, now)? {
            return Ok(Begun { task, call: None });
        }
        self.make_room_now_and_then(begin.caller())?;
        // The same words may be said again in another task, and the daemon takes one message for each name.
        let key = format!("{}.{}", begin.key, now.id());
        let request = Send {
            key: Some(daemon_key(&key)),
            ..begin.request
        };
        let (record, events, seq) = match begin.said {
            Said::New(record) => (*record, Vec::new(), 0),
            Said::Further {
                task,
                owner,
                context,
                tier,
                message,
            } => {
                let (mut record, seq) = self.owned(&owner, &task)?;
                further(&record, context.as_deref())?;
                let events = record.say(*message, tier, now);
                (record, events, seq)
            }
        };
        let written = match record.is_kept {
            true => Some(write(&request)?),
            false => None,
        };
        self.put(&record, events, seq, Some((&key, written)))?;
        let task = record.task.id;
        let call = Call {
            key,
            task: task.clone(),
            caller: record.caller,
            message: None,
            request: Some(request),
        };
        Ok(Begun {
            task,
            call: Some(call),
        })
    }

    pub(super) fn sent(&mut self, key: &str, message: &str) -> Result<(), A2aError> {
        let done = self.sql.execute(
            "UPDATE calls SET message = ?2 WHERE key = ?1",
            [key, message],
        );
        done.map(drop).map_err(|error| broken(&error))
    }

    /// The call with its request, as a message of its own: the daemon takes one message for each key. `None` where the
    /// request is not kept.
    pub(super) fn again(&mut self, key: &str) -> Result<Option<Call>, A2aError> {
        let found = self.sql.query_row(
            "SELECT task, request, caller FROM calls JOIN tasks ON tasks.id = calls.task \
             WHERE key = ?1 AND is_open = 1",
            [key],
            |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, Option<String>>(1)?,
                    row.get::<_, String>(2)?,
                ))
            },
        );
        let found = found.optional().map_err(|error| broken(&error))?;
        let Some((task, Some(request), caller)) = found else {
            return Ok(None);
        };
        let next = format!("{key}_");
        let request = Send {
            key: Some(daemon_key(&next)),
            ..parse(&request)?
        };
        let done = self.sql.execute(
            "UPDATE calls SET key = ?2, message = NULL, request = ?3 WHERE key = ?1",
            params![key, next, write(&request)?],
        );
        done.map_err(|error| broken(&error))?;
        Ok(Some(Call {
            key: next,
            task,
            caller,
            message: None,
            request: Some(request),
        }))
    }

    pub(super) fn settled(&mut self, key: &str) -> Result<(), A2aError> {
        let done = self.sql.execute(
            "UPDATE calls SET is_open = 0, request = NULL WHERE key = ?1",
            [key],
        );
        done.map(drop).map_err(|error| broken(&error))
    }

    pub(super) fn settled_all(&mut self, task: &str) -> Result<(), A2aError> {
        let done = self.sql.execute(
            "UPDATE calls SET is_open = 0, request = NULL WHERE task = ?1",
            [task],
        );
        done.map(drop).map_err(|error| broken(&error))
    }

    pub(super) fn callers(&self) -> Result<Vec<String>, A2aError> {
        self.texts(&format!("SELECT DISTINCT caller FROM ({UNSETTLED})"), [])
    }

    pub(super) fn unsettled(&self, caller: &str) -> Result<Vec<String>, A2aError> {
        self.texts(
            &format!("SELECT id FROM ({UNSETTLED}) WHERE caller = ?1"),
            [caller],
        )
    }

    fn texts(&self, query: &str, bound: impl rusqlite::Params) -> Result<Vec<String>, A2aError> {
        let mut statement = self.sql.prepare(query).map_err(|error| broken(&error))?;
        let rows = statement.query_map(bound, |row| row.get(0));
        let texts = rows.and_then(Iterator::collect);
        texts.map_err(|error| broken(&error))
    }

    pub(super) fn open_calls(&self) -> Result<Vec<Call>, A2aError> {
        let mut statement = self
            .sql
            .prepare(
                "SELECT key, task, message, request, caller FROM calls JOIN tasks ON tasks.id = calls.task \
                 WHERE is_open = 1",
            )
            .map_err(|error| broken(&error))?;
        let rows = statement.query_map([], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, String>(1)?,
                row.get::<_, Option<String>>(2)?,
                row.get::<_, Option<String>>(3)?,
                row.get::<_, String>(4)?,
            ))
        });
        let rows = rows.map_err(|error| broken(&error))?;
        let calls = rows.map(|found| {
            let (key, task, message, request, caller) = found.map_err(|error| broken(&error))?;
            Ok(Call {
                key,
                task,
                caller,
                message,
                request: request.as_deref().map(parse).transpose()?,
            })
        });
        calls.collect()
    }

    /// The task of the same call before, where this one can be that call made again: its client has not gone on with the
    /// task since, nor given it up, and it is not long over. The specification lets a messageId tell a call that is made
    /// again (3.3.1), and clients use it for another task as well.
    fn task_of(&self, key: &str, now: Now) -> Result<Option<String>, A2aError> {
        let found = self.sql.query_row(
            "SELECT task FROM calls JOIN tasks ON tasks.id = calls.task \
             WHERE calls.key >= ?1 AND calls.key < ?1 || '/' AND state <> ?2 AND (is_over = 0 OR updated >= ?3) \
             AND calls.rowid = (SELECT max(rowid) FROM calls AS said WHERE said.task = tasks.id) \
             ORDER BY calls.rowid DESC LIMIT 1",
            params![
                key,
                state_name(TaskState::Canceled),
                now.millis().saturating_sub(AGAIN)
            ],
            |row| row.get(0),
        );
        found.optional().map_err(|error| broken(&error))
    }
}

impl Begin {
    /// Whose call it is.
    fn caller(&self) -> &str {
        match &self.said {
            Said::New(record) => &record.caller,
            Said::Further { owner, .. } => &owner.caller,
        }
    }
}

/// That the task takes another message.
fn further(record: &Record, context: Option<&str>) -> Result<(), A2aError> {
    if context.is_some_and(|context| context != record.task.context_id) {
        return Err(A2aError::params(
            "message.contextId",
            "is not that of the task",
        ));
    }
    match record.task.status.state.is_terminal() {
        true => {
            let text = "Unsupported operation: the task is over; say it without a taskId, in the same context";
            Err(A2aError::new(Kind::Unsupported, text).with("taskId", record.task.id.clone()))
        }
        false => Ok(()),
    }
}

/// Tasks that are not over, or of whose calls something may still come.
const UNSETTLED: &str = "\
    SELECT id, caller FROM tasks WHERE is_over = 0 UNION \
    SELECT tasks.id, tasks.caller FROM calls JOIN tasks ON tasks.id = calls.task WHERE calls.is_open = 1";
/// Milliseconds for which a task that is over is still that of its call made again.
const AGAIN: i64 = 10 * 60 * 1_000;
