//! The addresses of A2A: a call to `/`, `/a2a` or `/a2a/<agent>`, and cards.

mod cards;
mod content;

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router};
use bytes::Bytes;
use hyper::header::{ACCEPT, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{StatusCode, Uri};
use signet_api::{A2A_EXTENSION, Offer};

use self::cards::{keys, own_card, own_old_card, peers_card, peers_old_card};
use self::content::VERSION;
pub(crate) use self::content::wrong_content;
use super::call::{Asking, CallOutcome, admit_extensions};
use super::door::A2aDoor;
use super::fault::{A2aError, A2aErrorKind};
use super::frame::{self, A2aRequest};
use super::stream;
use super::unnamed;
use super::version::{Strictness, admit, asked};
use super::words::method::{A2aMethod, A2aVersion};
use crate::listener::{json, later};
use crate::scope::Caller;

/// Behind authentication.
pub(crate) fn routes(room: &Arc<A2aDoor>) -> Router {
    Router::new()
        .route("/", post(to_default))
        .route("/a2a", post(to_default))
        .route("/a2a/", post(to_default))
        .route("/a2a/{peer}", post(to_peer))
        .route("/a2a/{peer}/", post(to_peer))
        .route("/a2a/{peer}/.well-known/agent-card.json", get(peers_card))
        .route("/a2a/{peer}/.well-known/agent.json", get(peers_old_card))
        .with_state(Arc::clone(room))
}

/// Without authentication: this agent's own card.
pub(crate) fn open_routes(room: &Arc<A2aDoor>) -> Router {
    Router::new()
        .route("/.well-known/agent-card.json", get(own_card))
        .route("/.well-known/agent.json", get(own_old_card))
        .route("/a2a/.well-known/agent-card.json", get(own_card))
        .route("/a2a/.well-known/agent.json", get(own_old_card))
        .route("/.well-known/jwks.json", get(keys))
        .with_state(Arc::clone(room))
}

async fn to_default(
    State(room): State<Arc<A2aDoor>>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let heard = Heard::of(&headers, Some(&uri), Strictness::Header);
    answer(&room, &caller, None, &heard, &body).await
}

async fn to_peer(
    State(room): State<Arc<A2aDoor>>,
    Extension(caller): Extension<Caller>,
    Path(peer): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let heard = Heard::of(&headers, Some(&uri), Strictness::Header);
    answer(&room, &caller, Some(peer), &heard, &body).await
}

/// What the head of a call says.
pub(crate) struct Heard {
    version: Option<String>,
    extensions: Vec<String>,
    last_event: Option<u64>,
    /// Whether the client reads nothing but events.
    wants_events: bool,
    base: String,
    strictness: Strictness,
}

impl Heard {
    fn of(headers: &HeaderMap, uri: Option<&Uri>, strictness: Strictness) -> Self {
        let text = |name: &HeaderName| headers.get(name)?.to_str().ok();
        let named = headers.get_all(EXTENSIONS).iter();
        let named = named.chain(headers.get_all(OLD_EXTENSIONS).iter());
        let extensions = named
            .filter_map(|value| value.to_str().ok())
            .flat_map(|text| text.split(','))
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| match is_ours(name) {
                true => A2A_EXTENSION.to_owned(),
                false => name.to_owned(),
            });
        Self {
            version: text(&VERSION).map(str::to_owned).or_else(|| of_query(uri?)),
            extensions: extensions.collect(),
            last_event: text(&LAST_EVENT).and_then(|text| text.trim().parse().ok()),
            wants_events: text(&ACCEPT).is_some_and(stream::is_wanted_alone),
            base: base(headers),
            strictness,
        }
    }

    /// Those of the named extensions that are known here.
    fn activated(&self) -> Vec<String> {
        let known = |name: &&String| *name == A2A_EXTENSION;
        self.extensions
            .iter()
            .find(known)
            .cloned()
            .into_iter()
            .collect()
    }

    /// The head of a call to /rpc, where the version need not be named.
    pub(crate) fn lenient(headers: &HeaderMap) -> Self {
        Self::of(headers, None, Strictness::Lenient)
    }
}

