//! Answers leave the inbox when the client's connection has taken them, and no sooner: what was cut off is in the inbox
//! still.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use signet_api::Acknowledge;

use crate::daemon::Daemon;
use crate::doors::mcp::receipts::HandedOver;

/// The same answer, at whose end what it shows is acknowledged.
pub(super) fn acknowledged(
    response: Response,
    handed_over: HandedOver,
    daemon: Arc<Daemon>,
) -> Response {
    response.map(|body| {
        Body::new(ShownAnswer {
            body,
            handed_over,
            daemon,
            shown: false,
        })
    })
}

struct ShownAnswer {
    body: Body,
    handed_over: HandedOver,
    /// Whether the connection was given a part of the answer since something was handed over.
    shown: bool,
    daemon: Arc<Daemon>,
}

impl ShownAnswer {
    fn end(&self) {
        let messages = self.handed_over.take();
        if messages.is_empty() {
            return;
        }
        let daemon = Arc::clone(&self.daemon);
        tokio::spawn(async move {
            // The error is ignored: either somebody else has already taken the answer, or the daemon is away, and will
            // show the answer again.
            let _ = daemon
                .call(&Acknowledge::of(messages), Duration::ZERO)
                .await;
        });
    }
}

impl HttpBody for ShownAnswer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The connection asks for the next part, so it has taken the part before: the answer in that part counts as delivered.
        // Do not wait for the end of the stream, because some clients close the stream as soon as they have the answer.
        if self.shown {
            self.shown = false;
            self.end();
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        match &frame {
            Poll::Ready(None) => self.end(),
            Poll::Ready(Some(Ok(_))) if self.body.is_end_stream() => self.end(),
            Poll::Ready(Some(Ok(_))) => self.shown = !self.handed_over.is_empty(),
            _ => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
