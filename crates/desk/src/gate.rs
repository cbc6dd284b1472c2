//! The conditions that a request meets before a page sees it, and the headers that every answer has.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use signet_listener::{ConnectionActivity, Remote, discard, host_of, media_type, only};

use crate::desk::Desk;
use crate::pages::{self, FormNotTaken};
use crate::user;
use crate::words::DeskWords;

/// Lets a request through by its head, or says why not.
pub(crate) async fn pass(State(desk): State<Arc<Desk>>, request: Request, next: Next) -> Response {
    let words = DeskWords::of(request.headers());
    let mut response = match admit(&desk, &request) {
        Ok(()) => next.run(request).await,
        Err(fault) => {
            discard(request.into_body()).await;
            pages::refused(words, fault.status(), fault.words(words))
        }
    };
    for (name, value) in KEPT_APART {
        let value = HeaderValue::from_static(value);
        response.headers_mut().entry(name).or_insert(value);
    }
    response
}

/// Lets in who has both secrets, and counts as use of the desk.
pub(crate) async fn session(
    State(desk): State<Arc<Desk>>,
    request: Request,
    next: Next,
) -> Response {
    let segment = request.uri().path().strip_prefix("/s/");
    let segment = segment.and_then(|rest| rest.split('/').next());
    let shown = cookie(request.headers(), SESSION);
    let is_in = segment.is_some_and(|segment| desk.sessions.is_in(segment, shown));
    if !is_in {
        let words = DeskWords::of(request.headers());
        discard(request.into_body()).await;
        return pages::refused(words, StatusCode::FORBIDDEN, words.not_in);
    }
    desk.note_use();
    let words = DeskWords::of(request.headers());
    let response = next.run(request).await;
    match response.extensions().get::<FormNotTaken>() {
        Some(_) => pages::refused(words, response.status(), words.too_much),
        None => response,
    }
}

/// Keeps the connection's place while its page is made. A form that is still awaited keeps none: whoever sends it slowly makes room.
pub(crate) async fn at_work(request: Request, next: Next) -> Response {
    let standing = request.extensions().get::<ConnectionActivity>().cloned();
    let _at_work = standing.as_ref().map(ConnectionActivity::of_caller);
    next.run(request).await
}

/// The one cookie of that name; `None` where there is none or are several, of which another program may have set one.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut named = pairs.filter_map(|pair| {
        let (known, value) = pair.trim().split_once('=')?;
        (known == name).then_some(value)
    });
    match (named.next(), named.next()) {
        (Some(value), None) => Some(value),
        _ => None,
    }
}

fn admit(desk: &Desk, request: &Request) -> Result<(), HeadFault> {
    let (method, headers) = (request.method(), request.headers());
    // Only the desk's own address is served. A foreign site may point its own name at this address (DNS rebinding), and
    // the browser then sends that name as host.
    if host_of(request.uri(), headers).as_deref() != Some(&desk.host) {
        return Err(HeadFault::Host);
    }
    let remote = request.extensions().get::<Remote>();
    let is_own = |remote: &Remote| {
        let there = SocketAddr::new(remote.address, remote.port);
        user::is_own(desk.here, there)
    };
    if !remote.is_some_and(is_own) {
        return Err(HeadFault::User);
    }
    match *method {
        Method::GET | Method::HEAD => admit_show(headers),
        Method::POST => admit_form(desk, headers),
        _ => Err(HeadFault::Method),
    }
}

/// A page is shown in a tab of its own: no frame, image, script or fetch has any business here.
fn admit_show(headers: &HeaderMap) -> Result<(), HeadFault> {
    let wanted = headers.get(FETCH_DEST);
    match wanted.is_none_or(|wanted| wanted == "document" || wanted == "style") {
        true => Ok(()),
        false => Err(HeadFault::Origin),
    }
}

/// A form changes something: it comes from a page of this desk, and says so.
fn admit_form(desk: &Desk, headers: &HeaderMap) -> Result<(), HeadFault> {
    let own = format!("http://{}", desk.host);
    let origin = only(headers, header::ORIGIN);
    let site = headers.get(FETCH_SITE);
    let is_own = origin == Some(&own) && site.is_none_or(|site| site == "same-origin");
    let is_form = media_type(headers).as_deref() == Some("application/x-www-form-urlencoded");
    match (is_own, is_form) {
        (false, _) => Err(HeadFault::Origin),
        (true, false) => Err(HeadFault::Content),
        (true, true) => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeadFault {
    Host,
    User,
    Method,
    Origin,
    Content,
}

impl HeadFault {
    const fn status(self) -> StatusCode {
        match self {
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::User | Self::Origin => StatusCode::FORBIDDEN,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Content => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    const fn words(self, words: &DeskWords) -> &'static str {
        match self {
            Self::Host => words.wrong_host,
            Self::User => words.other_user,
            Self::Method | Self::Content => words.wrong_form,
            Self::Origin => words.other_site,
        }
    }
}

/// The cookie of the session.
pub(crate) const SESSION: &str = "desk";
const FETCH_DEST: &str = "sec-fetch-dest";
const FETCH_SITE: &str = "sec-fetch-site";
/// `same-origin` and not `no-referrer`: with the latter a browser names no origin in its own page's form.
const KEPT_APART: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    ),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn a_cookie_set_twice_by_another_program_of_the_host_is_none() {
        let of = |lines: &[(&'static str, &'static str)]| {
            cookie(&headers(lines), SESSION).map(str::to_owned)
        };
        assert_eq!(of(&[("cookie", "a=b; desk=x")]).as_deref(), Some("x"));
        assert_eq!(of(&[("cookie", "desk=x; desk=y")]), None);
        assert_eq!(of(&[("cookie", "desk=x"), ("cookie", "desk=y")]), None);
        assert_eq!(of(&[("cookie", "mydesk=x")]), None);
    }

    #[test]
    fn a_frame_an_image_or_a_fetch_of_another_page_is_shown_nothing() {
        for dest in [
            "iframe", "frame", "image", "script", "empty", "object", "embed",
        ] {
            assert_eq!(
                admit_show(&headers(&[("sec-fetch-dest", dest)])),
                Err(HeadFault::Origin),
                "{dest}"
            );
        }
        assert!(admit_show(&headers(&[("sec-fetch-dest", "document")])).is_ok());
        assert!(admit_show(&HeaderMap::new()).is_ok());
    }
}
