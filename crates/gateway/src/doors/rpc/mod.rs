//! Strict JSON-RPC 2.0 at `POST /rpc`: the calls of an agent's socket, within the scope of the token.
//!
//! ```text
//! body ── read: one request or a batch ──▶ call: scope ──▶ daemon ──▶ one answer, an array, or 204 for what wants none
//!                                            └── subscribe, inbox.follow, offer ──▶ stream: server-sent events
//! ```

mod call;
mod leases;
pub(crate) mod read;
mod stream;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use futures_util::StreamExt as _;
use hyper::StatusCode;
use hyper::header::{self, HeaderMap};
use signet_api::rpc::{Asked, Id, Incoming, Item, batch as array};
use signet_api::{ApiError, Call, Effect, Receive, Request as _};

use crate::context::Context;
use crate::doors::a2a;
use crate::fault::BUSY;
use crate::listener::{json, later};
use crate::scope::Caller;
use call::{Calls, is_streamed};
use leases::CallerLeases;

/// Behind authentication.
pub(crate) fn routes(context: &Arc<Context>, a2a: Option<Arc<a2a::A2aDoor>>) -> Router {
    if !context.config.rpc.enabled {
        return Router::new();
    }
    let room = Arc::new(RpcDoor {
        context: Arc::clone(context),
        leases: CallerLeases::default(),
        a2a,
    });
    Router::new().route("/rpc", post(rpc)).with_state(room)
}

struct RpcDoor {
    context: Arc<Context>,
    leases: CallerLeases,
    /// Where the methods of A2A are answered, which may be called here too.
    a2a: Option<Arc<a2a::A2aDoor>>,
}

async fn rpc(
    State(room): State<Arc<RpcDoor>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let incoming = read::parse(&body);
    if let (Some(a2a), Ok(Incoming::One(Item::Call(asked)))) = (&room.a2a, &incoming)
        && a2a::is_method(&asked.method)
    {
        return match asked.id {
            // This A2A call has no id. Such a notification gets no answer, and an A2A call is of use only for its answer: so do
            // nothing.
            None => answered(None),
            Some(_) => a2a::answer(a2a, &caller, None, &a2a::Heard::lenient(&headers), &body).await,
        };
    }
    let calls = Calls::of(&room.context, &room.leases, caller);
    match incoming {
        Err(error) => answered(Some(Id::null().refusal(&error))),
        Ok(Incoming::One(Item::Call(asked)))
            if is_streamed(&asked.method) && takes_events(&headers) =>
        {
            stream::streamed(&calls, asked).await
        }
        Ok(Incoming::One(Item::Call(asked))) => single(&calls, asked).await,
        Ok(Incoming::One(item)) => answered(one(&calls, item).await),
        Ok(Incoming::Batch(items)) => answered(batch(&calls, items).await),
    }
}

async fn one(calls: &Calls<'_>, item: Item) -> Option<String> {
    match item {
        Item::Ignored => None,
        Item::Faulty(id, error) => Some(id.refusal(&error)),
        Item::Call(Asked { method, params, id }) => {
            let result = calls.call(&method, params).await;
            // A notification has no id: the call was made, and nobody is told its result.
            Some(id?.answer(&result))
        }
    }
}

/// A call that stands by itself: what found no place in time says so in the head as well, and when to come again.
async fn single(calls: &Calls<'_>, Asked { method, params, id }: Asked) -> Response {
    let result = calls.call(&method, params).await;
    busy_or(&result, answered(id.map(|id| id.answer(&result))))
}

fn busy_or<T>(result: &Result<T, ApiError>, mut response: Response) -> Response {
    let is_busy = |error: &ApiError| error.reason().is_some_and(|reason| reason.as_str() == BUSY);
    if result.as_ref().is_err_and(is_busy) {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        return later(response, 1);
    }
    response
}

