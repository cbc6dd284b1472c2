//! How a page looks, and the pages that decide nothing: without a script, with one style of the desk's own.

mod fault;
mod index;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use maud::{DOCTYPE, Markup, html};
use signet_listener::BodyFault;
use signet_text::visible;

use crate::DeskError;
use crate::words::DeskWords;

pub(crate) use index::index;

/// A page with its frame.
pub(crate) fn page(words: &DeskWords, title: &str, body: &Markup) -> Response {
    framed(words, title, None, body)
}

/// A page that leads on by itself, and by a link where the browser does not follow.
pub(crate) fn leads_to(words: &DeskWords, title: &str, to: &str) -> Response {
    let body = html! { p { a href=(to) { (words.go_on) } } };
    framed(words, title, Some(to), &body)
}

/// Why something is not done.
pub(crate) fn refused(words: &DeskWords, status: StatusCode, what: &str) -> Response {
    let body = html! { p.fault role="alert" { (visible(what)) } };
    let mut response = framed(words, words.refused, None, &body);
    *response.status_mut() = status;
    response
}

/// The same for whoever is in: with what to do, and the way back.
pub(crate) fn failed(words: &DeskWords, error: &DeskError) -> Response {
    let status = match error {
        DeskError::UnknownHome => StatusCode::NOT_FOUND,
        DeskError::Gone => StatusCode::GONE,
        DeskError::Used | DeskError::Told { .. } => StatusCode::CONFLICT,
        DeskError::System(_) | DeskError::Cord(_) | DeskError::NoListener => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    };
    let body = html! { div role="alert" { (fault::shown(words, error)) } (back(words)) };
    let mut response = framed(words, words.refused, None, &body);
    *response.status_mut() = status;
    response
}

/// Plain text that no browser takes for a page.
pub(crate) fn plain(text: String) -> Response {
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], Body::from(text)).into_response()
}

/// The page that says what was done.
pub(crate) fn done(words: &DeskWords, what: &str, more: &Markup) -> Response {
    let body = html! {
        p.done role="status" { (what) }
        (more)
        (back(words))
    };
    page(words, words.done, &body)
}

pub(crate) fn back(words: &DeskWords) -> Markup {
    html! { p { a href="./" { (words.back) } } }
}

/// Marks the answer to a form that is not taken: whoever knows the sender's language puts the words in.
#[derive(Clone, Copy)]
pub(crate) struct FormNotTaken;

/// The answer to a form that is not taken, without words yet.
pub(crate) fn of_body(_: BodyFault) -> Response {
    let mut response = StatusCode::PAYLOAD_TOO_LARGE.into_response();
    response.extensions_mut().insert(FormNotTaken);
    response
}

/// The style of every page.
pub(crate) async fn style() -> Response {
    let kind = HeaderValue::from_static("text/css; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], STYLE).into_response()
}

fn framed(words: &DeskWords, title: &str, to: Option<&str>, body: &Markup) -> Response {
    let markup = html! {
        (DOCTYPE)
        html lang=(words.lang) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if let Some(to) = to {
                    meta http-equiv="refresh" content={ "0; url=" (to) };
                }
                title { (title) " – signet" }
                link rel="stylesheet" href="/desk.css";
            }
            body {
                header { p.place { "signet · " (words.desk) } }
                main { h1 { (title) } (body) }
            }
        }
    };
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], markup.into_string()).into_response()
}

const STYLE: &str = include_str!("desk.css");
