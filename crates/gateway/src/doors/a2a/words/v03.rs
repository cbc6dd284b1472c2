//! What A2A 0.3 writes otherwise: `kind` in every object, states and roles in lower case, files in an object of their own,
//! `final` on the last event.

use serde_json::{Map, Value, json};

use super::model::{
    Artifact, Content, Event, Message, Part, PushConfig, Role, Status, StatusUpdate, Task,
};

/// A task.
pub(crate) fn task(task: &Task) -> Value {
    let mut members = object([
        ("kind", json!("task")),
        ("id", json!(task.id)),
        ("contextId", json!(task.context_id)),
        ("status", status(&task.status)),
    ]);
    put_list(&mut members, "artifacts", &task.artifacts, artifact);
    put_list(&mut members, "history", &task.history, message);
    if let Some(metadata) = &task.metadata {
        members.insert("metadata".to_owned(), json!(metadata));
    }
    Value::Object(members)
}

/// What a stream says.
pub(crate) fn event(event: &Event) -> Value {
    match event {
        Event::Task(whole) => task(whole),
        Event::StatusUpdate(update) => status_update(update),
        Event::ArtifactUpdate(update) => json!({
            "kind": "artifact-update",
            "taskId": update.task_id,
            "contextId": update.context_id,
            "artifact": artifact(&update.artifact),
            "append": update.append,
            "lastChunk": update.last_chunk,
        }),
    }
}

/// A configuration of pushes.
pub(crate) fn push(config: &PushConfig) -> Value {
    let mut inner = object([("id", json!(config.id)), ("url", json!(config.url))]);
    if let Some(token) = &config.token {
        inner.insert("token".to_owned(), json!(token));
    }
    if let Some(given) = &config.authentication {
        let mut authentication = object([("schemes", json!([given.scheme]))]);
        if let Some(credentials) = &given.credentials {
            authentication.insert("credentials".to_owned(), json!(credentials));
        }
        inner.insert("authentication".to_owned(), Value::Object(authentication));
    }
    json!({ "taskId": config.task_id, "pushNotificationConfig": inner })
}

fn status_update(update: &StatusUpdate) -> Value {
    let state = update.status.state;
    json!({
        "kind": "status-update",
        "taskId": update.task_id,
        "contextId": update.context_id,
        "status": status(&update.status),
        "final": state.is_terminal() || state.is_interrupted(),
    })
}

fn status(status: &Status) -> Value {
    let mut members = object([
        ("state", json!(status.state.v03())),
        ("timestamp", json!(status.timestamp)),
    ]);
    if let Some(said) = &status.message {
        members.insert("message".to_owned(), message(said));
    }
    Value::Object(members)
}