/// Several at once, and no more of them than others can spare; the answers stand in the order of the calls.
async fn batch(calls: &Calls<'_>, items: Vec<Item>) -> Option<String> {
    let space = &Space::of(ANSWERS_MAX);
    let answers = futures_util::stream::iter(items).map(move |item| bounded(calls, item, space));
    let answers: Vec<Option<String>> = answers.buffered(AT_ONCE).collect().await;
    // A notification has no entry in the answer to a batch (JSON-RPC 2.0, section 6): leave out the empty answers of
    // notifications.
    let answers: Vec<String> = answers.into_iter().flatten().collect();
    array(&answers)
}

/// One of several, whose answers have so much space together. What only shows is shown where there is space for it; what
/// changes something is done only where space is kept for its answer.
async fn bounded(calls: &Calls<'_>, item: Item, space: &Space) -> Option<String> {
    let Item::Call(asked) = item else {
        return one(calls, item).await;
    };
    let kept = kept_for(&asked);
    let id = asked.id.clone();
    if !space.take(kept) {
        return one(calls, Item::Call(asked).refused_with(&too_long())).await;
    }
    let answer = one(calls, Item::Call(asked)).await;
    space.give_back(kept);
    match space.take(answer.as_ref().map_or(0, String::len)) {
        true => answer,
        false => Some(id?.refusal(&too_long())),
    }
}

/// What the answer to a call may take, where it has to be told because something was done.
fn kept_for(asked: &Asked) -> usize {
    let messages = match Call::named(&asked.method) {
        Some(line) if line.effect == Effect::Shows => return 0,
        Some(line) if line.name == Receive::METHOD => asked.params.tree()["limit"].as_u64(),
        _ => None,
    };
    let messages = messages.unwrap_or(1);
    usize::try_from(messages.clamp(1, MOST_AT_ONCE)).map_or(MESSAGE_MAX, |many| many * MESSAGE_MAX)
}

/// Bytes that the answers to one batch may still have.
struct Space(AtomicUsize);

impl Space {
    const fn of(bytes: usize) -> Self {
        Self(AtomicUsize::new(bytes))
    }

    fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = self
            .0
            // This number guards no other data, so no other thread has to see writes in order: `Relaxed` is enough.
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.is_ok()
    }

    fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

fn answered(answer: Option<String>) -> Response {
    match answer {
        Some(answer) => json(answer),
        None => StatusCode::NO_CONTENT.into_response(),
    }
}

fn takes_events(headers: &HeaderMap) -> bool {
    let mut accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    accepted.any(|value| {
        value.split(',').any(|kind| {
            let kind = kind.split(';').next().unwrap_or_default();
            kind.trim().eq_ignore_ascii_case("text/event-stream")
        })
    })
}

fn too_long() -> ApiError {
    let text =
        "the answers to this batch are too long together; nothing of this call is done or shown";
    ApiError::refused("batch-too-long", text).with_next("send the call again by itself")
}

const AT_ONCE: usize = 8;
/// Bytes of all answers to one batch.
const ANSWERS_MAX: usize = 32 << 20;
/// What one message takes in an answer, and how many of them the daemon hands out before the answer is heavy.
const MESSAGE_MAX: usize = 1 << 20;
const MOST_AT_ONCE: u64 = 6;

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_answers_to_a_batch_have_so_much_space_together() {
        let space = Space::of(10);
        assert!(space.take(6) && !space.take(5) && space.take(4));
        space.give_back(4);
        assert!(space.take(4) && !space.take(1));
        let asked = |method: &str, params: Value| Asked {
            method: method.to_owned(),
            params: params.into(),
            id: None,
        };
        let kept = |method: &str, params: Value| kept_for(&asked(method, params));
        assert_eq!(kept("history", Value::Null), 0);
        assert_eq!(kept("send", Value::Null), MESSAGE_MAX);
        let many = serde_json::json!({"limit": 100});
        assert!(kept("receive", many) > MESSAGE_MAX * 5);
    }

    #[test]
    fn a_client_says_that_it_takes_events() {
        let takes = |value: &'static str| {
            takes_events(&HeaderMap::from_iter([(
                header::ACCEPT,
                HeaderValue::from_static(value),
            )]))
        };
        assert!(takes("application/json, text/event-stream") && takes("Text/Event-Stream;q=0.5"));
        assert!(!takes("*/*") && !takes("application/json") && !takes_events(&HeaderMap::new()));
    }
}
