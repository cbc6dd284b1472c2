//! Server-sent events: one without words whenever the index has changed. The page asks for the change itself.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use signet_listener::RequestUnderWay;
use tokio::time::{Instant, sleep, timeout};

use super::heads::answer;
use crate::room::Room;

/// The stream of one page, whose connection keeps its place as long as it lasts.
pub(super) fn events(room: Arc<Room>, under_way: Option<RequestUnderWay>) -> Response {
    let begun = Instant::now();
    let changes = room.changes.subscribe();
    let first = Bytes::from_static(b"retry: 2000\n\n");
    let stream = unfold(
        (room, changes, Some(first), under_way),
        move |(room, mut changes, first, under_way)| async move {
            if let Some(first) = first {
                let next = (room, changes, None, under_way);
                return Some((Ok::<_, Infallible>(first), next));
            }
            // A page that stays open for ever, on a screen that nobody looks at, does not keep the room open.
            if begun.elapsed() > LONGEST {
                return None;
            }
            room.use_now();
            let event = match timeout(BEAT, changes.changed()).await {
                Ok(Ok(())) => {
                    // Many lines at once are one event.
                    sleep(GATHER).await;
                    let count = *changes.borrow_and_update();
                    Bytes::from(format!("event: change\ndata: {count}\n\n"))
                }
                Ok(Err(_)) => return None,
                Err(_) => Bytes::from_static(b": still here\n\n"),
            };
            Some((Ok(event), (room, changes, None, under_way)))
        },
    );
    answer(
        StatusCode::OK,
        "text/event-stream",
        Body::from_stream(stream),
    )
}

/// So long an open page counts as use.
const LONGEST: Duration = Duration::from_secs(12 * 3600);
const BEAT: Duration = Duration::from_secs(20);
const GATHER: Duration = Duration::from_millis(250);
