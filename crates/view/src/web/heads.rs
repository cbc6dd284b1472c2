//! The headers of every answer: which scripts may run, and who may frame, send or keep the page.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::response::Response;

/// The page itself is the only source of everything, and sends nothing anywhere else. A text that became markup against all
/// care would run nothing, load nothing and send nothing.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The same for every answer, whatever it is. Where the referrer's policy said `no-referrer`, browsers would send
/// `Origin: null` with a form, and a form of this room could not be told from another page's.
static ALWAYS: [(HeaderName, &str); 10] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (REFERRER_POLICY, "same-origin"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-embedder-policy"),
        "require-corp",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=(), clipboard-read=()",
    ),
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
];

/// An answer of this kind.
pub(super) fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let heads = response.headers_mut();
    heads.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    for (name, value) in &ALWAYS {
        heads.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A page.
pub(super) fn page(status: StatusCode, markup: maud::Markup) -> Response {
    answer(status, "text/html; charset=utf-8", markup.into_string())
}

/// A few words, for what is no page.
pub(super) fn words(status: StatusCode, text: &'static str) -> Response {
    answer(status, "text/plain; charset=utf-8", text)
}
