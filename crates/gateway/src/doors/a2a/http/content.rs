//! The error for a body that is not declared as JSON.

use axum::response::{IntoResponse as _, Response};
use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName};
use signet_api::rpc::Id;

use crate::doors::a2a::fault::{A2aError, A2aErrorKind};
use crate::doors::a2a::version::asked;
use crate::doors::a2a::words::method::A2aVersion;
use crate::listener::json;

/// The error of A2A for a body that is not declared as JSON; `None` where the address is none of A2A.
pub(crate) fn wrong_content(headers: &HeaderMap, path: &str) -> Option<Response> {
    let is_ours = matches!(path, "/" | "/a2a") || path.starts_with("/a2a/");
    let version = headers.get(VERSION).and_then(|text| text.to_str().ok());
    let version = asked(version).unwrap_or(A2aVersion::V1);
    let text = "Content type not supported: declare the body as application/json in UTF-8, without a content encoding";
    let error = A2aError::new(A2aErrorKind::ContentType, text).write(version);
    is_ours.then(|| {
        let body = json(Id::null().error(&error));
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, body).into_response()
    })
}

pub(super) const VERSION: HeaderName = HeaderName::from_static("a2a-version");
