//! One POST: a request, one answer, and bounds on every byte and header of it.
//!
//! There is no pool, no redirect, no proxy, no cookie and no decompression: each would be a way for the other side to make
//! us do what the configuration does not say.

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::handle::endpoint::Endpoint;
use signet_handlers::answer::ANSWER;
use signet_handlers::{Fault, Task};

/// What is posted.
pub(crate) struct Post {
    pub(crate) body: Vec<u8>,
    pub(crate) accept: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Looks at each piece of an answer as it comes; true ends the reading.
pub(crate) type Watch<'a> = &'a mut dyn FnMut(&HeaderMap, &[u8]) -> Result<bool, Fault>;

/// Posts and reads the answer to its end.
///
/// # Errors
/// A fault of the connection, of HTTP, or of the answer's size, and `Redirected`; every other status is an answer.
pub(crate) async fn post(endpoint: &Endpoint, post: Post) -> Result<Reply, Fault> {
    post_until(endpoint, post, &mut |_, _| Ok(false)).await
}

/// The same, until `watch` has seen enough.
pub(crate) async fn post_until(
    endpoint: &Endpoint,
    post: Post,
    watch: Watch<'_>,
) -> Result<Reply, Fault> {
    let request = request(endpoint, post)?;
    let io = endpoint.connect().await?;
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(MOST_HEADERS)
        .max_buf_size(LONGEST_HEAD)
        .handshake(io)
        .await
        .map_err(|error| of_http(&error))?;
    let answer = async {
        let response = sender.send_request(request).await;
        let response = response.map_err(|error| of_http(&error))?;
        read(response, watch).await
    };
    let (mut connection, mut answer) = (Box::pin(connection), Box::pin(answer));
    // The connection has to be driven while the answer is read, and may end before all of it is.
    let mut ended = None;
    let reply = loop {
        tokio::select! {
            reply = &mut answer => break reply?,
            end = &mut connection, if ended.is_none() => ended = Some(end),
        }
    };
    match ended.or_else(|| connection.now_or_never()) {
        Some(Err(error)) if is_of_more(&error) => Err(Fault::AnsweredTwice),
        _ => Ok(reply),
    }
}

/// Whether bytes came behind the answer: a second one, which nobody asked for. Hyper has no name for that fault, but it is
/// the one without a cause.
fn is_of_more(error: &hyper::Error) -> bool {
    let is_other = error.is_closed() || error.is_canceled() || error.is_incomplete_message();
    !is_other && std::error::Error::source(error).is_none()
}

impl Reply {
    /// What it is declared to be, without parameters.
    pub(crate) fn content_type(&self) -> Option<String> {
        content_type(&self.headers)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body, where it is declared as JSON.
    pub(crate) fn json_bytes(&self) -> Result<&[u8], Fault> {
        let is_json = self.content_type().is_some_and(|kind| {
            kind == JSON || (kind.starts_with("application/") && kind.ends_with("+json"))
        });
        match is_json && !self.headers.contains_key(header::CONTENT_ENCODING) {
            true => Ok(&self.body),
            false => Err(Fault::ContentType),
        }
    }
}

/// The media type of an answer, in lower case and without parameters.
pub(crate) fn content_type(headers: &HeaderMap) -> Option<String> {
    let mut all = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (all.next(), all.next()) else {
        return None;
    };
    let text = value.to_str().ok()?;
    let media = text.split_once(';').map_or(text, |(media, _)| media);
    Some(media.trim().to_ascii_lowercase())
}

/// Who asks, for the agent: each of it was verified by the daemon, and holds no free text.
pub(crate) fn who_asks(task: &Task<'_>) -> Vec<(&'static str, String)> {
    let message = task.message;
    vec![
        ("signet-from", message.from.clone()),
        ("signet-principal", message.principal.clone()),
        ("signet-tier", message.data_tier.to_string()),
        ("signet-key", task.key.to_owned()),
    ]
}

fn request(endpoint: &Endpoint, post: Post) -> Result<Request<Full<Bytes>>, Fault> {
    let mut request = Request::new(Full::new(Bytes::from(post.body)));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = endpoint.target().parse().map_err(|_| Fault::Unreachable)?;
    let headers = request.headers_mut();
    let mut put = |name: HeaderName, value: &str| {
        let value = HeaderValue::from_str(value).map_err(|_| UNWRITABLE)?;
        headers.insert(name, value);
        Ok::<(), Fault>(())
    };
    put(header::HOST, endpoint.authority())?;
    put(header::CONTENT_TYPE, JSON)?;
    put(header::ACCEPT, post.accept)?;
    put(header::USER_AGENT, AGENT)?;
    for (name, value) in &post.headers {
        put(HeaderName::from_static(name), value)?;
    }
    if let Some(value) = endpoint.authorization()? {
        headers.insert(header::AUTHORIZATION, value);
    }
    Ok(request)
}

async fn read(response: Response<Incoming>, watch: Watch<'_>) -> Result<Reply, Fault> {
    let (head, mut incoming) = response.into_parts();
    if head.status.is_redirection() {
        return Err(Fault::Redirected);
    }
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| of_http(&error))?;
        // Trailers are not read.
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        if body.len() + piece.len() > ANSWER.bytes {
            return Err(Fault::Flood(ANSWER.bytes / 1024));
        }
        body.extend_from_slice(&piece);
        if watch(&head.headers, &piece)? {
            break;
        }
    }
    Ok(Reply {
        status: head.status,
        headers: head.headers,
        body,
    })
}

fn of_http(error: &hyper::Error) -> Fault {
    match error {
        _ if error.is_parse() => Fault::NotHttp,
        _ if error.is_incomplete_message() => Fault::CutShort,
        _ if error.is_canceled() || error.is_closed() => Fault::Unreachable,
        _ => Fault::CutShort,
    }
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENTS: &str = "text/event-stream";
const AGENT: &str = concat!("signet/", env!("CARGO_PKG_VERSION"));
const UNWRITABLE: Fault = Fault::Shape("a header of the request cannot be written");
/// More than any server needs, so that a head without an end is refused before it fills memory.
const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 32 * 1024;
