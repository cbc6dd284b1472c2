//! Receivers of pushes, and what they have not got yet.

use rusqlite::params;

use super::super::fault::{A2aError, Kind};
use super::super::words::model::{Event, PushConfig};
use super::db::{Db, broken, number, parse, row, write};
use super::{Due, Owner};

impl Db {
    pub(super) fn put_push(
        &mut self,
        owner: &Owner,
        config: &PushConfig,
        is_v1: bool,
    ) -> Result<(), A2aError> {
        let (_, seq) = self.owned(owner, &config.task_id)?;
        let count: i64 = self
            .sql
            .query_row(
                "SELECT count(*) FROM pushes WHERE task = ?1 AND id <> ?2",
                [&config.task_id, &config.id],
                |row| row.get(0),
            )
            .map_err(|error| broken(&error))?;
        if number(count) >= PUSHES_MAX {
            let text =
                "Push notification not supported: the task has 16 receivers, and takes no more";
            return Err(A2aError::new(Kind::PushNotSupported, text));
        }
        let done = self.sql.execute(
            "INSERT OR REPLACE INTO pushes (task, id, is_v1, sent, config) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![config.task_id, config.id, is_v1, row(seq), write(config)?],
        );
        done.map(drop).map_err(|error| broken(&error))
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
        // One that is not there is deleted already.
        let done = self
            .sql
            .execute("DELETE FROM pushes WHERE task = ?1 AND id = ?2", [task, id]);
        done.map(drop).map_err(|error| broken(&error))
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
            // What is not kept is not pushed either: the receiver hears where the task is, and looks for itself.
            if !record.is_kept || events.is_empty() {
                events = vec![(seq, Event::Task(shown.clone()))];
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
        let done = self.sql.execute(
            "UPDATE pushes SET sent = max(sent, ?3) WHERE task = ?1 AND id = ?2",
            params![task, id, row(seq)],
        );
        done.map(drop).map_err(|error| broken(&error))
    }

    pub(super) fn tasks_due(&self) -> Result<Vec<String>, A2aError> {
        let mut statement = self
            .sql
            .prepare(
                "SELECT DISTINCT tasks.id FROM tasks JOIN pushes ON pushes.task = tasks.id \
                 WHERE pushes.sent < tasks.seq",
            )
            .map_err(|error| broken(&error))?;
        let rows = statement.query_map([], |row| row.get(0));
        let names = rows.and_then(Iterator::collect);
        names.map_err(|error| broken(&error))
    }

    fn receivers(&self, task: &str) -> Result<Vec<(PushConfig, bool, u64)>, A2aError> {
        let mut statement = self
            .sql
            .prepare_cached("SELECT config, is_v1, sent FROM pushes WHERE task = ?1 ORDER BY id")
            .map_err(|error| broken(&error))?;
        let rows = statement.query_map([task], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, i64>(2)?,
            ))
        });
        let rows = rows.map_err(|error| broken(&error))?;
        let found = rows.map(|found| {
            let (config, is_v1, sent) = found.map_err(|error| broken(&error))?;
            Ok((parse(&config)?, is_v1, number(sent)))
        });
        found.collect()
    }
}

const PUSHES_MAX: u64 = 16;
