//! For `cargo fuzz` (CONTRIBUTING.md): what is read of bytes that strangers, clients, peers and foreign agents may send, each
//! by the very functions that the doors read with. What a function here gives back is what a target holds to be true.

use std::net::IpAddr;

use bytes::Bytes;
use serde_json::{Value, json};
use signet_handlers::Done;
use signet_handlers::answer::{self, ANSWER};
use signet_proto::trust::TrustView;

use crate::doors::inbox::framing;
use crate::doors::inbox::verdict::{Judged, Verdict};
use crate::doors::{a2a, discord, inbox, mcp, rpc};
use crate::handle::a2a::{Form, TaskProgress, read_result};
use crate::handle::events::Events;
use crate::handle::{jsonrpc, mcp as mcp_handler, simple_a2a};
use crate::{config, outgoing, tokens};

/// What `POST /rpc` answers to this body, where each call in it comes to nothing.
pub fn rpc_body(body: &[u8]) -> Option<String> {
    rpc::read_body(body)
}

/// What A2A answers to this body, of either version: once for each, where every call comes to nothing.
pub fn a2a_body(body: &[u8]) -> [String; 2] {
    a2a::read_body(body)
}

/// Whether this is a message of MCP that calls a tool which takes its arguments.
pub fn mcp_body(body: &[u8]) -> bool {
    mcp::http::read_body(body)
}

/// The envelopes of a body of the inbox, each with whether it was found to be a peer's.
pub fn inbox_body(body: &[u8], view: &TrustView) -> Option<Vec<(Bytes, bool)>> {
    let pieces = framing::envelopes(&Bytes::copy_from_slice(body)).ok()?;
    let judged = pieces.into_iter().map(|bytes| Judged::of(bytes, view));
    let known = judged.map(|one| (one.bytes, one.verdict == Verdict::Verified));
    Some(known.collect())
}

/// What another gateway answers: how long it asks us to wait, in seconds, and what it keeps for us.
pub fn peer_answer(retry_after: &[u8], body: &[u8]) -> (Option<u64>, Vec<Bytes>) {
    inbox::read_answer(retry_after, body)
}

/// The envelopes for `agent` in an answer of Discord's.
pub fn discord_answer(body: &[u8], agent: &str) -> Vec<Vec<u8>> {
    discord::read_answer(body, agent)
}

/// What a channel is shown of a message with that summary and that envelope.
pub fn discord_text(summary: &str, envelope: &[u8]) -> String {
    discord::shown_text(summary, envelope)
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
    config::Config::is_fit(text)
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
    match result(body, id)? {
        Ok(result) => Some(ForeignAnswer::Body(result.to_string())),
        Err(text) => Some(ForeignAnswer::Words(text)),
    }
}

/// What an agent of A2A, of whichever version, answers to the request of this id, as parts or as text.
pub fn a2a_answer(body: &[u8], id: &str, as_parts: bool) -> Option<ForeignAnswer> {
    let form = if as_parts { Form::Parts } else { Form::Text };
    match read_result(result(body, id)?.ok()?, form).ok()? {
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
    said(mcp_handler::outcome(result(body, id)?.ok()?).ok()?)
}

fn result(body: &[u8], id: &str) -> Option<Result<Value, String>> {
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
