//! How a request is refused before a door sees it: a status, a name for programs, a sentence, and what to do.

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use hyper::header::{self, HeaderValue};
use hyper::{Method, StatusCode, Uri};
use serde_json::json;
use signet_listener::BodyFault;

/// A refusal.
pub(crate) fn refused(status: StatusCode, reason: &str, message: &str, next: &str) -> Response {
    let error = json!({"code": REFUSED, "reason": reason, "message": message, "next": next});
    let body = json!({ "error": error });
    (status, json(body.to_string())).into_response()
}

/// An answer of JSON.
pub(crate) fn json(text: impl Into<Body>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], text.into()).into_response()
}

/// The code of JSON-RPC that every refusal has (docs/agent-api.md): clients read it before they look at anything else.
const REFUSED: i64 = -32000;

/// The same, with when to come again.
pub(crate) fn later(mut response: Response, seconds: u64) -> Response {
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, seconds.into());
    response
}

/// Why a body is not taken.
pub(super) fn of_body(fault: BodyFault) -> Response {
    match fault {
        BodyFault::TooLarge => refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "the body is longer than this listener takes",
            "send less; `body-bytes` under [limits] of gateway.toml is the limit",
        ),
        BodyFault::Slow => refused(
            StatusCode::REQUEST_TIMEOUT,
            "too-slow",
            "the body did not come in time",
            "send the request again, in one piece",
        ),
        BodyFault::Broken => refused(
            StatusCode::BAD_REQUEST,
            "broken-body",
            "the body ended too soon or is no body of HTTP",
            "send the request again",
        ),
        BodyFault::Full => {
            let busy = refused(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                "too many bodies are under way",
                "send the request again a little later",
            );
            later(busy, 1)
        }
    }
}

/// No door has the address.
pub(super) async fn nothing_here(uri: Uri) -> Response {
    refused(
        StatusCode::NOT_FOUND,
        "nothing-here",
        "there is nothing at this address",
        absent(uri.path()),
    )
}

/// A door has the address, and is called by another method.
pub(super) async fn not_so(method: Method, uri: Uri) -> Response {
    let message = format!("{method} is not how this address is called");
    refused(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        &message,
        called(uri.path()),
    )
}

/// Why an address of a door is not there, or which ones are.
fn absent(path: &str) -> &'static str {
    match path {
        "/rpc" => {
            "`enabled` under [rpc] of gateway.toml is false; without that line JSON-RPC is there"
        }
        "/mcp" => "`enabled` under [mcp] of gateway.toml is false; without that line MCP is there",
        "/metrics" => {
            "numbers are told at an address of their own, where gateway.toml has [metrics] (docs/metrics.md)"
        }
        _ if is_of_a2a(path) => {
            "`enabled` under [a2a] of gateway.toml is false; without that line A2A is there"
        }
        _ if is_inbox(path) => {
            "messages are taken where gateway.toml has [inbox] (docs/gateway.md)"
        }
        _ => {
            "there are POST /rpc (JSON-RPC), /mcp (MCP), POST /a2a/<agent> (A2A) and GET /.well-known/agent-card.json, unless \
             gateway.toml switches them off; and at the address of [metrics] GET /metrics"
        }
    }
}

/// How an address that is there is called.
fn called(path: &str) -> &'static str {
    match path {
        "/rpc" => "send JSON-RPC by POST, with a token",
        _ if is_inbox(path) => "other gateways hand in messages by POST",
        _ if is_of_a2a(path) => {
            "this is a gateway of signet for programs: send a call of A2A by POST, with a token; GET \
             /.well-known/agent-card.json is the card"
        }
        _ => "the header Allow names the methods that it takes",
    }
}

fn is_of_a2a(path: &str) -> bool {
    let agent = path
        .strip_prefix("/a2a/")
        .map(|rest| rest.trim_end_matches('/'));
    matches!(path, "/" | "/a2a") || agent.is_some_and(|agent| !agent.contains('/'))
}

fn is_inbox(path: &str) -> bool {
    path.starts_with("/agent/") && path.ends_with("/inbox")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_called_otherwise_says_what_to_do() {
        for (path, named) in [
            ("/rpc", "[rpc]"),
            ("/mcp", "[mcp]"),
            ("/metrics", "[metrics]"),
            ("/", "[a2a]"),
            ("/a2a/", "[a2a]"),
            ("/a2a/agent-bob/", "[a2a]"),
            ("/agent/agent-bob/inbox", "[inbox]"),
            ("/favicon.ico", "POST /a2a/<agent>"),
            ("/a2a/agent-bob/v1/message", "POST /a2a/<agent>"),
        ] {
            assert!(absent(path).contains(named), "{path}: {}", absent(path));
        }
        for path in [
            "/",
            "/a2a",
            "/a2a/agent-bob",
            "/rpc",
            "/agent/agent-bob/inbox",
        ] {
            assert!(called(path).contains("by POST"), "{path}");
        }
        assert!(called("/.well-known/agent-card.json").contains("Allow"));
    }
}
