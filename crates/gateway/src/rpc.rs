//! Strict JSON-RPC 2.0 at `POST /rpc`: the calls of an agent's socket, within the scope of the token.
//!
//! ```text
//! body ── read: one request or a batch ──▶ call: scope ──▶ daemon ──▶ one answer, an array, or 204 for what wants none
//!                                            └── subscribe, inbox.follow, offer ──▶ stream: server-sent events
//! ```

mod call;
mod leases;
mod read;
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
use hyper::header::{self, HeaderMap, HeaderValue};
use serde::Deserialize;
use signet_api::ApiError;
use signet_api::rpc::{Asked, Id, Incoming, Item, batch as array};

use crate::a2a;
use crate::context::{Caller, Context};
use call::{Calls, is_streamed};
use leases::Leases;

/// `[rpc]` of gateway.toml.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Section {
    pub(crate) enabled: bool,
}

impl Default for Section {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// Behind authentication.
pub(crate) fn routes(context: &Arc<Context>, a2a: Option<Arc<a2a::Room>>) -> Router {
    if !context.config.rpc.enabled {
        return Router::new();
    }
    let room = Arc::new(Room {
        context: Arc::clone(context),
        leases: Leases::default(),
        a2a,
    });
    Router::new().route("/rpc", post(rpc)).with_state(room)
}

/// Reads a body as `/rpc` does, for the fuzzer: whether it holds anything that is called.
pub fn read_body(body: &[u8]) -> bool {
    match read::parse(body) {
        Err(_) => false,
        Ok(Incoming::One(item)) => matches!(item, Item::Call(_)),
        Ok(Incoming::Batch(items)) => items.iter().any(|item| matches!(item, Item::Call(_))),
    }
}

struct Room {
    context: Arc<Context>,
    leases: Leases,
    /// Where the methods of A2A are answered, which may be called here too.
    a2a: Option<Arc<a2a::Room>>,
}

async fn rpc(
    State(room): State<Arc<Room>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let incoming = read::parse(&body);
    if let (Some(a2a), Ok(Incoming::One(Item::Call(asked)))) = (&room.a2a, &incoming)
        && a2a::is_method(&asked.method)
    {
        return match asked.id {
            // A notification is never answered, and what A2A does is of use by its answer alone.
            None => answered(None),
            Some(_) => a2a::answer(a2a, &caller, None, &a2a::Heard::lenient(&headers), &body).await,
        };
    }
    let calls = Calls::of(&room.context, &room.leases, caller);
    match incoming {
        Err(error) => answered(Some(Id::null().answer(&Err(error)))),
        Ok(Incoming::One(Item::Call(asked)))
            if is_streamed(&asked.method) && takes_events(&headers) =>
        {
            stream::streamed(&calls, asked).await
        }
        Ok(Incoming::One(item)) => answered(one(&calls, item).await),
        Ok(Incoming::Batch(items)) => answered(batch(&calls, items).await),
    }
}

async fn one(calls: &Calls<'_>, item: Item) -> Option<String> {
    match item {
        Item::Ignored => None,
        Item::Faulty(id, error) => Some(id.answer(&Err(error))),
        Item::Call(Asked { method, params, id }) => {
            let result = calls.call(&method, params).await;
            // A notification is done, and its end is told to nobody.
            Some(id?.answer(&result))
        }
    }
}

/// Several at once, and no more of them than others can spare; the answers stand in the order of the calls.
async fn batch(calls: &Calls<'_>, items: Vec<Item>) -> Option<String> {
    let bytes = &AtomicUsize::new(0);
    let answers = futures_util::stream::iter(items).map(move |item| async move {
        // What would be too long to be answered is not done.
        let answer = match bytes.load(Ordering::Relaxed) > ANSWERS_MAX {
            true => one(calls, item.refused_with(&too_long())).await,
            false => one(calls, item).await,
        };
        bytes.fetch_add(answer.as_ref().map_or(0, String::len), Ordering::Relaxed);
        answer
    });
    let answers: Vec<Option<String>> = answers.buffered(AT_ONCE).collect().await;
    let answers: Vec<String> = answers.into_iter().flatten().collect();
    array(&answers)
}

fn answered(answer: Option<String>) -> Response {
    match answer {
        Some(answer) => {
            let kind = (
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            ([kind], answer).into_response()
        }
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
    let text = "the answers to this batch are too long together; nothing of this call is done";
    ApiError::refused("batch-too-long", text).with_next("send the call again by itself")
}

const AT_ONCE: usize = 8;
const ANSWERS_MAX: usize = 32 << 20;

#[cfg(test)]
mod tests {
    use super::*;

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
