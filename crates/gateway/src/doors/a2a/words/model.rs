//! Tasks, messages, parts and events, as A2A 1.0 writes them: what is kept, and what every other form is made of.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a client asked for, and how far it is.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct A2aTask {
    pub(crate) id: String,
    pub(crate) context_id: String,
    pub(crate) status: A2aStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) artifacts: Vec<Artifact>,
    /// Oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) history: Vec<A2aMessage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// How far a task is, since when, and in whose words.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct A2aStatus {
    pub(crate) state: A2aTaskState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<A2aMessage>,
    /// RFC 3339 in UTC, with milliseconds.
    pub(crate) timestamp: String,
}

/// The states of A2A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum A2aTaskState {
    #[serde(rename = "TASK_STATE_SUBMITTED")]
    Submitted,
    #[serde(rename = "TASK_STATE_WORKING")]
    Working,
    #[serde(rename = "TASK_STATE_COMPLETED")]
    Completed,
    #[serde(rename = "TASK_STATE_FAILED")]
    Failed,
    #[serde(rename = "TASK_STATE_CANCELED")]
    Canceled,
    #[serde(rename = "TASK_STATE_INPUT_REQUIRED")]
    InputRequired,
    #[serde(rename = "TASK_STATE_REJECTED")]
    Rejected,
    #[serde(rename = "TASK_STATE_AUTH_REQUIRED")]
    AuthRequired,
}

impl A2aTaskState {
    /// Every state with its name in 0.3 and its number in the enum of 1.0.
    const NAMED: [(Self, &'static str, u64); 8] = [
        (Self::Submitted, "submitted", 1),
        (Self::Working, "working", 2),
        (Self::Completed, "completed", 3),
        (Self::Failed, "failed", 4),
        (Self::Canceled, "canceled", 5),
        (Self::InputRequired, "input-required", 6),
        (Self::Rejected, "rejected", 7),
        (Self::AuthRequired, "auth-required", 8),
    ];

    /// Nothing follows.
    pub(crate) const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Canceled | Self::Rejected
        )
    }

    /// The other side waits for the client.
    pub(crate) const fn is_interrupted(self) -> bool {
        matches!(self, Self::InputRequired | Self::AuthRequired)
    }

    /// The name in 0.3.
    pub(crate) fn v03(self) -> &'static str {
        let found = Self::NAMED.iter().find(|(state, ..)| *state == self);
        // Every state is listed in `NAMED`, so `unknown` is never used.
        found.map_or("unknown", |(_, name, _)| name)
    }

    /// A state by its name in 0.3 or 1.0, or its number.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let is_it = |name: &str, number: u64| match value {
            Value::String(text) => {
                let bare = text.strip_prefix("TASK_STATE_");
                let bare = bare.map(|bare| bare.to_ascii_lowercase().replace('_', "-"));
                let bare = bare.as_deref().unwrap_or(text);
                // Some agents write `cancelled`, with two l, where A2A writes `canceled`: take both.
                bare == name || (bare, name) == ("cancelled", "canceled")
            }
            other => other.as_u64() == Some(number),
        };
        let mut all = Self::NAMED.iter();
        let found = all.find(|(_, name, number)| is_it(name, *number));
        found.map(|(state, ..)| *state)
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum A2aRole {
    #[serde(rename = "ROLE_USER")]
    User,
    #[serde(rename = "ROLE_AGENT")]
    Agent,
}

/// One message of a task.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct A2aMessage {
    pub(crate) message_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) context_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) task_id: Option<String>,
    pub(crate) role: A2aRole,
    pub(crate) parts: Vec<A2aPart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) extensions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reference_task_ids: Vec<String>,
}

impl A2aMessage {
    /// A message of these parts, and nothing beside them.
    pub(crate) fn of(id: impl Into<String>, role: A2aRole, parts: Vec<A2aPart>) -> Self {
        Self {
            message_id: id.into(),
            context_id: None,
            task_id: None,
            role,
            parts,
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }
}

/// One piece of a message or an artifact.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct A2aPart {
    // A2A 1.0 has no member `content`: `text`, `raw`, `url` or `data` is a member of the part itself. So write the content's
    // members in its place.
    #[serde(flatten)]
    pub(crate) content: PartContent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) filename: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<Map<String, Value>>,
}

/// What a part holds.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PartContent {
    Text(String),
    /// Bytes in base64.
    Raw(String),
    /// The address of a file, which nobody here fetches.
    Url(String),
    Data(Value),
}

