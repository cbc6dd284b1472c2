//! Who is let in, and which page they get.
//!
//! ```text
//! Host ──▶ /o/ONCE, good once ──▶ cookie ──▶ /s/SECRET/… with the cookie ──▶ pages
//! ```
//!
//! Cookies do not tell ports apart, and a path stands in histories: neither is enough, so both are asked for. A request
//! that changes something needs an `Origin` of its own and the form's token, too: the only one looks at the proof again.

mod heads;
mod live;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_LANGUAGE, CONTENT_DISPOSITION, COOKIE, HOST, HeaderValue, LOCATION, ORIGIN, SET_COOKIE,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use http_body_util::{BodyExt as _, Limited};
use signet_listener::{Accept, ConnectionActivity, ConnectionLimits, NoTls, RequestUnderWay};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::ViewError;
use crate::days::Days;
use crate::fault::at;
use crate::pages::{self, PageShown, Text};
use crate::query::RoomQuery;
use crate::room::Room;
use heads::{answer, page, words};

/// Serves the room until nobody uses it any more.
///
/// # Errors
/// When the socket cannot be served.
pub(crate) async fn serve(socket: TcpListener, room: Arc<Room>) -> Result<(), ViewError> {
    let here = Path::new("the listener");
    socket.set_nonblocking(true).map_err(at(here))?;
    let socket = tokio::net::TcpListener::from_std(socket).map_err(at(here))?;
    let stop = CancellationToken::new();
    let (watched, ends) = (Arc::clone(&room), stop.clone());
    tokio::spawn(async move {
        while let Some(left) = watched.settings.idle.checked_sub(watched.unused()) {
            sleep(left + Duration::from_millis(100)).await;
        }
        ends.cancel();
    });
    let accept = Accept {
        limits: LIMITS,
        tls: None::<NoTls>,
        router: router(room),
        stop,
    };
    accept.run(socket).await;
    Ok(())
}

/// Every address of the room.
pub(crate) fn router(room: Arc<Room>) -> Router {
    Router::new().fallback(handle).with_state(room)
}

async fn handle(State(room): State<Arc<Room>>, request: Request) -> Response {
    let heads = request.headers();
    // A name that resolves to this address (DNS rebinding) is another page's way in: only the address itself is served.
    let host = heads.get(HOST).map(HeaderValue::as_bytes);
    if host != Some(room.settings.host.as_bytes()) {
        return words(
            StatusCode::MISDIRECTED_REQUEST,
            "This address is not served under that name.\n",
        );
    }
    let path = request.uri().path().to_owned();
    let mut parts = path.split('/').skip(1);
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some("o"), Some(once), None, None) if request.method() == Method::GET => {
            enter(&room, once, heads)
        }
        (Some("s"), Some(secret), Some(name), None) if is_let_in(&room, secret, heads) => {
            room.use_now();
            let name = name.to_owned();
            let activity = request.extensions().get::<ConnectionActivity>();
            // The connection of whoever is let in keeps its place while a page is made, and as long as a page hears of changes.
            let under_way = activity.map(ConnectionActivity::of_caller);
            inside(room, &name, request, under_way).await
        }
        // Browsers ask for this icon by themselves, before a page has named another one: answer with nothing, and not
        // with a page.
        (Some("favicon.ico"), None, ..) => words(StatusCode::NO_CONTENT, ""),
        _ => turned_away(heads),
    }
}

/// A one-time address: a page that sets the cookie and goes on. Were it a redirect, browsers would count what follows as
/// begun by the page or file that led here, and leave the strict cookie out.
fn enter(room: &Room, once: &str, heads: &HeaderMap) -> Response {
    let Some(cookie) = room.enter(once) else {
        return page(StatusCode::GONE, pages::used(Text::of(language(heads))));
    };
    room.use_now();
    let secret = &room.settings.secret;
    let markup = pages::entering(Text::of(language(heads)), &format!("/s/{secret}/"));
    let mut response = page(StatusCode::OK, markup);
    let cookie = format!("{COOKIE_NAME}={cookie}; HttpOnly; SameSite=Strict; Path=/s/{secret}/");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
    response
}

