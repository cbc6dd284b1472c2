//! For `cargo fuzz` (CONTRIBUTING.md): what is read of bytes that strangers, clients, peers and foreign agents may send, each
//! by the very functions that the rooms read with. What a function here gives back is what a target holds to be true.

use std::net::IpAddr;

use bytes::Bytes;
use signet_proto::trust::TrustView;

use crate::carrying::verdict::{Judged, Verdict};
use crate::carrying::{self, framing};
use crate::{a2a, config, discord, mcp_http, outgoing, rpc, tokens};

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
    mcp_http::read_body(body)
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
    carrying::read_answer(retry_after, body)
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
