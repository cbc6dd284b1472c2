//! Kind `a2a`: an agent that speaks A2A over JSON-RPC, 0.3 or 1.0.
//!
//! ```text
//! stream ── refused ──▶ send, and hear of it by push ── no listener, or refused ──▶ send, and ask every second
//!    └── broke off ───────────────────────────────────────────────────────────────▶ ask every second
//! ```
//!
//! The id of the call is the message's key, which no other peer can take: an agent that knows a request again by its id never
//! gives one peer another's answer. For the same reason the `contextId` is a hash of the peer and its conversation: a peer
//! chooses its conversations' names. What the agent tells of another task than the one it was asked about is refused.

mod context;
mod parts;
mod push;
pub(crate) mod result;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use hyper::header::HeaderMap;
use serde_json::{Value, json};

use crate::doors::a2a::words::body::put_beside;
use crate::doors::a2a::words::method::{A2aMethod, A2aVersion};
use crate::doors::a2a::words::model::{A2aMessage, A2aRole};
use crate::doors::a2a::words::v03;
use crate::handle::events::Events;
use crate::handle::http::{self, HandlerPost, is_stream};
use crate::handle::jsonrpc::{self, RpcAnswer, exchange};
use crate::handle::trace::Trace;
use crate::outgoing::Endpoint;
use signet_handlers::answer::{self, ANSWER};
use signet_handlers::{Attempt, Done, Fault, Handler, Trying};

pub(crate) use context::Resting;
pub(crate) use parts::{PartsForm, one_or_list, read_text};
use push::Bell;
pub(crate) use push::PushListener;
use result::TaskProgress;
use stream::StreamedTask;

/// Sends each message to one agent, and waits until its task is done.
pub(crate) struct A2a {
    pub(crate) endpoint: Endpoint,
    pub(crate) speaking: Speaking,
    pub(crate) trace: Trace,
}

/// How the agent is spoken to.
#[derive(Clone, Debug)]
pub(crate) struct Speaking {
    pub(crate) version: A2aVersion,
    pub(crate) form: PartsForm,
    /// Whether the agent is asked for a stream of what it does.
    pub(crate) streams: bool,
    /// Where it says by push that its task has moved.
    pub(crate) receiver: Option<Arc<PushListener>>,
    /// The tasks that wait for more: those of all workers of the handler.
    pub(crate) resting: Arc<Resting>,
}

impl Handler for A2a {
    fn handle<'a>(&'a mut self, attempt: &'a Attempt<'a>) -> Trying<'a> {
        async move {
            let (mut called, mut bell) = self.begin(attempt).await?;
            // If this message would continue a task that the agent no longer knows, forget that task, and send the message once
            // more, as a new task: its sender cannot know what the agent has forgotten.
            if let Err(error) = &called
                && error.code() == NO_TASK
                && self.speaking.resting.forget(attempt)
            {
                (called, bell) = self.begin(attempt).await?;
            }
            self.finish(attempt, called, bell).await
        }
        .boxed_local()
    }
}

impl A2a {
    /// Hands the message to the agent by the best of the ways that it has.
    async fn begin(&mut self, attempt: &Attempt<'_>) -> Result<(RpcAnswer, Option<Bell>), Fault> {
        if self.speaking.streams {
            match self.stream(attempt).await? {
                // The agent has just said that it offers no streams: this worker does not ask for one again.
                Err(error) if NOT_OFFERED.contains(&error.code()) => self.speaking.streams = false,
                called => return Ok((called, None)),
            }
        }
        let mut bell = match &self.speaking.receiver {
            Some(receiver) => receiver.bell().await,
            None => None,
        };
        let mut called = self.send(attempt, bell.as_ref()).await?;
        if let (Some(_), Err(error)) = (&bell, &called)
            && NO_PUSH.contains(&error.code())
        {
            (self.speaking.receiver, bell) = (None, None);
            called = self.send(attempt, None).await?;
        }
        Ok((called, bell))
    }

    async fn send(&self, attempt: &Attempt<'_>, bell: Option<&Bell>) -> Result<RpcAnswer, Fault> {
        let mut params = self.message(attempt);
        if let (Some(bell), Some(members)) = (bell, params.as_object_mut()) {
            let configuration = self.pushed_to(bell);
            members.insert("configuration".to_owned(), configuration);
        }
        self.call(attempt, A2aMethod::Send, params).await
    }

