//! Events of a task, as they come: Server-Sent Events, each with the number by which a dropped stream goes on.
//!
//! Every stream reads for itself what is written already. So a slow reader holds nothing back and keeps nothing in
//! memory; one that has fallen behind what is kept is shown the task as it is.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

use super::call::EventRange;
use super::door::A2aDoor;
use super::fault::A2aError;
use super::store::Seen;
use super::words::method::A2aVersion;
use super::words::model::{A2aEvent, A2aTaskState};
use super::words::v03;
use signet_api::rpc::Id;

/// The response that tells them.
pub(crate) fn respond(
    room: Arc<A2aDoor>,
    events: EventRange,
    id: Id,
    version: A2aVersion,
) -> Result<Response, A2aError> {
    let place = Arc::clone(&room.streams).try_acquire_owned();
    let place = place.map_err(|_| {
        A2aError::internal("Internal error: too many streams are open; close one, or call GetTask")
    })?;
    let news = room.store.follow(&events.task);
    let mut telling = Telling {
        room,
        news,
        id,
        version,
        after: events.after,
        ready: VecDeque::new(),
        ends_at_interrupts: events.ends_at_interrupts,
        task: events.task,
        is_over: false,
        _place: place,
    };
    if let Some(first) = events.first {
        let seq = telling.after;
        telling.put(seq, &A2aEvent::Task(first));
    }
    let told = stream::unfold(telling, |mut telling| async move {
        let piece = telling.next().await?;
        Some((Ok::<_, Infallible>(piece), telling))
    });
    Ok((head(), Body::from_stream(told)).into_response())
}

/// A stream of one event, which is its last.
pub(crate) fn only(response: &str) -> Response {
    (head(), format!("data: {response}\n\n")).into_response()
}

/// Whether an `Accept` names streams of events and nothing that a plain answer would be.
pub(crate) fn is_wanted_alone(accept: &str) -> bool {
    let mut kinds = accept.split(',').map(|kind| {
        let kind = kind.split_once(';').map_or(kind, |(kind, _)| kind);
        kind.trim().to_ascii_lowercase()
    });
    kinds.all(|kind| kind == "text/event-stream" || kind == "text/*")
}

fn head() -> [(HeaderName, HeaderValue); 3] {
    [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (
            CACHE_CONTROL,
            // `no-transform` keeps proxies from compressing the stream, which would hold events back.
            HeaderValue::from_static("no-cache, no-transform"),
        ),
        (NO_BUFFER, HeaderValue::from_static("no")),
    ]
}

/// One reader, and how far it is.
struct Telling {
    room: Arc<A2aDoor>,
    task: String,
    news: watch::Receiver<u64>,
    id: Id,
    version: A2aVersion,
    after: u64,
    ready: VecDeque<Bytes>,
    ends_at_interrupts: bool,
    /// Whether nothing follows what is ready.
    is_over: bool,
    _place: OwnedSemaphorePermit,
}

impl Telling {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            if self.is_over {
                return None;
            }
            // Mark the news as seen before the events are read, and not after: otherwise an event that is written between the
            // two would be marked as seen, and would not end the wait below.
            self.news.borrow_and_update();
            // If the task can no longer be read, for instance because the store has forgotten it, end the stream: no event
            // would ever come.
            let seen = self.room.store.seen(self.task.clone(), self.after).await;
            self.take(seen.ok()?);
            if !self.ready.is_empty() || self.is_over {
                continue;
            }
            let stop = self.room.context.stop.clone();
            tokio::select! {
                () = stop.cancelled() => return None,
                changed = timeout(BEAT, self.news.changed()) => match changed {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) => return None,
                    Err(_) => return Some(Bytes::from_static(b": still there\n\n")),
                },
            }
        }
    }

    fn take(&mut self, seen: Seen) {
        match seen.whole {
            Some(task) => {
                self.put(seen.seq, &A2aEvent::Task(task));
                self.is_over |= self.ends(seen.state);
            }
            None => {
                for (seq, event) in seen.events {
                    self.put(seq, &event);
                }
                // End the stream if the task is over, even without new events: a client that reconnects may already have seen
                // the last event.
                self.is_over |= seen.state.is_terminal();
            }
        }
        self.after = seen.seq.max(self.after);
    }

    fn put(&mut self, seq: u64, event: &A2aEvent) {
        if self.is_over {
            return;
        }
        let result = match self.version {
            A2aVersion::V1 => json!(event),
            A2aVersion::V03 => v03::event(event),
        };
        self.ready.push_back(piece(seq, &self.id, &result));
        self.is_over = event.state().is_some_and(|state| self.ends(state));
    }

    const fn ends(&self, state: A2aTaskState) -> bool {
        state.is_terminal() || (self.ends_at_interrupts && state.is_interrupted())
    }
}

fn piece(seq: u64, id: &Id, result: &Value) -> Bytes {
    format!("id: {seq}\ndata: {}\n\n", id.result(result)).into()
}

/// Proxies between us and the client pass each event on at once.
const NO_BUFFER: HeaderName = HeaderName::from_static("x-accel-buffering");
/// What is silent for longer is taken for dead by proxies.
const BEAT: Duration = Duration::from_secs(15);
