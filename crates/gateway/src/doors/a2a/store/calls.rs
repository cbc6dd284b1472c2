//! The messages of tasks on their way to the daemon: taken in once, sent, sent once more, and settled.

use rusqlite::params;
use signet_api::Send;

use super::super::clock::Moment;
use super::super::fault::{A2aError, A2aErrorKind};
use super::super::task::Record;
use super::super::words::model::A2aTaskState;
use super::db::{Db, parse, write};
use super::tasks::state_name;
use super::{Begin, Begun, TaskCall, TaskMessage, daemon_key};

impl Db {
    pub(super) fn begin(&mut self, begin: Begin) -> Result<Begun, A2aError> {
        let now = Moment::read();
        // Look for an earlier call with this key before making room: a repeated call writes nothing, so it is
        // answered even if the store is full.
        if let Some(task) = self.task_of(&begin.key, now)? {
            return Ok(Begun { task, call: None });
        }
        self.make_room_now_and_then(begin.caller())?;
        // A client may send the same message for another task, but the daemon takes only one message for each
        // key: so each call gets a key of its own.
        let key = format!("{}.{}", begin.key, now.id());
        let request = Send {
            key: Some(daemon_key(&key)),
            ..begin.request
        };
        let (record, events, seq) = match begin.said {
            TaskMessage::New(record) => (*record, Vec::new(), 0),
            TaskMessage::Further {
                task,
                owner,
                context,
                tier,
                message,
            } => {
                let (mut record, seq) = self.owned(&owner, &task)?;
                // The task may have ended since `said` looked it up. On this thread no other change comes in between, so check
                // here that the task takes another message.
                further(&record, context.as_deref())?;
                let events = record.say(*message, tier, now);
                (record, events, seq)
            }
        };
        // The request holds the text of the message: for a task that must not be kept on disk, it stays in memory.
        let written = match record.is_kept {
            true => Some(write(&request)?),
            false => None,
        };
        // Write the task and its call in one transaction: a task without its call would wait for a message
        // that nobody ever sends.
        self.put(&record, events, seq, Some((&key, written)))?;
        let task = record.task.id;
        let call = TaskCall {
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
        self.run(
            "UPDATE calls SET message = ?2 WHERE key = ?1",
            [key, message],
        )
    }

    /// The call with its request, as a message of its own: the daemon takes one message for each key. `None` where the
    /// request is not kept.
    pub(super) fn again(&mut self, key: &str) -> Result<Option<TaskCall>, A2aError> {
        let open = self.calls_where("is_open = 1 AND key = ?1", [key])?;
        let Some(call) = open.into_iter().find(|call| call.request.is_some()) else {
            return Ok(None);
        };
        let next = format!("{key}_");
        let request = call.request.map(|request| Send {
            key: Some(daemon_key(&next)),
            ..request
        });
        // The other side refused the message of this call, so forget that message (`message = NULL`): otherwise a start after a
        // crash would follow it, and not send the request again.
        self.run(
            "UPDATE calls SET key = ?2, message = NULL, request = ?3 WHERE key = ?1",
            params![key, next, write(&request)?],
        )?;
        Ok(Some(TaskCall {
            key: next,
            message: None,
            request,
            ..call
        }))
    }

    pub(super) fn settled(&mut self, key: &str) -> Result<(), A2aError> {
        // A settled call is never sent again, so delete its request, which holds the text of the message.
        self.run(
            "UPDATE calls SET is_open = 0, request = NULL WHERE key = ?1",
            [key],
        )
    }

    pub(super) fn settled_all(&mut self, task: &str) -> Result<(), A2aError> {
        self.run(
            "UPDATE calls SET is_open = 0, request = NULL WHERE task = ?1",
            [task],
        )
    }

    pub(super) fn callers(&self) -> Result<Vec<String>, A2aError> {
        let query = format!("SELECT DISTINCT caller FROM ({UNSETTLED})");
        self.rows(&query, [], |row| row.get(0))
    }

    pub(super) fn unsettled(&self, caller: &str) -> Result<Vec<String>, A2aError> {
        let query = format!("SELECT id FROM ({UNSETTLED}) WHERE caller = ?1");
        self.rows(&query, [caller], |row| row.get(0))
    }

    pub(super) fn open_calls(&self) -> Result<Vec<TaskCall>, A2aError> {
        self.calls_where("is_open = 1", [])
    }

    fn calls_where(
        &self,
        condition: &str,
        bound: impl rusqlite::Params,
    ) -> Result<Vec<TaskCall>, A2aError> {
        let query = format!(
            "SELECT key, task, caller, message, request FROM calls JOIN tasks ON tasks.id = calls.task \
             WHERE {condition}"
        );
        let rows = self.rows(&query, bound, |row| {
            let call = TaskCall {
                key: row.get(0)?,
                task: row.get(1)?,
                caller: row.get(2)?,
                message: row.get(3)?,
                request: None,
            };
            Ok((call, row.get::<_, Option<String>>(4)?))
        })?;
        let calls = rows.into_iter().map(|(call, request)| {
            Ok(TaskCall {
                request: request.as_deref().map(parse).transpose()?,
                ..call
            })
        });
        calls.collect()
    }

    /// The task of the same call before, where this one can be that call made again: its client has not gone on with the
    /// task since, nor given it up, and it is not long over. The specification lets a messageId tell a call that is made
    /// again (3.3.1), and clients use it for another task as well.
    fn task_of(&self, key: &str, now: Moment) -> Result<Option<String>, A2aError> {
        // A key is a hash, a dot, an id, and a `_` for each further try. `/` follows the dot in ASCII, so this range holds
        // exactly the keys of one hash, and the index of the primary key finds it.
        let found = self.rows(
            "SELECT task FROM calls JOIN tasks ON tasks.id = calls.task \
             WHERE calls.key >= ?1 AND calls.key < ?1 || '/' AND state <> ?2 AND (is_over = 0 OR updated >= ?3) \
             AND calls.rowid = (SELECT max(rowid) FROM calls AS said WHERE said.task = tasks.id) \
             ORDER BY calls.rowid DESC LIMIT 1",
            params![
                key,
                state_name(A2aTaskState::Canceled),
                now.millis().saturating_sub(AGAIN)
            ],
            |row| row.get(0),
        )?;
        Ok(found.into_iter().next())
    }
}

impl Begin {
    /// Whose call it is.
    fn caller(&self) -> &str {
        match &self.said {
            TaskMessage::New(record) => &record.caller,
            TaskMessage::Further { owner, .. } => &owner.caller,
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
            Err(A2aError::new(A2aErrorKind::Unsupported, text)
                .with("taskId", record.task.id.clone()))
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
