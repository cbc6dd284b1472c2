//! What a request hears that no room gets to see: a status, a name for programs, a sentence, and what to do.

use axum::response::{IntoResponse as _, Response};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use serde_json::json;

/// A refusal.
pub(crate) fn refused(status: StatusCode, reason: &str, message: &str, next: &str) -> Response {
    let body = json!({"error": {"reason": reason, "message": message, "next": next}});
    let kind = (
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    (status, [kind], body.to_string()).into_response()
}

/// The same, with when to come again.
pub(super) fn later(mut response: Response, seconds: u64) -> Response {
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, seconds.into());
    response
}

pub(super) async fn nothing_here() -> Response {
    refused(
        StatusCode::NOT_FOUND,
        "nothing-here",
        "there is nothing at this address",
        "docs/gateway.md has the addresses; a room that gateway.toml switches off has none",
    )
}

pub(super) async fn not_so() -> Response {
    refused(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "this address is not asked so",
        "the header Allow says how",
    )
}