impl A2aPart {
    /// A part without a name or a type.
    pub(crate) const fn of(content: PartContent) -> Self {
        Self {
            content,
            filename: None,
            media_type: None,
            metadata: None,
        }
    }

    /// A text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::of(PartContent::Text(text.into()))
    }
}

/// What came of a task.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Artifact {
    pub(crate) artifact_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    pub(crate) parts: Vec<A2aPart>,
    /// Those that its client activated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) extensions: Vec<String>,
}

/// What a stream says: in 1.0 each is an object with this one member.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum A2aEvent {
    Task(A2aTask),
    StatusUpdate(StatusUpdate),
    ArtifactUpdate(ArtifactUpdate),
}

/// A task has another state, or says more of it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusUpdate {
    pub(crate) task_id: String,
    pub(crate) context_id: String,
    pub(crate) status: A2aStatus,
}

/// A task has an artifact, or more of one.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactUpdate {
    pub(crate) task_id: String,
    pub(crate) context_id: String,
    pub(crate) artifact: Artifact,
    /// Whether the parts follow those that came before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) append: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) last_chunk: bool,
}

impl A2aEvent {
    /// The state that it tells of.
    pub(crate) const fn state(&self) -> Option<A2aTaskState> {
        match self {
            Self::Task(task) => Some(task.status.state),
            Self::StatusUpdate(update) => Some(update.status.state),
            Self::ArtifactUpdate(_) => None,
        }
    }
}

impl A2aTask {
    /// The same with the newest `length` messages of its history alone, or with all.
    #[must_use]
    pub(crate) fn with_history(mut self, length: Option<usize>) -> Self {
        if let Some(length) = length {
            let older = self.history.len().saturating_sub(length);
            self.history.drain(..older);
        }
        self
    }
}

/// Where a push goes: what 1.0 calls a TaskPushNotificationConfig.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PushConfig {
    pub(crate) task_id: String,
    pub(crate) id: String,
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authentication: Option<Authentication>,
}

/// How the receiver of a push knows who sends it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Authentication {
    pub(crate) scheme: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) credentials: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_is_written_and_read_as_1_0_has_it_and_nothing_empty_is() {
        let task = json!({
            "id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-01-01T00:00:00.000Z",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "looking"}]}},
            "artifacts": [{"artifactId": "answer", "parts": [
                {"data": {"a": [1]}, "mediaType": "application/json"}, {"raw": "AA==", "filename": "f"}, {"url": "https://x.example/"}]}],
        });
        let read: A2aTask = serde_json::from_value(task.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), task);
        assert_eq!(
            serde_json::to_value(A2aEvent::Task(read)).unwrap(),
            json!({"task": task})
        );
    }

    #[test]
    fn a_state_is_read_by_either_name_and_by_its_number() {
        for (value, state) in [
            (
                json!("TASK_STATE_INPUT_REQUIRED"),
                Some(A2aTaskState::InputRequired),
            ),
            (json!("input-required"), Some(A2aTaskState::InputRequired)),
            (json!(6), Some(A2aTaskState::InputRequired)),
            (json!("done"), None),
            (json!(99), None),
            (json!(""), None),
        ] {
            assert_eq!(A2aTaskState::read(&value), state, "{value}");
        }
        for (state, name, number) in A2aTaskState::NAMED {
            let written = serde_json::to_value(state).unwrap();
            assert_eq!(A2aTaskState::read(&written), Some(state));
            assert_eq!(A2aTaskState::read(&json!(name)), Some(state));
            assert_eq!(A2aTaskState::read(&json!(number)), Some(state));
            assert_eq!(state.v03(), name);
        }
    }

    #[test]
    fn a_history_keeps_its_newest_and_stays_in_order() {
        let said = |id: &str| A2aMessage::of(id, A2aRole::User, vec![A2aPart::text("x")]);
        let task = A2aTask {
            id: "t".to_owned(),
            context_id: "c".to_owned(),
            status: A2aStatus {
                state: A2aTaskState::Working,
                message: None,
                timestamp: String::new(),
            },
            artifacts: Vec::new(),
            history: ["1", "2", "3"].map(said).to_vec(),
            metadata: None,
        };
        let ids = |length| {
            let task = task.clone().with_history(length);
            let ids = task.history.into_iter().map(|said| said.message_id);
            ids.collect::<Vec<_>>().concat()
        };
        assert_eq!(
            [ids(None), ids(Some(0)), ids(Some(2)), ids(Some(9))],
            ["123", "", "23", "123"].map(str::to_owned)
        );
    }
}
