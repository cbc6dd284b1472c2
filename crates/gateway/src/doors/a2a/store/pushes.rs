//! Receivers of pushes, and what they have not got yet.

use rusqlite::params;

use super::super::fault::{A2aError, A2aErrorKind};
use super::super::words::model::{A2aEvent, PushConfig};
use super::db::{Db, number, parse, row, write};
use super::{Due, Owner};

impl Db {
    pub(super) fn put_push(
        &mut self,
        owner: &Owner,
        config: &PushConfig,
        is_v1: bool,
    ) -> Result<(), A2aError> {
        let (_, seq) = self.owned(owner, &config.task_id)?;
        // A receiver with a known id replaces the old receiver, so the old one does not count towards the limit.
        let others = self.receivers(&config.task_id)?.into_iter();
        let others = others.filter(|(known, ..)| known.id != config.id).count();
        if others >= PUSHES_MAX {
            let text =
                "Push notification not supported: the task has 16 receivers, and takes no more";
            return Err(A2aError::new(A2aErrorKind::PushNotSupported, text));
        }
        self.run(
            "INSERT OR REPLACE INTO pushes (task, id, is_v1, sent, config) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![config.task_id, config.id, is_v1, row(seq), write(config)?],
        )
    }

    pub(super) fn pushes(&self, owner: &Owner, task: &str) -> Result<Vec<PushConfig>, A2aError> {
        self.owned(owner, task)?;
        let found = self.receivers(task)?;
        Ok(found.into_iter().map(|(config, ..)| config).collect())
    }

    pub(super) fn delete_push(
        &mut self,
        owner: &Owner,
        task: &str,
        id: &str,
    ) -> Result<(), A2aError> {
        self.owned(owner, task)?;
        // Deleting a receiver that does not exist succeeds as well, so that a client can repeat a deletion whose answer it
        // missed.
        self.run("DELETE FROM pushes WHERE task = ?1 AND id = ?2", [task, id])
    }

    /// Whether that receiver is there still, as it was given.
    pub(super) fn stands(&self, config: &PushConfig) -> Result<bool, A2aError> {
        let receivers = self.receivers(&config.task_id)?;
        Ok(receivers.iter().any(|(known, ..)| known == config))
    }

    pub(super) fn due(&self, task: &str) -> Result<Vec<Due>, A2aError> {
        let Some((record, seq)) = self.found(task)? else {
            return Ok(Vec::new());
        };
        let shown = match record.is_kept {
            true => record.task,
            false => record.without_words().task,
        };
        let mut due = Vec::new();
        for (config, is_v1, sent) in self.receivers(task)? {
            if sent >= seq {
                continue;
            }
            let seen = self.seen(task, sent)?;
            let mut events = seen.events;
            // The text of a task that is not kept is not pushed either: the receiver gets the task without its text,
            // and asks this gateway for the text. A receiver so far behind that events are gone gets the task in their place:
            // otherwise it would not see that something is missing.
            if !record.is_kept || seen.whole.is_some() || events.is_empty() {
                events = vec![(seq, A2aEvent::Task(shown.clone()))];
            }
            due.push(Due {
                config,
                is_v1,
                events,
                caller: record.caller.clone(),
                task: shown.clone(),
            });
        }
        Ok(due)
    }

    pub(super) fn pushed(&mut self, task: &str, id: &str, seq: u64) -> Result<(), A2aError> {
        // `sent` is the number of the last event that was pushed, and `max` keeps it from going back: a push to an old receiver
        // may end after the receiver was replaced under the same id.
        self.run(
            "UPDATE pushes SET sent = max(sent, ?3) WHERE task = ?1 AND id = ?2",
            params![task, id, row(seq)],
        )
    }

    pub(super) fn tasks_due(&self) -> Result<Vec<String>, A2aError> {
        self.rows(
            "SELECT DISTINCT tasks.id FROM tasks JOIN pushes ON pushes.task = tasks.id \
             WHERE pushes.sent < tasks.seq",
            [],
            |row| row.get(0),
        )
    }

    fn receivers(&self, task: &str) -> Result<Vec<(PushConfig, bool, u64)>, A2aError> {
        let query = "SELECT config, is_v1, sent FROM pushes WHERE task = ?1 ORDER BY id";
        let rows = self.rows(query, [task], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, i64>(2)?,
            ))
        })?;
        let found = rows
            .into_iter()
            .map(|(config, is_v1, sent)| Ok((parse(&config)?, is_v1, number(sent))));
        found.collect()
    }
}

/// Receivers of one task: each of its events goes to every one of them.
const PUSHES_MAX: usize = 16;