/// A message.
pub(crate) fn message(said: &Message) -> Value {
    let role = match said.role {
        Role::User => "user",
        Role::Agent => "agent",
    };
    let parts: Vec<Value> = said.parts.iter().map(part).collect();
    let mut members = object([
        ("kind", json!("message")),
        ("messageId", json!(said.message_id)),
        ("role", json!(role)),
        ("parts", Value::Array(parts)),
    ]);
    let optional = [("contextId", &said.context_id), ("taskId", &said.task_id)];
    for (name, value) in optional {
        if let Some(value) = value {
            members.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(metadata) = &said.metadata {
        members.insert("metadata".to_owned(), json!(metadata));
    }
    put_list(&mut members, "extensions", &said.extensions, |text| {
        json!(text)
    });
    let referred = &said.reference_task_ids;
    put_list(&mut members, "referenceTaskIds", referred, |id| json!(id));
    Value::Object(members)
}

fn artifact(artifact: &Artifact) -> Value {
    let parts: Vec<Value> = artifact.parts.iter().map(part).collect();
    let mut members = object([
        ("artifactId", json!(artifact.artifact_id)),
        ("parts", Value::Array(parts)),
    ]);
    let optional = [
        ("name", &artifact.name),
        ("description", &artifact.description),
    ];
    for (name, value) in optional {
        members.extend(value.as_ref().map(|text| (name.to_owned(), json!(text))));
    }
    put_list(&mut members, "extensions", &artifact.extensions, |text| {
        json!(text)
    });
    Value::Object(members)
}

/// A part.
pub(crate) fn part(part: &Part) -> Value {
    let mut metadata = part.metadata.clone().unwrap_or_default();
    let (kind, member, value) = match &part.content {
        Content::Text(text) => ("text", "text", json!(text)),
        Content::Data(data @ Value::Object(_)) => ("data", "data", data.clone()),
        // 0.3 knows data that is an object alone; the SDKs wrap every other value so.
        Content::Data(other) => {
            metadata.insert(WRAPPED.to_owned(), Value::Bool(true));
            ("data", "data", json!({ "value": other }))
        }
        Content::Raw(bytes) => ("file", "file", file(part, "bytes", bytes)),
        Content::Url(url) => ("file", "file", file(part, "uri", url)),
    };
    let mut members = object([("kind", json!(kind)), (member, value)]);
    if !metadata.is_empty() {
        members.insert("metadata".to_owned(), Value::Object(metadata));
    }
    Value::Object(members)
}

fn file(part: &Part, member: &'static str, content: &str) -> Value {
    let mut members = object([(member, json!(content))]);
    let optional = [("name", &part.filename), ("mimeType", &part.media_type)];
    for (name, value) in optional {
        if let Some(value) = value {
            members.insert(name.to_owned(), json!(value));
        }
    }
    Value::Object(members)
}

fn put_list<T>(
    members: &mut Map<String, Value>,
    name: &str,
    items: &[T],
    write: impl Fn(&T) -> Value,
) {
    if !items.is_empty() {
        let items = items.iter().map(write).collect();
        members.insert(name.to_owned(), Value::Array(items));
    }
}

fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    let members = members.into_iter();
    members
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// In the metadata of a part whose data is no object.
pub(super) const WRAPPED: &str = "data_part_compat";

#[cfg(test)]
mod tests {
    use super::super::model::{ArtifactUpdate, Authentication, TaskState};
    use super::*;

    #[test]
    fn a_task_of_0_3_is_the_same_task_in_other_words() {
        let said: Task = serde_json::from_value(json!({
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-01-01T00:00:00.000Z",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "which week?"}]}},
            "history": [{"messageId": "u", "taskId": "t", "role": "ROLE_USER", "parts": [{"data": [1]}, {"raw": "AA==", "filename": "f"}]}],
        }))
        .unwrap();
        assert_eq!(
            task(&said),
            json!({"kind": "task", "id": "t", "contextId": "c",
                "status": {"state": "input-required", "timestamp": "2026-01-01T00:00:00.000Z",
                    "message": {"kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "which week?"}]}},
                "history": [{"kind": "message", "messageId": "u", "taskId": "t", "role": "user", "parts": [
                    {"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": true}},
                    {"kind": "file", "file": {"bytes": "AA==", "name": "f"}}]}]})
        );
    }

    #[test]
    fn the_last_event_says_that_it_is() {
        for (state, last) in [
            (TaskState::Working, false),
            (TaskState::InputRequired, true),
            (TaskState::Completed, true),
        ] {
            let update = StatusUpdate {
                task_id: "t".to_owned(),
                context_id: "c".to_owned(),
                status: Status {
                    state,
                    message: None,
                    timestamp: "x".to_owned(),
                },
            };
            let written = event(&Event::StatusUpdate(update));
            assert_eq!(
                (&written["final"], &written["kind"]),
                (&json!(last), &json!("status-update"))
            );
        }
        let update = ArtifactUpdate {
            task_id: "t".to_owned(),
            context_id: "c".to_owned(),
            artifact: Artifact {
                artifact_id: "answer".to_owned(),
                name: None,
                description: None,
                extensions: Vec::new(),
                parts: vec![Part::text("x")],
            },
            append: false,
            last_chunk: true,
        };
        let written = event(&Event::ArtifactUpdate(update));
        assert_eq!(
            (&written["append"], &written["lastChunk"]),
            (&json!(false), &json!(true))
        );
    }

    #[test]
    fn a_push_configuration_stands_within_its_task() {
        let config = PushConfig {
            task_id: "t".to_owned(),
            id: "default".to_owned(),
            url: "https://x.example/".to_owned(),
            token: None,
            authentication: Some(Authentication {
                scheme: "Bearer".to_owned(),
                credentials: None,
            }),
        };
        assert_eq!(
            push(&config),
            json!({"taskId": "t", "pushNotificationConfig": {"id": "default", "url": "https://x.example/",
                "authentication": {"schemes": ["Bearer"]}}})
        );
    }
}
