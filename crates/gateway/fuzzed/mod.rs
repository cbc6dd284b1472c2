//! For `cargo fuzz` (CONTRIBUTING.md): each function reads bytes that a stranger, a client, a peer or a foreign agent may send,
//! by the function that the program itself reads them with, and gives back what the fuzz target then checks. Calls in a body
//! are answered with null, because there is no daemon here.

use std::net::IpAddr;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use serde_json::{Map, Value, json};
use signet_api::rpc::{Id, Incoming, Item, batch};
use signet_handlers::Done;
use signet_handlers::answer::{self, ANSWER};
use signet_proto::envelope::MAX_MESSAGE;
use signet_proto::trust::TrustView;

use crate::doors::a2a::fault::A2aError;
use crate::doors::a2a::request::{RequestTerms, body_of};
use crate::doors::a2a::words::method::{A2aMethod, A2aVersion};
use crate::doors::a2a::words::read::{self, Fields};
use crate::doors::a2a::words::{body, model};
use crate::doors::a2a::{clock, frame};
use crate::doors::discord::found::ChannelPost;
use crate::doors::discord::read::is_for;
use crate::doors::discord::text::{ShownMessage, written};
use crate::doors::inbox::framing::envelopes;
use crate::doors::inbox::outbound::retry_after;
use crate::doors::inbox::verdict::{EnvelopeVerdict, JudgedEnvelope};
use crate::doors::mcp::{http, tools};
use crate::doors::rpc;
use crate::handle::a2a::PartsForm;
use crate::handle::a2a::result::{self, TaskProgress};
use crate::handle::events::Events;
use crate::handle::{jsonrpc, mcp as mcp_handler, simple_a2a};
use crate::{config, outgoing, tokens};

/// What `POST /rpc` answers to this body, where each call in it comes to nothing.
pub fn rpc_body(body: &[u8]) -> Option<String> {
    let of_nothing = |item: Item| match item {
        Item::Ignored => None,
        Item::Faulty(id, error) => Some(id.refusal(&error)),
        Item::Call(asked) => Some(asked.id?.answer(&Ok(Value::Null))),
    };
    match rpc::read::parse(body) {
        Err(error) => Some(Id::null().refusal(&error)),
        Ok(Incoming::One(item)) => of_nothing(item),
        Ok(Incoming::Batch(items)) => {
            let answers: Vec<String> = items.into_iter().filter_map(of_nothing).collect();
            batch(&answers)
        }
    }
}

/// What A2A answers to this body, of either version: once for each, where every call comes to nothing.
pub fn a2a_body(body: &[u8]) -> [String; 2] {
    let asked = match frame::read(body) {
        Ok(asked) => asked,
        Err((id, fault)) => {
            return [A2aVersion::V1, A2aVersion::V03]
                .map(|version| id.error(&fault.write(version)));
        }
    };
    let found = match A2aMethod::named(&asked.method) {
        Some(_) => read_params(&asked.params),
        None => Ok(()),
    };
    [A2aVersion::V1, A2aVersion::V03].map(|version| match &found {
        Ok(()) => asked.id.result(&Value::Null),
        Err(fault) => asked.id.error(&fault.write(version)),
    })
}

