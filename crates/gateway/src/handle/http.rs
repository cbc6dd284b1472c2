//! One POST to an agent or a server that handles messages, and how its answer is read.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use signet_handlers::answer::ANSWER;
use signet_handlers::{Attempt, Fault};

use crate::listener::{is_json, media_type};
use crate::outgoing::{Endpoint, HttpAnswer, OutgoingError};

/// What is posted.
pub(crate) struct HandlerPost {
    pub(crate) body: Vec<u8>,
    pub(crate) accept: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// Looks at each piece of an answer as it comes; true ends the reading.
pub(crate) type SeenEnough<'a> = &'a mut dyn FnMut(&HeaderMap, &[u8]) -> Result<bool, Fault>;

/// Posts and reads the answer to its end.
///
/// # Errors
/// A fault of the connection, of HTTP, or of the answer's size, and `Redirected`; every other status is an answer.
pub(crate) async fn post(endpoint: &Endpoint, post: HandlerPost) -> Result<HttpAnswer, Fault> {
    post_until(endpoint, post, &mut |_, _| Ok(false)).await
}

/// The same, until `watch` has seen enough.
pub(crate) async fn post_until(
    endpoint: &Endpoint,
    post: HandlerPost,
    watch: SeenEnough<'_>,
) -> Result<HttpAnswer, Fault> {
    let headers = headers(endpoint, &post)?;
    match endpoint
        .post(headers, post.body, ANSWER.bytes, watch)
        .await?
    {
        // If two answers come on one connection, nobody can say which one is meant: take neither.
        (_, true) => Err(Fault::AnsweredTwice),
        (answer, false) => Ok(answer),
    }
}

impl From<OutgoingError> for Fault {
    fn from(error: OutgoingError) -> Self {
        match error {
            OutgoingError::Malformed
            | OutgoingError::Forbidden
            | OutgoingError::Cleartext
            | OutgoingError::NoAddress
            | OutgoingError::Unreachable
            | OutgoingError::Proxy => Self::Unreachable,
            OutgoingError::Certificate | OutgoingError::Tls => Self::Tls,
            OutgoingError::NotHttp => Self::NotHttp,
            OutgoingError::CutShort => Self::CutShort,
            OutgoingError::TooLong => Self::Flood(ANSWER.bytes / 1024),
            OutgoingError::TimedOut => Self::TimedOut,
            OutgoingError::Redirected => Self::Redirected,
        }
    }
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body, where it is declared as JSON.
    pub(crate) fn json_bytes(&self) -> Result<&[u8], Fault> {
        let is_json = media_type(&self.headers).as_deref().is_some_and(is_json);
        match is_json && !self.headers.contains_key(header::CONTENT_ENCODING) {
            true => Ok(&self.body),
            false => Err(Fault::ContentType),
        }
    }
}

/// Whether an answer is a stream of events.
pub(crate) fn is_stream(headers: &HeaderMap) -> bool {
    media_type(headers).as_deref() == Some("text/event-stream")
}

/// Who asks, for the agent: each of it was verified by the daemon, and holds no free text.
pub(crate) fn who_asks(attempt: &Attempt<'_>) -> Vec<(&'static str, String)> {
    let message = attempt.message;
    vec![
        ("signet-from", message.from.clone()),
        ("signet-principal", message.principal.clone()),
        ("signet-tier", message.data_tier.to_string()),
        ("signet-key", attempt.key.to_owned()),
    ]
}

fn headers(endpoint: &Endpoint, post: &HandlerPost) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str| {
        let value = HeaderValue::from_str(value).map_err(|_| UNWRITABLE)?;
        headers.insert(name, value);
        Ok::<(), Fault>(())
    };
    put(header::CONTENT_TYPE, JSON)?;
    put(header::ACCEPT, post.accept)?;
    for (name, value) in &post.headers {
        put(HeaderName::from_static(name), value)?;
    }
    endpoint.authorize(&mut headers).ok_or(Fault::Token)?;
    Ok(headers)
}

pub(crate) const JSON: &str = "application/json";
const UNWRITABLE: Fault = Fault::Shape("a header of the request cannot be written");