/// Whether a name is that of our extension: of a URN, the scheme and the namespace are the same in any case, and what is
/// behind them is not (RFC 8141, section 3.1).
fn is_ours(name: &str) -> bool {
    let parts = |name: &str| {
        let (scheme, rest) = name.split_once(':')?;
        let (namespace, rest) = rest.split_once(':')?;
        let [scheme, namespace] = [scheme, namespace].map(str::to_ascii_lowercase);
        Some((scheme, namespace, rest.to_owned()))
    };
    parts(name).is_some_and(|named| Some(named) == parts(A2A_EXTENSION))
}

/// The version may stand in the address as well.
fn of_query(uri: &Uri) -> Option<String> {
    let query = url::form_urlencoded::parse(uri.query()?.as_bytes());
    let mut named = query.filter(|(name, _)| name.eq_ignore_ascii_case("a2a-version"));
    named.next().map(|(_, value)| value.into_owned())
}

/// Answers one body, whoever is behind the address.
pub(crate) async fn answer(
    room: &Arc<A2aDoor>,
    caller: &Caller,
    peer: Option<String>,
    heard: &Heard,
    body: &[u8],
) -> Response {
    let A2aRequest { id, method, params } = match frame::read(body) {
        Ok(asked) => asked,
        Err((id, fault)) => {
            let (fault, version) = unread(fault, heard, body);
            return json(id.error(&fault.write(version)));
        }
    };
    let found = A2aMethod::named(&method);
    // Write an error so that the client can read it: in the A2A version of the called method; for an unknown method, in the
    // header's version, and else in 1.0.
    let version = found.map_or_else(
        || asked(heard.version.as_deref()).unwrap_or(A2aVersion::V1),
        |(_, version)| version,
    );
    // A2A 0.3 reports an error of a stream that cannot begin as an event of the stream, if the client reads nothing but events.
    // A2A 1.0 reports it as a plain answer.
    let as_event = heard.wants_events
        && matches!(
            found,
            Some((A2aMethod::Stream | A2aMethod::Subscribe, A2aVersion::V03))
        );
    let done = async {
        let Some((method, version)) = found else {
            // If the client names a version that we do not know, say so, because the method may exist in that version. Only if
            // the version is known, say that the method is unknown.
            asked(heard.version.as_deref())?;
            return Err(A2aError::new(A2aErrorKind::Method, "Method not found"));
        };
        admit(version, heard.version.as_deref(), heard.strictness)?;
        admit_extensions(room, &heard.extensions)?;
        let (peer, offers) = behind(room, caller, peer, &heard.base, method).await?;
        let asking = Asking {
            room,
            caller,
            peer,
            offers,
            base: public(room, &heard.base),
            version,
            params,
            extensions: heard.activated(),
            last_event: heard.last_event,
        };
        asking.answer(method).await
    };
    let answered = match done.await {
        Ok(CallOutcome::Result(result)) => Ok(json(id.result(&result))),
        Ok(CallOutcome::Events(events)) => {
            stream::respond(Arc::clone(room), *events, id.clone(), version)
        }
        Err(fault) => Err(fault),
    };
    let mut response =
        answered.unwrap_or_else(|fault| failed(&fault, id.error(&fault.write(version)), as_event));
    // The specification of A2A asks an agent to name in its answer the extensions that the call activated.
    if !heard.activated().is_empty() {
        let value = HeaderValue::from_static(A2A_EXTENSION);
        response.headers_mut().insert(EXTENSIONS, value);
    }
    response
}

/// What is told of a body that is no call, and in which version.
fn unread(fault: A2aError, heard: &Heard, body: &[u8]) -> (A2aError, A2aVersion) {
    let version = asked(heard.version.as_deref()).unwrap_or(A2aVersion::V1);
    match heard.strictness {
        Strictness::Header => unnamed::fault(body).unwrap_or((fault, version)),
        Strictness::Lenient => (fault, version),
    }
}

/// The answer to a call that failed.
fn failed(fault: &A2aError, text: String, as_event: bool) -> Response {
    let mut response = match as_event {
        true => stream::only(&text),
        false => json(text),
    };
    if fault.is_busy() {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response = later(response, 1);
    }
    response
}

/// Whether a method of JSON-RPC is one of A2A.
pub(crate) fn is_method(name: &str) -> bool {
    A2aMethod::named(name).is_some()
}