/// Reads all that any method reads of its parameters.
fn read_params(params: &Map<String, Value>) -> Result<(), A2aError> {
    let fields = Fields::root(params);
    if let Some(given) = fields.object("message")? {
        let message = read::message(&given, String::new)?;
        RequestTerms::read(&[message.metadata.as_ref()])?;
        // What is sent as parts comes back as the same parts.
        body::parts_of(body_of(&message, 1)?);
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
    fields.member("status").and_then(model::A2aTaskState::read);
    Ok(())
}

/// Whether this is a message of MCP that calls a tool which takes its arguments.
pub fn mcp_body(body: &[u8]) -> bool {
    if http::unreadable(body).is_some() {
        return false;
    }
    match serde_json::from_slice::<ClientJsonRpcMessage>(body) {
        Ok(JsonRpcMessage::Request(asked)) => match asked.request {
            ClientRequest::CallToolRequest(call) => {
                tools::takes(&call.params.name, call.params.arguments.unwrap_or_default())
            }
            _ => false,
        },
        _ => false,
    }
}

/// The envelopes of a body of the inbox, each with whether it was found to be a peer's.
pub fn inbox_body(body: &[u8], view: &TrustView) -> Option<Vec<(Bytes, bool)>> {
    let pieces = envelopes(&Bytes::copy_from_slice(body)).ok()?;
    let judged = pieces
        .into_iter()
        .map(|bytes| JudgedEnvelope::of(bytes, view));
    let known = judged.map(|one| (one.bytes, one.verdict == EnvelopeVerdict::Verified));
    Some(known.collect())
}

/// What another gateway answers: how long it asks us to wait, in seconds, and what it keeps for us.
pub fn peer_answer(after: &[u8], body: &[u8]) -> (Option<u64>, Vec<Bytes>) {
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_bytes(after) {
        headers.insert(RETRY_AFTER, value);
    }
    let wait = retry_after(&headers).map(|wait| wait.as_secs());
    let kept = envelopes(&Bytes::copy_from_slice(body)).unwrap_or_default();
    (wait, kept)
}

/// The envelopes for `agent` in an answer of Discord's.
pub fn discord_answer(body: &[u8], agent: &str) -> Vec<Vec<u8>> {
    let posts: Vec<ChannelPost> = serde_json::from_slice(body).unwrap_or_default();
    let blocks = posts.iter().filter_map(|post| {
        // What a file is called and where it lies is read as well.
        post.file(MAX_MESSAGE);
        post.block()
    });
    blocks
        .map(|block| block.as_bytes().to_vec())
        .filter(|bytes| is_for(bytes, agent))
        .collect()
}

/// What a channel is shown of a message with that summary and that envelope.
pub fn discord_text(summary: &str, envelope: &[u8]) -> String {
    let shown = ShownMessage {
        from: "agent-alice",
        from_principal: Some(summary),
        to: "agent-bob",
        to_principal: None,
        kind: "agent.notification",
        about: Some(summary),
        tier: 1,
        time: "2026-01-01T00:00:00.000Z",
        summary: Some(summary),
        envelope,
        message_id: summary,
    };
    let payload = written(&shown).payload;
    let content = payload.get("content").and_then(Value::as_str);
    content.unwrap_or_default().to_owned()
}

/// Where a URL that somebody else wrote leads, by an address in it; `None` where it is not called.
pub fn address(url: &str) -> Option<IpAddr> {
    outgoing::admitted(url)
}

/// Whether this text is a file of tokens that lets somebody in.
pub fn tokens_file(text: &str) -> bool {
    tokens::admits_any(text)
}

/// Whether this text is a configuration of the gateway.
pub fn config_file(text: &str) -> bool {
    config::GatewayConfig::parse(text).is_ok_and(|config| config.unfit().is_none())
}

/// What the peer that asked is sent.
pub enum ForeignAnswer {
    /// A body: one line of JSON.
    Body(String),
    /// Words of an error.
    Words(String),
}

/// What an agent of the simple A2A answers to the task of this id.
pub fn simple_a2a_answer(body: &[u8], id: &str) -> Option<ForeignAnswer> {
    let value = answer::read(body, ANSWER).ok()?;
    said(simple_a2a::answer(value, id).ok()?)
}

/// What a server of JSON-RPC answers to the request of this id.
pub fn jsonrpc_answer(body: &[u8], id: &str) -> Option<ForeignAnswer> {
    match called(body, id)? {
        Ok(result) => Some(ForeignAnswer::Body(result.to_string())),
        Err(text) => Some(ForeignAnswer::Words(text)),
    }
}

/// What an agent of A2A, of whichever version, answers to the request of this id, as parts or as text.
pub fn a2a_answer(body: &[u8], id: &str, as_parts: bool) -> Option<ForeignAnswer> {
    let form = if as_parts {
        PartsForm::Parts
    } else {
        PartsForm::Text
    };
    match result::read(called(body, id)?.ok()?, form).ok()? {
        TaskProgress::Done(done) => said(done),
        TaskProgress::Working(task) => Some(ForeignAnswer::Body(task.to_string())),
    }
}

/// What a tool of an MCP server answers to the request of this id, by itself or as the events of a stream.
pub fn mcp_answer(body: &[u8], id: &str) -> Option<ForeignAnswer> {
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

fn tool_answer(body: &[u8], id: &str) -> Option<ForeignAnswer> {
    said(mcp_handler::outcome(called(body, id)?.ok()?).ok()?)
}

fn called(body: &[u8], id: &str) -> Option<Result<Value, String>> {
    let value = answer::read(body, ANSWER).ok()?;
    let answer = jsonrpc::answer(value, &json!(id)).ok()?;
    Some(answer.map_err(|error| error.to_string()))
}

fn said(done: Done) -> Option<ForeignAnswer> {
    match done {
        Done::Answer(body) => Some(ForeignAnswer::Body(body.to_string())),
        Done::Declined(text) | Done::Unfinished { text, .. } => Some(ForeignAnswer::Words(text)),
        Done::Nothing => None,
    }
}
