//! A2A 1.0 and 0.3 on one endpoint: every trusted peer is an A2A agent.
//!
//! ```text
//! client ── POST ──▶ http ── frame, version ──▶ call ──▶ store: the task is written ──▶ door ── send ──▶ agent.sock
//!        ◀── JSON ── or ── stream: events by number ◀── store ◀── task: state machine ◀── follow ◀── moved, progress, answer
//! ```
//!
//! A message becomes a signed request to the agent behind the address. What its daemon and its agent tell of that becomes
//! states, artifacts and events of a task, which is written before anything leaves: whoever kills the gateway kills no task.
//! Identity is never a claim in a call: tasks belong to the token that made them.

mod call;
mod card;
mod clock;
mod door;
mod ended;
mod fault;
mod follow;
mod frame;
mod http;
mod known;
mod offers;
mod open;
mod push;
mod remembered;
mod request;
mod sending;
mod store;
mod stream;
mod task;
mod unnamed;
mod version;
pub(crate) mod words;

use serde_json::{Map, Value};

use fault::A2aError;
use words::method::{Method, Version};
use words::read::{self, Fields};
use words::{body, model};

pub(crate) use door::A2aDoor;
pub(crate) use http::{Heard, answer, is_method, open_routes, routes, wrong_content};
pub(crate) use known::warn_at_start;

/// What a body is answered with by each version, where every call comes to nothing: for the fuzzer.
pub(crate) fn read_body(body: &[u8]) -> [String; 2] {
    let asked = match frame::read(body) {
        Ok(asked) => asked,
        Err((id, fault)) => {
            return [Version::V1, Version::V03].map(|version| id.error(&fault.write(version)));
        }
    };
    let found = match Method::named(&asked.method) {
        Some(_) => read_params(&asked.params),
        None => Ok(()),
    };
    [Version::V1, Version::V03].map(|version| match &found {
        Ok(()) => asked.id.result(&Value::Null),
        Err(fault) => asked.id.error(&fault.write(version)),
    })
}

/// Reads all that any method does of its parameters.
fn read_params(params: &Map<String, Value>) -> Result<(), A2aError> {
    let fields = Fields::root(params);
    if let Some(given) = fields.object("message")? {
        let message = read::message(&given, String::new)?;
        request::RequestTerms::read(&[message.metadata.as_ref()])?;
        // What is sent as parts comes back as the same parts.
        body::parts_of(request::body_of(&message, 1)?);
    }
    for name in ["pushNotificationConfig", "configuration"] {
        if let Some(given) = fields.object(name)? {
            read::push(&given, Some(String::new()), "")?;
        }
    }
    fields.count("historyLength")?;
    if let Some(text) = fields.text("statusTimestampAfter")? {
        clock::parse(&text);
    }
    fields.member("status").and_then(model::TaskState::read);
    Ok(())
}