fn is_let_in(room: &Room, secret: &str, heads: &HeaderMap) -> bool {
    let cookies = heads
        .get_all(COOKIE)
        .into_iter()
        .filter_map(|value| value.to_str().ok());
    let mut pairs = cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    let knows = pairs.any(|(name, value)| name == COOKIE_NAME && room.knows(value));
    knows & crate::random::is_same(secret, &room.settings.secret)
}

fn turned_away(heads: &HeaderMap) -> Response {
    page(
        StatusCode::FORBIDDEN,
        pages::turned_away(Text::of(language(heads))),
    )
}

/// The language that a browser asks for first, of those that there are.
fn language(heads: &HeaderMap) -> &str {
    let value = heads.get(ACCEPT_LANGUAGE);
    value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

async fn inside(
    room: Arc<Room>,
    name: &str,
    request: Request,
    under_way: Option<RequestUnderWay>,
) -> Response {
    if *request.method() == Method::POST && name == "look" {
        return look(room, request).await;
    }
    if *request.method() != Method::GET && *request.method() != Method::HEAD {
        return words(
            StatusCode::METHOD_NOT_ALLOWED,
            "The reading room changes nothing.\n",
        );
    }
    match name {
        "room.css" => return answer(StatusCode::OK, "text/css; charset=utf-8", pages::STYLE),
        "room.js" => {
            return answer(
                StatusCode::OK,
                "text/javascript; charset=utf-8",
                pages::SCRIPT,
            );
        }
        "icon.svg" => return answer(StatusCode::OK, "image/svg+xml", pages::ICON),
        "live" => return live::events(room, under_way),
        _ => {}
    }
    let text = Text::of(language(request.headers()));
    let query = RoomQuery::of(request.uri().query().unwrap_or_default());
    let days = Days::of(request.headers());
    let name = name.to_owned();
    let made =
        tokio::task::spawn_blocking(move || pages::show(&room, text, days, &name, &query)).await;
    match made {
        Ok(Ok(PageShown::Page(markup))) => page(StatusCode::OK, markup),
        Ok(Ok(PageShown::Nothing(markup))) => page(StatusCode::NOT_FOUND, markup),
        Ok(Ok(PageShown::Whole(bytes, file))) => whole(bytes, &file),
        Ok(Err(error)) => page(
            StatusCode::INTERNAL_SERVER_ERROR,
            pages::failed(text, &error),
        ),
        Err(_) => words(
            StatusCode::INTERNAL_SERVER_ERROR,
            "A fault in signet-view itself.\n",
        ),
    }
}

/// A whole line: to be kept as a file, never to be shown as a page of this room.
fn whole(bytes: Vec<u8>, file: &str) -> Response {
    let mut response = answer(StatusCode::OK, "text/plain; charset=utf-8", bytes);
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{file}\"")) {
        response.headers_mut().insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// Looks at the proof again, for a form of this room alone.
async fn look(room: Arc<Room>, request: Request) -> Response {
    let origin = format!("http://{}", room.settings.host);
    let is_own =
        request.headers().get(ORIGIN).map(HeaderValue::as_bytes) == Some(origin.as_bytes());
    let body = Limited::new(request.into_body(), LONGEST_FORM)
        .collect()
        .await;
    let form = body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned());
    let form = RoomQuery::of(&form.unwrap_or_default());
    let token = form.text("token").unwrap_or_default();
    if !is_own || !crate::random::is_same(token, &room.token) {
        return words(
            StatusCode::FORBIDDEN,
            "This form is not one of this room.\n",
        );
    }
    let asked = Arc::clone(&room);
    let logs = tokio::task::spawn_blocking(move || asked.ask(|ask| ask.logs())).await;
    if let Ok(Ok(logs)) = logs {
        room.proofs.look(logs, &room.changes);
    }
    let mut response = words(StatusCode::SEE_OTHER, "");
    response
        .headers_mut()
        .insert(LOCATION, HeaderValue::from_static("proof"));
    response
}

const LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 256,
    header_time: Duration::from_secs(15),
};
const COOKIE_NAME: &str = "room";
/// In bytes.
const LONGEST_FORM: usize = 4096;
