//! What an agent of A2A streams: events, out of which its task is put together, while they are passed on.

use serde_json::{Map, Value, json};

use super::parts::{LONGEST_NAME, parts_in};
use super::result;
use signet_handlers::{Attempt, Fault};

/// The task as its events have told it so far.
#[derive(Default)]
pub(super) struct StreamedTask {
    task: Map<String, Value>,
    /// A message, which is the whole answer.
    said: Option<Value>,
}

impl StreamedTask {
    /// Takes the result of one event; true at the last.
    ///
    /// # Errors
    /// `Shape` for what is no event, `UnknownState`.
    pub(super) fn take(&mut self, result: Value, attempt: &Attempt<'_>) -> Result<bool, Fault> {
        let (kind, members) = event(result)?;
        match kind {
            EventKind::Message => {
                self.prove(members.get("taskId"))?;
                self.said = Some(Value::Object(members));
                return Ok(true);
            }
            EventKind::Task => {
                self.prove(members.get("id"))?;
                self.task = members;
            }
            EventKind::Status => self.status(members)?,
            EventKind::Artifact => self.artifact(members, attempt)?,
        }
        let told = Value::Object(self.task.clone());
        attempt.tell(result::word(&told));
        result::is_over(&self.task)
    }

    /// What the agent would answer by one result; `None` where nothing was told.
    pub(super) fn result(self) -> Option<Value> {
        match self.said {
            Some(said) => Some(said),
            None if self.task.contains_key("status") => Some(Value::Object(self.task)),
            None => None,
        }
    }

    fn status(&mut self, mut update: Map<String, Value>) -> Result<(), Fault> {
        let status = update.remove("status").filter(Value::is_object);
        let status = status.ok_or(Fault::Shape("an event of a status has none"))?;
        self.named(&update)?;
        self.task.insert("status".to_owned(), status);
        Ok(())
    }

    /// A piece of an artifact follows those before, or takes their place.
    fn artifact(
        &mut self,
        mut update: Map<String, Value>,
        attempt: &Attempt<'_>,
    ) -> Result<(), Fault> {
        self.named(&update)?;
        let append = update.get("append") == Some(&Value::Bool(true));
        let Some(Value::Object(artifact)) = update.remove("artifact") else {
            return Err(Fault::Shape("an event of an artifact has none"));
        };
        let shown = parts_in(&artifact)?;
        // Pieces of the task's first artifact are passed on without a name, and `name_of` takes an artifact for the first if
        // the task has none yet: so ask for the name before this artifact is added.
        let name = self.name_of(&artifact);
        for part in shown {
            attempt.show(json!(part), name.clone());
        }
        let all = self.task.entry("artifacts").or_insert_with(|| json!([]));
        let all = all
            .as_array_mut()
            .ok_or(Fault::Shape("its artifacts are no list"))?;
        let same = |known: &&mut Value| known.get("artifactId") == artifact.get("artifactId");
        match (all.iter_mut().find(same), append) {
            (Some(known), true) => {
                let new = artifact.get("parts").and_then(Value::as_array);
                let parts = known.get_mut("parts").and_then(Value::as_array_mut);
                if let (Some(parts), Some(new)) = (parts, new) {
                    parts.extend(new.iter().cloned());
                }
            }
            (Some(known), false) => *known = Value::Object(artifact),
            // An agent may set `append` even on the first piece of an artifact: the artifact then begins here.
            (None, _) => all.push(Value::Object(artifact)),
        }
        Ok(())
    }

    /// How pieces of an artifact are called that are passed on: those of the first have no name, for it may be the only one.
    fn name_of(&self, artifact: &Map<String, Value>) -> Option<String> {
        let first = self.task.get("artifacts").and_then(|all| all.get(0));
        let (first, id) = (first?.get("artifactId"), artifact.get("artifactId"));
        let name = id.filter(|id| first != Some(id)).and_then(Value::as_str);
        name.map(|name| name.chars().take(LONGEST_NAME).collect())
    }

    /// Every event has to be of the task that the first one named.
    fn prove(&self, named: Option<&Value>) -> Result<(), Fault> {
        match (self.task.get("id"), named) {
            (Some(known), Some(named)) if known != named => Err(Fault::WrongTask),
            _ => Ok(()),
        }
    }

    /// An agent may begin with something else than its task: the name of that stands in every event.
    fn named(&mut self, update: &Map<String, Value>) -> Result<(), Fault> {
        self.prove(update.get("taskId"))?;
        if let Some(id) = update.get("taskId") {
            self.task.entry("id").or_insert_with(|| id.clone());
        }
        self.task
            .entry("status")
            .or_insert_with(|| json!({ "state": "working" }));
        Ok(())
    }
}

enum EventKind {
    Task,
    Message,
    Status,
    Artifact,
}

/// 1.0 names an event by the member around it, 0.3 by a member in it.
fn event(result: Value) -> Result<(EventKind, Map<String, Value>), Fault> {
    const NONE: Fault = Fault::Shape("an event of its stream is none of A2A");
    let Value::Object(mut members) = result else {
        return Err(NONE);
    };
    for (name, kind) in [
        ("task", EventKind::Task),
        ("message", EventKind::Message),
        ("statusUpdate", EventKind::Status),
        ("artifactUpdate", EventKind::Artifact),
    ] {
        if let Some(Value::Object(inner)) = members.get_mut(name) {
            return Ok((kind, std::mem::take(inner)));
        }
    }
    let kind = match members.get("kind").and_then(Value::as_str) {
        Some("task") => EventKind::Task,
        Some("message") => EventKind::Message,
        Some("status-update") => EventKind::Status,
        Some("artifact-update") => EventKind::Artifact,
        _ => return Err(NONE),
    };
    Ok((kind, members))
}
