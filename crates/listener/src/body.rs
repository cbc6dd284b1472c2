//! The body of a request, read whole before its door sees it: so long, within so much time, and all bodies together
//! within so much memory. Who has not been let in by then has no body read at all.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The limits of a body.
pub struct Bodies {
    most: usize,
    time: Duration,
    /// KiB of all bodies that are being read or handled.
    room: Arc<Semaphore>,
    /// The answer to a body that is not taken.
    refusal: fn(BodyFault) -> Response,
}

/// Reads the body whole for its door, or says why not: a middleware of axum.
pub async fn whole(State(bodies): State<Arc<Bodies>>, request: Request, next: Next) -> Response {
    let (mut head, body) = request.into_parts();
    let (body, room) = match bodies.read(body).await {
        Ok(read) => read,
        Err(fault) => return (bodies.refusal)(fault),
    };
    if let Some(room) = room {
        head.extensions.insert(room);
    }
    next.run(Request::from_parts(head, Body::from(body))).await
}

/// Takes what is left of a refused request off the connection, as far as that is little and comes soon: where bytes are
/// left over, the system resets the connection, and the refusal with it.
pub async fn discard(body: Body) {
    // Limit the bytes and the time of this reading: otherwise a client whose request is refused could send without an end, and
    // keep its connection.
    discard_up_to(body, DISCARDED, DISCARD_TIME).await;
}

/// The same up to so many bytes, which come within that time.
pub async fn discard_up_to(body: Body, most: usize, time: Duration) {
    let taken = async {
        let (mut body, mut left) = (body, most);
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.into_data().map_or(0, |piece| piece.len());
            match left.checked_sub(length) {
                Some(less) => left = less,
                None => return,
            }
        }
    };
    // The error of a timeout is ignored: a sender that is too slow is cut off.
    let _ = timeout(time, taken).await;
}

impl Bodies {
    /// Bodies of at most so many bytes, each of which comes within that time.
    pub fn new(most: usize, time: Duration, refusal: fn(BodyFault) -> Response) -> Self {
        Self {
            most,
            time,
            refusal,
            // Leave room for one body of the largest size: otherwise nobody could ever send it.
            room: Arc::new(Semaphore::new(ROOM.max(most / KIB + 1))),
        }
    }

    /// The whole body, and the room that it takes.
    async fn read(&self, body: Body) -> Result<(Bytes, Option<HeldBytes>), BodyFault> {
        // Refuse a body whose Content-Length is above the limit at once, instead of reading it up to the limit.
        if body.size_hint().lower() > self.most as u64 {
            discard(body).await;
            return Err(BodyFault::TooLarge);
        }
        let reading = timeout(self.time, self.collect(body));
        reading.await.unwrap_or(Err(BodyFault::Slow))
    }

    async fn collect(&self, mut body: Body) -> Result<(Bytes, Option<HeldBytes>), BodyFault> {
        let (mut all, mut room) = (BytesMut::new(), None::<OwnedSemaphorePermit>);
        while let Some(frame) = body.frame().await {
            let Ok(piece) = frame.map_err(|_| BodyFault::Broken)?.into_data() else {
                // This frame holds trailers. They are no part of the body, and nothing here reads them.
                continue;
            };
            if all.len() + piece.len() > self.most {
                return Err(BodyFault::TooLarge);
            }
            // Take room as bytes come, and not by the declared length: otherwise a caller could take all room
            // without sending anything.
            let held = room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            let wanted = (all.len() + piece.len()).div_ceil(KIB).saturating_sub(held);
            if wanted > 0 {
                let wanted = u32::try_from(wanted).map_err(|_| BodyFault::TooLarge)?;
                let more = Arc::clone(&self.room).try_acquire_many_owned(wanted);
                let more = more.map_err(|_| BodyFault::Full)?;
                match &mut room {
                    Some(room) => room.merge(more),
                    None => room = Some(more),
                }
            }
            all.extend_from_slice(&piece);
        }
        Ok((all.freeze(), room.map(|room| HeldBytes(Arc::new(room)))))
    }
}

/// The room of a body: free again when the request is done with.
#[derive(Clone)]
struct HeldBytes(#[expect(dead_code, reason = "held, not read")] Arc<OwnedSemaphorePermit>);

/// Why a body is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFault {
    /// It is longer than the limit.
    TooLarge,
    /// It did not come in time.
    Slow,
    /// It ended too soon, or is no body of HTTP.
    Broken,
    /// Too many bodies are being read or handled.
    Full,
}

const KIB: usize = 1024;
/// 64 MiB.
const ROOM: usize = 64 * 1024;
/// Of a refused request, so many bytes are taken off its connection.
const DISCARDED: usize = 64 * KIB;
const DISCARD_TIME: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn bodies(most: usize) -> Bodies {
        Bodies::new(most, Duration::from_secs(30), |_| Response::default())
    }

    /// A body that does not say how long it is.
    fn pieces(pieces: &'static [&'static str]) -> Body {
        let pieces = pieces.iter().map(|piece| Ok::<_, std::io::Error>(*piece));
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn a_long_body_is_refused_without_being_kept() {
        let read = bodies(8).read(Body::from("12345678")).await;
        assert_eq!(read.map(|(bytes, _)| bytes.len()), Ok(8));
        for long in [Body::from("123456789"), pieces(&["12345678", "9"])] {
            assert_eq!(bodies(8).read(long).await.err(), Some(BodyFault::TooLarge));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_is_taken_off_its_connection_but_not_without_end() {
        discard(pieces(&["{}", "{}"])).await;
        let endless = Body::from_stream(stream::repeat_with(|| {
            Ok::<_, std::io::Error>(Bytes::from_static(&[b'x'; 1024]))
        }));
        discard(endless).await;
        let silent = Body::from_stream(stream::pending::<Result<Bytes, std::io::Error>>());
        let began = tokio::time::Instant::now();
        discard(silent).await;
        assert!((DISCARD_TIME..DISCARD_TIME * 2).contains(&began.elapsed()));
    }
}
