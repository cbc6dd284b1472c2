//! Kind `simple-a2a`: `{task_id, input}` by POST, `{task_id, status, output, error}` back.

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use crate::handle::jsonrpc::{exchange, tamed};
use crate::handle::trace::Trace;
use crate::outgoing::{Endpoint, HttpAnswer};
use signet_handlers::answer::{self, ANSWER};
use signet_handlers::{Attempt, Done, Fault, Handler, Trying};

/// An agent that speaks the form before JSON-RPC.
pub(crate) struct SimpleA2a {
    pub(crate) endpoint: Endpoint,
    pub(crate) trace: Trace,
}

impl Handler for SimpleA2a {
    fn handle<'a>(&'a mut self, attempt: &'a Attempt<'a>) -> Trying<'a> {
        async move {
            let request = json!({ "task_id": attempt.key, "input": attempt.body() });
            let reply =
                exchange(&self.endpoint, &self.trace, attempt, &request, Vec::new()).await?;
            outcome(&reply, attempt.key)
        }
        .boxed_local()
    }
}

/// An error counts with any status of HTTP, a success with a success alone.
fn outcome(reply: &HttpAnswer, id: &str) -> Result<Done, Fault> {
    let failed = (!reply.status.is_success()).then(|| Fault::Status(reply.status.as_u16()));
    let read = || answer::read(reply.json_bytes()?, ANSWER).and_then(|value| answer(value, id));
    match (read(), failed) {
        (Ok(Done::Declined(text)), _) => Ok(Done::Declined(text)),
        (_, Some(fault)) => Err(fault),
        (read, None) => read,
    }
}

pub(crate) fn answer(value: Value, id: &str) -> Result<Done, Fault> {
    let Value::Object(mut members) = value else {
        return Err(Fault::Shape(
            "its answer is no object with task_id and status",
        ));
    };
    match members.get("task_id").and_then(Value::as_str) {
        Some(given) if given == id => {}
        Some(_) => return Err(Fault::WrongId),
        None => return Err(Fault::Shape("its answer has no task_id")),
    }
    let status = members.get("status").and_then(Value::as_str);
    let status = status
        .ok_or(Fault::Shape("its answer has no status"))?
        .to_owned();
    let error = members.remove("error").filter(|error| !error.is_null());
    let output = members.remove("output").filter(|output| !output.is_null());
    match (status.as_str(), error, output) {
        ("success" | "completed", None, Some(output)) => Ok(Done::Answer(output)),
        ("success" | "completed", None, None) => Err(Fault::NoOutput),
        ("success" | "completed", Some(_), _) => {
            Err(Fault::Shape("its answer says both success and an error"))
        }
        ("error" | "failed", Some(Value::String(text)), _) => {
            Ok(Done::Declined(format!("error: {}", tamed(&text))))
        }
        ("error" | "failed", ..) => Err(Fault::Shape("its error is no text")),
        _ => Err(Fault::UnknownState),
    }
}
