//! Kind `a2a`: an agent that speaks A2A over JSON-RPC, `message/send` (0.3) or `SendMessage` (1.0).
//!
//! The message goes as one text part: JSON, or the text itself where the body is one. The task's id is the message's key,
//! which no other peer can take: an agent that knows a request again by its id never gives one peer another's answer. For
//! the same reason no `contextId` goes along: a peer chooses its conversations' names.

mod result;

use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use crate::endpoint::Endpoint;
use crate::jsonrpc::{self, exchange};
use crate::trace::Trace;
use crate::{Done, Fault, Handler, Task, Trying};

pub(crate) use result::{Progress, one_or_list, read as read_result, read_text};

/// Sends each message to one agent, and waits until its task is done.
pub(crate) struct A2a {
    pub(crate) endpoint: Endpoint,
    pub(crate) version: Version,
    pub(crate) trace: Trace,
}

/// Which of the two forms the agent speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V0_3,
    V1_0,
}

impl Handler for A2a {
    fn handle<'a>(&'a mut self, task: &'a Task<'a>) -> Trying<'a> {
        async move {
            let params = self.version.message(task);
            let mut result = match self.call(task, self.version.send(), params).await? {
                Ok(result) => result,
                Err(error) => return Ok(Done::Declined(error.to_string())),
            };
            loop {
                let word = result::word(&result);
                let id = match result::read(result)? {
                    Progress::Done(done) => return Ok(done),
                    Progress::Working(id) => id,
                };
                task.tell(word);
                // What is dropped at the end of the time is this future: the agent may work on, and is not asked again.
                tokio::time::sleep(LOOK_AGAIN).await;
                let params = json!({ "id": id });
                result = match self.call(task, self.version.look(), params).await? {
                    Ok(result) => result,
                    Err(error) => return Ok(Done::Declined(error.to_string())),
                };
            }
        }
        .boxed_local()
    }
}

impl A2a {
    async fn call(
        &self,
        task: &Task<'_>,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, jsonrpc::RpcError>, Fault> {
        let request = jsonrpc::call(task.key, method, params);
        let version = vec![("a2a-version", self.version.name().to_owned())];
        let reply = exchange(&self.endpoint, &self.trace, task, &request, version).await?;
        jsonrpc::outcome(&reply, &json!(task.key))
    }
}

impl Version {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "0.3" => Some(Self::V0_3),
            "1.0" => Some(Self::V1_0),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    const fn send(self) -> &'static str {
        match self {
            Self::V0_3 => "message/send",
            Self::V1_0 => "SendMessage",
        }
    }

    const fn look(self) -> &'static str {
        match self {
            Self::V0_3 => "tasks/get",
            Self::V1_0 => "GetTask",
        }
    }

    fn message(self, task: &Task<'_>) -> Value {
        let text = match task.body() {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let (role, part) = match self {
            Self::V0_3 => ("user", json!({ "kind": "text", "text": text })),
            Self::V1_0 => ("ROLE_USER", json!({ "text": text })),
        };
        let mut message = json!({
            "role": role, "messageId": format!("msg-{}", task.key), "parts": [part],
        });
        if self == Self::V0_3
            && let Some(members) = message.as_object_mut()
        {
            members.insert("kind".to_owned(), json!("message"));
        }
        json!({ "message": message, "metadata": { "signet": about(task) } })
    }
}

/// What the daemon verified of the message: nothing here is free text but the conversation's name.
pub(crate) fn about(task: &Task<'_>) -> Value {
    let message = task.message;
    let mut about = json!({
        "from": message.from, "principal": message.principal, "messageId": message.message_id,
        "dataTier": message.data_tier, "try": task.tries,
    });
    let optional = [
        ("capability", &message.capability),
        ("conversationId", &message.conversation_id),
    ];
    for (name, value) in optional {
        if let (Some(members), Some(value)) = (about.as_object_mut(), value) {
            members.insert(name.to_owned(), json!(value));
        }
    }
    about
}

/// How often an agent is asked whether it is done that answers before it is.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
