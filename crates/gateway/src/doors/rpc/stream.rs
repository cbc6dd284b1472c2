//! What lasts, as server-sent events: first the response, then each notification, each as one event with one JSON text.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use hyper::header::{self, HeaderValue};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::call::Calls;
use super::{answered, busy_or};
use crate::daemon::DaemonConnection;
use signet_api::rpc::Asked;

/// Begins it, and tells what comes until one of the two ends goes.
pub(super) async fn streamed(calls: &Calls<'_>, asked: Asked) -> Response {
    // A notification has no id to answer the first event with, so no stream begins.
    let Some(id) = asked.id else {
        return answered(None);
    };
    let (first, link) = match calls.begin(&asked.method, asked.params).await {
        Ok((answer, link)) => (id.answer(&Ok(answer)), link),
        Err(error) => {
            let refusal = answered(Some(id.refusal(&error)));
            return busy_or::<()>(&Err(error), refusal);
        }
    };
    let (tell, told) = mpsc::channel(WAITING);
    tokio::spawn(follow(link, tell, calls.context.stop.clone()));
    let begin = (Some(first), told);
    let events = stream::unfold(begin, |(first, mut told)| async move {
        if let Some(first) = first {
            return Some((Ok::<_, Infallible>(event(&first)), (None, told)));
        }
        let event = match timeout(BEAT, told.recv()).await {
            Ok(text) => event(&text?),
            // Send an empty comment of SSE: only a write shows whether the client has gone.
            Err(_) => ":\n\n".to_owned(),
        };
        Some((Ok(event), (None, told)))
    });
    let kind = (
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    ([kind], Body::from_stream(events)).into_response()
}

/// A caller who reads slowly holds nothing up: the daemon closes a connection whose queue is full.
async fn follow(
    mut link: DaemonConnection,
    tell: mpsc::Sender<String>,
    stop: tokio_util::sync::CancellationToken,
) {
    let telling = async {
        while let Ok(told) = link.told().await {
            let text = json!({"jsonrpc": "2.0", "method": told.method, "params": told.params});
            if tell.send(text.to_string()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = telling => {}
        // The client is gone: end the connection to the daemon now, and not only when the daemon next sends something.
        () = tell.closed() => {}
        () = stop.cancelled() => {}
    }
}

/// JSON on one line holds no line feed.
fn event(text: &str) -> String {
    format!("data: {text}\n\n")
}

const BEAT: Duration = Duration::from_secs(15);
const WAITING: usize = 32;
