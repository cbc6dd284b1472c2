//! `ListTasks`: the tasks of one caller, a page at a time.

use serde_json::{Value, json};

use super::super::clock;
use super::super::fault::A2aError;
use super::super::store::Query;
use super::super::words::model::A2aTaskState;
use super::super::words::read::Fields;
use super::Asking;

impl Asking<'_> {
    pub(super) async fn list(self) -> Result<Value, A2aError> {
        let fields = Fields::root(&self.params);
        let size = match fields.count("pageSize")? {
            None => PAGE,
            Some(size @ 1..=PAGE_MAX) => size,
            Some(_) => return Err(fields.fault("pageSize", "is none of 1 to 100").into()),
        };
        let state = match fields.member("status") {
            None => None,
            // Each of these values is a spelling of the zero value of the states' enum, which a client that wants every state
            // may send: so filter by no state.
            Some(value) if *value == "TASK_STATE_UNSPECIFIED" || *value == 0 || *value == "" => {
                None
            }
            Some(value) => Some(
                A2aTaskState::read(value)
                    .ok_or_else(|| fields.fault("status", "is no state of a task"))?,
            ),
        };
        let since =
            match fields.text("statusTimestampAfter")? {
                None => None,
                Some(text) => Some(clock::parse(&text).ok_or_else(|| {
                    fields.fault("statusTimestampAfter", "is no time of RFC 3339")
                })?),
            };
        let after = match fields.text("pageToken")? {
            None => None,
            Some(token) => Some(
                cursor(&token)
                    .ok_or_else(|| fields.fault("pageToken", "is none that this list gave"))?,
            ),
        };
        let history = fields.count("historyLength")?;
        let with_artifacts = fields.flag("includeArtifacts")?.unwrap_or(false);
        let query = Query {
            owner: self.owner(),
            context: fields.text("contextId")?,
            state,
            since,
            after,
            limit: size,
        };
        let page = self.room.store.list(query).await?;
        let tasks = page.tasks.into_iter().map(|mut task| {
            if !with_artifacts {
                task.artifacts.clear();
            }
            task.with_history(history)
        });
        let next = page
            .next
            .map_or_else(String::new, |(time, id)| format!("{time}.{id}"));
        Ok(json!({
            "tasks": tasks.collect::<Vec<_>>(),
            "nextPageToken": next,
            "pageSize": size,
            "totalSize": page.total,
        }))
    }
}

/// Where a list went on: when the last task changed, and its id.
fn cursor(token: &str) -> Option<(i64, String)> {
    let (time, id) = token.split_once('.')?;
    let time = time.parse().ok().filter(|time: &i64| *time >= 0)?;
    (!id.is_empty()).then(|| (time, id.to_owned()))
}

const PAGE: usize = 50;
const PAGE_MAX: usize = 100;
