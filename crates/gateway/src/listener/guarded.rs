//! The body of an answer that ends with the token it was given for, and gives back the place that its request took.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// The same answer, which ends when `gone` says so. `held` is dropped with its last byte.
pub(super) fn guarded<T: Send + Unpin + 'static>(
    response: Response,
    gone: CancellationToken,
    held: T,
) -> Response {
    response.map(|body| {
        Body::new(Guarded {
            body,
            gone: Box::pin(gone.cancelled_owned()),
            held,
        })
    })
}

struct Guarded<T> {
    body: Body,
    gone: Pin<Box<WaitForCancellationFutureOwned>>,
    #[expect(dead_code, reason = "held, not read")]
    held: T,
}

impl<T: Send + Unpin> HttpBody for Guarded<T> {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        // Check the token before the body: a stream may always have another part ready, and would never be cut off. The error
        // cuts the answer off, so that the client does not take it for complete.
        if self.gone.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err("the token holds no more".into())));
        }
        let frame = Pin::new(&mut self.body).poll_frame(context);
        frame.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
