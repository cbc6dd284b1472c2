//! For `cargo fuzz` (CONTRIBUTING.md): what foreign agents and servers answer, read by the functions that the handlers read
//! with. Each gives what would be said to the peer that asked.

use serde_json::{Value, json};

use crate::a2a::Form;
use crate::events::Events;
use crate::json::{self, Limits};
use crate::{Done, a2a, jsonrpc, mcp, simple_a2a};

/// What the peer that asked is sent.
pub enum Said {
    /// A body: one line of JSON.
    Body(String),
    /// Words of an error.
    Words(String),
}

/// What an agent of the simple A2A answers to the task of this id.
pub fn simple_a2a_answer(body: &[u8], id: &str) -> Option<Said> {
    let value = json::parse(body, Limits::ANSWER).ok()?;
    said(simple_a2a::answer(value, id).ok()?)
}

/// What a server of JSON-RPC answers to the request of this id.
pub fn jsonrpc_answer(body: &[u8], id: &str) -> Option<Said> {
    match result(body, id)? {
        Ok(result) => Some(Said::Body(result.to_string())),
        Err(text) => Some(Said::Words(text)),
    }
}

/// What an agent of A2A, of whichever version, answers to the request of this id, as parts or as text.
pub fn a2a_answer(body: &[u8], id: &str, as_parts: bool) -> Option<Said> {
    let form = if as_parts { Form::Parts } else { Form::Text };
    match a2a::read_result(result(body, id)?.ok()?, form).ok()? {
        a2a::Progress::Done(done) => said(done),
        a2a::Progress::Working(task) => Some(Said::Body(task.to_string())),
    }
}

/// What a tool of an MCP server answers to the request of this id, by itself or as the events of a stream.
pub fn mcp_answer(body: &[u8], id: &str) -> Option<Said> {
    let mut streamed = None;
    let mut events = Events::default();
    // In pieces of any size the events are the same.
    for piece in body.chunks(7) {
        let heard = events.push(piece, |data| {
            streamed = streamed.take().or_else(|| tool_answer(data, id));
            Ok::<bool, ()>(false)
        });
        heard.ok()?;
    }
    streamed.or_else(|| tool_answer(body, id))
}

fn tool_answer(body: &[u8], id: &str) -> Option<Said> {
    said(mcp::outcome(result(body, id)?.ok()?).ok()?)
}

fn result(body: &[u8], id: &str) -> Option<Result<Value, String>> {
    let value = json::parse(body, Limits::ANSWER).ok()?;
    let answer = jsonrpc::answer(value, &json!(id)).ok()?;
    Some(answer.map_err(|error| error.to_string()))
}

fn said(done: Done) -> Option<Said> {
    match done {
        Done::Answer(body) => Some(Said::Body(body.to_string())),
        Done::Declined(text) | Done::Unfinished { text, .. } => Some(Said::Words(text)),
        Done::Nothing => None,
    }
}