/// The agent that the address stands for, and what it offers.
async fn behind(
    room: &A2aDoor,
    caller: &Caller,
    peer: Option<String>,
    base: &str,
    method: A2aMethod,
) -> Result<(String, Vec<Offer>), A2aError> {
    let named = peer.clone().or_else(|| room.section().default.clone());
    // Treat a peer beyond the token's scope like an unknown peer: the token must not learn that this peer exists.
    if let Some(peer) = named.filter(|peer| caller.scope.knows(peer)) {
        match room.offers(caller, &peer).await {
            Ok(Some(offers)) => return Ok((peer, offers)),
            // The gateway's own database knows the owner of each task, so calls about tasks are answered even while the daemon
            // is away or busy.
            Err(_) if method.is_of_tasks() => return Ok((peer, Vec::new())),
            Ok(None) => {}
            Err(fault) => return Err(fault),
        }
    }
    let peers = room.peers(caller).await?;
    let base = public(room, base);
    let addresses = peers.iter().map(|peer| format!("{base}/a2a/{}", peer.peer));
    let addresses: Vec<String> = addresses.take(ADDRESSES_MAX).collect();
    let default = match peer {
        None => room.section().default.as_deref(),
        Some(_) => None,
    };
    let fault = A2aError::new(
        A2aErrorKind::Unsupported,
        nobody(&addresses, default, peer.is_none()),
    );
    Err(match addresses.is_empty() {
        true => fault,
        false => fault.with("addresses", addresses.join(" ")),
    })
}

/// What to do where no agent stands behind the address. `default` is the one of the configuration, where it was meant.
fn nobody(addresses: &[String], default: Option<&str>, is_root: bool) -> String {
    let what = match default {
        Some(name) => format!(
            "the `default` under [a2a] of gateway.toml is {name}, whom the daemon does not know or this token may not see"
        ),
        None => "no agent stands behind this address".to_owned(),
    };
    let shown = addresses.iter().take(SHOWN_MAX).map(String::as_str);
    let next = match shown.collect::<Vec<_>>().join(" or ") {
        none if none.is_empty() => {
            "this token may see no agent; signet peer list says whom the daemon knows, signet token list what the token may"
                .to_owned()
        }
        shown if is_root && default.is_none() => {
            format!("post to {shown}, or set `default` under [a2a] of gateway.toml")
        }
        shown => format!("post to {shown}"),
    };
    format!("Unsupported operation: {what}; {next}")
}

/// The address by which the request called us. The listener has admitted its Host.
fn base(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.unwrap_or("localhost").to_owned()
}

/// The address that others are told.
fn public(room: &A2aDoor, host: &str) -> String {
    let config = &room.context.config;
    match &config.a2a.url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None if config.tls.is_some() => format!("https://{host}"),
        None => format!("http://{host}"),
    }
}

const EXTENSIONS: HeaderName = HeaderName::from_static("a2a-extensions");
/// As 0.3 spells it.
const OLD_EXTENSIONS: HeaderName = HeaderName::from_static("x-a2a-extensions");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const ADDRESSES_MAX: usize = 100;
/// Addresses that the sentence itself has; programs find more of them beside it.
const SHOWN_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_extension_is_known_by_its_urn_in_any_case_that_is_the_same_urn() {
        let activated = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(EXTENSIONS, HeaderValue::from_static(value));
            Heard::of(&headers, None, Strictness::Header).activated()
        };
        for same in [
            "urn:signet:a2a:request:1",
            "URN:SIGNET:a2a:request:1",
            "urn:other, Urn:Signet:a2a:request:1 ",
        ] {
            assert_eq!(activated(same), [A2A_EXTENSION], "{same}");
        }
        for other in [
            "urn:signet:A2A:request:1",
            "urn:signet:a2a:request:2",
            "urn:signets:a2a:request:1",
            "urn:signet",
            ":",
            "",
        ] {
            assert!(activated(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn whoever_finds_nobody_reads_what_to_type() {
        let bob = ["http://localhost:8787/a2a/agent-bob".to_owned()];
        let told = nobody(&bob, None, true);
        assert!(
            told.contains("post to http://localhost:8787/a2a/agent-bob, or set `default`"),
            "{told}"
        );
        assert!(nobody(&bob, Some("bbo"), true).contains("is bbo, whom"));
        assert!(!nobody(&bob, None, false).contains("default"));
        assert!(nobody(&[], None, true).contains("this token may see no agent"));
        let many = vec![bob[0].clone(); 200];
        assert!(nobody(&many, None, true).len() < 500);
    }
}