    /// Asks for the task until it is over.
    async fn finish(
        &self,
        attempt: &Attempt<'_>,
        called: RpcAnswer,
        bell: Option<Bell>,
    ) -> Result<Done, Fault> {
        let (mut called, mut asked) = (called, None);
        loop {
            let result = match called {
                Ok(result) => result,
                Err(error) => return Ok(Done::Declined(error.to_string())),
            };
            // The first answer names the task. A later answer about another task could be meant for another peer: refuse it.
            if let Some(asked) = &asked {
                result::prove_task(&result, asked)?;
            }
            let (word, rests) = (result::word(&result), result::resting(&result));
            let id = match result::read(result, self.speaking.form)? {
                TaskProgress::Done(done) => {
                    self.speaking.resting.note(attempt, rests);
                    return Ok(done);
                }
                TaskProgress::Working(id) => id,
            };
            attempt.tell(word);
            // This loop needs no end of its own: when the time of the attempt is over, this future is dropped, and
            // the agent is not asked again.
            match &bell {
                // A push may get lost, so the agent is also asked without a push, but seldom.
                Some(bell) => drop(tokio::time::timeout(LOOK_SELDOM, bell.rung()).await),
                None => tokio::time::sleep(LOOK_AGAIN).await,
            }
            let params = json!({ "id": &id });
            called = self.call(attempt, A2aMethod::Get, params).await?;
            asked = Some(id);
        }
    }

    async fn call(
        &self,
        attempt: &Attempt<'_>,
        method: A2aMethod,
        params: Value,
    ) -> Result<RpcAnswer, Fault> {
        let request = jsonrpc::call(attempt.key, method.name(self.speaking.version), params);
        let reply = exchange(&self.endpoint, &self.trace, attempt, &request, self.says()).await?;
        jsonrpc::outcome(&reply, &json!(attempt.key))
    }

    /// The task as its stream has told it, when that ended.
    async fn stream(&self, attempt: &Attempt<'_>) -> Result<RpcAnswer, Fault> {
        let params = self.message(attempt);
        let request = jsonrpc::call(
            attempt.key,
            A2aMethod::Stream.name(self.speaking.version),
            params,
        );
        let body = request.to_string().into_bytes();
        self.trace.sent(attempt, &body);
        let mut headers = http::who_asks(attempt);
        headers.extend(self.says());
        let post = HandlerPost {
            body,
            accept: "text/event-stream, application/json",
            headers,
        };
        let id = json!(attempt.key);
        let (mut events, mut told, mut refused) =
            (Events::default(), StreamedTask::default(), None);
        let mut watch = |headers: &HeaderMap, piece: &[u8]| match is_stream(headers) {
            true => events.push(piece, |data| {
                self.trace.heard(attempt, data);
                match jsonrpc::answer(answer::read(data, ANSWER)?, &id)? {
                    Ok(result) => told.take(result, attempt),
                    Err(error) => {
                        refused = Some(error);
                        Ok(true)
                    }
                }
            }),
            false => Ok(false),
        };
        let reply = http::post_until(&self.endpoint, post, &mut watch).await?;
        if !is_stream(&reply.headers) || !reply.status.is_success() {
            self.trace.heard(attempt, &reply.body);
            return jsonrpc::outcome(&reply, &id);
        }
        match refused {
            Some(error) => Ok(Err(error)),
            None => told.result().map(Ok).ok_or(Fault::CutShort),
        }
    }

    /// The message, in its context, and for the task there that waits for more.
    fn message(&self, attempt: &Attempt<'_>) -> Value {
        let parts = self.speaking.form.parts(attempt.body());
        let mut message = A2aMessage {
            context_id: context::of(attempt),
            task_id: self.speaking.resting.of(attempt),
            ..A2aMessage::of(format!("msg-{}", attempt.key), A2aRole::User, parts)
        };
        put_beside(&mut message);
        let message = match self.speaking.version {
            A2aVersion::V03 => v03::message(&message),
            A2aVersion::V1 => json!(message),
        };
        json!({ "message": message, "metadata": { "signet": about(attempt) } })
    }

    /// That the agent answers at once, and says by push when its task has moved.
    fn pushed_to(&self, bell: &Bell) -> Value {
        match self.speaking.version {
            A2aVersion::V03 => {
                json!({ "blocking": false, "pushNotificationConfig": bell.config() })
            }
            A2aVersion::V1 => {
                json!({ "returnImmediately": true, "taskPushNotificationConfig": bell.config() })
            }
        }
    }

    fn says(&self) -> Vec<(&'static str, String)> {
        vec![("a2a-version", self.speaking.version.name().to_owned())]
    }
}

/// What the daemon verified of the message: nothing here is free text but the conversation's name.
pub(crate) fn about(attempt: &Attempt<'_>) -> Value {
    let message = attempt.message;
    let mut about = json!({
        "from": message.from, "principal": message.principal, "messageId": message.message_id,
        "dataTier": message.data_tier, "try": attempt.tries,
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
/// The same of one that was given a bell.
const LOOK_SELDOM: Duration = Duration::from_secs(30);
/// The codes of an agent that does not stream: no such method, not supported.
const NOT_OFFERED: [i64; 2] = [-32601, -32004];
/// The codes of an agent that does not push.
const NO_PUSH: [i64; 2] = [-32003, -32004];
/// The code of an agent that knows no task of that id.
const NO_TASK: i64 = -32001;
