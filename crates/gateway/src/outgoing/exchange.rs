//! One request and its answer on a connection of their own.

use bytes::Bytes;
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::HeaderMap;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::dial::Stream;
use super::{HttpAnswer, OutgoingError};

/// What looks at each piece of an answer as it comes; true ends the reading.
pub(crate) trait WatchPieces<E>: FnMut(&HeaderMap, &[u8]) -> Result<bool, E> {}

impl<E, F: FnMut(&HeaderMap, &[u8]) -> Result<bool, E> + ?Sized> WatchPieces<E> for F {}

/// Sends a request and reads its answer, of at most `longest` bytes, to its end or until `watch` has seen enough. Says besides
/// whether more came behind the answer than belongs to it.
///
/// # Errors
/// A fault of the connection, of HTTP or of the answer's size, and `Redirected`; every other status is an answer.
pub(super) async fn exchange<E: From<OutgoingError>>(
    stream: TokioIo<Box<dyn Stream>>,
    request: Request<Full<Bytes>>,
    longest: usize,
    watch: &mut (impl WatchPieces<E> + ?Sized),
) -> Result<(HttpAnswer, bool), E> {
    let (mut sender, connection) = http1::Builder::new()
        .max_headers(MOST_HEADERS)
        .max_buf_size(LONGEST_HEAD)
        .handshake(stream)
        .await
        .map_err(|error| of_http(&error))?;
    let answer = async {
        let response = sender.send_request(request).await;
        read(response.map_err(|error| of_http(&error))?, longest, watch).await
    };
    let (mut connection, mut answer) = (Box::pin(connection), Box::pin(answer));
    // hyper sends and receives only while the connection is polled: so poll the connection while the answer is read. The
    // connection may end before the whole answer is read, so remember how it ended.
    let mut ended = None;
    let answer = loop {
        tokio::select! {
            answer = &mut answer => break answer?,
            end = &mut connection, if ended.is_none() => ended = Some(end),
        }
    };
    // Poll the connection once more without waiting: only then does hyper notice bytes that follow the answer.
    let ended = ended.or_else(|| connection.now_or_never());
    let is_followed = matches!(ended, Some(Err(error)) if is_of_more(&error));
    Ok((answer, is_followed))
}

/// Whether bytes came behind the answer: a second one, which nobody asked for. Hyper has no name for that fault, but it is
/// the one without a cause.
fn is_of_more(error: &hyper::Error) -> bool {
    let is_other = error.is_closed() || error.is_canceled() || error.is_incomplete_message();
    !is_other && std::error::Error::source(error).is_none()
}

async fn read<E: From<OutgoingError>>(
    response: Response<Incoming>,
    longest: usize,
    watch: &mut (impl WatchPieces<E> + ?Sized),
) -> Result<HttpAnswer, E> {
    let (head, mut incoming) = response.into_parts();
    if head.status.is_redirection() {
        return Err(OutgoingError::Redirected.into());
    }
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let frame = frame.map_err(|error| of_http(&error))?;
        // A frame without data holds trailers: skip it, because nothing here reads trailers.
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        if body.len() + piece.len() > longest {
            return Err(OutgoingError::TooLong.into());
        }
        body.extend_from_slice(&piece);
        if watch(&head.headers, &piece)? {
            break;
        }
    }
    Ok(HttpAnswer {
        status: head.status,
        headers: head.headers,
        body: body.into(),
    })
}

fn of_http(error: &hyper::Error) -> OutgoingError {
    match error {
        _ if error.is_parse() => OutgoingError::NotHttp,
        _ if error.is_incomplete_message() => OutgoingError::CutShort,
        _ if error.is_canceled() || error.is_closed() => OutgoingError::Unreachable,
        _ => OutgoingError::CutShort,
    }
}

/// More than any server needs, so that a head without an end is refused before it fills memory.
const MOST_HEADERS: usize = 64;
const LONGEST_HEAD: usize = 32 * 1024;
