//! Which address is which page.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use signet_listener::{Bodies, whole};

use crate::DeskError;
use crate::desk::Desk;
use crate::gate::{self, SESSION, cookie};
use crate::kinds::{self, PageQuery};
use crate::pages;
use crate::words::DeskWords;

/// Every address, behind what it relies on.
pub(crate) fn router(desk: Arc<Desk>) -> Router {
    let bodies = Arc::new(Bodies::new(LONGEST_FORM, FORM_TIME, pages::of_body));
    // The layer that is added last sees a request first. So `session` runs before `whole`: the desk reads no form of a
    // sender that it has not let in.
    let inside = Router::new()
        .route("/s/{secret}/", get(first))
        .route("/s/{secret}/do", post(decide))
        .route("/s/{secret}/{page}", get(shown))
        .route_layer(from_fn(gate::at_work))
        .route_layer(from_fn_with_state(bodies, whole))
        .route_layer(from_fn_with_state(Arc::clone(&desk), gate::session));
    Router::new()
        .route("/o/{once}", get(enter))
        .route("/home", get(home))
        .route("/to/{what}", get(to))
        .route("/desk.css", get(pages::style))
        .merge(inside)
        .fallback(nothing)
        .layer(from_fn_with_state(Arc::clone(&desk), gate::pass))
        .with_state(desk)
}

/// Lets a browser in by a one-time address. It goes on by a page of its own and not by a redirect: the browser comes from another
/// site, and sends a cookie that is `SameSite=Strict` only where our own page led it.
async fn enter(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let words = DeskWords::of(request.headers());
    let once = request.uri().path().strip_prefix("/o/").unwrap_or_default();
    let entered = match desk.sessions.enter(once) {
        Ok(Some(entered)) => entered,
        Ok(None) => return pages::refused(words, StatusCode::GONE, words.used_address),
        Err(error) => return pages::failed(words, &error),
    };
    let inside = desk.inside("");
    let mut response = pages::leads_to(words, words.entering, HOME);
    for cookie in [
        format!(
            "{SESSION}={}; HttpOnly; SameSite=Strict; Path={inside}",
            entered.session
        ),
        format!(
            "{ARRIVING}={}; HttpOnly; SameSite=Strict; Path={HOME}; Max-Age=30",
            entered.arriving
        ),
    ] {
        // This never fails: the cookies' values are made of base64url, and all of its characters may stand in a header.
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            response.headers_mut().append(header::SET_COOKIE, value);
        }
    }
    response
}

/// Where links of the reading room lead in the end. The browser that has just come in is told once where that is, for good, and
/// keeps it for this address and port alone; everybody else who asks over the network is told nothing.
async fn home(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let words = DeskWords::of(request.headers());
    if !desk.sessions.arrives(cookie(request.headers(), ARRIVING)) {
        return pages::page(words, words.desk, &maud::html! { p { (words.elsewhere) } });
    }
    let Ok(inside) = HeaderValue::from_str(&desk.inside("")) else {
        return pages::failed(words, &DeskError::Gone);
    };
    let kept = HeaderValue::from_static("private, max-age=43200, immutable");
    let moved = [(header::LOCATION, inside), (header::CACHE_CONTROL, kept)];
    (StatusCode::PERMANENT_REDIRECT, moved).into_response()
}

/// A link of the reading room: it does nothing, and leads to the place on the first page that it is about.
async fn to(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let asked = PageQuery::of(&request);
    let what = request
        .uri()
        .path()
        .strip_prefix("/to/")
        .unwrap_or_default();
    let (home, id) = (asked.query("home"), asked.query("id"));
    if what == "open" {
        desk.wishes.note(home, id);
    }
    let place = match what {
        "stranger" | "draft" | "agent" => format!("{what}-{home}-{id}"),
        "alarm" | "pause" => format!("{what}-{home}"),
        "open" => format!("asked-{home}"),
        _ => String::new(),
    };
    // Home and id come from a link and may be anything: use them as a fragment only if each character may stand in one.
    // Otherwise they could become markup, or lead to another address.
    let is_place = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let to = match place.chars().all(is_place) {
        true => format!("{HOME}#{place}"),
        false => HOME.to_owned(),
    };
    pages::leads_to(asked.words, asked.words.desk, &to)
}

/// The first page; or, for the browser that has just come in, the way on to the reading room.
async fn first(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let words = DeskWords::of(request.headers());
    if let Some(then) = desk.sessions.take_then() {
        return pages::leads_to(words, words.entering, &then);
    }
    beside(
        move || Ok(pages::page(words, words.desk, &pages::index(&desk, words))),
        words,
    )
    .await
}

async fn shown(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let asked = PageQuery::of(&request);
    let (words, path) = (asked.words, request.uri().path());
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    beside(move || kinds::show(&desk, &asked, &name), words).await
}

async fn decide(State(desk): State<Arc<Desk>>, request: Request) -> Response {
    let words = DeskWords::of(request.headers());
    let read = axum::body::to_bytes(request.into_body(), LONGEST_FORM).await;
    let Ok(form) = read else {
        return pages::refused(words, StatusCode::PAYLOAD_TOO_LARGE, words.too_much);
    };
    beside(move || kinds::decide(&desk, words, &form), words).await
}

async fn nothing(request: Request) -> Response {
    let words = DeskWords::of(request.headers());
    pages::refused(words, StatusCode::NOT_FOUND, words.nothing_here)
}

/// Makes a page on a thread of its own: it asks daemons and reads files, and waits for both.
async fn beside(
    make: impl FnOnce() -> Result<Response, DeskError> + Send + 'static,
    words: &'static DeskWords,
) -> Response {
    match tokio::task::spawn_blocking(make).await {
        Ok(Ok(page)) => page,
        Ok(Err(error)) => pages::failed(words, &error),
        Err(_) => pages::failed(words, &DeskError::Gone),
    }
}

const HOME: &str = "/home";
/// The cookie of a browser that has just come in.
const ARRIVING: &str = "desk-arriving";
/// A token and a few words.
const LONGEST_FORM: usize = 8 * 1024;
const FORM_TIME: Duration = Duration::from_secs(10);
