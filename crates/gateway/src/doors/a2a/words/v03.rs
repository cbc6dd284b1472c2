//! What A2A 0.3 writes otherwise: `kind` in every object, states and roles in lower case, files in an object of their own,
//! `final` on the last event.

use serde_json::{Value, json};

use super::model::{
    A2aEvent, A2aMessage, A2aPart, A2aRole, A2aStatus, A2aTask, Artifact, PartContent, PushConfig,
    StatusUpdate,
};

/// A task.
pub(crate) fn task(task: &A2aTask) -> Value {
    present(json!({
        "kind": "task",
        "id": task.id,
        "contextId": task.context_id,
        "status": status(&task.status),
        "artifacts": list(&task.artifacts, artifact),
        "history": list(&task.history, message),
        "metadata": task.metadata,
    }))
}

/// What a stream says.
pub(crate) fn event(event: &A2aEvent) -> Value {
    match event {
        A2aEvent::Task(whole) => task(whole),
        A2aEvent::StatusUpdate(update) => status_update(update),
        A2aEvent::ArtifactUpdate(update) => json!({
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
    let given = config.authentication.as_ref();
    let inner = present(json!({
        "id": config.id,
        "url": config.url,
        "token": config.token,
        "authentication": given.map(|given| present(json!({
            "schemes": [given.scheme],
            "credentials": given.credentials,
        }))),
    }));
    json!({ "taskId": config.task_id, "pushNotificationConfig": inner })
}

fn status_update(update: &StatusUpdate) -> Value {
    let state = update.status.state;
    // `final` tells the client that the stream ends: in A2A 0.3 it ends when the task is over or waits for
    // the client (stream.rs).
    json!({
        "kind": "status-update",
        "taskId": update.task_id,
        "contextId": update.context_id,
        "status": status(&update.status),
        "final": state.is_terminal() || state.is_interrupted(),
    })
}

fn status(status: &A2aStatus) -> Value {
    present(json!({
        "state": status.state.v03(),
        "timestamp": status.timestamp,
        "message": status.message.as_ref().map(message),
    }))
}

/// A message.
pub(crate) fn message(said: &A2aMessage) -> Value {
    let role = match said.role {
        A2aRole::User => "user",
        A2aRole::Agent => "agent",
    };
    present(json!({
        "kind": "message",
        "messageId": said.message_id,
        "role": role,
        "parts": said.parts.iter().map(part).collect::<Vec<_>>(),
        "contextId": said.context_id,
        "taskId": said.task_id,
        "metadata": said.metadata,
        "extensions": list(&said.extensions, |name| json!(name)),
        "referenceTaskIds": list(&said.reference_task_ids, |id| json!(id)),
    }))
}

fn artifact(artifact: &Artifact) -> Value {
    present(json!({
        "artifactId": artifact.artifact_id,
        "parts": artifact.parts.iter().map(part).collect::<Vec<_>>(),
        "name": artifact.name,
        "description": artifact.description,
        "extensions": list(&artifact.extensions, |name| json!(name)),
    }))
}

/// A part.
pub(crate) fn part(part: &A2aPart) -> Value {
    let mut metadata = part.metadata.clone().unwrap_or_default();
    let (kind, value) = match &part.content {
        PartContent::Text(text) => ("text", json!(text)),
        PartContent::Data(data @ Value::Object(_)) => ("data", data.clone()),
        // In A2A 0.3, data must be an object: wrap every other value in the same form as the SDKs do.
        PartContent::Data(other) => {
            metadata.insert(WRAPPED.to_owned(), Value::Bool(true));
            ("data", json!({ "value": other }))
        }
        PartContent::Raw(bytes) => ("file", file(part, "bytes", bytes)),
        PartContent::Url(url) => ("file", file(part, "uri", url)),
    };
    present(json!({
        "kind": kind,
        kind: value,
        "metadata": (!metadata.is_empty()).then_some(metadata),
    }))
}

fn file(part: &A2aPart, member: &str, content: &str) -> Value {
    present(json!({ member: content, "name": part.filename, "mimeType": part.media_type }))
}

/// The items as 0.3 writes them; nothing of an empty list, which is left out.
fn list<T>(items: &[T], write: impl Fn(&T) -> Value) -> Option<Vec<Value>> {
    (!items.is_empty()).then(|| items.iter().map(write).collect())
}

/// The object without the members that are null: an absent one is left out.
fn present(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    object
}

/// In the metadata of a part whose data is no object.
pub(super) const WRAPPED: &str = "data_part_compat";

#[cfg(test)]
mod tests {
    use super::super::model::{A2aTaskState, ArtifactUpdate, Authentication};
    use super::*;

    #[test]
    fn a_task_of_0_3_is_the_same_task_in_other_words() {
        let said: A2aTask = serde_json::from_value(json!({
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
            (A2aTaskState::Working, false),
            (A2aTaskState::InputRequired, true),
            (A2aTaskState::Completed, true),
        ] {
            let update = StatusUpdate {
                task_id: "t".to_owned(),
                context_id: "c".to_owned(),
                status: A2aStatus {
                    state,
                    message: None,
                    timestamp: "x".to_owned(),
                },
            };
            let written = event(&A2aEvent::StatusUpdate(update));
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
                parts: vec![A2aPart::text("x")],
            },
            append: false,
            last_chunk: true,
        };
        let written = event(&A2aEvent::ArtifactUpdate(update));
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
